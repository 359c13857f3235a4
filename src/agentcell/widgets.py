"""The panels, under the package's public name. The code is in `widgets/agentcell_widgets/`."""

from agentcell_widgets import AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel

__all__ = ["AttachmentsPanel", "ChatPanel", "GenerationPanel", "HistoryPanel"]
