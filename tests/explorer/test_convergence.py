"""The Convergence page without a browser: questions, prices, outdated marks, links, the script."""

import io
import time
from functools import partial

import pandas as pd
import pytest

import alrviz
from alrviz.data.demos import load_demo
from alrviz.data.encode import Encoder
from alrviz.explorer.pages.convergence.page import ConvergencePage, recorded_text
from alrviz.explorer.pages.convergence.preconditioner import EXAMPLE_HEADS, EXAMPLE_ROWS
from alrviz.explorer.pages.convergence.settings import RaceSettings
from alrviz.explorer.recipes.questions import CUSTOM, EXAMPLES, FIRST_ALPHA, FIRST_QUESTION, QUESTIONS, recipes_of
from alrviz.explorer.recipes.recipe_url import read_recipes, write_recipes
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State, read_link
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.markdown import math
from alrviz.explorer.widgets import race_cost
from alrviz.explorer.widgets.race_cost import cost_html, is_cheap
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code, script
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs import run
from alrviz.fitting.runs.run import Run
from alrviz.passes.threads import available_threads
from alrviz.studies.core import cost
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.race.milestones import milestones
from alrviz.studies.race.race import race
from alrviz.studies.race.recorded import read_recorded
from alrviz.studies.race.verdict import verdict
from alrviz.views.core.trace_reader import RaceReader, value_at
from tests.explorer.pages import OWNER, opened, session_of
from tests.explorer.pages import until as until_said


def open_page(link="", owner=OWNER, registry=None):
    page = opened(ConvergencePage, link, owner, registry)
    page.drawer()
    return page


until = partial(until_said, said=lambda page: page.race_view.status.object)


def ended(page):
    race = page.race_view.race
    return race is not None and not race.recorded and race.ended and not page.race_view.player.playing


def test_first_screen_is_recorded_and_then_live():
    page = open_page()
    view = page.race_view
    assert view.race.recorded
    assert len(view.picture.plot["train"][0].data["y"]) > 100
    assert "recorded" in view.status.object
    assert page.session.link.query == ""
    until(page, lambda: not getattr(view.race, "recorded", False))
    until(page, lambda: ended(page))
    assert " iterations" in view.sentence.object
    reader = view.player.reader
    assert view.race.runs[0].trace[-1].index == value_at(reader.racers[0], "index", reader.head)
    assert "parameters" in page.starter.pane.object
    assert page.session.runs.entry.owner == page.session.owner


def test_a_recorded_race_and_a_live_one_agree():
    """Their paths are the same, up to what another processor rounds otherwise, and so is what is said of them."""
    recorded = read_recorded(recorded_text())
    dataset = load_demo("led", rows=3000)
    assert recorded.dataset.hash == dataset.hash
    assert recorded.recipes == recipes_of(FIRST_QUESTION)
    assert all(run.outcome.code == "converged" for run in recorded.runs)
    live = race(dataset, recorded.recipes)
    live.start()
    live.join()
    told = []
    for each in (recorded, live):
        watched = RaceReader(each)
        watched.pull()
        told.append(verdict([racer.summary() for racer in watched.racers]))
    assert told[0].winner == told[1].winner
    assert told[0].factor == pytest.approx(told[1].factor, rel=0.05)
    for before, now in zip(recorded.runs, live.runs, strict=True):
        assert before.outcome == now.outcome
        assert len(before.trace) == pytest.approx(len(now.trace), rel=0.05)
        paths = [[step.objective for step in run.trace.since(0)[:100]] for run in (before, now)]
        assert paths[0] == pytest.approx(paths[1], rel=1e-4)


def test_an_alpha_that_a_question_brings_leaves_with_it():
    choice = RaceSettings("")
    for question, alpha in (("pull", FIRST_ALPHA), ("alr-or-lr", 0.0), ("pull", FIRST_ALPHA), ("solvers", 0.0)):
        choice.choose("question", question)
        choice.ask(12, 0)
        assert (choice.question, choice.alpha) == (question, alpha)
        assert {recipe.params["alpha"] for recipe in choice.recipes} == {alpha}
    choice.choose("alpha", 1.0)  # one that the reader chose stays
    for question in ("pull", "alr-or-lr"):
        choice.choose("question", question)
        choice.ask(12, 0)
        assert choice.alpha == 1.0
    choice = RaceSettings("pull")
    choice.choose("alpha", FIRST_ALPHA)
    choice.choose("question", "alr-or-lr")
    assert choice.alpha == FIRST_ALPHA


