"""The folded part of a page that hands over a model which was fitted there, and scores new rows with it.

It is there for a race that has ended, be it of one racer. What is dropped is read as a table and nothing else: no
upload is a model.
"""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.errors import AlrvizError, for_page
from alrviz.explorer.server.tables import safe_name
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.drop_strip import FileStrip
from alrviz.explorer.widgets.evaluation_part import EvaluationPart, Judged
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.export import race_about, weights_csv
from alrviz.studies.core.names import short_names
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import html, say
from alrviz.views.core.saving import csv_button, file_button
from alrviz.views.core.style import html_table, safe

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset
    from alrviz.data.stream.table import Stream
    from alrviz.estimators.recipes import RecipeClassifier

# Numbers of a model (seen cells x classes, or votes) that are written while a visitor waits: in a third of a second.
MOST = 500_000
SHOWN = 5  # predictions
# Families of ours that no run shows.
READY = tuple(name for name, family in FAMILIES.items() if family.counts_cells and not family.has_steps)
DATABASES = {"DuckDB": "duckdb", "SQLite": "sqlite", "PostgreSQL": "postgres"}
WORDS = "New rows: drop a file, or browse"
ABOUT = (
    "<p>The final model, trained on this page's training rows (test rows are not used). The zip "
    "holds JSON, Parquet and a script that scores new rows with numpy and pyarrow alone; <code>model.joblib</code> is "
    "a pickle, for Python with this version of alrviz; the weights are a table, a line per cell; the SQL makes tables "
    "and a view that predicts the rows of a database's table (dlr and AnDE have neither weights nor SQL). Or drop rows "
    "that have the columns of this table: each gets its class and the classes' probabilities, and "
    "values that training never saw are marked.</p>"
)


@dataclass(frozen=True, eq=False)
class ExportableModel:
    """A classifier that was fitted at one go, as a race of one racer that has ended.

    classifier: of a family in `READY`, or one that can only be evaluated. dataset: the table, of whose rows it was
    fitted on so many; holdout and seed say which rows judge it. name: what it is called.
    """

    classifier: Any
    dataset: "Dataset"
    rows: int
    holdout: float
    seed: int
    name: str
    ended: bool = True

    @property
    def exportable(self) -> bool:
        """Whether it is one of ours, that a file keeps."""
        return getattr(self.classifier, "_family", "") in READY

    @property
    def runs(self) -> tuple["ExportableModel"]:
        """Itself."""
        return (self,)

    @property
    def recipe(self) -> Recipe:
        """What was fitted."""
        recipe: Recipe = self.classifier.to_recipe()
        return recipe

    @property
    def recipes(self) -> tuple[Recipe]:
        """What was fitted."""
        return (self.recipe,)


