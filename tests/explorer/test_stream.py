"""A table larger than memory in the explorer: pages show its sample, Convergence races all of its rows, Selection shows
what a run over them keeps.
"""

import contextlib
import io
from types import SimpleNamespace

import pytest

import alrviz
from alrviz.explorer.pages.convergence.page import ConvergencePage
from alrviz.explorer.pages.order.page import OrderPage
from alrviz.explorer.pages.selection.page import SelectionPage
from alrviz.explorer.recipes.questions import for_streaming
from alrviz.explorer.recipes.recipe_url import write_recipes
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import read_link
from alrviz.explorer.widgets.race_cost import passes_text
from alrviz.explorer.widgets.scripts import script
from alrviz.fitting.recipe import Recipe
from tests.explorer.pages import OWNER, until


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))
    monkeypatch.setattr("alrviz.data.stream.table.SAMPLE_ROWS", 500)
    path = tmp_path / "led.parquet"
    alrviz.load_demo("led").frame.to_parquet(path)
    return path


def session_of(file, link="", registry=None):
    stream = alrviz.open_table(file)
    session = Session(OWNER, registry or Registry(ServerLimits(), timer=False), stream, str(file))
    session.link.open(read_link(link))
    return session


def opened(page_class, file, link):
    page = page_class(session_of(file, link))
    page.view()
    return page


def test_pages_show_the_sample_and_say_so(file):
    session = session_of(file)
    assert session.table.dataset is session.table.stream.sample
    assert session.table.dataset.n_rows == 500
    assert session.table.race_data is session.table.dataset
    assert "a sample, 500 of 3,000 rows" in session.message
    page = opened(OrderPage, file, "?page=order&of=anje&folds=5")
    until(page, lambda: page.runner.costs is not None)
    assert "500 of 3,000 rows" in page.layout.note.object
    assert page.runner.costs.study.dataset.n_rows == 500
    page.close()


def test_a_changed_kind_holds_for_all_rows_and_another_table_has_none(file):
    session = session_of(file)
    name = session.table.dataset.columns[0].name
    session.table.changes.set_kinds({name: "ignore"})
    while session.table.loading is not None:
        session.pump()
    assert session.table.stream.kinds[name] == "ignore"
    assert session.table.stream.n_rows == 3000
    session.table.load_demo("xor")
    while session.table.loading is not None:
        session.pump()
    session.race_rows = "all"
    assert session.table.stream is None
    assert session.table.race_data is session.table.dataset


def test_all_rows_are_raced_in_passes_and_the_script_prints_the_same(file):
    page = opened(ConvergencePage, file, "?racers=alr_o1_vadagrad~lr_o1_vadagrad&on=all")
    page.drawer()
    assert page.controls.whole.visible
    assert page.controls.whole.value == "all"
    until(page, lambda: page.starter.has_estimates)
    page.race_view.press_run()
    until(page, lambda: page.race_view.race is not None and page.race_view.race.ended)
    race = page.race_view.race
    assert race.dataset.n_rows == 3000
    assert {recipe.params["max_iter"] for recipe in race.recipes} == {10}
    assert race.runs[0].trace.rows > 2000
    assert not page.race_view.outdated
    page.pump()
    assert "2,087 of 3,000 rows" in page.model.status.object
    zipped = io.BytesIO(page.model._zip())
    rows = alrviz.load_demo("led").X
    assert (alrviz.load_model(zipped).predict(rows) == alrviz.load_demo("led").y).mean() > 0.7
    part = page.model.evaluation
    part.folded.open = True
    until(page, lambda: part.view.evaluation is not None)
    found, last = part.view.evaluation, race.runs[0].trace[-1]
    assert f"{3000 - 2087} test rows of led" in part.view.sentence.object
    assert found.summary().log_loss == pytest.approx(last.extra["heldout_log_loss"], rel=1e-9)
    expected = alrviz.load_demo("led").frame.groupby(found.X.columns[0]).size().index
    assert set(found.groups(found.X.columns[0]).group) == set(expected), "codes are levels again"
    assert not part.report.visible
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(script(page.session, page.racers, "x"), "script", "exec"), {})
    assert f"NLL {race.runs[0].trace[-1].nll / race.runs[0].trace.rows:.6f} per row" in said.getvalue()
    page.controls.whole.value = ""
    assert page.race_view.outdated, "the sample is another table"
    assert "on=all" not in page.session.link.query
    page.race_view.press_stop()
    page.close()


