"""Run the steps of a lesson on the explorer's pages, without a browser, and keep what a reader sees of them."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import panel as pn

from alrviz.errors import AlrvizError
from alrviz.explorer.app import page_classes
from alrviz.explorer.lesson import AnswerValue, Lesson, Question, Step
from alrviz.explorer.lessons.answers import answer
from alrviz.explorer.page import Page
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.shell import open_link
from alrviz.pictures.replay import Film
from alrviz.pictures.still import still_svg
from alrviz.studies.race.race import Race
from alrviz.views.replay.export_html import film_of

MAX_RUN_SECONDS = 600.0  # for one step; each of the package's lessons takes at most 15
POLL_SECONDS = 0.01
MAX_FILM_STEPS = 240  # enough to see every change; a lesson is to load within a second on a phone
FIGURE_SIZE = (640, 400)  # px; two beside each other are narrower
SMALL_FIGURE_SIZE = (460, 360)


class PageVisit:
    """A page of the explorer opened by a link, and run, without a browser.

    Args:
        link: the query of the link.
        owner: id of the visitor.
        registry: of the runs; its own by default.

    Attributes:
        session, page: of the visit.
    """

    def __init__(self, link: str, owner: str = "", registry: Registry | None = None):
        state, problem, self.lesson = open_link(link, page_classes())
        if problem:
            raise AlrvizError(problem)
        self.session = Session(
            owner=owner or secrets.token_hex(16), registry=registry or Registry(ServerLimits(), timer=False)
        )
        self.session.link.open(state)
        page_class = next(cls for cls in page_classes() if cls.slug == state.page)
        self.page: Page = page_class(self.session)

    def show(self) -> None:
        """Build the page."""
        self.layout = self.page.view()
        self.page.on_shown()

    def wait_until(self, condition: Callable[[], object], seconds: float = MAX_RUN_SECONDS) -> None:
        """Do the page's work until a condition holds; raise `AlrvizError` if it does not within some seconds."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AlrvizError(f"not done within {seconds:g} s")
            self.session.pump()
            self.page.pump()
            time.sleep(POLL_SECONDS)

    @property
    def front(self) -> Any:
        """The open tab of the page; the page itself if it has no tabs."""
        return getattr(self.page, "tab", self.page)

    @property
    def view(self) -> Any:
        """The part of `front` that has the Run button and shows the result."""
        front = self.front
        return getattr(front, "player", None) or getattr(front, "study_view", None) or front.race_view

    @property
    def problem(self) -> str:
        """Why the page's run or study failed; "" if it did not."""
        study = getattr(self.view, "study", None)
        if study is not None and study.phase in ("failed", "stopped"):
            return str(study.error or study.phase)
        return str(self.session.problem or "")

    def press_run(self) -> None:
        """Press Run as soon as the table is open and a study knows its cost."""
        study = getattr(self.front, "study_view", None)
        self.wait_until(lambda: self.session.table.dataset is not None and (study is None or study.ready))
        self.view.press_run()

    def close(self) -> None:
        """Leave the page."""
        self.page.close()
        self.session.registry.remove_page(self.session)


@dataclass(frozen=True)
class Recording:
    """What a reader sees of a step's run.

    Attributes:
        title: what was run on which table.
        outcomes: right answers by question, of this step and of earlier ones about this run.
        film: of a race, fit or path; None of other results.
        figures: SVG elements of other results.
        sentence_html: what the page says of other results.
    """

    title: str
    outcomes: dict[str, AnswerValue]
    film: Film | None
    figures: list[str]
    sentence_html: str


def record_lesson(lesson: Lesson, on_step: Callable[[int], object] = lambda number: None) -> list[Recording | None]:
    """Run all steps of a lesson.

    Args:
        lesson: the lesson.
        on_step: called with the number of each step that is run, before it.

    Returns:
        The recording of each step; None of steps that run nothing.

    Raises:
        AlrvizError: if a step cannot be run or a question not be answered, with the step.
    """
    recordings: list[Recording | None] = []
    open_questions: list[Question] = []  # about the next run
    for number, step in enumerate(lesson.steps, 1):
        open_questions += [] if step.ask is None else [step.ask]
        if not step.run:
            recordings.append(None)
            continue
        on_step(number)
        try:
            recordings.append(_record_step(step, open_questions))
        except AlrvizError as error:
            raise AlrvizError(f"{lesson.id}, step {number}: {error}") from error
        open_questions = []
    if open_questions:
        raise AlrvizError(f"{lesson.id}: nothing is run after the question {open_questions[0].id!r}")
    return recordings


def _record_step(step: Step, questions: list[Question]) -> Recording:
    visit = PageVisit(step.link)
    try:
        visit.show()
        visit.press_run()
        visit.wait_until(lambda: visit.page.result() is not None or visit.problem)
        result: Any = visit.page.result()
        if result is None:
            raise AlrvizError(f"the run failed: {visit.problem}")
        outcomes = {question.id: answer(question, result) for question in questions}
        for id, outcome in outcomes.items():
            if any(
                isinstance(number, float) and not isfinite(number) for number in np.ravel(np.array(outcome, object))
            ):
                raise AlrvizError(f"the answer to question {id!r} is no finite number: {outcome}")
        if isinstance(result, Race) or getattr(result, "kind", "") == "path":
            film = film_of(result, visit.session.measure, MAX_FILM_STEPS)
            return Recording(film.title, outcomes, film, [], "")
        visit.view.settle()
        dataset = visit.session.table.dataset
        assert dataset is not None  # it was run on
        title = f"{visit.page.title}: {dataset.name}"
        return Recording(title, outcomes, None, _figures(visit, step), visit.view.sentence.object)
    finally:
        visit.close()


def _figures(visit: PageVisit, step: Step) -> list[str]:
    """Return the figures that the step shows on the page, as SVG elements."""
    hidden_classes = {f"alrviz-part-{part}" for part in step.hide}
    figures = [pane.object for pane in _visible_panes(visit.layout, hidden_classes) if pane.object is not None]
    width, height = FIGURE_SIZE if len(figures) == 1 else SMALL_FIGURE_SIZE
    return [still_svg(figure, figure.name or "result", width=width, height=height) for figure in figures]


def _visible_panes(layout: Any, hidden_classes: set[str]) -> list[Any]:
    """Return the Bokeh panes of a layout that are not inside of a hidden part."""
    if not getattr(layout, "visible", True) or hidden_classes & set(getattr(layout, "css_classes", None) or ()):
        return []
    if isinstance(layout, pn.pane.Bokeh):
        return [layout]
    return [pane for part in getattr(layout, "objects", None) or [] for pane in _visible_panes(part, hidden_classes)]
