"""The panels. Users import them as `agentcell.widgets`. Each is one folder: Python, JS, CSS."""

from agentcell_widgets.attachments import AttachmentsPanel

__all__ = ["AttachmentsPanel"]