class ExportModel:
    """See the module's text; `part` and that of `evaluation` go into the page's layout, whose pump calls `pump`."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._race: Any = None
        self._model: RecipeClassifier | None = None
        self._predictions = ""
        self.folded: Collapsible | None = None
        self.part = pn.Column(visible=False, sizing_mode="stretch_width", margin=0)
        self.evaluation = EvaluationPart(session, tasks)

    def _build(self) -> Collapsible:
        self.racer = pmui.Select(label="Model of", width=280, size="small", margin=(0, 16, 0, 0))
        self.racer.param.watch(lambda _: self._chosen(), "value")
        self.zipped = file_button(
            "alrviz-model.zip",
            self._zip,
            "the model of the training rows as JSON and Parquet, and a script that scores",
            "Model (zip)",
        )
        self.pickled = file_button("model.joblib", self._joblib, "the classifier, for joblib.load", "model.joblib")
        self.weights = csv_button("alrviz-weights.csv", self._weights, "the cells, a line each", "Weights (CSV)")
        self.sql = file_button(
            "alrviz-model.sql", self._sql, "tables, and a view that predicts the rows of the table rows", "SQL"
        )
        self.dialect = pmui.Select(label="SQL for", options=DATABASES, width=120, size="small", margin=(0, 0, 0, 16))
        told = "class and probabilities of every row"
        self.predicted = csv_button("alrviz-predictions.csv", lambda: self._predictions, told, "Predictions (CSV)")
        self.predicted.visible = False
        about, self.told = html(), html()
        say(about, ABOUT)
        self.strip = FileStrip(self._session, self._dropped, self._refused, WORDS, width=400, margin=(8, 16, 8, 0))
        buttons = (self.racer, self.zipped, self.pickled, self.weights, self.dialect, self.sql)
        return Collapsible(
            "Export model, or predict new rows", about,
            pn.FlexBox(*buttons, align_items="center", gap="4px", sizing_mode="stretch_width", margin=(8, 0)),
            pn.Row(self.strip, self.predicted, align="center", sizing_mode="stretch_width", margin=0), self.told,
        )  # fmt: skip

    # ---- which model -------------------------------------------------------------------------------------------

    def pump(self, race: Any) -> bool:
        """Offer the models of a race as soon as it has ended; returns whether a file is still coming."""
        found = race if race is not None and race.ended else None
        if found is not self._race:
            self._race = found
            self._offer()
        return self.folded is not None and self.strip.pump()

    def _offer(self) -> None:
        runs = () if self._race is None else self._race.runs
        alone = isinstance(self._race, ExportableModel)
        names = [self._race.name] if alone else short_names([run.recipe for run in runs])
        options = {name: k for k, (name, run) in enumerate(zip(names, runs, strict=True)) if _has_model(run)}
        judged = {name: self._judged(run) for name, run in zip(names, runs, strict=True) if alone or _has_model(run)}
        self.evaluation.offer(self._race, {name: of for name, of in judged.items() if of is not None})
        self.part.visible = bool(options)
        if not options:
            return
        if self.folded is None:  # a page that is only being opened need not wait for it
            self.folded = self._build()
            self.part[:] = [self.folded]
        self.racer.param.update(options=options, value=next(iter(options.values())), visible=len(options) > 1)
        self._chosen()

    def _chosen(self) -> None:
        self._model, self._predictions = None, ""
        self._tasks.cancel("predict")
        self.predicted.visible = False
        run = self._run
        size = _size(run)
        small = size <= MOST
        for button in (self.zipped, self.pickled):
            button.visible = small
        for part in (self.weights, self.dialect, self.sql):
            part.visible = small and run.recipe.definition.shows_weights
        much = f"<p>This model has {size:,} numbers, more than are written here: the script behind Python fits it, and "
        fine = f"<p>Fitted on {_fitted_on(run, self._race.dataset)}.</p>"
        say(self.told, fine if small else f"{much}<code>alrviz.save_model(model, 'model.zip')</code> writes it.</p>")

    def _judged(self, run: Any) -> Judged | None:
        """How a model is judged: on its test rows."""
        from alrviz.data.splits import split_table
        from alrviz.data.stream.table import Stream
        from alrviz.studies.protocols.evaluate import evaluate, evaluate_split
        from alrviz.studies.protocols.report_facts import report_of_run

        dataset = run.dataset
        if dataset is None:
            return None
        about = {"data": dataset.name, "data hash": dataset.hash}
        if isinstance(run, ExportableModel):
            return Judged(
                lambda stop, tell: evaluate_split(run.classifier, dataset, split_table(dataset, run.holdout, run.seed)),
                about | {"model": run.name, "seed": run.seed},
            )
        about |= {"seed": run.recipe.seed}
        return Judged(
            lambda stop, tell: evaluate(run), about, [run.recipe],
            report=None if isinstance(dataset, Stream) else lambda stop, tell: report_of_run(run, stop, tell),
        )  # fmt: skip

    @property
    def _run(self) -> Any:
        return self._race.runs[self.racer.value]

    def _classifier(self) -> "RecipeClassifier":
        if self._model is None:
            self._model = _classifier_of(self._run)
        return self._model

    # ---- files -------------------------------------------------------------------------------------------------

    def _zip(self) -> bytes:
        from alrviz.estimators.model_file import save_model

        file = io.BytesIO()
        save_model(self._classifier(), file, dataset=self._race.dataset)
        return file.getvalue()

    def _sql(self) -> bytes:
        from alrviz.estimators.model_sql import save_sql

        file = io.BytesIO()
        save_sql(self._classifier(), file, self.dialect.value, dataset=self._race.dataset)
        return file.getvalue()

    def _joblib(self) -> bytes:
        import joblib

        file = io.BytesIO()
        joblib.dump(self._classifier(), file)
        return file.getvalue()

    def _weights(self) -> str:
        about = race_about(self._race, __version__) | {"fitted on": _fitted_on(self._run, self._race.dataset)}
        return weights_csv(self._classifier(), about, [self._run.recipe])

    # ---- new rows ----------------------------------------------------------------------------------------------

    def _dropped(self, name: str, data: bytes) -> None:
        """Predict a file's rows on a thread."""
        self.predicted.visible = False
        say(self.told, f"<p class='quiet'>predicting {safe(safe_name(name), 60)} &hellip;</p>")
        limits = self._session.registry.limits.table()
        run, model = self._run, self._model  # now: another racer may be chosen while the thread works

        def work(stop: StopToken) -> "tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]":
            from alrviz.estimators.predict_table import predict_and_tell, predictions_csv

            fitted = _classifier_of(run) if model is None else model
            found, notes = predict_and_tell(fitted, data, limits=limits, keep="all", stop=stop)
            place = list(found.columns).index("prediction")
            plain = found.drop(columns=found.columns[1:place])
            return found, plain, predictions_csv(plain), notes

        def done(given: "tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]") -> None:
            self._show(given[1:])
            self._offer_file(f"rows of {safe_name(name)}", given[0], run)

        self._tasks.start("predict", work, done, self._refused)

    def _offer_file(self, rows: str, found: "pd.DataFrame", run: Any) -> None:
        """Offer to evaluate the predictions of a file that has the class too."""
        from alrviz.studies.protocols.evaluate import of_predictions

        target = self._race.dataset.target
        if target in found.columns[: list(found.columns).index("prediction")]:
            about = {"data": rows, "trained on": self._race.dataset.name}
            recipes = [run.recipe]
            judged = Judged(lambda stop, tell: of_predictions(found, (), target, what=rows), about, recipes)
            self.evaluation.show(f"{short_names(recipes)[0]} on {rows}", judged)

    def _refused(self, error: Exception) -> None:
        known = isinstance(error, (AlrvizError, MemoryError))
        text = for_page(error) if known else f"the rows cannot be predicted: {type(error).__name__}: {error}"
        say(self.told, f"<p class='bad'>{safe(text, 600)}</p>")

    def _show(self, found: "tuple[pd.DataFrame, str, tuple[str, ...]]") -> None:
        frame, self._predictions, notes = found
        self.predicted.visible = True
        strange = int((frame["unseen"] != "").sum())
        rows = (map(_cell, row) for row in frame.head(SHOWN).itertuples(index=False))
        which = f"; the first {SHOWN}:" if len(frame) > SHOWN else ":"
        say(
            self.told,
            "".join(f"<p class='bad'>{safe(note, 400)}</p>" for note in notes)
            + f"<p>{len(frame):,} rows predicted, {strange:,} with values that training never saw{which}</p>"
            + html_table([safe(name, 40) for name in frame.columns], rows),
        )


