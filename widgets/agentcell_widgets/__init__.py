"""The panels. Users import them as `agentcell.widgets`. Each is one folder: Python, JS, CSS."""

from agentcell_widgets.attachments import AttachmentsPanel
from agentcell_widgets.chat import ChatPanel
from agentcell_widgets.generation import GenerationPanel
from agentcell_widgets.history import HistoryPanel

__all__ = ["AttachmentsPanel", "ChatPanel", "GenerationPanel", "HistoryPanel"]
