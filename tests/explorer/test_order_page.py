"""The page "Which order?" without a browser: prices, a study of the process, links, what is kept, what is used."""

import pandas as pd
import pytest

from alrviz.explorer.pages.convergence.page import ConvergencePage
from alrviz.explorer.pages.order.page import OrderPage, OrderSpec, racers_of
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import read_link
from alrviz.explorer.widgets.study_estimate import PlannedStudy, costs_html
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.pictures.formatting import count_text, seconds_text
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.core.study import Study
from alrviz.studies.protocols.choose_order import OrderVerdict
from alrviz.views.studies.study_view import progress_words
from tests.explorer.fakes import Clock
from tests.explorer.pages import OWNER, opened
from tests.explorer.pages import run_study as run
from tests.explorer.pages import until_study as until

pytestmark = pytest.mark.usefixtures("home")

SMALL = "?page=order&data=monks-1&of=lr_a0.1&folds=5"


def open_page(link=SMALL, owner=OWNER, registry=None):
    return opened(OrderPage, link, owner, registry)


def _priced_page(link):
    made = open_page(link)
    until(made, lambda: made.runner.costs is not None)
    yield made
    if made.study_view.study is not None:
        made.study_view.study.stop()
    made.close()


@pytest.fixture
def page():
    yield from _priced_page(SMALL)


@pytest.fixture
def orders_page():
    """The page without AutoClassifier and boosting, which take most of the time."""
    yield from _priced_page(SMALL + "&refs=none")


def test_every_order_is_priced_and_the_study_is_told(page):
    assert [one.name for one in page.runner.costs.fits] == ["n = 1", "n = 2", "n = 3", "Auto"]
    study = page.runner.costs.study
    assert study._expected_seconds == {
        (study.data_hash, k): one.cost.seconds for k, one in enumerate(page.runner.costs.fits)
    }
    assert "Press Run: columns, pairs, triples" in page.study_view.sentence.object


def test_orders_may_be_judged_without_the_models_beside_them(page):
    whole = page.runner.costs
    page.choose("references", "none")
    until(page, lambda: page.runner.costs is not None)
    assert [one.name for one in page.runner.costs.fits] == ["n = 1", "n = 2", "n = 3"]
    study = page.runner.costs.study
    assert {study.about(task.racer)["order"] for task in study.tasks} == {0, 1, 2, 3}
    assert page.runner.costs.cost.seconds < whole.cost.seconds
    assert page.session.link.query.endswith("&refs=none")
    page.choose("references", "all")
    assert "refs" not in page.session.link.query


def test_orders_that_are_too_high_or_too_large_are_left_out_with_the_reason():
    narrow = open_page("?page=order&data=xor&kinds=2i_3i_4i_5i&of=lr_a0.1&folds=5")
    until(narrow, lambda: narrow.runner.costs is not None)
    shown = [one for one in narrow.runner.costs.fits if one.refusal]
    assert shown, "an order above the number of columns"
    assert "left out" in narrow.layout.cost_table.object
    assert "the table has only 2 used columns" in narrow.layout.cost_table.object
    refused = {int(one.name[-1]) for one in shown}
    assert {narrow.runner.costs.study.about(cell.racer)["order"] for cell in narrow.runner.costs.study.tasks} == {
        0,
        1,
        2,
        3,
        None,  # boosting, AutoClassifier
    } - refused
    narrow.close()


def test_run_gives_the_verdict_and_a_way_to_use_it(page):
    assert "at least" in page.layout.time.object
    run(page)
    costs = page.study_view.study.summary().query("order > 0")
    assert all(f">{count_text(round(count))}<" in page.layout.cost_table.object for count in costs.parameters), (
        "the picture's"
    )
    assert all(f">{seconds_text(seconds)}<" in page.layout.cost_table.object for seconds in costs.train_seconds)
    assert not page.layout.time.object, "the bar says it by the fits that are back"
    assert "Pairs (n&nbsp;=&nbsp;2) are best" in page.study_view.sentence.object
    assert (page.layout.open_button.visible, page.recommendation().label) == (True, "all orders, n = 2"), (
        "AutoClassifier's is better"
    )
    assert page.layout.open_button.description.startswith(page.layout.open_button.label), (
        "what is heard is what is read"
    )
    assert page.recommendation().best == "AutoClassifier", "what is evaluated first is what is offered"
    assert page.recommendation().best in page.study_view.study.names
    race_page = ConvergencePage(page.session)
    race_page.view()
    page.open_recommendation()
    assert page.session.page == "convergence"
    race_page.on_shown()
    ours, lr = race_page.recipes
    assert (ours.family, ours.params["order"], len(ours.params["alpha"]), ours.discretize) == ("hlr", 2, 2, "smooth")
    assert (lr.family, lr.params["order"], lr.params["alpha"]) == ("lr", 2, 0.1)
    assert "racers=" in page.session.link.query
    assert (race_page.controls.order.value, race_page.controls.alpha.value) == (2, 0.1)
    race_page.close()


