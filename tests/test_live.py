from __future__ import annotations

import time

from kernels import Kernel

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

    assert time.monotonic() - began < 1
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

    assert time.monotonic() - began < 1
    assert ran.ename == "Stopped"
    assert kernel.run("%agent history").text.count("interrupted") == 1