def test_what_racers_of_ones_own_differ_in_is_no_one_number():
    page = open_page("?data=monks-1&q=own&racers=lr_o1_a100~alr_o2_a0.1")
    for menu in (page.controls.order, page.controls.alpha):
        assert menu.value == next(iter(menu.options.values())) == "mixed", "what is no option is not seen"
    page.controls.order.value = 3
    assert [recipe.params["order"] for recipe in page.recipes] == [3, 3]
    assert [recipe.params["alpha"] for recipe in page.recipes] == [100.0, 0.1], "what was not chosen stays"
    page.controls.question.value = "alr-or-lr"
    assert {recipe.params["alpha"] for recipe in page.recipes} == {0.0}
    assert (page.controls.alpha.value, list(page.controls.order.options)) == (0.0, ["n = 1", "n = 2", "n = 3"])
    page.close()


def test_racers_of_several_orders_have_no_more_than_the_table_has_columns():
    choice = RaceSettings("", (Recipe("lr", order=1, alpha=0.3), Recipe("lr", order=3, alpha=0.3)))
    assert choice.order is None
    choice.ask(2, 0)
    assert [recipe.params["order"] for recipe in choice.recipes] == [1, 2]


def test_the_first_lectures_question_races_naive_bayes_and_logistic_regression():
    assert QUESTIONS["counted"].label == "Naive Bayes or logistic regression?"
    assert [(recipe.label, recipe.params["order"]) for recipe in recipes_of("counted", order=3)] == [
        ("nb", 1),
        ("lr", 1),
    ]


@pytest.mark.parametrize("slug", QUESTIONS)
def test_questions_give_recipes_that_exist_and_survive_a_link(slug):
    for order in (1, 2):
        recipes = recipes_of(slug, order=order, seed=3)
        assert 2 <= len(recipes) <= 6
        assert len(set(recipes)) == len(recipes)
        assert read_recipes(write_recipes(recipes), 3) == recipes
        alphas = [recipe.params.get("alpha", 0) for recipe in recipes]
        assert all(alpha == "auto" or (alpha > 0) == QUESTIONS[slug].needs_penalty for alpha in alphas)
        assert "auto" not in alphas or slug in ("all-orders", "automatic")
        assert RaceSettings("", recipes).question == slug, "a link of racers finds its question"
    highest = (recipe.params.get("order", 1) for recipe in recipes_of(slug, order=3, columns=2))
    assert all(order == "auto" or order <= 2 for order in highest)


def test_controls_choose_racers_and_mark_the_picture_as_outdated():
    page = open_page("?data=monks-1&q=start")
    until(page, lambda: page.race_view.race is not None and ended(page))
    assert not page.race_view.outdated
    page.controls.order.value = 1
    assert [recipe.params["order"] for recipe in page.recipes] == [1] * 4
    assert page.race_view.outdated
    assert "starts by itself" in page.race_view.status.object
    page.controls.order.value = 2
    assert not page.race_view.outdated
    page.controls.question.value = "pull"
    assert page.settings.alpha > 0
    assert 0.0 not in page.controls.alpha.options.values()
    page.controls.question.value = "orders"
    assert not page.controls.order.visible
    link = read_link(page.session.link.query)
    assert link.question == "orders"
    assert link.recipes == page.recipes


def test_a_racers_settings_hide_what_has_no_effect():
    page = open_page("?data=monks-1")
    until(page, lambda: page.session.table.dataset is not None)
    page.chooser.open(1)
    fields = page.chooser.settings._fields
    assert page.chooser.settings._recipe.family == "alr"
    assert not fields["center"].visible
    assert set(fields["scale"].options.values()) == {"theta", "theta-gamma"}
    fields["alpha"].value = 0.5
    assert page.settings.question == CUSTOM
    assert page.recipes[1].params["alpha"] == 0.5
    assert fields["center"].visible
    assert set(fields["center"].options.values()) == {0, 1, "shares", "anje"}
    fields["solver"].value = "gd"
    assert not fields["memory"].visible
    page.chooser.settings._common["holdout"].value = 0.5
    assert {recipe.holdout for recipe in page.recipes} == {0.5}
    page.chooser.add()
    assert len(page.recipes) == 3
    page.chooser.remove(0)
    assert [recipe.label for recipe in page.recipes] == ["alr", "diagonal"]


