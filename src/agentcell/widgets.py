"""The panels, under the package's public name. The code is in `widgets/agentcell_widgets/`."""

from agentcell_widgets import AttachmentsPanel, ChatPanel, GenerationPanel

__all__ = ["AttachmentsPanel", "ChatPanel", "GenerationPanel"]
