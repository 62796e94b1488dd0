"""The folded part of a page that exports a model fitted there, and predicts new rows with it.

It appears when a race has ended. A dropped file is only ever read as a table, never as a model.
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
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.notices import error_text
from alrviz.explorer.shell.theme import html
from alrviz.explorer.widgets.evaluation_part import EvaluableModel, EvaluationPart
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.export import race_provenance, weights_csv
from alrviz.studies.core.names import short_names
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import say
from alrviz.views.core.saving import csv_button, file_button
from alrviz.views.core.style import html_table, safe

# Largest model (seen cells x classes, or votes) that can be saved on the page: it takes a third of a second.
MAX_NUMBERS = 500_000
MAX_PREVIEW_ROWS = 5  # predictions
DATABASES = {"DuckDB": "duckdb", "SQLite": "sqlite", "PostgreSQL": "postgres"}
NEW_ROWS_LABEL = "New rows: drop a file, or browse"


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model that was fitted on a page.

    Attributes:
        name: its name on the page.
        recipes: a tuple of its one recipe; a placeholder for a model of scikit-learn.
        dataset: the `Dataset` or `Stream`.
        n_rows: number of training rows.
        size: cells x classes; for dlr the stored training values that vote for the densities, over all columns; 0 if
            not exportable.
        make: function without arguments that returns the classifier.
        evaluable: its evaluation on test rows.
        exportable: whether it can be saved to a file.
    """

    name: str
    recipes: tuple[Recipe]
    dataset: Any
    n_rows: int
    size: int
    make: Callable[[], RecipeClassifier]
    evaluable: EvaluableModel
    exportable: bool = True

    @property
    def rows_text(self) -> str:
        """The numbers of training and test rows, in words."""
        n_total = self.dataset.n_rows
        if self.n_rows >= n_total:
            return f"all {self.n_rows:,} rows"
        return f"{self.n_rows:,} of {n_total:,} rows ({n_total - self.n_rows:,} are test rows)"


def models_of_race(race: Any) -> dict[int, FittedModel]:
    """Return the models of a finished race by position of the racer; recorded races and failed fits have none."""
    names = short_names([run.recipe for run in race.runs])
    return {
        k: _model_of_run(name, run)
        for k, (name, run) in enumerate(zip(names, race.runs, strict=True))
        if getattr(run, "state", None) is not None and run.outcome.code not in ("diverged", "failed")
    }


def _model_of_run(name: str, run: Any) -> FittedModel:
    """Return a finished run as a model. name: its name on the page."""
    from alrviz.studies.protocols.evaluate import evaluate
    from alrviz.studies.protocols.report_facts import report_of_run

    dataset = run.dataset
    n_rows = round(run.trace.rows) if run.encoded is None else len(run.encoded.y)
    columns = getattr(getattr(run.model, "features", None), "columns", ())
    n_numbers = int(run.tables.counts.size) if run.tables is not None else sum(len(column.values) for column in columns)
    evaluable = EvaluableModel(
        lambda stop, tell: evaluate(run), _provenance(dataset, run.recipe.seed), [run.recipe],
        report=None if isinstance(dataset, Stream) else lambda stop, tell: report_of_run(run, stop, tell),
    )  # fmt: skip
    return FittedModel(name, (run.recipe,), dataset, n_rows, n_numbers, lambda: estimator_of(run), evaluable)


def model_of_peer(name: str, classifier: Any, dataset: Dataset, n_rows: int, holdout: float, seed: int) -> FittedModel:
    """Return the model of a classifier fitted on `n_rows` of a table; `holdout` and `seed` give its test rows."""
    from alrviz.studies.protocols.evaluate import evaluate_split

    def make() -> RecipeClassifier:
        recipe_classifier: RecipeClassifier = classifier
        recipe_classifier.spec_ = spec_of(dataset, recipe_classifier.encoder_)
        return recipe_classifier

    evaluable = EvaluableModel(
        lambda stop, tell: evaluate_split(classifier, dataset, split_table(dataset, holdout, seed)),
        _provenance(dataset, seed) | {"model": name},
    )
    recipe = classifier.to_recipe() if isinstance(classifier, RecipeClassifier) else Recipe("lr")
    family, n_numbers = recipe.definition, 0
    exportable = isinstance(classifier, RecipeClassifier) and family.counts_cells and not family.has_steps
    if exportable:
        n_numbers = int((classifier.counts_ if family.shows_weights else classifier.tables_.counts).size)
    return FittedModel(name, (recipe,), dataset, n_rows, n_numbers, make, evaluable, exportable)


