"""The page "Interactions": which tuples matter to a model, how sure that is, and why it predicts a row so."""

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
from alrviz.explorer.recipes.questions import OWN
from alrviz.explorer.recipes.recipe_fields import alphas_beside
from alrviz.explorer.server.tables import UploadClaim, safe_name
from alrviz.explorer.shell.drop_strip import FileStrip
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.notices import error_text
from alrviz.explorer.shell.theme import button, html
from alrviz.explorer.widgets.study_estimate import estimate_recipes, time_line
from alrviz.explorer.widgets.study_page import Answer, StudyPage
from alrviz.explorer.widgets.study_spec import Menu, StudySpec, choice, recipe_menu
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.effects.interactions import Interactions, interactions
from alrviz.studies.protocols.effect_bands import FAMILIES, effect_bands, no_bands, taking_apart_seconds
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe
from alrviz.views.studies.interactions import InteractionsView

ORDERS = (1, 2, 3, 4)
FILE_WORDS = "Drop a model (.zip), or browse"
FILE_TOLD = (
    "A model saved as a zip by save_model, or on this server by 'Export model'. It stays in this server's memory."
)
REFITS = {"0": 0, "10": 10, "30": 30, "100": 100}
HOLDOUT = 0.3


def _unpacked(data: bytes) -> int:
    """Bytes of the files in a zip; of what is none its own."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            return sum(one.file_size for one in zipped.infolist())
    except zipfile.BadZipFile:
        return len(data)


def _release(*rooms: UploadClaim | None) -> None:
    for room in rooms:
        if room is not None:
            room.release()


def _family(spec: "InteractionsSpec", family: str) -> "InteractionsSpec":
    before = spec.recipe
    taken = {name: before.params[name] for name in ("order", "alpha") if name in before.params}
    own = {name: value for name, value in taken.items() if name in Recipe(family).params}
    return replace(
        spec, recipes=(Recipe(family, seed=before.seed, discretize=before.discretize, n_bins=before.n_bins, **own),)
    )


def _alphas(spec: "InteractionsSpec") -> dict[str, Any]:
    return {in_digits(a): a for a in alphas_beside(spec.recipe.params["alpha"])}


@dataclass(frozen=True)
class InteractionsSpec(StudySpec):
    """One recipe, and how many refits."""

    noun, icon, make, single = "interactions", "hub", staticmethod(effect_bands), True
    first = (Recipe("hlr", order=2, alpha=1.0),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": Menu("Family", 104, {name: name for name in FAMILIES}, lambda spec: spec.recipe.family, _family),
        "order": recipe_menu("order", 96, {f"n = {n}": n for n in ORDERS}, "Order"),
        "alpha": recipe_menu("alpha", 104, _alphas, "alpha"),
        "refits": Menu("Refits", 96, {name: name for name in REFITS}),
    }
    prints = """study.run()