def racer(family, *, parameters=850, choosing=0.0, refused=""):
    """The estimate of a racer of a megabyte and a millisecond a pass."""
    one = Cost(parameters, 10**6, 1e-3, 1)
    known = Estimate(one, 84, 10**9, refusal=refused)
    return RecipeEstimate(family, Recipe(family), known, one, Cost(seconds=choosing), one, refused)


def test_a_racer_that_cannot_be_paid_for_is_refused_before_it_runs():
    words = cost_html([racer("alr", refused="order 2 needs <b>more</b>")])
    assert "Refused" in words
    assert "&lt;b&gt;" in words
    words = cost_html([racer("lr"), racer("alr", parameters=900)])
    assert "Refused" not in words
    assert "850 to 900 parameters" in words
    assert "2 MB" in words or "2.00 MB" in words
    words = cost_html([racer("hlr", choosing=1.2)])
    assert "choosing alpha 1.2 s, then 1 ms per iteration" in words


def test_a_race_whose_alphas_take_long_to_be_chosen_is_not_cheap():
    for before, cheap in ((0.0, True), (60.0, False)):
        assert is_cheap([racer("hlr", choosing=before)]) is cheap


def test_an_example_races_by_itself():
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    page.show_example(EXAMPLES[2])
    until(
        page,
        lambda: ended(page) and page.race_view.race.dataset.name == page.session.table.dataset.name == "tic-tac-toe",
    )
    assert "fit the training rows perfectly" in page.race_view.sentence.object
    assert page.race_view.picture.pane.object.yaxis[0].axis_label.endswith("log scale")


def test_the_example_where_all_orders_win_finds_alphas_and_says_them():
    page = open_page("?data=monks-1&q=all-orders&measure=alpha")
    assert [recipe.label for recipe in page.recipes] == ["lr", "hlr", "halr"]
    assert not page.controls.alpha.visible, "every racer has its own"
    assert page.controls.order.visible
    page.show_example(EXAMPLES[-1])
    until(
        page,
        lambda: (
            page.race_view.race is not None
            and ended(page)
            and page.race_view.race.dataset.name == page.session.table.dataset.name == "balance-scale"
        ),
    )
    sentence = page.race_view.sentence.object
    assert "hlr has the lowest test loss" in sentence
    assert "lr 0.37" in sentence
    assert "Alpha chosen by validation folds, one for each order: lr 0.1" in sentence
    assert not page.race_view.outdated
    frame = page.race_view.race.frame()
    tried = frame[(frame.kind == "search") & (frame.label == "hlr")]
    assert len(tried) > 5
    assert tried.alpha_1.iloc[-1] != tried.alpha_2.iloc[-1]
    assert page.race_view.measure == "alpha"
    assert page.race_view.picture.plot.figure.yaxis[0].axis_label == "alpha, the penalty of each order, log scale"


def test_whatever_is_set_races_by_itself_where_that_is_cheap(monkeypatch):
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    before = page.race_view.race
    page.controls.question.value = "orders"
    until(page, lambda: page.race_view.race is not before and ended(page))
    assert [run.recipe.params["order"] for run in page.race_view.race.runs] == [1, 2, 3]
    before = page.race_view.race
    page.controls.alpha.value = 1.0
    assert "starts by itself" in page.race_view.status.object
    until(page, lambda: page.race_view.race is not before and ended(page))
    assert page.race_view.race.runs[0].recipe.params["alpha"] == 1.0
    before = page.race_view.race
    page.chooser.change(0, page.recipes[0].replace(alpha=0.1))
    until(page, lambda: page.race_view.race is not before and ended(page))
    before = page.race_view.race
    monkeypatch.setattr(race_cost, "MAX_CHEAP_SECONDS", 0.0)
    page.chooser.change(0, page.recipes[0].replace(alpha=1.0))
    until(page, lambda: page.starter.has_estimates and page.race_view.outdated)
    page.pump()
    assert page.race_view.race is before, "what takes long waits for Run"
    assert "press Run" in page.race_view.status.object


