"""The folded part of a page that evaluates the models shown there; it computes nothing before it is unfolded.

What takes fits of its own is begun by a press, and says before what it will take.
"""

import base64
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz.data.dataset import Dataset
from alrviz.estimators.make import make_estimator
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.notices import error_text
from alrviz.explorer.shell.theme import button, html
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.study import Study
from alrviz.studies.statistics.evaluation import Evaluation
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import Updating
from alrviz.views.core.saving import SaveButton
from alrviz.views.core.style import safe
from alrviz.views.studies.evaluation import EvaluationView

if TYPE_CHECKING:
    from alrviz.studies.protocols.report_facts import ReportFacts

TASK, REPORT = "evaluation", "report"


@dataclass(frozen=True, eq=False)
class Judged:
    """A model whose evaluation can be had.

    Attributes:
        work: evaluates it on a thread; calls its second argument with what it is at.
        about, recipes: where its numbers come from, for files.
        cost: what it takes, where that is more than predicting: then it waits for a press.
        report: makes the facts of a report, as `work` evaluates; None where there is none to be had.
    """

    work: Callable[[StopToken, Callable[[str], None]], Evaluation]
    about: Mapping[str, Any] = field(default_factory=dict)
    recipes: Sequence[Recipe] = ()
    cost: str = ""
    report: "Callable[[StopToken, Callable[[str], None]], ReportFacts] | None" = None