print(study.interactions.sentence())
print(study.importance())
"""

    refits: str = choice("30", REFITS)

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return self.recipes[0]

    @property
    def holdout(self) -> float:
        """Share of the rows that losses are measured on."""
        return HOLDOUT

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first whose cells refits share."""
        found = (recipe for recipe in recipes if not no_bands(recipe))
        return tuple(found)[:1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return how many refits, and the share of test rows."""
        return {"refits": REFITS[self.refits], "holdout": HOLDOUT}

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the fit and the refits, and of taking each apart."""
        refits = REFITS[self.refits]
        total = (1 + refits) * sum((one.cost for one in fits), Cost())
        if dataset is None or not fits:
            return total
        rows, order = round(dataset.n_rows * (1 - HOLDOUT)), self.recipe.params["order"]
        seconds = taking_apart_seconds(rows, dataset.X.shape[1], dataset.n_classes, order, refits)
        return total + Cost(seconds=seconds)

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate the fit, and what the refits say of each cell, in single precision."""
        fits, refits = estimate_recipes(dataset, self.recipes, HOLDOUT, stop), REFITS[self.refits]
        effects = (Cost(bytes=4 * one.cost.parameters * refits) for one in fits)
        return tuple(replace(one, cost=one.cost.alongside(own)) for one, own in zip(fits, effects, strict=True))


class InteractionsPage(StudyPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Interactions", "hub", "Understand", "interactions"
    spec_of, view_of = InteractionsSpec, InteractionsView
    viewed = ("subset", "quantity", "of", "against", "row", "column", "muted", "labels")
    use_hint = "race this model on the page Convergence"
    at_once = 5.0
    cost_text = staticmethod(time_line)  # the time alone: the menus leave no more room
    _raced: Recipe | None = None  # the racer that was to be taken apart when racers were looked at last
    _shown_racers: bool = False  # whether racers were looked at before
    # What the file's model that is shown takes of the server's memory, and what the one that is being opened does.
    _shown_room: UploadClaim | None = None
    _coming_room: UploadClaim | None = None

    def build(self) -> tuple[Viewable, Viewable]:
        """Make what every study page shows, and the part that takes a model file."""
        first, below = super().build()
        self.strip = FileStrip(
            self.session, self._dropped, self._refused, FILE_WORDS, FILE_TOLD, width=400, margin=(0, 16, 8, 0)
        )
        self.back = button("Back to the recipe", self._leave_file, icon="undo", visible=False)
        self.said = html(text=about_html("model-file"))
        self.file = Collapsible(
            "Your own model: open a file", self.said,
            pn.FlexBox(self.strip, self.back, align_items="center", gap="4px", margin=0),
        )  # fmt: skip
        self.study_view.param.watch(lambda event: self._shown(event.new), "given_effects")
        below.insert(below.objects.index(self.layout.card) + 1, self.file)
        return first, below

    def ask(self) -> None:
        """Learn of what is set: of racers set since it was looked at last, by "Use this" or by hand, the first whose
        cells refits share. A model that a link asks for comes before the racers in it.
        """
        session = self.session
        if self.front:
            found = InteractionsSpec.usable(session.recipes) if session.question == OWN else ()
            raced = found[0].replace(seed=self.spec.recipe.seed) if found else None
            changed, given = raced != self._raced, self.spec.recipes != type(self.spec)(cuts=self.spec.cuts).recipes
            given, self._raced, self._shown_racers = given and not self._shown_racers, raced, True
            if raced is not None and changed and not given and (raced,) != self.spec.recipes:
                self.change(replace(self.spec, recipes=(raced,)))
                return
        super().ask()

    def _dropped(self, name: str, data: bytes) -> None:
        """Take the model of a file apart, on the table that is chosen."""
        dataset, name = self.session.table.dataset, safe_name(name)
        room = self.session.registry.tables.claim(self.session.owner)
        try:
            room.resize(_unpacked(data))
        except TableError as error:
            self._refused(error)
            return
        _release(self._coming_room)  # of one that was still being opened: its work is replaced
        self._coming_room = room
        say(self.said, f"<p class='quiet'>{safe(name, 60)} is taken apart &hellip;</p>")

        def work(stop: StopToken) -> Interactions:
            found = interactions(load_model(io.BytesIO(data)), dataset, stop=stop)
            found.importance(stop)
            found.keep_best(stop=stop)
            found.next_order(stop)
            return found

        def done(found: Interactions) -> None:
            try:
                room.resize(found.nbytes)
            except TableError as error:
                failed(error)
                return
            _release(self._shown_room)
            self._shown_room, self._coming_room = room, None
            of = f"{safe(name, 60)} on {safe(dataset.name if dataset else '', 60)}"
            say(self.said, f"<p>Shown is the model of <b>{of}</b>, {found.encoded.n_rows:,} rows.</p>")
            about = {"model": name, "data": dataset.name, "data hash": dataset.hash} if dataset else {}
            self.study_view.show_model(found, about)
            self.update()

        def failed(error: Exception) -> None:
            _release(room)
            self._coming_room = None
            self._refused(error)

        self.tasks.start("model file", work, done, failed)

    def _refused(self, error: Exception) -> None:
        say(self.said, f"<p class='bad'>The model cannot be taken apart: {safe(error_text(error), 600)}</p>")

    def _shown(self, given: Interactions | None) -> None:
        """Where the recipe's study has taken the place of a file's model, that leaves the memory."""
        self.back.visible = given is not None
        if given is None:
            _release(self._shown_room)
            self._shown_room = None
            say(self.said, about_html("model-file"))

    def _leave_file(self) -> None:
        if self.runner.costs is not None:  # otherwise it follows when they are estimated
            self.runner.show(self.runner.costs)

    def pump(self) -> bool:
        """Take over what threads have finished, and what comes of a file; returns whether there may be more."""
        coming = self.strip.pump()
        return super().pump() or coming

    def close(self) -> None:
        """End the threads' work, and a file that still comes."""
        if "strip" in vars(self):  # it is built on the first visit
            self.strip.cancel()
        _release(self._shown_room, self._coming_room)
        super().close()

    def answer(self) -> Answer | None:
        """Return the model once it is fitted, and its rival beside it; not that of a file, which is no recipe."""
        if getattr(self.study_view.study, "interactions", None) is None:
            return None
        mine = self.spec.recipe.replace(seed=self.session.seed)
        shared = {name: mine.params[name] for name in ("order", "alpha") if name in mine.params}
        other = mine.definition.rival or "alr"
        known = {name: value for name, value in shared.items() if name in Recipe(other).params}
        return Answer("this model", lambda: (mine, Recipe(other, seed=self.session.seed, **known)))
