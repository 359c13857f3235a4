"""A notebook whose history is gone, as after a clone, goes on from what it shows."""

from __future__ import annotations

import shutil

from playwright.sync_api import expect

from labkit import OpenNotebook

MODEL = """%load_ext agentcell
from agentcell.testing import FakeModel
from agentcell_magics import current_session
def seen(asked):
    return f"sees {len(asked.messages)} messages: {asked.messages[0]['content']}"
current_session().model = FakeModel(seen)"""


def test_a_notebook_without_its_history_goes_on_from_what_was_saved(
    open_notebook: OpenNotebook,
) -> None:
    first = open_notebook([MODEL, "%%agent\nalpha", "%%agent\nbeta", "%%agent\ngamma"])
    first.run(0)
    first.run(1)
    first.run(2)
    expect(first.output(2)).to_contain_text("sees 3 messages: alpha")
    first.save()
    first.close()
    shutil.rmtree(first.lab.root / ".agentcell")

    again = open_notebook(name=first.name)
    again.run(0)
    again.run(3)

    expect(again.output(3)).to_contain_text("sees 5 messages: alpha")
    again.run(1)
    expect(again.output(1)).to_contain_text("sees 1 messages: alpha")
    expect(again.output(3)).to_contain_text("Stale: an earlier cell ran again since.")
