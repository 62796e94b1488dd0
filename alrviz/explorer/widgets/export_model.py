"""The folded part of a page that exports a model fitted there, and predicts new rows with it.

It is there for a race that has ended, be it of one racer. What is dropped is read as a table and nothing else: no
upload is a model.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import joblib
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.data.splits import split_table
from alrviz.data.stream.table import Stream
from alrviz.estimators.make import estimator_of
from alrviz.estimators.model_file import save_model
from alrviz.estimators.model_parts import spec_of
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.explorer.server.tables import safe_name
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.drop_strip import FileStrip
from alrviz.explorer.shell.notices import error_text
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

# Numbers of a model (seen cells x classes, or votes) that are written while a visitor waits: in a third of a second.
MAX_NUMBERS = 500_000
SHOWN_ROWS = 5  # predictions
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
class FittedModel:
    """A model that was fitted on a page.

    Attributes:
        name: what it is called.
        recipes: what was fitted, alone.
        dataset, n_rows: the table, and how many of its rows the model has learned from.
        size: the numbers that it holds: cells x classes, or of dlr the numbers that vote.
        make: returns its classifier.
        judged: its evaluation on test rows.
        exportable: whether it can be saved to a file.
    """

    name: str
    recipes: tuple[Recipe]
    dataset: Any  # a `Dataset` or a `Stream`
    n_rows: int
    size: int
    make: Callable[[], RecipeClassifier]
    judged: Judged
    exportable: bool = True

    @property
    def rows_words(self) -> str:
        """The number of rows it was fitted on, and of those left for testing."""
        rows, every = self.n_rows, self.dataset.n_rows
        return f"{rows:,} of {every:,} rows ({every - rows:,} are test rows)" if rows < every else f"all {rows:,} rows"


def models_of_race(race: Any) -> dict[int, FittedModel]:
    """Return the models of a race that has ended, by racer; recorded races and failed fits have none."""
    names = short_names([run.recipe for run in race.runs])
    return {
        k: _model_of_run(name, run)
        for k, (name, run) in enumerate(zip(names, race.runs, strict=True))
        if getattr(run, "state", None) is not None and run.outcome.code not in ("diverged", "failed")
    }


def _model_of_run(name: str, run: Any) -> FittedModel:
    from alrviz.studies.protocols.evaluate import evaluate
    from alrviz.studies.protocols.report_facts import report_of_run

    dataset = run.dataset
    rows = round(run.trace.rows) if run.encoded is None else len(run.encoded.y)
    columns = getattr(getattr(run.model, "features", None), "columns", ())
    size = int(run.tables.counts.size) if run.tables is not None else sum(len(column.values) for column in columns)
    judged = Judged(
        lambda stop, tell: evaluate(run), _about(dataset, run.recipe.seed), [run.recipe],
        report=None if isinstance(dataset, Stream) else lambda stop, tell: report_of_run(run, stop, tell),
    )  # fmt: skip
    return FittedModel(name, (run.recipe,), dataset, rows, size, lambda: estimator_of(run), judged)


def model_of_peer(name: str, classifier: Any, dataset: Dataset, n_rows: int, holdout: float, seed: int) -> FittedModel:
    """Return the model of a classifier that was fitted at one go, on so many rows of a table.

    holdout, seed: say which rows judge it.
    """
    from alrviz.studies.protocols.evaluate import evaluate_split

    def make() -> RecipeClassifier:
        fitted: RecipeClassifier = classifier
        fitted.spec_ = spec_of(dataset, fitted.encoder_)
        return fitted

    judged = Judged(
        lambda stop, tell: evaluate_split(classifier, dataset, split_table(dataset, holdout, seed)),
        _about(dataset, seed) | {"model": name},
    )
    size, recipes, ours = 0, (Recipe("lr"),), getattr(classifier, "_family", "") in READY
    if ours:
        recipes = (classifier.to_recipe(),)
        counts = classifier.counts_ if recipes[0].definition.shows_weights else classifier.tables_.counts
        size = int(counts.size)
    return FittedModel(name, recipes, dataset, n_rows, size, make, judged, ours)


def _about(dataset: Any, seed: int) -> dict[str, Any]:
    return {"data": dataset.name, "data hash": dataset.hash, "seed": seed}


class ExportModel:
    """See the module's text; `part` and that of `evaluation` go into the page's layout, whose pump calls `pump`."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._shown: Any = None  # the race, or the model, whose models are offered
        self._models: dict[int, FittedModel] = {}
        self._classifier: RecipeClassifier | None = None
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

    def pump(self, shown: Any) -> bool:
        """Offer a fitted model, or those of a race as soon as it has ended; return whether a file is still coming."""
        if shown is not None and not isinstance(shown, FittedModel) and not shown.ended:
            shown = None
        if shown is not self._shown:
            self._shown = shown
            self._offer()
        return self.folded is not None and self.strip.pump()

    def _offer(self) -> None:
        shown = self._shown
        self._models = {} if shown is None else {0: shown} if isinstance(shown, FittedModel) else models_of_race(shown)
        self.evaluation.offer(shown, {model.name: model.judged for model in self._models.values()})
        options = {model.name: k for k, model in self._models.items() if model.exportable}
        self.part.visible = bool(options)
        if not options:
            return
        if self.folded is None:  # a page that is only being opened need not wait for it
            self.folded = self._build()
            self.part[:] = [self.folded]
        self.racer.param.update(options=options, value=next(iter(options.values())), visible=len(options) > 1)
        self._chosen()

    @property
    def _model(self) -> FittedModel:
        return self._models[self.racer.value]

    def _chosen(self) -> None:
        self._classifier, self._predictions = None, ""
        self._tasks.cancel("predict")
        self.predicted.visible = False
        model = self._model
        small = model.size <= MAX_NUMBERS
        for button in (self.zipped, self.pickled):
            button.visible = small
        for part in (self.weights, self.dialect, self.sql):
            part.visible = small and model.recipes[0].definition.shows_weights
        much = f"This model has {model.size:,} numbers, more than are written here: the script behind Python fits it"
        much += ", and <code>alrviz.save_model(model, 'model.zip')</code> writes it"
        say(self.told, f"<p>{f'Fitted on {model.rows_words}' if small else much}.</p>")

    def _fitted(self) -> RecipeClassifier:
        if self._classifier is None:
            self._classifier = self._model.make()
        return self._classifier

    # ---- files -------------------------------------------------------------------------------------------------

    def _zip(self) -> bytes:
        file = io.BytesIO()
        save_model(self._fitted(), file, dataset=self._model.dataset)
        return file.getvalue()

    def _sql(self) -> bytes:
        from alrviz.estimators.model_sql import save_sql

        file = io.BytesIO()
        save_sql(self._fitted(), file, self.dialect.value, dataset=self._model.dataset)
        return file.getvalue()

    def _joblib(self) -> bytes:
        file = io.BytesIO()
        joblib.dump(self._fitted(), file)
        return file.getvalue()

    def _weights(self) -> str:
        about = race_about(self._model, __version__) | {"fitted on": self._model.rows_words}
        return weights_csv(self._fitted(), about, self._model.recipes)

    # ---- new rows ----------------------------------------------------------------------------------------------

    def _dropped(self, name: str, data: bytes) -> None:
        """Predict a file's rows on a thread."""
        self.predicted.visible = False
        say(self.told, f"<p class='quiet'>predicting {safe(safe_name(name), 60)} &hellip;</p>")
        limits = self._session.registry.limits.table()
        model, known = self._model, self._classifier  # now: another racer may be chosen while the thread works

        def work(stop: StopToken) -> tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]:
            from alrviz.estimators.predict_table import predict_with_notes, predictions_csv

            found, notes = predict_with_notes(known or model.make(), data, limits=limits, keep="all", stop=stop)
            place = list(found.columns).index("prediction")
            plain = found.drop(columns=found.columns[1:place])
            return found, plain, predictions_csv(plain), notes

        def done(given: tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]) -> None:
            self._show(given[1:])
            self._offer_file(f"rows of {safe_name(name)}", given[0], model)

        self._tasks.start("predict", work, done, self._refused)

    def _offer_file(self, rows: str, found: pd.DataFrame, model: FittedModel) -> None:
        """Offer to evaluate the predictions of a file that has the class too."""
        from alrviz.studies.protocols.evaluate import of_predictions

        target = model.dataset.target
        if target in found.columns[: list(found.columns).index("prediction")]:
            about = {"data": rows, "trained on": model.dataset.name}
            judged = Judged(lambda stop, tell: of_predictions(found, (), target, what=rows), about, model.recipes)
            self.evaluation.show(f"{short_names(model.recipes)[0]} on {rows}", judged)

    def _refused(self, error: Exception) -> None:
        say(self.told, f"<p class='bad'>{safe(error_text(error), 600)}</p>")

    def _show(self, found: tuple[pd.DataFrame, str, tuple[str, ...]]) -> None:
        frame, self._predictions, notes = found
        self.predicted.visible = True
        strange = int((frame["unseen"] != "").sum())
        rows = (map(_cell, row) for row in frame.head(SHOWN_ROWS).itertuples(index=False))
        which = f"; the first {SHOWN_ROWS}:" if len(frame) > SHOWN_ROWS else ":"
        say(
            self.told,
            "".join(f"<p class='bad'>{safe(note, 400)}</p>" for note in notes)
            + f"<p>{len(frame):,} rows predicted, {strange:,} with values that training never saw{which}</p>"
            + html_table([safe(name, 40) for name in frame.columns], rows),
        )


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else safe(value, 60)
