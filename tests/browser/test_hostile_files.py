"""Broken and hostile files through the drop zone: the text expected, nothing executed, the page works after each."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.steps import Explorer
from tests.conftest import Served
from tests.hostile.cases import BIDI, CASES, LIMITS, Case

pytestmark = [pytest.mark.browser, pytest.mark.slow(reason="a visitor's minutes in a real browser")]
SMALL = 3_000_000  # bytes: dropped by an event; more goes through a file on disk


@pytest.fixture(scope="module")
def limited(serve: Callable[..., Served], warmed: str) -> Served:
    """A server with the limits for which the cases say their texts."""
    names = ("bytes", "rows", "columns", "levels", "classes")
    return serve(**{f"ALRVIZ_MAX_{name.upper()}": str(getattr(LIMITS, name)) for name in names})


@pytest.fixture
def visitor(new_explorer: Callable[..., Explorer], limited: Served) -> Explorer:
    """One page for a few files, as a stubborn visitor would have it."""
    return new_explorer(limited).open("?data=iris&page=data")


def give(explorer: Explorer, case: Case, tmp_path: Any) -> None:
    data = case.make()
    if len(data) < SMALL:
        explorer.dropped(case.filename, data)
        return
    path = tmp_path / case.filename
    path.write_bytes(data)
    del data
    explorer.picked(case.filename, path=path)


def still_works(explorer: Explorer, n: int) -> None:
    """Load a demo set and see it."""
    demo, shown = (("monks-1", "^432 rows"), ("iris", "^150 rows"))[n % 2]
    if explorer.button("Dismiss").is_visible():
        explorer.button("Dismiss").click()
    demos = explorer.button("Demo sets")
    if demos.is_visible():
        demos.click()
    explorer.page.get_by_role("button", name=demo, exact=True).filter(visible=True).first.click()
    explorer.wait_says(shown)
    assert not explorer.says("did not work")


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_files(visitor: Explorer, part: int, tmp_path):
    visitor.wait_says("^150 rows")
    for n, case in enumerate(CASES[part::PARTS]):
        give(visitor, case, tmp_path)
        if case.error is not None:
            visitor.wait_says("That did not work|Which column is the class")
            assert case.error.lower() in visitor.everything().lower(), (case.name, visitor.text())
        else:
            stem = case.filename.split(".")[0]
            heading = visitor.page.get_by_role("heading", name=stem, exact=True)
            heading.wait_for()
            everything = visitor.everything()
            for note in case.notes:  # what is doubtful is asked in other words, which begin alike
                assert note[1:].split(",")[0] in everything, (case.name, note)
            visible = everything + visitor.js("() => probe.drawnTexts()")
            for text in case.texts:  # control characters are shown as blanks
                assert text == BIDI or text in visible, (case.name, text)
        # What panel-material-ui logs when the browser itself refuses a file.
        visitor.page.problems[:] = [text for text in visitor.page.problems if "exceeds maximum file size" not in text]
        assert not visitor.page.problems, case.name
        still_works(visitor, n)


def test_names_with_scripts_are_shown_on_both_pages(visitor: Explorer):
    case = next(case for case in CASES if case.name.startswith("script"))
    visitor.dropped("<img src=x onerror=alert(3)>.csv", case.make())
    visitor.wait_says("^30 rows")
    visitor.button("How it was read").click()
    visitor.button("Read the file again").wait_for()
    visitor.page.keyboard.press("Escape")
    visitor.button("Open in Convergence").click()
    visitor.run.wait_for()
    visitor.race()
    visitor.wait_says("^ended$")
    assert len(visitor.csv())
    assert visitor.js("document.querySelectorAll('img[src=x]').length") == 0
