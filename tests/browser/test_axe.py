"""No page breaks a rule of axe-core, in light or dark."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_narrow import PAGES
from tests.conftest import wait_until

pytestmark = pytest.mark.browser
SETTLED = 15.0  # seconds after which what axe finds is no colour on its way to another
# What axe finds when the page has come to rest; nothing is left out.
FOUND = """async (options) => {
    const {violations} = await axe.run(document, {resultTypes: ["violations"], ...options});
    return violations.flatMap(({id, nodes}) => nodes.map(({target, html, failureSummary}) =>
        `${id}: ${target.flat().at(-1)} ${html.slice(0, 120)} ${failureSummary.split("\\n")[1] ?? ""}`));
}"""


def test_no_page_breaks_a_rule_of_axe(new_explorer: Callable[..., Explorer]):
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    explorer, wrong = new_explorer(reduced_motion="reduce"), []  # a colour on its way to another is neither
    pages = {**PAGES, "many columns": ("?page=data&data=digits", "^1,797 rows", False)}
    for page, (query, says, _) in pages.items():
        explorer.page.emulate_media(color_scheme="light")
        explorer.open(query).wait_says(says)
        explorer.js(axe)
        for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):  # dark has the same elements
            explorer.page.emulate_media(color_scheme=scheme)
            explorer.wait(lambda scheme=scheme: explorer.js("document.documentElement.dataset.theme") == scheme, scheme)
            explorer.still("Array.from(probe.all()).length")
            found: list[str] = []

            def clean(options=options, found=found) -> bool:
                found[:] = explorer.js(FOUND, options)
                return not found

            with suppress(pytest.fail.Exception):  # what is being drawn anew is looked at again
                wait_until(clean, SETTLED, "no rule is broken")
            wrong += [f"{page}, {scheme}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)