def _classifier_of(run: Any) -> "RecipeClassifier":
    if isinstance(run, ExportableModel):
        from alrviz.estimators.model_parts import spec_of

        fitted: RecipeClassifier = run.classifier
        fitted.spec_ = spec_of(run.dataset, fitted.encoder_)
        return fitted
    from alrviz.estimators.make import estimator_of

    return estimator_of(run)


def _fitted_on(run: Any, dataset: "Dataset | Stream") -> str:
    """How many rows a model has learned from, and why not all."""
    if isinstance(run, ExportableModel):
        rows = run.rows
    else:
        rows = round(run.trace.rows) if run.encoded is None else len(run.encoded.y)
    rest = dataset.n_rows - rows
    return f"{rows:,} of {dataset.n_rows:,} rows ({rest:,} are test rows)" if rest > 0 else f"all {rows:,} rows"


def _size(run: Any) -> int:
    """The numbers that a run's model holds: cells x classes, or of dlr the numbers that vote."""
    if isinstance(run, ExportableModel):
        model = run.classifier
        return int((model.counts_ if run.recipe.definition.shows_weights else model.tables_.counts).size)
    if run.tables is not None:
        return int(run.tables.counts.size)
    return sum(len(column.values) for column in getattr(getattr(run.model, "features", None), "columns", ()))


def _has_model(run: Any) -> bool:
    """Whether there are weights to hand over: not of a recorded race, not of a fit that went astray."""
    if isinstance(run, ExportableModel):
        return run.exportable
    return getattr(run, "state", None) is not None and run.outcome.code not in ("diverged", "failed")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else safe(value, 60)
