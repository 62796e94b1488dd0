"""The page "Compare" without a browser: several tables, prices, links, a script with the screen's numbers."""

import io
import re
import threading
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

import alrviz
from alrviz.explorer.pages.compare import page as compare_page
from alrviz.explorer.pages.compare.page import FIRST_SETS, ComparePage, CompareSpec
from alrviz.explorer.pages.order.page import OrderSpec
from alrviz.explorer.server.tables import FileLink
from alrviz.explorer.session.row_filter import RowFilter
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import MAX_SETS, read_link
from alrviz.fitting.recipe import Recipe
from tests.explorer.pages import OWNER, opened
from tests.explorer.pages import run_study as run
from tests.explorer.pages import until as until_page
from tests.explorer.pages import until_study as until

pytestmark = pytest.mark.usefixtures("home")

SMALL = "?page=compare&sets=monks-1_xor&of=anje_o1~tan&folds=5"
ROWS = "\n".join(f"{k % 3},{k % 5},{'yes' if k % 3 else 'no'}" for k in range(60))
CSV = f"a,b<i>,class\n{ROWS}\n".encode()


def open_page(link=SMALL, registry=None):
    return opened(ComparePage, link, registry=registry)


def known(page):
    until(page, lambda: page.session.table.loading is None and page.tab.runner.costs is not None)
    return page.tab.runner.costs


@pytest.fixture
def page():
    made = open_page()
    known(made)
    yield made
    if made.tab.study_view.study is not None:
        made.tab.study_view.study.stop()
    made.close()


def test_every_recipe_is_priced_on_every_table(page):
    assert [one.dataset.name for one in page.tab.runner.costs.tables] == ["monks-1", "xor"]
    assert [[one.name for one in line] for line in page.tab.runner.costs.estimates_by_table] == [["nb", "tan"]] * 2
    assert "<td>monks-1" not in page.tab.layout.cost_table.object
    assert "432 rows, 6 columns, 2 classes" in page.tab.layout.cost_table.object
    assert "Press Run: 2 models on 2 data sets, 5 fits each" in page.tab.study_view.sentence.object


def test_the_first_settings_are_the_shortest_link():
    page = open_page("?page=compare")
    assert (page.tab.spec.sets.demos, page.tab.spec.recipes) == (FIRST_SETS.demos, CompareSpec.default_recipes)
    assert page.session.link.query == "?page=compare"
    page.tab.menus["sets"].value = ["iris"]
    assert "sets=iris" in page.session.link.query
    page.tab.menus["sets"].value = list(FIRST_SETS.demos)
    assert page.session.link.query == "?page=compare"
    page.close()


def test_equal_recipes_are_one():
    page = open_page("?page=compare&sets=xor&of=tan~tan~anje_o1")
    assert page.tab.spec.recipes == (Recipe("tan", smoothing=1.0), Recipe("anje", order=1))
    page.tab.chooser.change(1, Recipe("tan", smoothing=1.0))
    assert page.tab.spec.recipes == (Recipe("tan", smoothing=1.0),)
    page.close()


def test_a_link_is_not_trusted():
    many = "_".join([f"no{k}" for k in range(99)])
    page = open_page(f"?page=compare&sets=monks-1_{many}_../etc_xor&files=../../x~1~2~zz/y~1~2~{'a' * 16}&folds=9x9")
    assert page.tab.spec.sets.demos == ("monks-1",), "only the first 64 words are read"
    assert [link.name for link in page.tab.spec.sets.links] == ["y"]
    assert page.tab.spec.folds == "5x2"
    every = read_link("?sets=" + "_".join(FIRST_SETS.demos * 9)).sets
    assert every == FIRST_SETS.demos
    assert len(every) <= MAX_SETS
    page.close()