def test_settings_of_the_race_that_is_shown_do_not_race_again():
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    before = page.race_view.race
    page.controls.order.value = 1
    page.controls.order.value = 2
    until(page, lambda: page.starter.has_estimates)
    page.pump()
    assert page.race_view.race is before
    assert not page.race_view.outdated


def test_only_a_hand_that_keeps_a_race_from_being_shown_is_told_as_a_pause():
    registry = Registry(ServerLimits(), timer=False)
    page = open_page("?data=monks-1", registry=registry)
    rested = set()
    until(
        page,
        lambda: page.race_view.race is not None and (rested.add(page.session.runs.entry.rest_reason) or ended(page)),
    )
    page.pump()
    assert rested | {page.session.runs.entry.rest_reason} == {""}, "while it begins, runs, and when it has ended"
    page.race_view.player.scrub(1)
    page.pump()
    assert page.session.runs.entry.rest_reason == "paused"
    page.on_hidden()
    assert page.session.runs.entry.rest_reason == "away"
    page.race_view.player.run()
    page.pump()
    assert page.session.runs.entry.rest_reason == ""


def test_a_reload_finds_the_race_and_a_secret_link_leads_others_to_it_until_it_is_taken_back():
    registry = Registry(ServerLimits(), timer=False)
    page = open_page("?data=monks-1", registry=registry)
    page.dialogs.show_share()
    assert not page.dialogs._link.visible, "no race was started yet"
    until(page, lambda: page.race_view.race is not None and ended(page))
    entry = page.race_view.race.entry
    assert open_page(page.session.link.query, registry=registry).race_view.race.entry is entry
    assert not entry.is_shared
    page.dialogs.show_share()
    first = page.dialogs._link.value
    assert registry.find_by_token(first.removeprefix("race/")) is entry
    stranger = open_page(page.session.link.query, owner="c" * 32, registry=registry)
    assert getattr(stranger.race_view.race, "entry", None) is None
    page.dialogs._revoke_button.clicks += 1
    assert registry.find_by_token(first.removeprefix("race/")) is None
    assert not page.dialogs._link.visible
    page.dialogs.show_share()
    assert page.dialogs._link.visible
    assert registry.find_by_token(page.dialogs._link.value.removeprefix("race/")) is entry


def test_the_script_gives_the_screens_numbers():
    page = open_page("?data=monks-1&rows=300&seed=2")
    until(page, lambda: page.race_view.race is not None and ended(page))
    text = script(page.session, page.recipes, alrviz.__version__)
    scope = {"print": lambda *a, **k: None}
    exec(compile(text, "script", "exec"), scope)
    for mine, theirs in zip(page.race_view.race.runs, scope["race"].runs, strict=True):
        assert mine.recipe == theirs.recipe
        assert len(mine.trace) == len(theirs.trace)
        assert mine.trace[-1].nll == theirs.trace[-1].nll
        assert mine.trace[-1].extra["heldout_log_loss"] == theirs.trace[-1].extra["heldout_log_loss"]


def test_the_script_reads_the_file_where_the_server_found_it_and_says_which_one_was_dropped(tmp_path):
    file = tmp_path / "my table.csv"
    rows = (f"{'xyz'[k % 3]},{'uv'[k % 2]},{'no' if k % 5 else 'yes'}\n" for k in range(90))
    file.write_text("a,b,class\n" + "".join(rows))
    session = Session(owner="a" * 32, served=alrviz.read_table(file), served_from=str(file))
    session.link.open(State())
    scope = {"alrviz": alrviz}
    exec(dataset_code(session), scope)
    assert scope["dataset"].hash == session.table.dataset.hash
    session.table.changes.set_kinds({"b": "target"})
    until_loaded(session)
    exec(dataset_code(session), scope)
    assert (scope["dataset"].target, scope["dataset"].hash) == ("b", session.table.dataset.hash)
    dropped = Session(owner="a" * 32)
    dropped.table.load_bytes(file.name, file.read_bytes())
    until_loaded(dropped)
    code = dataset_code(dropped)
    assert "'my table.csv'" in code
    assert "dropped: give its folder" in code
    assert "90 rows" in code


