"""A private JupyterLab and a Chromium that drives it: what a person sees, asked by a test."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

SCREENSHOTS = Path(__file__).parent.parent / "out" / "screenshots"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

FLAGS = [
    "--no-sandbox",  # a container's root has no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    # Whatever a page asks for, nothing leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]

SETTINGS: dict[str, dict[str, Any]] = {
    # All cells in the page, also those off screen; no save behind the test's back.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    # What the kernel offers is waited for: after a second Lab would show the list without it.
    "@jupyterlab/completer-extension:manager": {"providerTimeout": 60_000},
    "@jupyterlab/apputils-extension:notification": {
        "checkForUpdates": False,
        "fetchNews": "false",
    },
}

VIEWPORT: Any = {"width": 1280, "height": 900}

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def find_chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """Start the browser, and end it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def watch_external(context: BrowserContext) -> list[str]:
    """Return a list that takes every address off this machine that a page asks for."""
    asked: list[str] = []
    local = ("http://127.0.0.1", "http://localhost", "ws://127.0.0.1", "ws://localhost")

    def note(url: str) -> None:
        if not url.startswith((*local, "data:", "blob:", "file:", "about:")):
            asked.append(url)

    context.on("request", lambda request: note(request.url))
    return asked


class Lab:
    """One JupyterLab server with folders of its own; notebooks lie in `root`."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.token = secrets.token_hex(16)
        self.url = ""
        folders = ("root", "config", "data", "runtime", "ipython", "settings", "workspaces")
        for folder in folders:
            (base / folder).mkdir(parents=True)
        self._write_settings()

    @contextmanager
    def running(self, timeout: float = 90) -> Iterator[Lab]:
        """Start the server, wait until it answers, and stop it with its kernels afterwards."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        log = self.base / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                    "--expose-app-in-browser",  # window.jupyterapp: commands instead of clicks
                    "--ServerApp.ip=127.0.0.1",
                    f"--ServerApp.port={port}",
                    "--ServerApp.port_retries=0",
                    f"--ServerApp.root_dir={self.root}",
                    "--ServerApp.terminals_enabled=False",
                    f"--IdentityProvider.token={self.token}",
                    "--LabApp.extension_manager=readonly",
                    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                    "--LabApp.news_url=None",
                ],
                cwd=self.base,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                self._wait_ready(process, log, timeout)
                yield self
            finally:
                with suppress(OSError):
                    self.shut_down_kernels()
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def _environment(self) -> dict[str, str]:
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        inherited = {  # kernels must not take themselves for part of a test: see kernels.running
            name: value
            for name, value in os.environ.items()
            if "JUPYTER" not in name and name != "PYTEST_CURRENT_TEST"
        }
        own = {name: str(self.base / folder) for name, folder in folders.items()}
        return {**inherited, "JUPYTER_PLATFORM_DIRS": "1", **own}

    def _wait_ready(self, process: subprocess.Popen[bytes], log: Path, timeout: float) -> None:
        end = time.monotonic() + timeout
        while True:
            try:
                self.api("/api/status")
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(log.read_text(encoding="utf-8", errors="replace")) from None
                time.sleep(0.05)
            else:
                return

    def api(self, path: str, method: str = "GET") -> Any:
        """Ask the server itself."""
        request = urllib.request.Request(  # noqa: S310 (our own loopback address)
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=15) as response:  # noqa: S310
            body = response.read()
        return json.loads(body) if body else None

    def shut_down_kernels(self) -> None:
        """End every kernel that a notebook started."""
        for session in self.api("/api/sessions"):
            self.api(f"/api/sessions/{session['id']}", "DELETE")

    def write(self, name: str, cells: Iterable[str | Mapping[str, Any]]) -> None:
        """Write a notebook into `root`; a text is a code cell."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = new_notebook(
            cells=[new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells],
            metadata={"kernelspec": kernel},
        )
        nbformat.write(notebook, self.root / name)

    def read(self, name: str) -> Any:
        """Return a saved notebook."""
        return nbformat.read(self.root / name, as_version=4)

    def reset_settings(self) -> None:
        """Undo what was set in a page, as a theme is: it would hold in the next page too."""
        shutil.rmtree(self.base / "settings")
        self._write_settings()

    def _write_settings(self) -> None:
        for plugin, values in SETTINGS.items():
            package, name = plugin.split(":")
            file = self.base / "settings" / package / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values), encoding="utf-8")

    def trust(self, name: str) -> None:
        """Sign a notebook, as Lab does for one that its owner ran."""
        NotebookNotary(data_dir=str(self.base / "data")).sign(self.read(name))


CURRENT = "const panel = window.jupyterapp?.shell?.currentWidget;"

IS_LOADED = """() => window.jupyterapp?.restored.then(() =>
  !document.querySelector('#jupyterlab-splash'))"""

IS_OPEN = f"""name => {{ {CURRENT}
  return !!(panel?.context?.path?.endsWith(name) && panel.context.isReady); }}"""

HAS_KERNEL = f"""name => {{ {CURRENT}
  if (!(panel?.context?.path?.endsWith(name) && panel.context.isReady)) return false;
  const session = panel.context.sessionContext;
  const kernel = session.session?.kernel;
  return session.isReady && kernel?.connectionStatus === 'connected' &&
    kernel.status === 'idle'; }}"""

IS_IDLE = f"""() => {{ {CURRENT}
  return panel.context.sessionContext.session?.kernel?.status === 'idle' &&
    ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*')); }}"""


class Notebook:
    """One notebook, open in Lab in `page`. The first in a page loads Lab; others open in it."""

    def __init__(self, page: Page, lab: Lab, name: str, *, kernel: bool = True) -> None:
        self.page = page
        self.lab = lab
        self.name = name
        if not page.url.startswith(lab.url):
            page.goto(f"{lab.url}/lab?token={lab.token}&reset")
            page.wait_for_function(IS_LOADED, timeout=90_000)
        starts = {} if kernel else {"kernelPreference": {"shouldStart": False, "canStart": False}}
        self.command("docmanager:open", path=name, **starts)
        page.wait_for_function(HAS_KERNEL if kernel else IS_OPEN, arg=name, timeout=90_000)
        self.is_open = True

    def show(self) -> None:
        """Bring it to the front, where other notebooks were opened since."""
        self.command("docmanager:open", path=self.name)
        self.page.wait_for_function(IS_OPEN, arg=self.name)

    def close(self) -> None:
        """Close without saving and end the kernel. A second time does nothing."""
        if self.is_open:
            self.is_open = False
            self.page.evaluate(f"""async () => {{ {CURRENT}
                const session = panel.context.sessionContext.session?.id;
                const sessions = window.jupyterapp.serviceManager.sessions;
                panel.dispose();
                if (session) await sessions.shutdown(session); }}""")

    def command(self, name: str, **arguments: Any) -> None:
        """Run one of Lab's commands and wait for it."""
        self.page.evaluate(
            "async ([name, given]) => { await window.jupyterapp.commands.execute(name, given); }",
            [name, arguments],
        )

    def run_all(self, timeout: float = 120) -> None:
        """Run every cell; `timeout` in seconds."""
        self._run("notebook:run-all-cells", timeout)

    def run(self, index: int, *, wait: bool = True, timeout: float = 120) -> None:
        """Run cell number `index`, counted from 0."""
        self.page.evaluate(
            f"""index => {{ {CURRENT} const notebook = panel.content;
                notebook.activeCellIndex = index; notebook.deselectAll();
                notebook.activate(); notebook.mode = 'command'; }}""",
            index,
        )
        self._run("notebook:run-cell", timeout, wait=wait)

    def _run(self, command: str, timeout: float, *, wait: bool = True) -> None:
        self.page.evaluate(
            """name => { window.cellsRan = false;
                const ran = window.jupyterapp.commands.execute(name);
                ran.finally(() => { window.cellsRan = true; }); }""",
            command,
        )
        if wait:
            self.page.wait_for_function("() => window.cellsRan", timeout=timeout * 1000)
            self.wait_idle(timeout)

    def wait_idle(self, timeout: float = 120) -> None:
        """Wait until the kernel is idle and no cell shows a star."""
        self.page.wait_for_function(IS_IDLE, timeout=timeout * 1000)

    def cell(self, index: int) -> Locator:
        """Return the cell as the page shows it."""
        visible = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell"
        return self.page.locator(visible).nth(index)

    def output(self, index: int) -> Locator:
        """Return the cell's outputs as the page shows them."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def cell_count(self) -> int:
        """Return how many cells the notebook has now."""
        count: int = self.page.evaluate(
            f"() => {{ {CURRENT} return panel.content.widgets.length; }}"
        )
        return count

    def kernel(self) -> str | None:
        """Return the kernel's status, None where there is no kernel."""
        status: str | None = self.page.evaluate(
            f"() => {{ {CURRENT} "
            "return panel.context.sessionContext.session?.kernel?.status ?? null; }"
        )
        return status

    def save(self) -> Any:
        """Save, and return what was saved."""
        self.command("docmanager:save")
        return self.lab.read(self.name)

    def screenshot(self, name: str) -> Path:
        """Save what the page shows, where a person finds it; git ignores the folder."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path


OpenNotebook = Callable[..., Notebook]
"""What the fixture `open_notebook` gives: ``(cells=(), *, name="", kernel=True)``."""


def use_theme(page: Page, theme: str) -> None:
    """Switch Lab to the ``light`` or the ``dark`` theme, and wait until it shows."""
    page.evaluate(
        "async name => { await window.jupyterapp.commands.execute("
        "'apputils:change-theme', {theme: name}); }",
        THEMES[theme],
    )
    page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light"
        " && !document.querySelector('#jupyterlab-splash')",
        arg=str(theme == "light").lower(),
    )