def test_a_family_that_is_not_fitted_in_passes_is_refused_in_words(file):
    page = opened(ConvergencePage, file, "?racers=dlr&on=all")
    until(page, lambda: page.session.problem is not None)
    assert "dlr cannot be fitted to a table read in batches" in str(page.session.problem)
    page.close()


def test_a_solver_that_needs_all_rows_at_once_gives_way():
    sgd, tron = (for_streaming([Recipe("lr", order=1, solver=solver, alpha=0.3)])[0] for solver in ("sgd", "tron"))
    assert (sgd.params["solver"], tron.params["solver"]) == ("auto", "tron")


def test_what_racers_lose_over_all_rows_is_said(file):
    racers = Recipe("lr", order=1, alpha=0.5), Recipe("hlr", order=1, alpha="auto", discretize="smooth")
    page = opened(ConvergencePage, file, f"?racers={write_recipes(racers)}")
    assert not page.note.visible, "the sample is in memory"
    page.session.race_rows = True
    assert page.note.visible
    assert "With all rows hlr has alpha 0.3 and 10 quantiles" in page.note.object
    page.close()


def test_rows_a_second_are_of_the_passes_that_the_clock_has():
    def step(passes, seconds):
        return SimpleNamespace(passes=passes, seconds=seconds)

    class Steps(list):
        rows = 1000.0

    assert passes_text([SimpleNamespace(trace=Steps([step(4.0, 0.0)]))]) == ""
    counted = SimpleNamespace(trace=Steps([step(4.0, 0.0), step(5.0, 1.0), step(6.0, 2.0)]))
    assert passes_text([counted]).startswith("pass 6 · 1,000 rows/s")


def test_a_pass_is_priced_by_all_rows(file):
    page = opened(ConvergencePage, file, "?racers=alr_o1&on=all")
    until(page, lambda: page.starter.has_estimates)
    seconds = page.starter.estimates[0].one_pass.seconds
    assert seconds == pytest.approx(3000 * 7 * 10 / 3.5e8)
    assert page.racers == (Recipe("alr", order=1, max_iter=10, alpha=1.0),)
    page.close()


def test_the_selection_of_a_run_over_all_rows_is_shown_as_it_comes_and_found_again(file):
    page = opened(SelectionPage, file, "?page=selection&of=hsalr_o2&on=all&keep=50&cuts=")
    view, race_view = page.study_view, page.streamed.race_view
    until(page, lambda: page.streamed.starter.has_estimates)
    assert (view.over_rows, page.streamed.buttons_part.visible, view.bar.panel.visible) == (True, True, False)
    assert not page.menus["folds"].visible
    assert not view._search_parts[0].visible, "nothing was selected yet, least of all by the sample"
    race_view.press_run()
    until(page, lambda: race_view.race is not None and race_view.race.ended and view.search is not None)
    page.pump()
    run = race_view.race.runs[0]
    assert run.trace.rows > 2000
    assert run.recipe.params["max_iter"] == 10
    assert [level.kept_tuples for level in view.search.levels] == [level.kept_tuples for level in run.levels]
    assert [len(level.kept_tuples) for level in run.levels] == [4, 9]
    assert "9 of 18 scored pairs are kept" in view.search_text.object
    assert "not scored (3 of 21)" in view.search_text.object
    assert view._search_parts[0].visible
    assert view._csv_of_tuples().count("\n") > 7 + 18
    assert ".sample" not in page.script()
    assert "hsalr" in page.script()
    link = page.session.link.query
    view.keep = 25
    until(page, lambda: race_view.outdated)
    assert [len(level.kept_tuples) for level in view.search.levels] == [4, 9], "the picture is of the run"

    again = SelectionPage(session_of(file, link, page.session.registry))
    again.view()
    until(again, lambda: again.streamed.race_view.race is not None and again.study_view.search is not None)
    assert again.streamed.race_view.race is race_view.race
    again.close()

    page.session.race_rows = ""
    until(page, lambda: view.search is not None and view.search.is_complete and page.runner.costs is not None)
    assert page.runner.costs.study.dataset.n_rows == 500
    assert (view.over_rows, page.streamed.buttons_part.visible, view.bar.panel.visible) == (False, False, True)
    page.close()