def test_autoclassifiers_model_is_used_where_it_is_better(page):
    mine = AUTOMATIC.replace(order=2, alpha=(0.001, 0.5), discretize="smooth")

    class Ahead:
        recipe = staticmethod(lambda: Recipe("lr", order=2, alpha=0.3))
        verdict = staticmethod(lambda: OrderVerdict("", order=2, best=2, automatic=mine))

    assert racers_of(Ahead(), 7) == (mine.replace(seed=7), Recipe("lr", order=2, alpha=0.3, seed=7))
    page.study_view.verdict = Ahead.verdict()
    assert page.recommendation().label == "all orders, n = 2"
    page.session.offered_recipes = racers_of(Ahead(), page.session.seed)
    race_page = ConvergencePage(page.session)
    race_page.view()
    race_page.on_shown()
    assert [recipe.params["alpha"] for recipe in race_page.recipes] == [(0.001, 0.5), 0.3]
    assert {recipe.discretize for recipe in race_page.recipes} == {"smooth", "mdl"}
    assert read_link(page.session.link.query).recipes == race_page.recipes
    race_page.close()


def test_of_all_orders_each_has_the_middle_one_of_its_alphas():
    class Chosen:
        recipe = staticmethod(lambda: Recipe("hlr", order=2, alpha="auto"))
        verdict = staticmethod(lambda: OrderVerdict("", order=2, best=2))
        frame = staticmethod(
            lambda: pd.DataFrame({"order": [2, 2, 2, 1], "outcome": "x", "alpha_chosen": float("nan"),
                                  "alpha_1": [0.1, 0.3, 1.0, 9.0], "alpha_2": [5.0, 7.0, 6.0, None]})
        )  # fmt: skip

    mine, beside = racers_of(Chosen(), 0)
    assert (mine.family, mine.params["alpha"], beside.family, beside.params["alpha"]) == ("hlr", (0.3, 6.0), "lr", 6.0)


def test_a_family_of_all_orders_finds_an_alpha_for_each_and_keeps_what_is_typed(orders_page):
    page = orders_page
    page.choose("family", "hlr")
    assert page.spec.recipe.params["alpha"] == 0.1
    page.choose("alpha", "cv")
    page.choose("family", "halr")
    assert page.spec.recipe.params["alpha"] == "auto", "one for all orders is not what these are for"


def test_the_class_shares_are_not_used():
    class Nothing:
        recipe = staticmethod(lambda: None)
        verdict = staticmethod(lambda: OrderVerdict("", order=0, best=0))

    assert racers_of(Nothing(), 0) == ()


def test_a_chosen_alpha_is_the_middle_one_of_the_folds():
    class Chosen:
        recipe = staticmethod(lambda: OrderSpec.default_recipes[0].replace(order=2))
        verdict = staticmethod(lambda: OrderVerdict("", order=2, best=2))
        frame = staticmethod(
            lambda: pd.DataFrame({"order": [2, 2, 2, 1], "outcome": "x", "alpha_chosen": [0.1, 0.3, 1.0, 9.0]})
        )

    assert [r.params["alpha"] for r in racers_of(Chosen(), 7)] == [0.3, 0.3]
    assert {r.seed for r in racers_of(Chosen(), 7)} == {7}


def test_a_link_may_not_give_words_to_races():
    state = read_link("?racers=lr_acv&model=lr_acv&of=lr_acv")
    assert [r.params["alpha"] for r in state.recipes + state.model] == [0.3, 0.3]
    assert state.study_recipes[0].params["alpha"] == "cv"
    assert open_page("?page=order&of=dlr&folds=77").spec == OrderSpec()
    assert open_page("?page=order&of=tan~alr_a1~lr").spec.recipe.family == "alr", "the first that has orders"
    assert open_page("?page=boundaries&of=alr&folds=5").spec == OrderSpec(), "of another page"


def test_what_has_no_effect_is_hidden(orders_page):
    page = orders_page
    menus = page.menus
    page.menus["alpha"].value = 0.0
    assert not menus["center"].visible
    menus["family"].value = "anje"
    assert (menus["alpha"].visible, menus["center"].visible) == (False, False)
    menus["family"].value = "alr"
    assert menus["alpha"].visible
    menus["alpha"].value = 0.1
    assert menus["center"].options == {"zero": 0, "one": 1, "AnJE": "anje", "class shares": "shares"}
    menus["family"].value = "anje"
    menus["family"].value = "lr"
    assert menus["alpha"].value == 0.1, "AnJE has none, and what was set before is not lost"
    assert menus["center"].options == {"zero": 0, "AnJE": "anje", "class shares": "shares"}
    shown = [menu for menu in menus.parts if menu.visible]
    assert len([*shown, page.study_view.bar.run, page.study_view.bar.stop, page.layout.open_button]) <= 9


