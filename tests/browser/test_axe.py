"""No page breaks a rule of axe-core, in light or dark."""

from collections.abc import Callable

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_narrow import PAGES

pytestmark = pytest.mark.browser
# What axe finds when the page has come to rest; nothing is left out.
_FOUND = """async () => {
    const {violations} = await axe.run(document, {resultTypes: ["violations"]});
    return violations.flatMap(({id, nodes}) => nodes.map(({target, html, failureSummary}) =>
        `${id}: ${target.flat().at(-1)} ${html.slice(0, 120)} ${failureSummary.split("\\n")[1] ?? ""}`));
}"""


def test_no_page_breaks_a_rule_of_axe(new_explorer: Callable[..., Explorer]):
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    explorer, wrong = new_explorer(), []
    pages = {**PAGES, "many columns": ("?page=data&data=digits", "^1,797 rows", False)}
    for scheme in ("light", "dark"):
        explorer.page.emulate_media(color_scheme=scheme)
        for page, (query, says, _) in pages.items():
            explorer.open(query).wait_says(says)
            explorer.still("document.getAnimations().length + Array.from(probe.all()).length")
            explorer.js(axe)
            wrong += [f"{page}, {scheme}: {one}" for one in explorer.js(_FOUND)]
    assert not wrong, "\n".join(wrong)
