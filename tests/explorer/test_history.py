"""The tab "history" without a browser: runs of all pages are opened, raced again, compared, saved, deleted."""

import contextlib
import io
import json
import sqlite3
import threading
from types import SimpleNamespace

import pandas as pd
import pytest

from alrviz.errors import StoreError, for_page
from alrviz.explorer.lesson import Question
from alrviz.explorer.pages.compare import history_tab
from alrviz.explorer.pages.compare.history_tab import CONFIRM_DELETE, RUNS_PER_PAGE
from alrviz.explorer.pages.compare.page import ComparePage
from alrviz.explorer.pages.convergence.page import ConvergencePage
from alrviz.explorer.server import limits, run_store
from alrviz.explorer.server.class_store import ClassAutosave
from alrviz.explorer.server.classes import Classroom
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.session.state import read_link
from alrviz.explorer.widgets import run_history
from alrviz.explorer.widgets.run_history import HistoryItem, summary_line
from alrviz.explorer.widgets.table_settings import split_words
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.store import Store
from tests.explorer import maps
from tests.explorer.pages import OWNER, session_of, until

pytestmark = pytest.mark.usefixtures("home")

STRANGER = "b" * 32
RACE = "?data=monks-1&racers=lr_o1_a1_i8~alr_o1_a1_i8"
STUDY = "?page=compare&sets=monks-1_xor&of=anje_o1~tan&folds=5"


def raced(link=RACE):
    """Race as the page does, to the end; returns the page."""
    page = ConvergencePage(session_of(link))
    page.view()
    until(page, lambda: page.race_view.race is not None and page.race_view.race.ended)
    assert page.session.runs.entry.keeper.join(30)
    return page


def compared():
    page = ComparePage(session_of(STUDY))
    page.view()
    until(page, lambda: page.tab.runner.costs is not None)
    page.tab.study_view.press_run()
    until(page, lambda: page.tab.study_view.study.phase == "done")
    page.tab.study_view.study.join(30)
    return page


def listed(owner=OWNER):
    """The page with its history listed."""
    page = ComparePage(session_of("?page=compare&tab=history", owner))
    page.view()
    until(page, lambda: not page.tab.pump())
    return page


def test_what_was_run_on_any_page_is_listed_for_its_owner_alone():
    raced().close()
    compared().close()
    page = listed()
    assert [item["label"] for item in page.tab.list.items] == ["comparison on monks-1, xor", "race on monks-1"]
    assert page.tab.list.items[1]["secondary"].startswith("lr, alr · n = 1 · done · just now · ")
    assert page.tab.list.items[1]["secondary"].endswith(" · numbers cut by MDL")
    assert "nb <span class='quiet'>n = 1</span>" in page.tab.description.object
    assert "10 of 10 fits" not in page.tab.description.object
    assert "20 of 20 fits" in page.tab.description.object
    stranger = listed(STRANGER)
    assert not stranger.tab.detail.visible
    assert "No runs yet" in stranger.tab.status.object


def test_a_race_is_opened_with_its_curves_and_not_fitted_again():
    first = raced()
    frame = first.race_view.race.frame()
    (item,) = run_history.load_history(OWNER)[0]
    page = ConvergencePage(session_of(item.link))
    page.view()
    until(page, lambda: page.race_view.race is not None)
    until(page, lambda: page.session.table.loading is None and page.starter.has_estimates)
    shown = page.race_view.race
    assert shown.recorded
    pd.testing.assert_frame_equal(shown.frame(), frame, check_exact=True)
    assert page.session.runs.entry is None, "nothing runs"
    assert not page.race_view.outdated
    assert f"kept={item.run.id}" in page.session.link.query
    page.race_view.press_run()
    until(page, lambda: page.session.runs.entry is not None and page.session.runs.entry.job.ended)
    assert "kept" not in page.session.link.query
    page.session.runs.entry.keeper.join(30)
    assert len(run_history.load_history(OWNER)[0]) == 1, "the same race again takes its place"


def test_another_owners_race_is_not_opened_and_the_page_says_so():
    raced()
    (item,) = run_history.load_history(OWNER)[0]
    page = ConvergencePage(session_of(item.link, STRANGER))
    page.view()
    until(page, lambda: page.session.problem is not None)
    assert "no longer stored" in str(page.session.problem)
    assert page.session.stored_race == ""


def test_the_link_of_a_running_race_opens_it_from_the_run_store_when_the_process_has_ended():
    first = raced()
    link, frame = first.session.link.query, first.race_view.race.frame()
    assert "run=" in link
    first.close()
    page = ConvergencePage(session_of(link))  # of another registry: as after a restart
    page.view()
    until(page, lambda: page.race_view.race is not None)
    pd.testing.assert_frame_equal(page.race_view.race.frame(), frame, check_exact=True)
    until(page, lambda: page.session.table.loading is None and page.starter.has_estimates)
    assert page.session.runs.entry is None, "nothing runs"
    assert "kept=" in page.session.link.query
    stranger = ConvergencePage(session_of(link, STRANGER))
    stranger.view()
    until(stranger, lambda: stranger.session.runs.entry is not None)
    assert stranger.session.problem is None, "for others it is a link to the same settings"
    stranger.close()


