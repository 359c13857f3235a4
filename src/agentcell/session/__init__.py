"""One notebook's session: the only place that knows the whole order of a turn.

Text and values become a `Request` (`preparing`: nothing is sent); a request streams events, and its
end, whatever it is, becomes one `Turn` (`session`). `kept` is what a session holds, `past` what can
be done with turns afterwards.
"""

from agentcell.history.notebook import MAIN
from agentcell.request import Request
from agentcell.session.session import Session

__all__ = ["MAIN", "Request", "Session"]