def until_loaded(session):
    end = time.monotonic() + 60
    while session.table.loading is not None or session.table.dataset is None:
        assert time.monotonic() < end
        session.pump()
        time.sleep(0.005)


def test_measure_and_axis_are_in_the_link():
    page = open_page("?data=monks-1&measure=rmse&axis=passes")
    assert (page.race_view.measure, page.race_view.axis) == ("rmse", "passes")
    page.race_view.measure = "heldout"
    assert "measure=heldout" in page.session.link.query
    page.race_view.measure = "gap"
    assert "measure" not in page.session.link.query, "what the page opens with is left out"


def test_how_much_of_the_axis_is_shown_is_in_the_link():
    page = open_page("?data=monks-1&view=span.log")
    assert page.race_view.span == "log"
    page.race_view.span = "first"
    assert "view=span.first" in page.session.link.query
    page.race_view.span = "all"
    assert "view=" not in page.session.link.query
    assert open_page("?data=monks-1&view=span.half").race_view.span == "all"


def test_recipe_code_makes_the_recipe():
    for recipe in (
        Recipe("lr", alpha=0.3),
        *recipes_of("pull", seed=4),
        Recipe("alr", discretize=None, class_weight={"a": 2.0}, alpha=1.0),
    ):
        assert eval(recipe_code(recipe), {"alrviz": alrviz}) == recipe


def test_the_table_beside_the_picture_of_scales_says_what_a_race_says():
    """Its first line is the page's first example: alr is farther from the orange line than the diagonal, and faster."""
    about = {"order": 2, "alpha": 0.0, "max_iter": 1000, "solver": "lbfgs"}
    recipes = [Recipe("lr", **about), Recipe("lr", scale="diagonal", **about), Recipe("alr", penalty="phi", **about)]
    raced = race(load_demo("led", 3000), recipes)
    raced.start()
    raced.join()
    watched = RaceReader(raced)
    watched.pull()
    lanes = [racer.summary() for racer in watched.racers]
    marks = milestones(lanes)
    assert EXAMPLE_HEADS[1:] == tuple(lane.name for lane in lanes)
    told = [int(number) for number in EXAMPLE_ROWS[0][1:]]
    assert told == pytest.approx([marks.count_at(lane.name, 1) for lane in lanes], rel=0.1)


def test_texts_are_html_without_leftovers():
    for text in (about_html("convergence"), about_html("scales")):
        assert "$" not in text
        assert "[[" not in text
        assert "<abbr" in text


def test_formulas():
    assert math(r"\alpha_1^2").count("<msubsup>") == 1
    assert math(r"w \log \theta").count("<mspace") == 2, "an operator touches neither neighbour"
    assert math(r"\log 2").count("<mspace") == math(r"-\log p").count("<mspace") == 1
    assert "<mtext>cell</mtext>" in math(r"N_{\text{cell}}")
    assert "<mfrac><mi>a</mi><mi>b</mi></mfrac>" in math(r"\frac{a}{b}").replace("<mrow>", "").replace("</mrow>", "")
    assert "&lt;" in math("a<b")
    with pytest.raises(ValueError, match="unknown command"):
        math(r"\unknown")
    with pytest.raises(ValueError, match="unbalanced"):
        math("{a")


def test_a_racer_that_only_a_link_can_ask_for_opens_its_settings():
    settings = RecipeSettings(lambda *_: None, lambda *_: None, lambda *_: None)
    settings.show(0, Recipe("anje", order=2), "anje", is_only=True)
    assert not settings._fields["alpha"].visible
    assert settings._fields["smoothing"].visible
    settings.show(0, Recipe("lr", order=2, alpha=0.3), "lr", is_only=True)
    assert settings._fields["alpha"].visible


def test_run_estimates_anew_what_a_race_costs_on_another_table():
    page = open_page("?data=monks-1")
    until(page, lambda: page.starter.has_estimates and ended(page))
    page.starter.dataset = other = load_demo("led", 300)
    assert page.starter.new_race() is None
    assert not page.starter.has_estimates
    until(page, lambda: page.starter.has_estimates)
    assert page.starter.new_race().dataset is other