def test_a_store_that_cannot_be_written_keeps_nobody_from_a_study(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "file" / "below"))
    page = open_page(SMALL + "&refs=none")
    until(page, lambda: page.runner.costs is not None)
    run(page)
    assert page.study_view.study.id is None
    page.close()


# -- the registry --------------------------------------------------------------------------------------------------


class FakeStudy(Study):
    kind, spec, data_hash, id, problem = "choose_order", "{}", "hash", "", ""
    entry, _phase = None, "waiting"

    def __init__(self):
        self.calls = []

    def start(self):
        self._phase = "running"
        self.calls.append("start")

    def stop(self):
        self._phase = "stopped" if self._phase == "running" else self._phase
        self.calls.append("stop")


def governed(**limits):
    clock = Clock()
    caps = {"runs": 1, "owner_runs": 1, "threads": 8, "memory": 1000, "kept": 3, "idle": 60} | limits
    registry = Registry(ServerLimits(**caps), clock, timer=False)
    return clock, registry, lambda owner="ann": registry.add(FakeStudy(), owner)


def test_unwatched_for_a_minute_it_is_stopped_and_can_go_on():
    clock, registry, make = governed()
    entry = make()
    entry.start()
    clock.now += 61
    registry.sweep()
    assert entry.job.phase == "stopped"
    assert entry.note == "stopped: nobody looked at it for 60 s"
    entry.start()
    assert (entry.job.phase, entry.note) == ("running", "")


def test_what_a_visitor_looks_at_goes_on_whatever_page_is_shown():
    clock, registry, _ = governed()
    session = Session(owner="ann", registry=registry)
    study = session.runs.adopt_study(FakeStudy())
    study.control.start()
    session.page = "data"
    for watched, phase in ((True, "running"), (False, "stopped")):
        clock.now += 50
        session.pump(watched)
        assert session.busy
        clock.now += 50
        registry.sweep()
        assert study.phase == phase
    assert not session.busy


def test_another_study_of_the_kind_takes_the_place_of_the_one_before():
    _, registry, _ = governed(owner_runs=2, runs=2)
    session = Session(owner="ann", registry=registry)
    first = session.runs.adopt_study(FakeStudy())
    first.control.start()
    other = FakeStudy()
    other.spec = "another"
    second = session.runs.adopt_study(other)
    second.control.start()
    assert (first.phase, second.phase) == ("stopped", "running")
    assert session.runs.find_study(FakeStudy()).entry in (first.entry, second.entry)
    assert Session(owner="bob", registry=registry).runs.find_study(FakeStudy()) is None


def test_it_queues_behind_what_runs_and_stop_takes_it_out_of_the_queue():
    _, _, make = governed()
    first, second = make("ann"), make("bob")
    first.start()
    second.start()
    assert second.job.phase == "queued"
    assert second.activity == "waiting for a free place: number 1 in the queue"
    second.stop()
    assert second.job.phase == "waiting"
    second.start()
    first.stop()
    assert second.job.phase == "running"


def test_a_finished_study_has_nothing_left_to_start():
    _, _, make = governed()
    entry = make()
    entry.start()
    entry.job._phase = "done"
    entry.start()
    assert entry.job.calls == ["start"]


def test_what_failed_is_computed_again_when_there_is_a_place_and_what_is_not_saved_is_told(orders_page):
    view, (_, _, make) = orders_page.study_view, governed()
    run(orders_page)
    study = view.study
    assert progress_words(study).endswith("done")
    study._checkpoint.problem = "finished fits are kept no more: the disk is full"
    assert progress_words(study).endswith("the disk is full")
    entry = study.entry
    make("bob").start()
    study._results = {k: result for k, result in study._results.items() if k}
    study.entry = Entry(study, "ann", make("ann").queue)
    assert study.redo() == 0
    assert study.phase == "queued"
    view.press_retry()  # a click that came late
    study.entry.stop()
    study.entry = entry


def test_cost_of_what_is_refused_is_escaped():
    text = costs_html(
        PlannedStudy((RecipeEstimate("n = 1", OrderSpec.default_recipes[0], refusal="<b>too large</b>"),), Cost())
    )
    assert "&lt;b&gt;too large" in text
