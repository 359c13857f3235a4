"""What a test calls prompt, on a machine however busy."""

from __future__ import annotations

PROMPTLY = 10.0
"""Seconds. What these tests say is not waited for would take a minute, or never end; how short a
wait really is, in tenths of a second, is measured by the benchmarks and not by tests."""