def test_the_fit_of_a_map_is_listed_saved_and_leads_back_to_its_page():
    page = maps.open_page()
    page.session.stored_race = "c" * 32  # a race that is looked at on another page, and may be deleted
    maps.until(page, lambda: maps.settled(page))
    assert page.session.runs.map_entry.keeper.join(30)
    steps = page.tab.frame.run.trace
    page.close()
    (item,) = run_history.load_history(OWNER)[0]
    assert (item.title, item.race_again) == ("fit on four-gaussians", "")
    frame = pd.read_csv(io.StringIO(run_history.export_csv(item.run)), comment="#")
    assert frame.nll.tolist() == pytest.approx([step.nll for step in steps])
    back = read_link(item.link)
    assert (back.page, back.data, back.rows, back.stored_race) == ("boundaries", "four-gaussians", 200, "")
    assert read_link(item.compare).study_recipes == item.recipes
    assert listed().tab.open.visible


def test_until_what_is_kept_has_been_read_it_says_so(monkeypatch):
    free = threading.Event()
    monkeypatch.setattr(history_tab, "load_history", lambda owner: free.wait(30) and ([], 0))
    page = ComparePage(session_of("?page=compare&tab=history", OWNER))
    page.view()
    page.pump()
    assert "Loading your runs" in page.tab.status.object
    free.set()
    until(page, lambda: "No runs yet" in page.tab.status.object)


def test_links_lead_back_and_to_a_comparison():
    raced().close()
    compared().close()
    study, race = run_history.load_history(OWNER)[0]
    assert read_link(study.link).sets == ("monks-1", "xor")
    assert study.race_again == ""
    again = read_link(race.race_again)
    assert (again.stored_race, [recipe.family for recipe in again.recipes]) == ("", ["lr", "alr"])
    to = read_link(race.compare)
    assert (to.page, to.sets, [recipe.family for recipe in to.study_recipes]) == (
        "compare",
        ("monks-1",),
        ["lr", "alr"],
    )
    assert read_link(study.compare).study_recipes == (Recipe("anje", order=1), Recipe("tan", smoothing=1.0))


def test_numbers_are_saved():
    first = raced()
    compared().close()
    study, race = run_history.load_history(OWNER)[0]
    steps = pd.read_csv(io.StringIO(run_history.export_csv(race.run)), comment="#")
    assert steps.objective.tolist() == first.race_view.race.frame().objective.tolist()
    fits = pd.read_csv(io.StringIO(run_history.export_csv(study.run)), comment="#")
    assert fits.name.value_counts().to_dict() == {"nb": 10, "tan": 10}
    assert "reliability" not in fits


def test_a_run_is_deleted_at_the_second_press():
    raced().close()
    page = listed()
    part = page.tab
    part._delete()
    assert part.delete.label == CONFIRM_DELETE
    assert len(run_history.load_history(OWNER)[0]) == 1
    part._turn()
    assert part.delete.label != CONFIRM_DELETE, "who looks at another is asked again"
    part._delete()
    part._delete()
    until(page, lambda: not part.pump())
    assert run_history.load_history(OWNER)[0] == []
    assert "No runs yet" in part.status.object


def damage(path):
    path.write_bytes(b"nothing of ours " * 100)


