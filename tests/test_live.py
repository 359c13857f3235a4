from __future__ import annotations

import time

from kernels import Kernel
from promptly import PROMPTLY

SETUP = """
%load_ext agentcell
import asyncio
from agentcell import Model
from agentcell.adapters.events import Finished, TextDelta
from agentcell.magics import current_session

class Talker(Model):
    provider = "test"
    count, wait = 2000, 0.001
    async def astream(self, messages, tools=None, settings=None, **_):
        for number in range(self.count):
            await asyncio.sleep(self.wait)
            yield TextDelta(f"word{number} ")
        yield Finished(reason="stop")

current_session().model = Talker("talker")
"""

WHOLE = "".join(f"word{number} " for number in range(2000))


def test_a_fast_answer_is_shown_whole_with_few_bytes(kernel: Kernel) -> None:
    kernel.run(SETUP)
    ran = kernel.run("%%agent\nspeak")

    answers = ran.data("text/markdown")
    assert answers[0] == WHOLE
    assert ran.messages < 15 * ran.seconds + 10


def test_updates_carry_no_more_than_five_times_the_answer(kernel: Kernel) -> None:
    kernel.run(SETUP)
    count = kernel.run(
        "import agentcell_magics.live as live\n"
        "from IPython.core.getipython import get_ipython\n"
        "shell, sent = get_ipython(), []\n"
        "publish = shell.display_pub.publish\n"
        "def counted(data, metadata=None, **options):\n"
        "    sent.append(sum(len(str(value)) for value in data.values()))\n"
        "    publish(data, metadata=metadata, **options)\n"
        "shell.display_pub.publish = counted\n"
        "shell.run_cell_magic('agent', '-q', 'speak')\n"
        "print('sent', sum(sent))"
    )
    total = int(count.text.rsplit("sent ", 1)[1])

    assert total <= 5 * len(WHOLE)


def test_an_interrupt_ends_the_cell_within_a_second_and_keeps_what_came(kernel: Kernel) -> None:
    kernel.run(SETUP + "Talker.wait = 0.05\n")
    cell = kernel.start("%%agent -o said\nspeak")
    kernel.until_output(cell)
    time.sleep(0.7)
    began = time.monotonic()
    kernel.interrupt()
    ran = kernel.finish(cell)

    assert time.monotonic() - began < PROMPTLY
    assert ran.status == "error"
    assert ran.ename == "Stopped"
    assert len(ran.traceback.splitlines()) == 1
    assert "stopped" in ran.text
    said = kernel.run("print(said.status, said)").text
    assert said.startswith("interrupted word0 word1 word2 word3 ")
    assert kernel.run("Talker.count = 2").status == "ok"
    assert kernel.run("%%agent\nagain").status == "ok"


def test_an_interrupt_before_the_first_word_ends_the_cell_too(kernel: Kernel) -> None:
    kernel.run(SETUP + "Talker.wait = 60\n")
    cell = kernel.start("%%agent\nspeak")
    kernel.until_output(cell)
    time.sleep(0.5)  # what is shown comes a moment before the model is asked
    began = time.monotonic()
    kernel.interrupt()
    ran = kernel.finish(cell)

    assert time.monotonic() - began < PROMPTLY
    assert ran.ename == "Stopped"
    assert kernel.run("%agent history").text.count("stopped") == 1


SLOW_VALUE = """
import time
from agentcell.assets.coerce import register
class Slow: pass
register(Slow, lambda slow: time.sleep(60))
slow = Slow()
"""


CLOSES_SLOWLY = """
class Sticky(Model):
    provider, count = "test", 0
    async def astream(self, messages, tools=None, settings=None, **_):
        Sticky.count += 1
        if Sticky.count > 1:
            raise KeyError("a bug")
        try:
            yield TextDelta("word ")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.6)
current_session().model = Sticky("sticky")
"""

INTERRUPTS_FOOTER = """
import os, signal, time
from IPython.core.getipython import get_ipython
publish = get_ipython().display_pub.publish
def interrupted(data, metadata=None, **options):
    if "test/talker ·" in data.get("text/plain", ""):
        get_ipython().display_pub.publish = publish
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    publish(data, metadata=metadata, **options)
get_ipython().display_pub.publish = interrupted
"""


def test_an_interrupt_while_attachments_are_prepared_sends_nothing(kernel: Kernel) -> None:
    kernel.run(SETUP + SLOW_VALUE)
    cell = kernel.start("%%agent\nsee {slow}")
    time.sleep(1)
    began = time.monotonic()
    kernel.interrupt()
    ran = kernel.finish(cell)

    assert time.monotonic() - began < PROMPTLY
    assert (ran.ename, ran.evalue) == ("Stopped", "before anything was sent, as you asked.")
    assert kernel.run("%agent history").text.strip() == "No turns yet."


def test_a_second_interrupt_while_the_first_is_handled_changes_nothing(kernel: Kernel) -> None:
    kernel.run(SETUP + CLOSES_SLOWLY)
    cell = kernel.start("%%agent -o said\nspeak")
    kernel.until_output(cell)
    time.sleep(0.5)
    began = time.monotonic()
    for _ in range(3):
        kernel.interrupt()
        time.sleep(0.1)
    ran = kernel.finish(cell)

    assert time.monotonic() - began < PROMPTLY
    assert ran.ename == "Stopped"
    assert len(ran.traceback.splitlines()) == 1
    assert kernel.run("print(said.status)").text.strip() == "interrupted"
    assert kernel.run("%%agent\nagain").status == "error"  # it never ends by itself
    assert kernel.run("print(len(current_session().turns))").text.strip() == "2"


def test_an_interrupt_after_the_answer_keeps_it_and_stops_what_follows(kernel: Kernel) -> None:
    kernel.run(SETUP + "Talker.count = 2\n" + INTERRUPTS_FOOTER)
    ran = kernel.run("%%agent -o said\nspeak")

    assert (ran.status, ran.ename) == ("error", "Stopped")
    assert ran.evalue == "after the answer, which is complete."
    assert ran.data("text/plain")[0] == "word0 word1 "
    assert ran.data("text/plain")[1].startswith("test/talker · ")
    assert kernel.run("print(said.status)").text.strip() == "complete"


def test_a_bug_in_a_model_leaves_what_came_and_its_stack(kernel: Kernel) -> None:
    kernel.run(SETUP + CLOSES_SLOWLY + "Sticky.count = 1\n")
    ran = kernel.run("%%agent\nspeak")

    assert ran.ename == "KeyError"
    assert ran.data("text/plain") == ["No answer."]
    assert "a bug" in ran.traceback
    assert kernel.run("print(current_session().turns[0].status)").text.strip() == "failed"
