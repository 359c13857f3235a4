"""Fixtures: a real shell, a real kernel, a clean environment, and no way off this machine."""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import kernels
from kernels import Kernel
from offline import sitecustomize as offline

SETTINGS = re.compile(
    r"(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE)_|AGENTCELL_(?!CACHE_DIR$)"
    r"|.*_(API_KEY|AUTH_TOKEN)$|.*_proxy$|JPY_SESSION_NAME$",
    re.IGNORECASE,
)
"""Environment variables of the person who runs the tests that must not reach them. Where the
small model's weights lie is no such thing: they are fetched once."""


# 0.2 seconds for each example is nothing that a shared machine keeps.
hypothesis.settings.register_profile("unhurried", parent=hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_configure() -> None:
    """Turn on the guard for every process that starts from here, and interrupts.

    A shell lets what it starts in the background ignore them, and all their children with them.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    here = str(Path(offline.__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    )


@pytest.fixture(scope="session", autouse=True)
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No keys, no settings, no proxy; Jupyter's and IPython's folders are new and empty."""
    base = tmp_path_factory.mktemp("environment")
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(SETTINGS.match, list(os.environ)):
            patch.delenv(name)
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            folder = base / name.lower()
            folder.mkdir()
            patch.setenv(name, str(folder))
        (base / "llm").mkdir()
        patch.setenv("LLM_USER_PATH", str(base / "llm"))  # this person's keys, kept by llm
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")  # and by keyring
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")  # silences jupyter_core's notice of a change
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # silences the debugger's
        patch.setenv(offline.LOG, str(base / "refused.log"))
        yield


@pytest.fixture(autouse=True)
def stays_here() -> Iterator[None]:
    """Fail a test whose code, in this process or one it started, tried to leave the machine."""
    log = Path(os.environ[offline.LOG])
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
    if log.exists():
        lines = log.read_text(encoding="utf-8")
        log.unlink()
        pytest.fail(f"this test tried to leave the machine:\n{lines}", pytrace=False)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A fresh IPython shell in an empty folder, with the extension loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell replaces it
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "agentcell")
    yield shell
    shell.run_line_magic("unload_ext", "agentcell")
    InteractiveShell.clear_instance()
    # Else each shell of the run is kept to its end, and is emptied then: a collection for each.
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel of its own in an empty folder. The extension is not loaded yet."""
    with kernels.running(tmp_path) as kernel:
        yield kernel