def renumber(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(("spoil", "word"), [(damage, "damaged"), (renumber, "later version")])
def test_a_store_that_cannot_be_opened_is_said_and_is_tried_again(tmp_path, monkeypatch, caplog, spoil, word):
    folder = tmp_path / "spoilt"
    Store(folder).close()
    spoil(folder / "runs.sqlite")
    monkeypatch.setenv("ALRVIZ_HOME", str(folder))  # now: a thread of a test before must not open it whole
    tab = listed().tab
    assert tab.status.visible
    assert word in tab.status.object
    assert "No runs yet" not in tab.status.object
    assert str(tmp_path) not in tab.status.object
    listed()
    assert len([record for record in caplog.records if str(tmp_path) in record.getMessage()]) == 1, "logged once"
    (folder / "runs.sqlite").unlink()
    monkeypatch.setattr(run_store, "RETRY_SECONDS", 0.0)
    again = listed().tab
    assert "No runs yet" in again.status.object


def test_a_store_that_takes_nothing_more_is_said_beside_what_it_has():
    store = open_run_store()
    store.end(store.begin(OWNER, "path", '{"recipes": []}', "0", name="n", data_name="led"), "done", "")
    (pages,) = store.database.read("PRAGMA page_count")[0]
    store.database.read(f"PRAGMA max_page_count = {pages}")
    with contextlib.suppress(StoreError):
        for k in range(10_000):
            store.begin(OWNER, "race", "{}", f"{k}")
    tab = listed().tab
    assert tab.items
    assert "disk is full" in tab.status.object
    store.close()
    tab.items = tab.items[-1:]
    tab._list_runs(0)
    csv = tab._csv()
    assert "run store" in csv
    assert str(store.database.path) not in csv
    tab.session.problem = None
    tab._delete()
    tab._delete()
    until(tab, lambda: tab.session.problem is not None)
    assert "run store" in for_page(tab.session.problem)
    assert str(store.database.path) not in for_page(tab.session.problem)


def test_two_runs_deleted_one_after_the_other_are_both_gone(monkeypatch):
    store = open_run_store()
    for k in range(2):
        store.end(store.begin(OWNER, "path", '{"recipes": []}', f"{k}", name="n", data_name="led"), "done", "")
    page = listed()
    with limits.PAGES, limits.PAGES:  # no thread begins before both are asked for
        for _ in range(4):
            page.tab._delete()
    until(page, lambda: not page.tab.pump())
    assert run_history.load_history(OWNER)[0] == []


def test_hostile_names_and_many_runs_are_listed():
    store = open_run_store()
    for k in range(RUNS_PER_PAGE + 3):
        spec = '{"recipes": []}'
        run = store.begin(OWNER, "path", spec, f"{k}", name="n", data_name="<script>alert(1)</script>")
        store.end(run, "done", "<b>all</b>")
    page = listed()
    assert len(page.tab.list.items) == RUNS_PER_PAGE
    assert page.tab.more_button.visible
    page.tab._show_more()
    assert len(page.tab.list.items) == RUNS_PER_PAGE + 3
    assert "<script>" not in page.tab.description.object
    assert "<b>all" not in page.tab.description.object
    assert not page.tab.open.visible, "it has no link: it was not begun in the explorer"
    assert "only its numbers" in page.tab.description.object


def test_a_recipe_that_this_version_does_not_read_hides_no_run():
    store, known = open_run_store(), Recipe("lr", alpha=0.3).to_json()
    spec = json.dumps({"recipes": ['{"format": 99}', known]})
    run = store.begin(OWNER, "path", spec, "0", name="n", data_name="led", link="?page=path&data=led")
    store.end(run, "done", "")
    page = listed()
    assert page.tab.list.items[0]["secondary"].startswith("lr · n = 2 · done")
    assert "<li>lr " in page.tab.description.object
    (item,) = run_history.load_history(OWNER)[0]
    assert read_link(item.compare).study_recipes == (Recipe("lr", alpha=0.3),)


def test_the_tab_is_in_the_link_and_hides_the_comparison():
    page = listed()
    assert (page.front_slug, list(page.layouts)) == ("history", ["history"]), "nothing is priced behind the history"
    page.choice.value = "comparison"
    shown = {slug: [part.visible for part in parts] for slug, parts in page.layouts.items()}
    assert shown == {"history": [False, False], "comparison": [True, True]}
    assert "tab=" not in page.session.link.query
    page.tab.menus["folds"].value = "5"
    page.choice.value = "history"
    assert "tab=history" in page.session.link.query
    again = ComparePage(session_of(page.session.link.query))
    again.view()
    again.choice.value = "comparison"
    assert again.tab.spec.folds == "5", "the link holds the comparison's settings meanwhile"
    again.close()
    page.close()


@pytest.mark.parametrize(
    ("ago", "words"),
    [(0, "just now"), (61, "1 minute ago"), (7300, "2 hours ago"), (86_400 * 3.5, "3 days ago"), (-5, "just now")],
)
def test_ages_are_in_words(ago, words):
    assert run_history.age_text(1e9 - ago, 1e9) == words


def test_the_history_says_how_numbers_were_cut_and_rows_split():
    kept = SimpleNamespace(
        spec=json.dumps({"recipes": [Recipe("lr", discretize="quantile", n_bins=5, alpha=0.3).to_json()]}),
        link="?page=compare&sets=iris&split=g1", state="done", changed=0.0,
    )  # fmt: skip
    assert summary_line(HistoryItem(kept, 10)).endswith(
        " · numbers cut by 5 quantiles, rows split: together by column 2"
    )
    assert split_words("t0") == "in time by column 1"
    assert split_words("once") == "duplicates dropped"


def test_a_saved_class_is_listed_and_its_answers_are_saved_as_csv():
    room = Classroom(OWNER)
    room.ask(Question("q", "text", "Why?", ()))
    room.vote("student", 1, "=1+1")
    keeper = ClassAutosave(room, open_run_store)
    keeper.end()
    assert keeper.join(20)
    tab = listed().tab
    assert (tab.item.title, tab.open.visible, tab.compare.visible) == (f"class {room.code}", False, False)
    table = pd.read_csv(io.StringIO(tab._csv()), comment="#")
    assert table[["question", "student", "answer"]].to_numpy().tolist() == [["Why?", 1, "'=1+1"]]
