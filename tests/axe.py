"""axe-core in a page: what keeps people with a screen reader or a keyboard from using a panel.

`make peers` installs it (npm, axe-core). Without it its tests are skipped with the reason; in CI
they fail.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from playwright.sync_api import Page

from peers import FOLDER

SCRIPT = FOLDER / "node_modules" / "axe-core" / "axe.min.js"

NO_AXE = "axe-core is not installed (make peers)"

SERIOUS = {"serious", "critical"}

_RUN = """async selector => {
  const rules = {region: {enabled: false}};  // a notebook's page is the host's matter
  const found = await axe.run(selector, {resultTypes: ['violations'], rules});
  return found.violations.map(one => ({
    id: one.id, impact: one.impact, help: one.help,
    nodes: one.nodes.map(node => `${node.html.slice(0, 160)}: ${node.failureSummary}`),
  })); }"""


def violations(page: Page, selector: str) -> list[dict[str, Any]]:
    """Return what is seriously wrong with the part of the page that `selector` names."""
    if not SCRIPT.exists():
        if os.environ.get("CI"):
            pytest.fail(NO_AXE, pytrace=False)
        pytest.skip(NO_AXE)
    if not page.evaluate("() => Boolean(window.axe)"):
        # As text: a <script> with an address would be a request of its own. JupyterLab has an AMD
        # loader, which would take it otherwise.
        text = SCRIPT.read_text(encoding="utf-8")
        page.evaluate(f"() => {{ const define = undefined, module = undefined; {text} }}")
    found: list[dict[str, Any]] = page.evaluate(_RUN, selector)
    return [one for one in found if one["impact"] in SERIOUS]
