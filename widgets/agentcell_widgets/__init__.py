"""The panels. Users import them as `agentcell.widgets`. Each is one folder: Python, JS, CSS."""

from agentcell_widgets.attachments import AttachmentsPanel
from agentcell_widgets.chat import ChatPanel

__all__ = ["AttachmentsPanel", "ChatPanel"]
