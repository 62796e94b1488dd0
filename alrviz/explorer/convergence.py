"""The Convergence page: a question chooses the racers, Run lets them race, one sentence says what came of it.

The first screen is alive: a recorded race is there at once, and a live one takes its place as soon as the table is
made. What computes (prices, the picture of why) does so on threads and arrives with the pump; the race itself is
watched by a `RaceView`, which this page feeds with races and never looks into.
"""

from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.explorer.convergence_dialogs import Dialogs
from alrviz.explorer.convergence_words import ABOUT, WHY, price_html, rich
from alrviz.explorer.glossary import explain
from alrviz.explorer.loading import Loading
from alrviz.explorer.look import CARD, PANE_CSS
from alrviz.explorer.questions import ALPHAS, EXAMPLES, FIRST, MOST_RACERS, OWN, QUESTIONS, STEPS, recipes_of
from alrviz.explorer.racer_chips import RacerChips
from alrviz.explorer.racer_settings import RacerSettings
from alrviz.explorer.session import Session
from alrviz.fitting.recipe import Recipe
from alrviz.studies.names import short_names
from alrviz.studies.recorded import read_recorded
from alrviz.views.folded import Folded
from alrviz.views.race_view import RaceView
from alrviz.views.style import HEARD

if TYPE_CHECKING:
    from alrviz.fitting.price import Price

FILE = "@file"  # the data menu's entry for a table that was dropped
AT_ONCE = 6.0  # seconds: what is priced below them starts by itself when the page opens or an example is chosen
_PILL = {"borderRadius": "16px", "color": "text.primary", "borderColor": "divider"}
PULL = 0.1  # alpha of a question about what the weights are pulled toward, until another is chosen
_TYPICAL = 300  # iterations such an estimate counts on