def test_a_dropped_table_joins_and_is_found_by_its_link(page):
    page.session.table.load_bytes("=mine<b>.csv", CSV)
    until(page, lambda: page.session.table.loading is None and len(page.tab.spec.sets) == 3)
    known(page)
    assert [one.dataset.n_rows for one in page.tab.runner.costs.tables] == [432, 1000, 60]
    link = page.session.link.query
    assert "files=" in link
    again = open_page(link, page.session.registry)
    known(again)
    assert [one.dataset.hash for one in again.tab.runner.costs.tables] == [
        one.dataset.hash for one in page.tab.runner.costs.tables
    ]
    code = page.tab.script()
    assert "alrviz.read_table(" in code
    assert "<b>" not in again.tab.layout.cost_table.object
    again.close()


def test_rows_kept_of_a_table_stay_kept_while_another_is_shown(page):
    table = page.session.table
    table.load_bytes("mine.csv", CSV)
    until(page, lambda: table.loading is None and table.source.file is not None)
    page.on_shown()
    table.changes.keep_rows([RowFilter(1, ranges=((0.0, 2.0),))])
    until(page, lambda: table.loading is None)
    page.on_shown()
    table.load_demo("iris")
    until(page, lambda: table.loading is None and table.dataset.name == "iris")
    page.on_shown()
    mine = next(one for one in known(page).tables if not one.source.demo)
    assert mine.dataset.n_rows == 36
    assert "used some rows only" in page.tab.script()


def test_what_a_thread_is_at_is_said_with_names_escaped(page, monkeypatch):
    go = threading.Event()

    def opened(sets, seed, own, stop, tell):
        tell("opening <b>mine</b>")
        go.wait(30)
        return (), ()

    monkeypatch.setattr(compare_page, "open_all", opened)
    page.tab.menus["folds"].value = "2x5"
    until(page, lambda: "opening &lt;b&gt;mine" in page.tab.layout.time.object)
    go.set()
    known(page)


def test_behind_another_page_it_leaves_that_pages_link_alone(page):
    session, other = page.session, Recipe("lr", alpha=0.1)
    session.go("order")
    session.param.update(study_recipes=(other,), folds="10")
    session.table.load_bytes("mine.csv", CSV)
    until(page, lambda: session.table.loading is None)
    assert (session.study_recipes, session.folds, session.sets) == ((other,), "10", ())
    session.go("compare")
    page.on_shown()
    assert [link.name for link in page.tab.spec.sets.links] == ["mine.csv"], "the table joins when the page is seen"
    known(page)


def test_a_table_that_is_held_no_more_says_which_file_to_drop():
    file = FileLink("gone.csv", 60, 3, "0" * 16)
    page = open_page(f"?page=compare&sets=monks-1&files=gone.csv~60~3~{'0' * 16}&of=anje_o1")
    assert (
        "drop gone.csv (60 rows x 3 columns, hash 0000000000000000) again"
        in dict(known(page).unopened_tables)["gone.csv"]
    )
    assert "1 left out" in page.tab.layout.time.object
    assert str(file) in unquote(page.tab.layout.cost_table.object)
    assert page.tab.runner.costs.study is not None, "the others are compared all the same"
    page.close()


def test_it_goes_without_the_sessions_table():
    page = open_page(f"?page=compare&sets=monks-1&of=anje_o1&folds=5&file=gone.csv~60~3~{'0' * 16}")
    assert page.session.table.dataset is None, "the link is about a file that is not held"
    known(page)
    run(page)
    assert page.tab.study_view.study.progress.n_done == 5
    page.close()


def test_what_no_table_can_take_is_left_out_and_told():
    page = open_page("?page=compare&sets=four-gaussians&of=anje_o1~ande_n2")
    assert known(page).recipes == (Recipe("anje", order=1),)
    assert "1 left out" in page.tab.layout.time.object
    assert "refused" in page.tab.layout.cost_table.object
    assert "1 model on 1 data set" in page.tab.study_view.sentence.object
    page.close()


def test_without_data_sets_it_says_what_to_do(page):
    page.tab.menus["sets"].value = []
    known(page)
    assert "Choose at least one data set" in page.tab.layout.cost_table.object
    page.tab.study_view.press_run()
    assert page.session.registry.entries(OWNER) == []


