"""No page breaks a rule of axe-core, in light or dark."""

from contextlib import suppress

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_narrow import PAGES
from tests.conftest import wait_until

pytestmark = pytest.mark.browser
QUERIES = {**PAGES, "many columns": ("?page=data&data=digits", "^1,797 rows", False)}
# Pages that draw in colours of their own, and one of the others, which have those of controls and text alone.
DARK = ("convergence", "dlr", "lesson", "interactions", "order")
SETTLED = 15.0  # seconds after which what axe finds is no colour on its way to another
# What axe finds when the page has come to rest; nothing is left out.
FOUND = """async (options) => {
    const {violations} = await axe.run(document, {resultTypes: ["violations"], ...options});
    return violations.flatMap(({id, nodes}) => nodes.map(({target, html, failureSummary}) =>
        `${id}: ${target.flat().at(-1)} ${html.slice(0, 120)} ${failureSummary.split("\\n")[1] ?? ""}`));
}"""


def broken(explorer: Explorer, page: str, scheme: str, **options: object) -> list[str]:
    """Show the page, which is open, in light or dark; return what breaks a rule once it has come to rest."""
    explorer.page.emulate_media(color_scheme=scheme)
    explorer.wait(lambda: explorer.js("document.documentElement.dataset.theme") == scheme, scheme)
    explorer.still("Array.from(probe.all()).length")
    found: list[str] = []

    def clean() -> bool:
        found[:] = explorer.js(FOUND, options)
        return not found

    with suppress(pytest.fail.Exception):  # what is being drawn anew is looked at again
        wait_until(clean, SETTLED, "no rule is broken")
    return [f"{page}, {scheme}: {one}" for one in found]


def opened(explorer: Explorer, page: str) -> None:
    query, says, _ = QUERIES[page]
    explorer.open(query).wait_says(says)
    explorer.js(pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT)


def test_no_page_breaks_a_rule_of_axe(explorer: Explorer):
    wrong = []
    for page in QUERIES:
        explorer.page.emulate_media(color_scheme="light")
        opened(explorer, page)
        wrong += broken(explorer, page, "light")
        if page in DARK:  # dark has the same elements
            wrong += broken(explorer, page, "dark", runOnly=["color-contrast"])
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow(reason="what differs from page to page is seen in the dark above; this is every page")
def test_no_page_is_hard_to_read_in_the_dark(explorer: Explorer):
    wrong = []
    for page in QUERIES:
        opened(explorer, page)
        wrong += broken(explorer, page, "dark", runOnly=["color-contrast"])
    assert not wrong, "\n".join(wrong)
