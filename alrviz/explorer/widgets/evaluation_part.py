"""The folded part of a page that evaluates the models shown there; it computes nothing before it is unfolded.

An evaluation that needs fits waits for a press, and shows their cost before.
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

EVALUATION_TASK, REPORT_TASK = "evaluation", "report"


@dataclass(frozen=True, eq=False)
class EvaluableModel:
    """A model that can be evaluated.

    Attributes:
        work: evaluates the model on a thread; calls its second argument with its activity.
        origin, recipes: of the numbers, for exported files.
        cost: text, if the evaluation needs fits; it then waits for a press.
        report: computes the facts of a report, called as `work` is; None if no report is offered.
    """

    work: Callable[[StopToken, Callable[[str], None]], Evaluation]
    origin: Mapping[str, Any] = field(default_factory=dict)
    recipes: Sequence[Recipe] = ()
    cost: str = ""
    report: "Callable[[StopToken, Callable[[str], None]], ReportFacts] | None" = None


class EvaluationPart:
    """The part; `part` goes into the layout of the page, whose pump polls `tasks`."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._slug = session.page  # the page that this part is on; another may be in front when it is built
        self._models: Mapping[str, EvaluableModel] = {}
        self._key: Hashable = None
        self._choice = ""  # a key of `_models`
        self._evaluated: Hashable = None  # key and choice of the evaluation shown
        self._activity = ""  # of the thread
        self._report_html: str | None = None  # the report on the choice
        self._setting = Updating()
        self.view: Any = None
        self.folded: Collapsible | None = None
        self.part = pn.Column(visible=False, sizing_mode="stretch_width", margin=0)

    def offer(self, key: Hashable, models: Mapping[str, EvaluableModel], choice: str | None = None) -> None:
        """Offer the evaluation of these models by name; without any the part is hidden.

        Args:
            key: changes with everything that the models depend on; under the same key nothing is updated.
            models: by name.
            choice: name of the model shown first.
        """
        if key == self._key:
            return
        self._key, self._models = key, models
        self._tasks.cancel(EVALUATION_TASK)
        self.part.visible = bool(models)
        if not models:
            return
        if self.folded is None:  # built late, so that the page opens sooner
            self._content = pn.Column(sizing_mode="stretch_width", margin=0)
            self.folded = Collapsible("Evaluation: how good is this model?", self._content)
            self.folded.param.watch(lambda _: self._on_open(), "open")
            self.part[:] = [self.folded]
        self._choice = choice if choice is not None and choice in models else next(iter(models))
        if self.view is not None:
            self._show_choice()
        if self.folded.open:
            self._on_open()

    def show(self, name: str, model: EvaluableModel) -> None:
        """Offer one more model, or the same on other rows, and show its evaluation."""
        self.offer((self._key, name, id(model)), {**self._models, name: model}, name)

    def _build(self) -> None:
        self.view = EvaluationView(dark=self._session.dark, wake=self._session.wake)
        self._session.subscribe(lambda _: self.view.param.update(dark=self._session.dark), "dark", self._slug)
        self.choice = pmui.Select(label="Evaluate", options=[], width=320, size="small", margin=(0, 12, 0, 0))
        self.choice.param.watch(lambda event: self._choose_model(event.new), "value")
        self.start = button("Evaluate", self._start_evaluation, icon="fact_check", variant="contained", visible=False)
        self.report = SaveButton(
            self._report_job, label="Report (HTML)", filename="alrviz-report.html", icon="description", visible=False,
            description="Report (HTML): save one page for others about the model, its important columns and its "
            "accuracy. It contains the rows that were predicted worst, and works offline",
        )  # fmt: skip
        about_pane = html(text=about_html("evaluation"))
        controls = pn.FlexBox(
            self.choice, self.start, self.report, align_items="center", gap="8px", margin=(8, 0, 8, 0)
        )
        self._content[:] = [about_pane, controls, self.view]
        self._show_choice()

    def _show_choice(self) -> None:
        with self._setting:
            self.choice.param.update(options=list(self._models), value=self._choice, visible=len(self._models) > 1)

    def _on_open(self) -> None:
        if self.folded is None or not self.folded.open:
            return
        if self.view is None:
            self._build()
        if self.view.evaluation is None or self._evaluated != (self._key, self._choice):
            self._begin()

    def _choose_model(self, name: str | None) -> None:
        if not self._setting and name is not None:
            self._choice = name
            self._begin()

    def _begin(self) -> None:
        """Evaluate the choice now, or after a press if that needs fits."""
        model = self._models[self._choice]
        self._tasks.cancel(EVALUATION_TASK)
        self._tasks.cancel(REPORT_TASK)
        self._report_html, self._activity = None, ""
        self.report.param.update(visible=model.report is not None, disabled=False, label="Report (HTML)")
        self.start.visible = bool(model.cost)
        if model.cost:
            self.view.tell(f"<span class='quiet'>The evaluation takes {safe(model.cost, 120)}.</span>")
        else:
            self._start_evaluation()

    def _start_evaluation(self) -> None:
        """Evaluate the chosen model on a thread."""
        model, key = self._models[self._choice], (self._key, self._choice)
        self.start.visible, self._activity = False, "evaluating"

        def work(stop: StopToken) -> Evaluation:
            evaluation = model.work(stop, lambda activity: setattr(self, "_activity", activity))
            evaluation.summary()  # sorts all rows for each class; cached, so that the page need not wait for it
            return evaluation

        def finish(evaluation: Evaluation) -> None:
            self._evaluated = key
            self.view.watch(evaluation, model.origin, model.recipes)

        self._tasks.start(EVALUATION_TASK, work, finish, self._show_failure, self._show_activity)
        self._show_activity()

    # -- the report ------------------------------------------------------------------------------------------------

    def _report_job(self) -> dict[str, Any] | None:
        """Return the report as a file to save; start computing it first if there is none."""
        if self._report_html is not None:
            base64_text = base64.b64encode(self._report_html.encode()).decode("ascii")
            return {"kind": "file", "type": "text/html", "data": base64_text}
        make_facts = self._models[self._choice].report
        assert make_facts is not None

        def work(stop: StopToken) -> str:
            from alrviz.views.report.page import report_html

            return report_html(make_facts(stop, lambda _: None))

        def finish(page: str) -> None:
            self._report_html = page
            self.report.param.update(disabled=False, label="Report (HTML)")
            self.report.press()

        def fail(error: Exception) -> None:
            self.report.param.update(disabled=False, label="Report (HTML)")
            self._tasks.show_error(REPORT_TASK, error)

        self.report.param.update(disabled=True, label="Preparing the report …")
        self._tasks.start(REPORT_TASK, work, finish, fail)
        return None

    def _show_activity(self) -> None:
        activity_html = f"<span class='quiet'>{safe(self._activity, 120)} &hellip;</span>"
        if self.view.sentence.object != activity_html:
            self.view.tell(activity_html)

    def _show_failure(self, error: Exception) -> None:
        self.view.tell(f"<span class='bad'>The model cannot be evaluated: {safe(error_text(error), 600)}</span>")
        self.start.visible = bool(self._models[self._choice].cost)


