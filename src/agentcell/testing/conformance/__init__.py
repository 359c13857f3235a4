"""What every adapter must do: one suite, also for those of other packages.

With pytest, a class is all there is to write (see `AdapterConformance`)::

    class TestMine(AdapterConformance):
        server = ChatServer

        def make(self, server_url):
            return MyModel("my-model", self.key, server_url)

or a test of one's own, for each check that applies::

    MINE = Subject(lambda url: MyModel("my-model", KEY, url), ChatServer)

    @pytest.mark.parametrize("check", checks(MINE), ids=str)
    def test_mine_does_what_every_adapter_must(check):
        check(MINE)

Without pytest, ``print(run(MINE))``. Which checks apply is decided by what the model declares to
be capable of, by whether there is a server, and by whether it can be made with options;
``print(report(MINE))`` lists those that apply and says of the others why not.

Every check that needs a server talks real HTTP to one on loopback.
"""

from agentcell.testing.conformance.adapter_conformance import AdapterConformance
from agentcell.testing.conformance.check import Check
from agentcell.testing.conformance.every_check import CHECKS
from agentcell.testing.conformance.report import Report, checks, report, run
from agentcell.testing.conformance.subject import HI, KEY, TOOLS, Subject

__all__ = [
    "CHECKS",
    "HI",
    "KEY",
    "TOOLS",
    "AdapterConformance",
    "Check",
    "Report",
    "Subject",
    "checks",
    "report",
    "run",
]