def test_run_waits_for_the_price_and_says_why_it_refuses(monkeypatch):
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    before = page.session.runs.entry
    assert before.threads == available_threads()
    before.keep = True
    page.controls.order.value = 1
    page.race_view.press_run()
    assert page.session.runs.entry is before
    page.starter._show_activity()  # as the pump does
    assert "the race starts then" in page.starter.pane.object
    page.race_view.press_stop()
    page.starter._show_activity()
    assert "the race starts" not in page.starter.pane.object
    page.race_view.press_run()
    until(page, lambda: page.session.runs.entry is not before and ended(page))
    assert page.session.runs.entry.bytes > 0
    made = page.session.runs.entry
    refused = [racer("alr", refused="it needs more memory")]
    monkeypatch.setattr("alrviz.explorer.widgets.race_starter.prepare_racers", lambda *_: refused)
    page.controls.order.value = 2
    assert not page.starter.refusal
    page.race_view.press_run()
    until(page, lambda: page.session.problem is not None if page.starter.has_estimates else False)
    assert str(page.session.problem) == "alr is refused: it needs more memory"
    assert page.session.runs.entry is made
    page.controls.order.value = 1  # also refused: what is said of order 2 is gone, and nothing is said of another press
    assert page.session.problem is None
    until(page, lambda: page.starter.refusal)
    assert "Refused" in page.starter.pane.object
    monkeypatch.undo()  # memory is free again: the next press finds it
    page.race_view.press_run()
    until(page, lambda: page.session.runs.entry is not made and ended(page))
    assert not page.starter.refusal
    assert "Refused" not in page.starter.pane.object


def test_a_run_takes_the_price_and_the_rows_that_the_page_has(monkeypatch):
    calls = []

    def counted(name, function):
        return lambda *given, **named: calls.append(name) or function(*given, **named)

    monkeypatch.setattr(Encoder, "encode", counted("encode", Encoder.encode))
    for module in (cost, run):
        monkeypatch.setattr(module, "estimate", counted("estimate", module.estimate))
    page = open_page("?data=led&rows=300&racers=lr_o1_i20~alr_o1_i20")
    page.starter.autorun = False
    until(page, lambda: page.starter.has_estimates)
    known = ["encode", "encode", "estimate", "estimate"]
    assert sorted(calls) == known, "training and test rows, once for both; an estimate each"
    page.race_view.press_run()
    until(page, lambda: page.race_view.race is not None and ended(page))
    assert [of.estimate for of in page.race_view.race.runs] == [one.estimate for one in page.starter.estimates]
    assert sorted(calls) == known


def test_a_price_that_less_memory_is_free_for_by_now_is_asked_anew(monkeypatch):
    dataset, recipe = load_demo("led", rows=300), Recipe("lr", order=1, max_iter=5, alpha=0.3)
    first = Run(dataset, recipe)
    list(first.steps())
    again = Run(dataset, recipe, estimate=first.estimate)
    list(again.steps())
    assert again.estimate is first.estimate
    monkeypatch.setattr(run, "allowed_bytes", lambda limit: first.estimate.cost.bytes - 1)
    short = Run(dataset, recipe, estimate=first.estimate)
    list(short.steps())
    assert short.estimate is not first.estimate


def test_what_went_wrong_is_said_until_that_work_is_begun_anew():
    session = session_of("?data=monks-1")
    tasks = PageTasks(session)
    price, other = ValueError("price"), ValueError("other")
    tasks.show_error("price", price)
    tasks.hide_error("gram")
    assert session.problem is price
    tasks.start("price", lambda stop: None, lambda _: None)
    assert session.problem is None
    tasks.show_error("price", price)
    session.problem = other  # of somebody else's work: stays
    tasks.cancel("price")
    assert session.problem is other
    tasks.close()
    session.table.cancel()


def test_why_says_what_it_is_of_is_faded_while_it_is_old_and_saves_its_points():
    page = open_page("?data=monks-1")
    until(page, lambda: page.session.table.dataset is not None)
    page.scales.part.open = True
    until(page, lambda: page.scales.picture.pane.object is not None)
    assert {"lr", "alr", "diagonal"} <= {r.name for r in page.scales.picture.pane.object.renderers}
    assert "monks-1, all cells of order 2" in page.scales.status.object
    text = page.scales._csv()
    assert text.count("# recipe") == 1
    assert {"label", "hessian", "scale"} == set(pd.read_csv(io.StringIO(text), comment="#").columns)
    old = page.scales.picture.pane.object
    page.controls.order.value = 1
    assert page.scales.picture.pane.styles["opacity"] != "1"
    until(page, lambda: page.scales.picture.pane.object is not old)
    assert page.scales.picture.pane.styles["opacity"] == "1"
    assert "order 1" in page.scales.status.object


