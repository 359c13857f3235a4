"""Fixtures for tests that drive JupyterLab in a real Chromium: one server and one page for all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from labkit import (
    SCREENSHOTS,
    VIEWPORT,
    Lab,
    Notebook,
    OpenNotebook,
    chromium,
    find_chromium,
    watch_external,
)

FAILED = pytest.StashKey[bool]()
EXTERNAL = pytest.StashKey[list[str]]()

HERE = Path(__file__).parent
NUMBERS = itertools.count(1)

NO_BROWSER = "NO BROWSER TEST WAS RUN: there is no Chromium here (apt-get install chromium)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder for `-m "not browser"`, and put them last.

    From its first use to its end Playwright keeps an event loop running in the main thread, in
    which no other test could start one of its own.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; without one the tests are skipped, except where CI must have run them."""
    executable = find_chromium()
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER, pytrace=False)
        pytest.skip(NO_BROWSER)
    expect.set_options(timeout=60_000)  # a guard: the machine may be busy with other tests
    with chromium(executable) as browser:
        yield browser


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Lab]:
    """One JupyterLab server for all tests. (It asks for the browser first: no need without.)"""
    assert browser.is_connected()
    with Lab(tmp_path_factory.mktemp("lab")).running() as lab:
        yield lab


@pytest.fixture(scope="session")
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page for all tests: Lab takes seconds to load, a further notebook in it one."""
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(60_000)  # a guard too
    request.config.stash[EXTERNAL] = watch_external(context)
    yield context.new_page()
    context.close()


@pytest.fixture
def external(page: Page, request: pytest.FixtureRequest) -> list[str]:
    """Addresses off this machine that the page asked for since this test began."""
    assert page
    asked = request.config.stash[EXTERNAL]
    asked.clear()
    return asked


@pytest.fixture
def open_notebook(lab: Lab, page: Page, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """Return a function that opens a notebook of the given cells, or one that lies in `root`."""
    opened: list[Notebook] = []

    def open_(
        cells: Iterable[str | Mapping[str, Any]] = (),
        *,
        name: str = "",
        kernel: bool = True,
    ) -> Notebook:
        if not name:
            # Another for each: what a notebook remembers is kept by its name, and tests of two
            # modules may be called the same.
            name = f"{next(NUMBERS)}-{request.node.name}.ipynb"
            lab.write(name, cells)
        opened.append(Notebook(page, lab, name, kernel=kernel))
        return opened[-1]

    yield open_
    if request.node.stash.get(FAILED, False):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"failed-{request.node.name}.png")
        # Whatever went wrong in the page, the next test loads Lab anew, as it was at first.
        page.goto("about:blank")
        page.set_viewport_size(VIEWPORT)
        page.emulate_media(reduced_motion="no-preference")
        lab.reset_settings()
        lab.shut_down_kernels()
    else:
        for notebook in reversed(opened):
            notebook.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    """Note whether the test itself failed; let all that have no browser share one line."""
    report = yield
    if report.skipped and NO_BROWSER in str(report.longrepr):
        report.longrepr = (str(HERE), 1, NO_BROWSER)
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report
