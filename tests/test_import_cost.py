"""What importing costs: no SDK, no picture library, no socket."""

from __future__ import annotations

import json
import subprocess
import sys

from kernels import Kernel

HEAVY = (
    *("openai", "anthropic", "google.genai", "google.auth", "httpx", "httpx2"),
    *("PIL", "pypdfium2", "numpy", "pydantic", "markdown_it", "nh3"),
    *("IPython", "ipykernel", "ipywidgets", "anywidget"),
    *("faster_paddle", "xllamacpp", "rapidocr"),
)

SDKS = (
    *("openai", "anthropic", "google.genai", "google.auth", "httpx", "httpx2"),
    *("PIL", "pypdfium2", "numpy", "pydantic", "markdown_it", "nh3"),
    *("anywidget", "agentcell_widgets", "faster_paddle", "xllamacpp", "rapidocr"),
)


def loaded_after(code: str) -> set[str]:
    """Return the modules that a new Python has loaded after `code`."""
    code += "\nimport sys, json; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert sorted(loaded_after("import agentcell").intersection(HEAVY)) == []


def test_a_session_and_an_asset_load_no_sdk() -> None:
    modules = loaded_after("import agentcell; agentcell.Session(); agentcell.ImageAsset")

    assert sorted(modules.intersection(HEAVY)) == []


WATCH_SOCKETS = """
import sys
import ipywidgets
_opened = []
_before = set(sys.modules)
def _audit(event, arguments):
    if event in {'socket.__new__', 'socket.connect', 'socket.getaddrinfo', 'subprocess.Popen'}:
        _opened.append(event)
sys.addaudithook(_audit)
"""


def test_the_extension_in_a_running_kernel_loads_no_sdk_and_opens_no_socket(kernel: Kernel) -> None:
    kernel.run(WATCH_SOCKETS)

    loading = kernel.run("%load_ext agentcell")
    seen = kernel.run("print(_opened, sorted(set(sys.modules) - _before))")

    assert (loading.status, loading.text) == ("ok", "")
    opened, new = map(eval, seen.text.strip().replace("] [", "]\n[").split("\n"))
    assert opened == []
    assert sorted(set(new).intersection(SDKS)) == []


def test_the_extension_starts_no_thread(kernel: Kernel) -> None:
    kernel.run("import threading; before = threading.active_count()")
    kernel.run("%load_ext agentcell")

    assert kernel.run("print(threading.active_count() - before)").text.strip() == "0"
