"""A notebook and what lies beside it, to the places where a key, a part of one or a shape stands.

``agentcell-scan notebook.ipynb`` is the command; `scan` is the same from Python.
"""

from __future__ import annotations

from agentcell.scan.report import Finding, Report, scan, search

__all__ = ["Finding", "Report", "scan", "search"]