def fold_evaluations(study: Study) -> dict[str, EvaluableModel]:
    """Return the recipes of a study by name, to be evaluated on the folds of its first repeat (out-of-fold)."""

    def facts(dataset: Dataset, recipe: Recipe, holdout: float, stop: StopToken, tell: Callable[[str], None]) -> Any:
        from alrviz.studies.protocols.report_facts import report_facts

        return report_facts(dataset, make_estimator(recipe), holdout=holdout, stop=stop, tell=tell)

    seconds_by_task: dict[tuple[int, str], list[float]] = {}
    for task, result in study.results():
        if task.kind == "fold" and not result.failed:
            seconds_by_task.setdefault((task.racer, task.data_hash), []).append(result.rows[0]["train_seconds"])
    models = {}
    for (racer, data_hash), train_seconds in sorted(seconds_by_task.items(), key=lambda item: item[0][0]):
        dataset, folds = study.datasets[data_hash], study.tasks[-1].split.folds
        name = study.names[racer] + (f" on {dataset.name}" if len(study.datasets) > 1 else "")

        def work(stop: StopToken, tell: Callable[[str], None], racer: int = racer, hash: str = data_hash) -> Evaluation:
            from alrviz.studies.protocols.evaluate import out_of_fold

            return out_of_fold(study, racer, hash, stop=stop, tell=tell)

        origin = {"data": dataset.name, "data hash": data_hash}
        cost_text = f"{folds} fits, about {seconds_text(folds * median(train_seconds))}"
        report = partial(facts, dataset, study.recipes[racer], 1 / folds)
        models[name] = EvaluableModel(work, origin, [study.recipes[racer]], cost_text, report)
    return models