def test_a_table_of_ones_own_takes_the_place_of_the_pages_sets_and_not_of_chosen_ones():
    page = open_page("?page=compare")
    page.session.table.load_bytes("mine.csv", CSV)
    until(page, lambda: page.session.table.loading is None and page.session.table.source.file is not None)
    page.on_shown()
    assert (page.tab.spec.sets.demos, [link.name for link in page.tab.spec.sets.links]) == ((), ["mine.csv"])
    chosen = open_page("?page=compare&sets=iris")
    chosen.session.table.load_bytes("mine.csv", CSV)
    until(chosen, lambda: chosen.session.table.loading is None and chosen.session.table.source.file is not None)
    chosen.on_shown()
    assert chosen.tab.spec.sets.demos == ("iris",)
    for one in (page, chosen):
        one.close()


def test_it_opens_with_the_models_that_which_order_judges_and_boosting():
    alphas = {recipe.params["alpha"] for recipe in CompareSpec.default_recipes if recipe.family == "lr"}
    assert alphas == {OrderSpec.default_recipes[0].params["alpha"]}
    assert "hgb" in {recipe.family for recipe in CompareSpec.default_recipes}


def test_the_script_reads_the_servers_own_table_where_it_is(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_bytes(CSV)
    session = Session(owner=OWNER, served=alrviz.read_table(file), served_from=str(file))
    session.link.open(read_link("?page=compare&of=anje_o1&folds=5"))
    page = ComparePage(session)
    page.view()
    assert [table.dataset.name for table in known(page).tables] == ["mine"]
    assert f"alrviz.read_table({str(file)!r}" in page.tab.script()
    page.close()


def given(data, name="mine.csv"):
    """The tab of results with a file dropped into it."""
    page = open_page("?page=compare&tab=results")
    page.tab._read_file(name, data)
    until_page(page, lambda: page.tab.results is not None or "bad" in page.tab.text.object)
    return page


def test_the_fits_of_a_reproduced_table_are_compared_as_if_they_had_been_run_here():
    docs = Path(__file__).parents[2] / "docs" / "reproduction"
    fits = pd.read_csv(docs / "fits" / "sets.csv")
    page = given(fits[fits["group"] == "little"].to_csv(index=False).encode(), "sets.csv")
    view, table = page.tab.study_view, pd.read_csv(docs / "alr-t2.csv").to_dict("records")
    page.tab.methods.value = ["alr2 paper", "anje2 paper"]
    for measure in ("error", "rmse"):
        view.measure = measure
        (told,) = (
            line["ours"] for line in table
            if (line["quantity"], line["method"], line["set"]) == (measure, "alr2 paper vs anje2 paper", "little sets")
        )  # fmt: skip
        record = told.partition(",")[0]
        assert f"<b>{record}</b>" in view._pairs.object or f"<td>{record} " in view._pairs.object, told
    lines = pd.read_csv(io.StringIO(view.csv_of_summary()), comment="#")
    assert set(lines.name) == {"alr2 paper", "anje2 paper"}
    assert "RMSE" in view._measures.options
    assert "balanced error" not in view._measures.options, "the file does not tell it"
    page.close()


def test_fits_that_compare_saved_are_opened_with_the_same_table(page):
    run(page)
    view = page.tab.study_view
    again = given(view.csv_of_fits().encode()).tab.study_view
    for measure in ("error", "log_loss"):
        view.measure = again.measure = measure
        assert again._pairs.object == view._pairs.object
        cells = [" ".join(re.findall(r"<td>.*?</td>", one._means.object)) for one in (view, again)]
        assert cells[0] == cells[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "expected a column &#x27;data&#x27; or &#x27;set&#x27;"),
        ("set,method,score\niris,lr,.9\n", "expected figures in a column accuracy, log_loss"),
        ("set,method,error\niris,<b>,none\n", "expected figures"),
    ],
)
def test_a_file_without_results_is_refused_with_what_was_expected(text, told):
    page = given(text.encode())
    assert told in page.tab.text.object
    assert not page.tab.card.visible
    page.close()