def test_another_table_begins_without_the_recorded_race_of_the_first_screen():
    page = open_page("?data=monks-1")
    assert page.race_view.race is None
    assert open_page("").race_view.race.recorded
    assert open_page("?data=led&rows=500").race_view.race is None


def test_step_before_the_price_is_known_takes_one_step():
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    before = page.session.runs.entry
    page.controls.order.value = 1
    assert not page.starter.has_estimates
    page.race_view.press_step()
    until(page, lambda: page.session.runs.entry is not before and len(page.race_view.race.runs[0].trace) >= 1)
    until(page, lambda: page.race_view.race.phase == "paused")
    assert [len(run.trace) for run in page.race_view.race.runs] == [1, 1]


def test_the_drawer_says_which_solver_auto_picked_and_why():
    page = open_page("?data=monks-1&racers=lr_a0~alr_a0_vgd")
    until(page, lambda: page.starter.has_estimates)
    page.chooser.look_at(0)
    assert "lbfgs" in page.chooser.settings._solver.object
    page.chooser.look_at(1)
    assert page.chooser.settings._solver.object == "", "gd is what its recipe says"
    page.chooser.settings._fields["bounds"].value = "none"
    page.chooser.settings._fields["solver"].value = "auto"
    until(page, lambda: page.starter.has_estimates)
    assert "lbfgs" in page.chooser.settings._solver.object


def test_stop_before_there_is_a_race_keeps_one_from_starting_by_itself():
    page = open_page("?data=monks-1")
    page.race_view.press_run()
    page.race_view.press_stop()
    assert "stopped" in page.race_view.status.object
    until(page, lambda: page.starter.has_estimates)
    page.pump()
    assert page.race_view.race is None
    page.show_example(EXAMPLES[2])
    until(page, lambda: page.race_view.race is not None)


def test_another_pages_table_leaves_order_and_race_as_they_are():
    page = open_page()
    until(page, lambda: page.session.table.dataset is not None and ended(page))
    page._on_choice("order", 3)
    until(page, lambda: page.starter.has_estimates)
    race = page.race_view.race
    page.session.page = "boundaries"
    until(page, lambda: page.session.table.dataset.name == "four-gaussians")
    assert page.settings.order == 3
    page.session.page = "convergence"
    page.on_shown()
    until(page, lambda: page.session.table.dataset.name == "led")
    assert page.settings.order == 3
    assert page.race_view.race == race


def test_a_table_opened_on_another_page_is_raced_in_place_of_the_old_one():
    page = open_page("?data=monks-1")
    until(page, lambda: page.race_view.race is not None and ended(page))
    page.session.page = "data"
    page.session.table.load_demo("tic-tac-toe")
    until(page, lambda: page.session.table.dataset.name == "tic-tac-toe")
    page.session.page = "convergence"
    page.on_shown()
    until(page, lambda: page.race_view.race is not None and page.race_view.race.dataset.name == "tic-tac-toe")
    assert not page.race_view.outdated


def test_race_on_it_begins_one_unless_this_tables_is_there():
    page = open_page("?data=monks-1&page=data")
    page.on_shown()
    assert page.race_view.race is None or page.race_view.outdated, "another page was only looked at"
    page.session.go("convergence", race=True)
    page.on_shown()
    until(page, lambda: page.race_view.race is not None and not page.race_view.outdated)
    race = page.race_view.race
    page.session.go("convergence", race=True)
    page.on_shown()
    page.pump()
    assert page.race_view.race == race


def test_run_that_waits_for_a_table_runs_when_its_price_comes():
    page = open_page("?data=poker-hand&rows=20000&racers=lr_o1_a0_i3~lr_o1_a1_i3")
    page.starter.autorun = False
    assert page.session.table.loading is not None
    page.race_view.press_run()
    until(page, lambda: page.race_view.race is not None and ended(page))
    assert page.race_view.race.dataset.n_rows == 20_000


