"""The page "Interactions": the importance of tuples in a model, its uncertainty, and the explanation of a row."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import panel as pn
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.errors import TableError
from alrviz.estimators.model_file import load_model
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.explorer.recipes.recipe_fields import with_family
from alrviz.explorer.server.tables import MemoryReservation, safe_name
from alrviz.explorer.shell.drop_strip import FileStrip
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.notices import error_text
from alrviz.explorer.shell.theme import button, html, room
from alrviz.explorer.widgets.study_estimate import estimate_recipes, time_line
from alrviz.explorer.widgets.study_page import Recommendation, StudyPage
from alrviz.explorer.widgets.study_spec import Menu, StudySpec, choice, family_menu, recipe_menu
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.effects.interactions import Interactions, interactions
from alrviz.studies.protocols.effect_bands import BAND_FAMILIES, effect_bands, purify_seconds, why_no_bands
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe
from alrviz.views.studies.interactions import InteractionsView

ORDERS = (1, 2, 3, 4)
FILE_WORDS = "Drop a model (.zip), or browse"
FILE_HELP = (
    "A model saved as a zip by save_model, or on this server by 'Export model'. It stays in this server's memory."
)
REFITS = {"0": 0, "10": 10, "30": 30, "100": 100}
HOLDOUT_SHARE = 0.3


def _unpacked_bytes(data: bytes) -> int:
    """Return the unpacked size of a zip in bytes; the size of `data` if it is no zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            return sum(file.file_size for file in zipped.infolist())
    except zipfile.BadZipFile:
        return len(data)


def _release(*reservations: MemoryReservation | None) -> None:
    for reservation in reservations:
        if reservation is not None:
            reservation.release()


@dataclass(frozen=True)
class InteractionsSpec(StudySpec):
    """The effects of one recipe, and the number of refits."""

    noun, icon, study_function, takes_one_recipe = "interactions", "hub", staticmethod(effect_bands), True
    default_recipes = (Recipe("hlr", order=2, alpha=1.0),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": family_menu(BAND_FAMILIES, "order", "alpha"),
        "order": recipe_menu("order", 96, {f"n = {n}": n for n in ORDERS}, "Order"),
        "alpha": recipe_menu("alpha", 104, label="alpha"),
        "refits": Menu("Resampled fits", 120, {name: name for name in REFITS}),
    }
    print_code = """study.run()
print(study.interactions.verdict())
print(study.importance())
"""

    refits: str = choice("30", REFITS)

    @property
    def holdout(self) -> float:
        """Fraction of test rows."""
        return HOLDOUT_SHARE

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first recipe that supports refits with the same cells."""
        supported = (recipe for recipe in recipes if not why_no_bands(recipe))
        return tuple(supported)[:1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the number of refits, and the fraction of test rows."""
        return {"refits": REFITS[self.refits], "holdout": HOLDOUT_SHARE}

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the fit, of the refits, and of computing the effects of each."""
        refits = REFITS[self.refits]
        fits_cost = (1 + refits) * sum((fit.cost for fit in fits), Cost())
        if dataset is None or not fits:
            return fits_cost
        rows, order = round(dataset.n_rows * (1 - HOLDOUT_SHARE)), self.recipe.params["order"]
        seconds = purify_seconds(rows, dataset.X.shape[1], dataset.n_classes, order, refits)
        return fits_cost + Cost(seconds=seconds)

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate the fit, including the memory for the refits' effects in single precision."""
        fits, refits = estimate_recipes(dataset, self.recipes, HOLDOUT_SHARE, stop), REFITS[self.refits]
        effects = (Cost(bytes=4 * fit.cost.parameters * refits) for fit in fits)
        return tuple(replace(fit, cost=fit.cost.alongside(memory)) for fit, memory in zip(fits, effects, strict=True))