class EvaluationPart:
    """See the module's text; `part` goes into the page's layout, whose tasks are polled by its pump."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._slug = session.page  # of the page that it is part of: it may be built while another is in front
        self._offered: Mapping[str, Judged] = {}
        self._key: Hashable = None
        self._chosen = ""  # of what is offered
        self._shown: Hashable = None  # what the view shows
        self._at = ""  # what the thread is doing
        self._page: str | None = None  # the report of what is chosen
        self._setting = Updating()
        self.view: Any = None
        self.folded: Collapsible | None = None
        self.part = pn.Column(visible=False, sizing_mode="stretch_width", margin=0)

    def offer(self, key: Hashable, offered: Mapping[str, Judged], chosen: str | None = None) -> None:
        """Offer the evaluation of these models, by what they are called; none hides the part.

        key: of all that they depend on: what was offered under it stays as it is. chosen: the one to begin with.
        """
        if key == self._key:
            return
        self._key, self._offered = key, offered
        self._tasks.cancel(TASK)
        self.part.visible = bool(offered)
        if not offered:
            return
        if self.folded is None:  # a page that is only being opened need not wait for it
            self._inside = pn.Column(sizing_mode="stretch_width", margin=0)
            self.folded = Collapsible("Evaluation: how good is this model?", self._inside)
            self.folded.param.watch(lambda _: self._opened(), "open")
            self.part[:] = [self.folded]
        self._chosen = chosen if chosen is not None and chosen in offered else next(iter(offered))
        if self.view is not None:
            self._show_choice()
        if self.folded.open:
            self._opened()

    def show(self, name: str, judged: Judged) -> None:
        """Offer one model more, or the same on other rows, and turn to it."""
        self.offer((self._key, name, id(judged)), {**self._offered, name: judged}, name)

    def _build(self) -> None:
        self.view = EvaluationView(dark=self._session.dark, wake=self._session.wake)
        self._session.subscribe(lambda _: self.view.param.update(dark=self._session.dark), "dark", self._slug)
        self.choice = pmui.Select(label="Evaluate", options=[], width=320, size="small", margin=(0, 12, 0, 0))
        self.choice.param.watch(lambda event: self._turn(event.new), "value")
        self.start = button("Evaluate", self._work, icon="fact_check", variant="contained", visible=False)
        self.report = SaveButton(
            self._report_job, label="Report (HTML)", filename="alrviz-report.html", icon="description", visible=False,
            description="Report (HTML): save one page that says which model, what matters, how good it is, for "
            "others to read; it needs no network. It shows the rows that were predicted worst",
        )  # fmt: skip
        about = html(text=about_html("evaluation"))
        first = pn.FlexBox(self.choice, self.start, self.report, align_items="center", gap="8px", margin=(8, 0, 8, 0))
        self._inside[:] = [about, first, self.view]
        self._show_choice()

    def _show_choice(self) -> None:
        with self._setting:
            self.choice.param.update(options=list(self._offered), value=self._chosen, visible=len(self._offered) > 1)

    def _opened(self) -> None:
        if self.folded is None or not self.folded.open:
            return
        if self.view is None:
            self._build()
        if self.view.evaluation is None or self._shown != (self._key, self._chosen):
            self._begin()

    def _turn(self, name: str | None) -> None:
        if not self._setting and name is not None:
            self._chosen = name
            self._begin()

    def _begin(self) -> None:
        """Evaluate what is chosen, at once where that only predicts."""
        judged = self._offered[self._chosen]
        self._tasks.cancel(TASK)
        self._tasks.cancel(REPORT)
        self._page, self._at = None, ""
        self.report.param.update(visible=judged.report is not None, disabled=False, label="Report (HTML)")
        self.start.visible = bool(judged.cost)
        if judged.cost:
            self.view.tell(f"<span class='quiet'>It takes {safe(judged.cost, 120)}.</span>")
        else:
            self._work()

    def _work(self) -> None:
        judged, shown = self._offered[self._chosen], (self._key, self._chosen)
        self.start.visible, self._at = False, "evaluating"

        def work(stop: StopToken) -> Evaluation:
            evaluation = judged.work(stop, lambda at: setattr(self, "_at", at))
            evaluation.summary()  # sorts all rows for each class: cached for the page, which has no time for it
            return evaluation

        def done(evaluation: Evaluation) -> None:
            self._shown = shown
            self.view.watch(evaluation, judged.about, judged.recipes)

        self._tasks.start(TASK, work, done, self._failed, self._look)
        self._look()

    # -- the report ------------------------------------------------------------------------------------------------

    def _report_job(self) -> dict[str, Any] | None:
        """Save the report that is there, or begin one: it is saved when it is done."""
        if self._page is not None:
            data = base64.b64encode(self._page.encode()).decode("ascii")
            return {"kind": "file", "type": "text/html", "data": data}
        make_facts = self._offered[self._chosen].report
        assert make_facts is not None

        def work(stop: StopToken) -> str:
            from alrviz.views.report.page import report_html

            return report_html(make_facts(stop, lambda _: None))

        def done(page: str) -> None:
            self._page = page
            self.report.param.update(disabled=False, label="Report (HTML)")
            self.report.press()

        def failed(error: Exception) -> None:
            self.report.param.update(disabled=False, label="Report (HTML)")
            self._tasks.show_error(REPORT, error)

        self.report.param.update(disabled=True, label="Report: being made …")
        self._tasks.start(REPORT, work, done, failed)
        return None

    def _look(self) -> None:
        text = f"<span class='quiet'>{safe(self._at, 120)} &hellip;</span>"
        if self.view.sentence.object != text:
            self.view.tell(text)

    def _failed(self, error: Exception) -> None:
        self.view.tell(f"<span class='bad'>It cannot be evaluated: {safe(error_text(error), 600)}</span>")
        self.start.visible = bool(self._offered[self._chosen].cost)


def judged_folds(study: Study) -> dict[str, Judged]:
    """Return how the recipes of a study are judged, on the rows that the folds of its first shuffle leave out."""

    def facts(dataset: Dataset, recipe: Recipe, holdout: float, stop: StopToken, tell: Callable[[str], None]) -> Any:
        from alrviz.studies.protocols.report_facts import report_facts

        return report_facts(dataset, make_estimator(recipe), holdout=holdout, stop=stop, tell=tell)

    seconds: dict[tuple[int, str], list[float]] = {}
    for task, result in study.results():
        if task.kind == "fold" and not result.failed:
            seconds.setdefault((task.racer, task.data_hash), []).append(result.rows[0]["train_seconds"])
    offered = {}
    for (racer, data_hash), took in sorted(seconds.items(), key=lambda item: item[0][0]):
        dataset, folds = study.datasets[data_hash], study.tasks[-1].split.folds
        name = study.names[racer] + (f" on {dataset.name}" if len(study.datasets) > 1 else "")

        def work(stop: StopToken, tell: Callable[[str], None], racer: int = racer, hash: str = data_hash) -> Evaluation:
            from alrviz.studies.protocols.evaluate import out_of_fold

            return out_of_fold(study, racer, hash, stop=stop, tell=tell)

        about = {"data": dataset.name, "data hash": data_hash}
        cost = f"{folds} fits, about {seconds_text(folds * median(took))}"
        report = partial(facts, dataset, study.recipes[racer], 1 / folds)
        offered[name] = Judged(work, about, [study.recipes[racer]], cost, report)
    return offered