def test_run_that_waits_for_a_table_is_given_up_with_the_table():
    page = open_page("?data=poker-hand&rows=200000")
    assert page.session.table.loading is not None
    page.race_view.press_run()
    assert page.race_view.player.is_waiting
    assert "starts by itself" in page.race_view.sentence.object
    page.session.table.give_up()
    assert not page.race_view.player.is_waiting
    assert not page.race_view.sentence.object
    assert "stopped" in page.race_view.status.object


def test_racers_without_order_and_alpha_have_no_such_controls_and_keep_their_own():
    page = open_page("?data=monks-1&q=tables")
    assert [recipe.family for recipe in page.recipes] == ["elr"] * 4
    assert not page.controls.order.visible
    assert not page.controls.alpha.visible
    page.settings.set_custom(Recipe("elr"), Recipe("lr", order=2, alpha=0.0))
    page.settings.alpha = 1.0
    page.settings.ask(6, 0)
    assert page.settings.recipes[0] == Recipe("elr")
    assert page.settings.recipes[1].params["alpha"] == 1.0
    page.controls.show(page.settings, page.session)
    assert page.controls.alpha.visible


@pytest.mark.parametrize("alpha", [(0.1, 1.0), "auto"])
def test_a_racer_with_an_alpha_of_its_own_kind_keeps_it_and_gives_it_to_no_other(alpha):
    """One for each order, or one that is found: questions and other families take no such thing."""
    racers = Recipe("hlr", order=2, alpha=alpha), Recipe("salr", order=2, alpha=0.5)
    settings = RaceSettings(CUSTOM, racers)
    settings.choose("order", 1)
    settings.ask(6, 0)
    assert settings.recipes[0].params["alpha"] in (alpha, alpha[:1], alpha[0])  # of order 1 there is one
    assert settings.recipes[1].params["alpha"] == 0.5
    settings.choose("alpha", 3.0)
    settings.ask(6, 0)
    assert [recipe.params["alpha"] for recipe in settings.recipes] == [3.0, 3.0]
    for question in QUESTIONS:
        other = RaceSettings(CUSTOM, racers)
        other.choose("question", question)
        other.ask(6, 0)
        assert other.recipes
    page = open_page(f"?data=monks-1&racers={write_recipes(racers)}")
    assert page.recipes == racers


def table_text(columns, rows=60):
    head = [f"column_{k}" for k in range(columns)]
    lines = [
        ",".join([*(str("uvw"[(i * (k + 2) + i // 3) % 3]) for k in range(columns)), "xy"[i % 2]]) for i in range(rows)
    ]
    return "\n".join([",".join([*head, "class"]), *lines])


def open_file(page, name, columns):
    """Read a file on the Data page, then press "Open in Convergence"."""
    page.session.page = "data"
    page.session.table.load_bytes(f"{name}.csv", table_text(columns))
    until(page, lambda: page.session.table.dataset is not None and page.session.table.dataset.name == name)
    page.session.go("convergence", race=True)
    page.on_shown()


def test_data_menu_names_each_file_in_the_browser():
    page = open_page("?data=monks-1")
    model = page.controls.data.get_root()
    for name in ("first", "second", "third"):
        open_file(page, name, 3)
        assert name in model.data.value
        assert model.data.value in model.data.options
    page.close()


def test_another_table_clears_the_picture_until_its_race_begins():
    page = open_page()
    view = page.race_view
    assert view.race.recorded
    open_file(page, "second", 3)
    assert view.race is None
    assert not view.outdated
    assert not any(len(source.data["y"]) for source in view.picture.plot["train"])
    assert view.side.object == ""
    assert "Getting ready" in view.sentence.object
    until(page, lambda: view.race is not None)
    assert view.race.dataset.name == "second"
    page.close()


def test_order_limited_by_one_table_is_the_default_again_on_the_next():
    page = open_page("?data=monks-1")
    orders = []
    for name, columns in (("narrow", 1), ("wide", 3)):
        open_file(page, name, columns)
        orders.append(page.settings.order)
        assert {recipe.params["order"] for recipe in page.recipes} == {orders[-1]}
    assert orders == [1, 2]
    page._on_choice("order", 1)
    open_file(page, "wider", 4)
    assert page.settings.order == 1, "an order that the visitor chose stays"
    page.close()
