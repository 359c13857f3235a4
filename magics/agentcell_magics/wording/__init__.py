"""What the magics say, in Chinese, and the functions of `agentcell.wording` beside it.

Every text of the magics passes through `say` or `word`.
"""

from agentcell.wording import (
    AUTO,
    VARIABLE,
    add_language,
    choose,
    language,
    languages,
    placeholders,
    say,
    word,
)
from agentcell_magics.wording.zh import ZH

__all__ = [
    "AUTO",
    "VARIABLE",
    "add_language",
    "choose",
    "language",
    "languages",
    "placeholders",
    "say",
    "word",
]

add_language("zh", ZH)