class ConvergencePage:
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Convergence", "show_chart", "See", "convergence"

    def __init__(self, session: Session):
        self.session = session
        self.question = session.question if session.question in (*QUESTIONS, OWN) else FIRST
        asked = QUESTIONS.get(self.question)
        self.order, self.alpha = 2, PULL if asked is not None and asked.pulls else 0.0
        self.recipes: tuple[Recipe, ...] = session.recipes
        self._jobs: dict[str, Loading[Any]] = {}
        self._priced: list[tuple[str, Price]] = []
        self._priced_for: Any = None
        self._found = session.entry is not None  # a race was there on arrival: its settings are shown
        self._autorun = not self._found
        self._setting = False
        self._why_of: Any = None
        self.refused = ""  # why a racer cannot be paid for
        self._pressed = False  # Run was pressed before the price was known

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        session = self.session
        race = session.race
        if race is not None:
            self.recipes = tuple(race.recipes)
        if self.recipes:
            self._read_controls()
        else:
            self.recipes = recipes_of(self.question, order=self.order, alpha=self.alpha, seed=session.seed)
        self.race_view = RaceView(again=self.new_race, wake=session.wake, measure="gap")
        if session.axis in self.race_view.param.axis.objects:
            self.race_view.axis = session.axis
        self.race_view.param.watch(lambda event: session.param.update(axis=event.new), "axis")
        self.dialogs = Dialogs(session)
        self._build_controls()
        self._show_controls()
        if race is not None:
            self.race_view.show(race)
        elif self._is_first_screen():
            self.race_view.show(read_recorded(recorded_text()))
        session.param.watch(lambda _: self._table_changed(), "dataset")
        if session.dataset is not None:
            self._table_changed()
        return pn.Column(
            self._top, self._second, self._card, self._why, self._about, *self.dialogs.panels,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def _is_first_screen(self) -> bool:
        state = self.session.state
        return state.data == "led" and state.file is None and self.recipes == recipes_of(FIRST, seed=0)

    def _build_controls(self) -> None:
        self._question = _select("Question", {of.words: slug for slug, of in QUESTIONS.items()}, 232)
        self._data = _select("Data", {}, 176)
        self._order = pmui.RadioButtonGroup(
            options={"n = 1": 1, "n = 2": 2, "n = 3": 3},
            size="small",
            label="Order",
            stylesheets=[HEARD],
            margin=(0, 12, 0, 0),
        )
        self._alpha = _select("alpha", {f"{a:g}": a for a in ALPHAS}, 104, description=explain("alpha"))
        for widget, changed in (
            (self._question, self._question_changed),
            (self._data, self._data_changed),
            (self._order, self._order_changed),
            (self._alpha, self._alpha_changed),
        ):
            widget.param.watch(lambda event, changed=changed: self._setting or changed(event.new), "value")
        examples = []
        for example in EXAMPLES:
            chip = pmui.Button(
                label=example.words, description=f"{example.words}: {example.hint}", variant="outlined",
                size="small", color="default", margin=(0, 0, 0, 6), sx=_PILL,
            )  # fmt: skip
            chip.on_click(lambda _, example=example: self.show_example(example))
            examples.append(chip)
        try_it = pn.pane.HTML("<span class='quiet'>Try:</span>", stylesheets=[PANE_CSS], margin=0, align="center")
        self._top = pmui.Row(
            self._question, self._data, self._order, self._alpha, pn.HSpacer(), try_it, *examples,
            sizing_mode="stretch_width", margin=(0, 0, 8, 0),
        )  # fmt: skip
        self.chips = RacerChips(self._open_racer, self._add_racer)
        self._price = pn.pane.HTML("", stylesheets=[PANE_CSS], align="center", margin=(0, 8))
        python = _text_button("Python", "code", "Python: copy this race as a script whose numbers are the screen's")
        share = _text_button("Share", "share", "Share: a link that shows this race and cannot touch it")
        python.on_click(lambda _: self.dialogs.show_script(self.recipes, __version__))
        share.on_click(lambda _: self.dialogs.show_share())
        self._second = pmui.Row(
            self.chips.panel, pn.HSpacer(), self._price, python, share, sizing_mode="stretch_width", margin=(0, 0, 8, 0)
        )
        self._card = pn.Column(self.race_view, styles=CARD, sizing_mode="stretch_width", margin=0)
        self._why_pane = pn.pane.Bokeh(margin=0)
        why_text = pn.pane.HTML(rich(WHY), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(0, 0, 0, 16))
        self._why = Folded(
            "The picture of why", pn.Row(self._why_pane, why_text, sizing_mode="stretch_width", margin=0)
        )
        self._why.param.watch(lambda _: self._show_why(), "open")
        about = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        self._about = Folded("What am I looking at?", about)

    @cached_property
    def settings(self) -> RacerSettings:
        """The settings of the racer chosen, and of all racers; built when they are first opened."""
        return RacerSettings(self._racer_changed, self._racer_removed, self._shared_changed)

    def drawer(self) -> Any:
        """The settings of the racer chosen, and of all racers."""
        return self.settings.panel

    # ---- showing -----------------------------------------------------------------------------------------------

    def _read_controls(self) -> None:
        """Set order, alpha and question to what the racers (from a link, or of a race found again) have."""
        params = [recipe.params for recipe in self.recipes]
        self.order = int(params[0].get("order", 2))
        self.alpha = float(params[0].get("alpha", 0.0))
        for slug in dict.fromkeys((self.question, *QUESTIONS)):
            seed = self.recipes[0].seed
            if slug != OWN and self.recipes == recipes_of(slug, order=self.order, alpha=self.alpha, seed=seed):
                self.question = slug
                return
        self.question = OWN

    def _show_controls(self) -> None:
        session, dataset = self.session, self.session.dataset
        self._setting = True
        try:
            own = {"My own racers": OWN} if self.question == OWN else {}
            self._question.options = {of.words: slug for slug, of in QUESTIONS.items()} | own
            self._question.value = self.question
            self._question.description = (
                QUESTIONS[self.question].why if self.question in QUESTIONS else "Racers as you set them"
            )
            self._data.options = self._data_options()
            self._data.value = FILE if FILE in self._data.options.values() else (session.demo or ("led",))[0]
            asked = QUESTIONS.get(self.question)
            self._order.visible = asked is None or asked.orders
            self._order.value = self.order if self.order in (1, 2, 3) else None
            alphas = sorted({*ALPHAS, self.alpha} - ({0.0} if asked is not None and asked.pulls else set()))
            self._alpha.options = {f"{a:g}": a for a in alphas}
            self._alpha.value = self.alpha
        finally:
            self._setting = False
        self.chips.show(self.recipes)
        self._check_outdated()
        if dataset is not None:
            self._ask_price()

    def _data_options(self) -> dict[str, str]:
        from alrviz.data.demos import demo_names

        options = {name: name for name in demo_names()}
        dataset = self.session.dataset
        if self.session.file is not None and dataset is not None:
            options = {f"{dataset.name} (yours)": FILE, **options}
        return options

    def _check_outdated(self) -> None:
        """Mark the picture when it is not the one of the settings."""
        race, dataset = self.race_view.race, self.session.dataset
        if race is None or dataset is None:
            return
        self.race_view.outdated = tuple(race.recipes) != self.recipes or race.dataset.hash != dataset.hash

    def _set_recipes(self, recipes: tuple[Recipe, ...]) -> None:
        self.recipes = recipes
        first = recipes == recipes_of(FIRST, seed=self.session.seed)
        self.session.param.update(
            recipes=() if first else recipes, question="" if first or self.question == FIRST else self.question
        )
        self._show_controls()

    def _ask(self) -> None:
        """Set the racers to those of the question."""
        dataset = self.session.dataset
        columns = dataset.X.shape[1] if dataset is not None else MOST_RACERS
        asked = QUESTIONS.get(self.question)
        if asked is None:
            changed = (recipe.replace(order=min(self.order, columns), alpha=self.alpha) for recipe in self.recipes)
            self._set_recipes(tuple(dict.fromkeys(changed)))
            return
        if asked.pulls and not self.alpha:
            self.alpha = PULL
        self.order = min(self.order, columns)
        self._set_recipes(
            recipes_of(self.question, order=self.order, alpha=self.alpha, seed=self.session.seed, columns=columns)
        )

    # ---- controls ----------------------------------------------------------------------------------------------

    def _question_changed(self, slug: str) -> None:
        self.question = slug
        self._ask()

    def _order_changed(self, order: int) -> None:
        self.order = order
        self._ask()

    def _alpha_changed(self, alpha: float) -> None:
        self.alpha = alpha
        self._ask()

    def _data_changed(self, name: str) -> None:
        if name and name != FILE:
            self.session.load_demo(name)

    def show_example(self, example: Any) -> None:
        """Set everything to an example and race as soon as its table is there."""
        self.question, self.order, self.alpha = FIRST, example.order, 0.0
        self._autorun = True
        if self.session.demo is not None and self.session.demo[0] == example.data and self.session.dataset is not None:
            self._ask()
            self._start_if_cheap()
        else:
            self.session.load_demo(example.data)

    def _open_racer(self, number: int) -> None:
        self._show_racer(number)
        self.session.open_drawer(True)

    def _show_racer(self, number: int) -> None:
        number = min(number, len(self.recipes) - 1)
        names = short_names(self.recipes)
        self.settings.show(number, self.recipes[number], names[number], alone=len(self.recipes) == 1)

    def _add_racer(self) -> None:
        if len(self.recipes) >= MOST_RACERS:
            return
        common = {name: self.recipes[0].params[name] for name in ("order", "alpha") if name in self.recipes[0].params}
        fresh = Recipe("lr", scale="diagonal", start="zero", max_iter=STEPS, seed=self.session.seed, **common)
        self.question = OWN
        self._set_recipes((*self.recipes, fresh))
        self._open_racer(len(self.recipes) - 1)

    def _racer_changed(self, number: int, recipe: Recipe) -> None:
        self.question = OWN
        self._set_recipes((*self.recipes[:number], recipe, *self.recipes[number + 1 :]))
        self._show_racer(number)

    def _racer_removed(self, number: int) -> None:
        if len(self.recipes) > 1:
            self.question = OWN
            self._set_recipes((*self.recipes[:number], *self.recipes[number + 1 :]))
            self._show_racer(max(number - 1, 0))

    def _shared_changed(self, changes: dict[str, Any]) -> None:
        self.question = OWN
        self._set_recipes(tuple(recipe.replace(**changes) for recipe in self.recipes))

    # ---- table, price, race --------------------------------------------------------------------------------------

    def _table_changed(self) -> None:
        dataset = self.session.dataset
        if dataset is None:
            return
        self._why_of = None
        if any(recipe.seed != self.session.seed for recipe in self.recipes):
            self.recipes = tuple(recipe.replace(seed=self.session.seed) for recipe in self.recipes)
        if self._found or self.question == OWN:
            self._found = False
            self._show_controls()
        else:
            self._ask()

    def _ask_price(self) -> None:
        """Price the racers on this table, unless that was asked already."""
        dataset, recipes = self.session.dataset, self.recipes
        if dataset is None or self._priced_for == (dataset.hash, recipes):
            return
        self._priced_for, self._priced, self.refused, self._pressed = (dataset.hash, recipes), [], "", False
        self._price.object = "<span class='quiet'>pricing …</span>"

        def work(stop: Any) -> "list[tuple[str, Price]]":
            return priced(dataset, recipes, stop)

        self._work("price", work, self._price_arrived, self._price_failed)

    def _price_arrived(self, found: "list[tuple[str, Price]]") -> None:
        self._priced = found
        self._price.object, _ = price_html(found)
        self.refused = next((f"{name} is refused: {price.refused}" for name, price in found if price.refused), "")
        if self._pressed:
            self._pressed = self._autorun = False
            self.race_view.press_run()
        else:
            self._start_if_cheap()

    def _start_if_cheap(self) -> None:
        if not self._autorun or not self._priced or self.session.read_only:
            return
        self._autorun = False
        spent = sum(price.seconds_per_pass or 0.0 for _, price in self._priced) * _TYPICAL
        if not self.refused and spent < AT_ONCE:
            self.race_view.outdated = True  # whatever is shown is not this race
            self.race_view.press_run()

    def new_race(self) -> Any:
        """The race that Run starts: these racers on this table, given to the registry; None where there is none.

        Where the price is not known yet, the race starts when it arrives.
        """
        session, dataset = self.session, self.session.dataset
        if dataset is None:
            return None
        if not self._priced:
            self._ask_price()
            self._pressed = True
            self._price.object = "<span class='quiet'>pricing … the race starts then</span>"
            return None
        if self.refused:
            session.problem = AlrvizError(self.refused)
            return None
        from alrviz.passes.threads import available_threads
        from alrviz.studies.race import race

        threads = min(available_threads(), session.registry.limits.threads or available_threads())
        try:
            made = race(dataset, self.recipes, n_jobs=threads)
            return session.adopt(made, bytes=sum(price.bytes for _, price in self._priced), threads=threads)
        except AlrvizError as error:
            session.problem = error
            return None

    def _show_why(self) -> None:
        dataset = self.session.dataset
        if not self._why.open or dataset is None:
            return
        order = self.recipes[0].params["order"]
        asked = (dataset.hash, order, self.recipes[0].key(dataset.hash))
        if asked == self._why_of:
            return
        self._why_of = asked
        recipe = self.recipes[0]

        def work(stop: Any) -> Any:
            return why_points(dataset, recipe, stop)

        def done(points: Any) -> None:
            from alrviz.pictures.scales import scales

            figure = scales(points)
            # A size of its own: a part that is just unfolding has none to stretch to.
            figure.update(width=640, height=340, sizing_mode="fixed")
            self._why_pane.object = figure

        self._work("why", work, done)

    def _work(self, key: str, work: Any, done: Any, failed: Any = None) -> None:
        if key in self._jobs:
            self._jobs[key].cancel()
        self._jobs[key] = Loading(work, key, done, failed or self._failed)
        self.session.wake()

    def _failed(self, error: Exception) -> None:
        self.session.problem = error

    def _price_failed(self, error: Exception) -> None:
        self._price.object, self._priced_for, self._pressed = "", None, False  # Run asks again
        self._failed(error)

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = [job.poll() for job in list(self._jobs.values())]
        self._show_why()
        return self.race_view.pump() or any(waiting)

    def on_shown(self) -> None:
        """Nothing to do: the page follows the session."""

    def on_hidden(self) -> None:
        """Nothing to do: a race goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; the race is the registry's."""
        for job in self._jobs.values():
            job.cancel()


def recorded_text() -> str:
    """The recorded race of the first screen."""
    return (files("alrviz.explorer") / "recorded" / "led.json").read_text(encoding="utf-8")


def priced(dataset: Any, recipes: tuple[Recipe, ...], stop: Any) -> "list[tuple[str, Price]]":
    """Price every racer on its own encoding, and compile what the race will need."""
    from alrviz.fitting.prepare import prepare
    from alrviz.fitting.price import price_of
    from alrviz.passes.warm import warm_for

    found = []
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        prepared = prepare(dataset, recipe, stop=stop)
        found.append((name, price_of(prepared.encoded, recipe, prepared.holdout, stop=stop, timed=True)))
        stop.check()
        warm_for(prepared.rows)
    return found


def why_points(dataset: Any, recipe: Recipe, stop: Any) -> Any:
    """The points of the picture of why, from the counts that the race shares."""
    from alrviz.fitting.prepare import prepare
    from alrviz.studies.why import scale_points

    params = recipe.params
    tables = prepare(dataset, recipe, stop=stop).tables(params["order"], params["smoothing"], stop)
    return scale_points(tables, alpha_on_phi=params["alpha"] if params["penalty"] == "phi" else 0.0)


def _select(label: str, options: Any, width: int, **params: Any) -> Any:
    return pmui.Select(label=label, options=options, width=width, size="small", margin=(0, 12, 0, 0), **params)


def _text_button(label: str, icon: str, hint: str) -> Any:
    return pmui.Button(label=label, icon=icon, description=hint, variant="text", size="small", margin=(0, 0, 0, 4))