def _provenance(dataset: Any, seed: int) -> dict[str, Any]:
    return {"data": dataset.name, "data hash": dataset.hash, "seed": seed}


class ExportModel:
    """The part's widgets: `part` and `evaluation.part` go into the page's layout, and its pump calls `pump`."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._race_or_model: Any = None  # the race or model that is offered
        self._models: dict[int, FittedModel] = {}
        self._classifier: RecipeClassifier | None = None
        self._predictions = ""
        self.folded: Collapsible | None = None
        self.part = pn.Column(visible=False, sizing_mode="stretch_width", margin=0)
        self.evaluation = EvaluationPart(session, tasks)

    def _build(self) -> Collapsible:
        self.racer = pmui.Select(label="Model of", width=280, size="small", margin=(0, 16, 0, 0))
        self.racer.param.watch(lambda _: self._on_choice(), "value")
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
        predictions_hint = "class and probabilities of every row"
        self.predicted = csv_button(
            "alrviz-predictions.csv", lambda: self._predictions, predictions_hint, "Predictions (CSV)"
        )
        self.predicted.visible = False
        help_pane, self.status = html(text=about_html("export")), html()
        self.strip = FileStrip(
            self._session, self._predict_file, self._show_error, NEW_ROWS_LABEL, width=400, margin=(8, 16, 8, 0)
        )
        buttons = (self.racer, self.zipped, self.pickled, self.weights, self.dialect, self.sql)
        return Collapsible(
            "Export model, or predict new rows", help_pane,
            pn.FlexBox(*buttons, align_items="center", gap="4px", sizing_mode="stretch_width", margin=(8, 0)),
            pn.Row(self.strip, self.predicted, align="center", sizing_mode="stretch_width", margin=0), self.status,
        )  # fmt: skip

    # ---- which model -------------------------------------------------------------------------------------------

    def pump(self, race_or_model: Any) -> bool:
        """Offer a fitted model, or those of a race once it has ended, for evaluation and export.

        Returns whether a dropped file of new rows is still arriving.
        """
        if race_or_model is not None and not isinstance(race_or_model, FittedModel) and not race_or_model.ended:
            race_or_model = None
        if race_or_model is not self._race_or_model:
            self._race_or_model = race_or_model
            self._offer_models()
        return self.folded is not None and self.strip.pump()

    def _offer_models(self) -> None:
        """Offer the models of the race shown, or the one model, for evaluation and export."""
        offered = self._race_or_model
        self._models = (
            {} if offered is None else {0: offered} if isinstance(offered, FittedModel) else models_of_race(offered)
        )
        self.evaluation.offer(offered, {model.name: model.evaluable for model in self._models.values()})
        options = {model.name: k for k, model in self._models.items() if model.exportable}
        self.part.visible = bool(options)
        if not options:
            return
        if self.folded is None:  # built late, so that the page opens sooner
            self.folded = self._build()
            self.part[:] = [self.folded]
        self.racer.param.update(options=options, value=next(iter(options.values())), visible=len(options) > 1)
        self._on_choice()

    @property
    def _chosen_model(self) -> FittedModel:
        return self._models[self.racer.value]

    def _on_choice(self) -> None:
        self._classifier, self._predictions = None, ""
        self._tasks.cancel("predict")
        self.predicted.visible = False
        model = self._chosen_model
        is_small = model.size <= MAX_NUMBERS
        for button in (self.zipped, self.pickled):
            button.visible = is_small
        for control in (self.weights, self.dialect, self.sql):
            control.visible = is_small and model.recipes[0].definition.shows_weights
        too_large_text = (
            f"This model has {model.size:,} numbers, too many to save from this page: the script behind Python fits "
            "it, and <code>alrviz.save_model(model, 'model.zip')</code> saves it"
        )
        say(self.status, f"<p>{f'Fitted on {model.rows_text}' if is_small else too_large_text}.</p>")

    def _classifier_of_choice(self) -> RecipeClassifier:
        if self._classifier is None:
            self._classifier = self._chosen_model.make()
        return self._classifier

    # ---- files -------------------------------------------------------------------------------------------------

    def _zip(self) -> bytes:
        file = io.BytesIO()
        save_model(self._classifier_of_choice(), file, dataset=self._chosen_model.dataset)
        return file.getvalue()

    def _sql(self) -> bytes:
        from alrviz.estimators.model_sql import save_sql

        file = io.BytesIO()
        save_sql(self._classifier_of_choice(), file, self.dialect.value, dataset=self._chosen_model.dataset)
        return file.getvalue()

    def _joblib(self) -> bytes:
        file = io.BytesIO()
        joblib.dump(self._classifier_of_choice(), file)
        return file.getvalue()

    def _weights(self) -> str:
        origin = race_provenance(self._chosen_model, __version__) | {"fitted on": self._chosen_model.rows_text}
        return weights_csv(self._classifier_of_choice(), origin, self._chosen_model.recipes)

    # ---- new rows ----------------------------------------------------------------------------------------------

    def _predict_file(self, name: str, data: bytes) -> None:
        """Predict a file's rows on a thread."""
        self.predicted.visible = False
        say(self.status, f"<p class='quiet'>predicting {safe(safe_name(name), 60)} &hellip;</p>")
        limits = self._session.registry.limits.table()
        # Read now: the choice may change while the thread works.
        model, classifier = self._chosen_model, self._classifier

        def work(stop: StopToken) -> tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]:
            from alrviz.estimators.predict_table import predict_with_notes, predictions_csv

            predictions, notes = predict_with_notes(
                classifier or model.make(), data, limits=limits, keep="all", stop=stop
            )
            position = list(predictions.columns).index("prediction")
            exported = predictions.drop(columns=predictions.columns[1:position])
            return predictions, exported, predictions_csv(exported), notes

        def finish(result: tuple[pd.DataFrame, pd.DataFrame, str, tuple[str, ...]]) -> None:
            self._show_predictions(result[1:])
            self._offer_file(f"rows of {safe_name(name)}", result[0], model)

        self._tasks.start("predict", work, finish, self._show_error)

    def _offer_file(self, rows: str, predictions: pd.DataFrame, model: FittedModel) -> None:
        """Offer to evaluate the predictions if the file has the class too. rows: a name of the rows, for texts."""
        from alrviz.studies.protocols.evaluate import evaluate_predictions

        target = model.dataset.target
        if target in predictions.columns[: list(predictions.columns).index("prediction")]:
            origin = {"data": rows, "trained on": model.dataset.name}
            evaluable = EvaluableModel(
                lambda stop, tell: evaluate_predictions(predictions, (), target, rows_text=rows), origin, model.recipes
            )
            self.evaluation.show(f"{short_names(model.recipes)[0]} on {rows}", evaluable)

    def _show_error(self, error: Exception) -> None:
        say(self.status, f"<p class='bad'>{safe(error_text(error), 600)}</p>")

    def _show_predictions(self, result: tuple[pd.DataFrame, str, tuple[str, ...]]) -> None:
        """Show the first rows. result: of `_predict_file`: predictions, their CSV, and notes."""
        frame, self._predictions, notes = result
        self.predicted.visible = True
        n_unseen = int((frame["unseen"] != "").sum())
        rows = (map(_cell_html, row) for row in frame.head(MAX_PREVIEW_ROWS).itertuples(index=False))
        suffix = f"; the first {MAX_PREVIEW_ROWS}:" if len(frame) > MAX_PREVIEW_ROWS else ":"
        say(
            self.status,
            "".join(f"<p class='bad'>{safe(note, 400)}</p>" for note in notes)
            + f"<p>{len(frame):,} rows predicted, {n_unseen:,} with values that training rows do not have{suffix}</p>"
            + html_table([safe(name, 40) for name in frame.columns], rows),
        )


def _cell_html(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else safe(value, 60)