class InteractionsPage(StudyPage):
    """The page "Interactions"."""

    title, icon, group, slug = "Interactions", "hub", "Understand", "interactions"
    spec_class, view_class = InteractionsSpec, InteractionsView
    # Above the upper pictures stand the menus, the sentence and the row of Run, below them nothing that must be seen.
    view_params: ClassVar[Mapping[str, Any]] = {"heights": (room(430, 307, 24), "320px")}
    packed_params = ("subset", "quantity", "of", "against", "row", "column", "muted", "labels")
    offers_race = True
    autorun_seconds = 5.0
    cost_text = staticmethod(time_line)  # the time only: the menus fill the row
    _last_racer: Recipe | None = None  # the first supported racer of Convergence at the last request
    _saw_racers: bool = False  # whether there was a request before
    # Memory reserved for the model file that is shown, and for one that is being opened.
    _shown_model_memory: MemoryReservation | None = None
    _opening_model_memory: MemoryReservation | None = None

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the study's widgets, and the part for a model file."""
        menu_row, body = super().build()
        self.strip = FileStrip(
            self.session, self._open_model, self._show_error, FILE_WORDS, FILE_HELP, width=400, margin=(0, 16, 8, 0)
        )
        self.back_button = button("Back to the recipe", self._leave_file, icon="undo", visible=False)
        self.file_text = html(text=about_html("model-file"))
        self.file = Collapsible(
            "Open a model file", self.file_text,
            pn.FlexBox(self.strip, self.back_button, align_items="center", gap="4px", margin=0),
        )  # fmt: skip
        self.study_view.param.watch(lambda event: self._on_model(event.new), "given_effects")
        body.insert(body.objects.index(self.layout.card) + 1, self.file)
        return menu_row, body

    def request_estimate(self) -> None:
        """Use the first supported racer of Convergence if it has changed since the last request.

        A model in the link takes precedence over the racers in the same link.
        """
        session = self.session
        if self.is_front:
            racers = InteractionsSpec.usable_recipes(session.recipes) if session.question == CUSTOM else ()
            racer = racers[0].replace(seed=self.spec.recipe.seed) if racers else None
            is_new, is_first_request = racer != self._last_racer, not self._saw_racers
            is_from_link = is_first_request and self.spec.recipes != type(self.spec)(cuts=self.spec.cuts).recipes
            self._last_racer, self._saw_racers = racer, True
            if racer is not None and is_new and not is_from_link and (racer,) != self.spec.recipes:
                self.change(replace(self.spec, recipes=(racer,)))
                return
        super().request_estimate()

    def _open_model(self, name: str, data: bytes) -> None:
        """Compute the effects of a model file on the session's table."""
        dataset, name = self.session.table.dataset, safe_name(name)
        reservation = MemoryReservation(self.session.registry.tables, self.session.owner)
        try:
            reservation.resize(_unpacked_bytes(data))
        except TableError as error:
            self._show_error(error)
            return
        _release(self._opening_model_memory)  # a file that was still being opened is replaced
        self._opening_model_memory = reservation
        say(self.file_text, f"<p class='quiet'>analysing {safe(name, 60)} &hellip;</p>")

        def work(stop: StopToken) -> Interactions:
            model = interactions(load_model(io.BytesIO(data)), dataset, stop=stop)
            model.importance(stop)
            model.keep_best(stop=stop)
            model.next_order(stop)
            return model

        def finish(model: Interactions) -> None:
            try:
                reservation.resize(model.nbytes)
            except TableError as error:
                fail(error)
                return
            _release(self._shown_model_memory)
            self._shown_model_memory, self._opening_model_memory = reservation, None
            description = f"{safe(name, 60)} on {safe(dataset.name if dataset else '', 60)}"
            say(self.file_text, f"<p>Model shown: <b>{description}</b>, {model.encoded.n_rows:,} rows.</p>")
            origin = {"model": name, "data": dataset.name, "data hash": dataset.hash} if dataset else {}
            self.study_view.show_model(model, origin)
            self.update()

        def fail(error: Exception) -> None:
            _release(reservation)
            self._opening_model_memory = None
            self._show_error(error)

        self.tasks.start("model file", work, finish, fail)

    def _show_error(self, error: Exception) -> None:
        say(self.file_text, f"<p class='bad'>The model cannot be analysed: {safe(error_text(error), 600)}</p>")

    def _on_model(self, model: Interactions | None) -> None:
        """Update the button; release the memory of a file's model when the recipe's study replaces it."""
        self.back_button.visible = model is not None
        if model is None:
            _release(self._shown_model_memory)
            self._shown_model_memory = None
            say(self.file_text, about_html("model-file"))

    def _leave_file(self) -> None:
        if self.runner.costs is not None:  # else it is shown when the estimate arrives
            self.runner.show(self.runner.costs)

    def pump(self) -> bool:
        """Take over what threads have finished and files have been received; return whether there may be more."""
        receiving = self.strip.pump()
        return super().pump() or receiving

    def close(self) -> None:
        """Cancel the page's tasks, and the upload of a file."""
        if "strip" in vars(self):  # it is built on the first visit
            self.strip.cancel()
        _release(self._shown_model_memory, self._opening_model_memory)
        super().close()

    def recommendation(self) -> Recommendation | None:
        """Return the fitted model and its rival; None for a model file, which has no recipe."""
        if getattr(self.study_view.study, "interactions", None) is None:
            return None
        model = self.spec.recipe.replace(seed=self.session.seed)
        rival = with_family(model, model.definition.rival or "alr", "order", "alpha")
        return Recommendation("this model", lambda: (model, rival))
