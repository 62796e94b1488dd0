"""Every page visited twice in one tab: the document holds the page shown alone, and it comes back as it was left."""

import pytest

from tests.browser.steps import Explorer

pytestmark = pytest.mark.browser
PAGES = (
    "Boundaries", "Generative to discriminative", "Lessons", "Which order?", "Bias and variance", "Compare",
    "Interactions", "Data", "Selection", "Convergence",
)  # fmt: skip
MAX_ELEMENTS = 4_500
SCROLLED_PX = 150
MODELS = "(() => { const [d] = Bokeh.documents; d._recompute_all_models(); return d._all_models.size; })()"
CLICK_ON_UNDRAWN_PAGE = "alrvizTurnPage('data'); document.body.click(); alrvizTurnPage('lessons')"
SCROLLER = "alrvizFirst('.main-content')"


def test_the_document_holds_one_page_and_it_comes_back_as_it_was_left(explorer: Explorer):
    explorer.open("?data=led&rows=300")

    def visit(page: str) -> None:
        explorer.go(page)
        explorer.wait(lambda: explorer.page.title().startswith(page), f"the title of {page}")
        explorer.wait(lambda: not explorer.js("explorerPage.says('^Opening ')"), f"{page} to open")

    def scroll() -> bool:  # while the page is being drawn it may become shorter again
        explorer.js(f"{SCROLLER}.scrollTop = {SCROLLED_PX}")
        return abs(explorer.still(f"{SCROLLER}.scrollTop") - SCROLLED_PX) < 2

    visit("Data")
    explorer.wait(lambda: explorer.js("explorerPage.says('^300 rows')") and scroll(), "a page that is long enough")
    visit("Lessons")
    explorer.wait(lambda: explorer.js("explorerPage.says('you predict a result')"), "the lessons")
    explorer.js(CLICK_ON_UNDRAWN_PAGE)
    visit("Data")
    explorer.wait(lambda: abs(explorer.js(f"{SCROLLER}.scrollTop") - SCROLLED_PX) < 2, "the place scrolled to")
    lessons = []
    for turn in range(2):
        for page in PAGES:
            visit(page)
            if page == "Lessons":  # the one page without controls of its own
                explorer.wait(lambda: explorer.js("explorerPage.says('you predict a result')"), "the lessons")
                lessons.append(explorer.js(MODELS))
            elements = explorer.js("[...explorerPage.all()].length")
            assert elements <= MAX_ELEMENTS, f"{page}, visit {turn + 1}: {elements} elements"
    assert lessons[1] <= lessons[0], f"models in the document at two visits of Lessons: {lessons}"
