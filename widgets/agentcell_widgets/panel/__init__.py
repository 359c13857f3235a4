"""What all panels have in common: a protocol, work off the shell's thread, uploads, a static copy.

A panel is a folder with `__init__.py`, a `.js` and a `.css`; `Panel` is its base class::

    class StampsPanel(Panel):
        NAME = "stamps"
        TITLE = "Stamps"
        _esm = esm(__file__, "stamps.js")
        _css = css(__file__, "stamps.css")

        def state(self) -> dict[str, Any]:  # what a view is told when it opens, and after changes
            return {"stamps": list(self.session.tags)}

        @handles("sell")
        def _sell(self, message: Message) -> dict[str, Any]:
            tag = message.text("tag", longest=200)
            ...
            return {"notice": say("{tag} is sold.", tag=tag)}
"""

from agentcell_widgets.panel.doors import ANSWERED, Payload, handles
from agentcell_widgets.panel.message import Message
from agentcell_widgets.panel.source import css, esm
from agentcell_widgets.panel.static import NO_PICTURE, Static, that_fit, weight
from agentcell_widgets.panel.uploads import Uploaded
from agentcell_widgets.panel.widget import Panel

__all__ = [
    "ANSWERED",
    "NO_PICTURE",
    "Message",
    "Panel",
    "Payload",
    "Static",
    "Uploaded",
    "css",
    "esm",
    "handles",
    "that_fit",
    "weight",
]
