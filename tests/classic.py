"""Notebook 7 in a page of its own, on the server that JupyterLab's tests use."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as Late

from labkit import SCREENSHOTS, VIEWPORT, Lab, watch_external


@contextlib.contextmanager
def opened(lab: Lab, browser: Browser, cells: list[str], picture: str) -> Iterator[Page]:
    """Open a notebook of `cells` in Notebook 7; at the end a screenshot is taken.

    Nothing may have been asked of another host until then.
    """
    pytest.importorskip("notebook")
    lab.shut_down_kernels()  # the one that comes is this page's
    name = f"{picture}.ipynb"
    lab.write(name, cells)
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(60_000)
    asked = watch_external(context)
    page = context.new_page()
    try:
        page.goto(f"{lab.url}/notebooks/{name}?token={lab.token}")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        wait_for_kernel(lab)
        yield page
        assert asked == []
    finally:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{picture}.png")
        context.close()
        lab.shut_down_kernels()


def wait_for_kernel(lab: Lab, seconds: float = 120) -> None:
    """Wait until the page is connected with its kernel.

    It calls itself idle before it has one, and asks "Select Kernel" if a cell is run then.
    """
    end = time.monotonic() + seconds
    while not any(session["kernel"]["connections"] for session in lab.api("/api/sessions")):
        assert time.monotonic() < end, "Notebook 7 did not connect with its kernel"
        time.sleep(0.1)


def run(page: Page, index: int) -> None:
    """Run a cell by its keys; the first that come while the page still builds itself are lost."""
    cell = page.locator(".jp-Notebook .jp-Cell").nth(index)
    for _ in range(10):
        cell.locator(".cm-line").last.click()
        page.keyboard.press("Control+Enter")
        with contextlib.suppress(Late):
            cell.locator(".jp-InputPrompt", has_text=re.compile(r"\*|\d")).wait_for(timeout=3_000)
            return
    raise AssertionError(f"Notebook 7 did not run cell {index}.")
