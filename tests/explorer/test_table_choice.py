"""What is set of a table holds on every page: cuts of numbers, splits of rows."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest

from alrviz.explorer.pages.bias.page import BiasPage
from alrviz.explorer.pages.compare.page import ComparePage
from alrviz.explorer.pages.convergence.page import ConvergencePage
from alrviz.explorer.pages.data.page import DataPage
from alrviz.explorer.pages.order.page import OrderPage
from alrviz.explorer.pages.path.page import PathPage
from alrviz.explorer.widgets.scripts import dataset_code
from alrviz.explorer.widgets.table_settings import (
    CUTS,
    MIXED_CUTS,
    MORE_SPLITS,
    cut_params,
    cuts_of,
    cuts_slug,
    split_options,
    with_cuts,
)
from alrviz.fitting.recipe import Recipe
from tests.explorer.pages import opened, until

pytestmark = [  # of panel under this pandas
    pytest.mark.usefixtures("home"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
    pytest.mark.filterwarnings("ignore:Both .variant. and .button_style. were provided"),
]
STUDIES = (OrderPage, PathPage, BiasPage, ComparePage)


@pytest.fixture(scope="module")
def csv():
    """class = sign(a b): neither number tells anything alone. Half of the rows come twice; there are 40 persons."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 400)).round(6)
    frame = pd.DataFrame({"a": a, "b": b, "person": [f"p{k % 40}" for k in range(400)]})
    frame["class"] = np.where(a * b > 0, "plus", "minus")
    return pd.concat([frame, frame.iloc[:200]]).to_csv(index=False).encode()


def page_on(csv, page_class, link):
    page = opened(page_class, link)
    page.session.table.load_bytes("signs.csv", csv)
    until(page, lambda: page.session.table.loading is None and page.session.table.source.file is not None)
    page.on_shown()
    return page


def date_part(page):
    return getattr(page, "tab", page)


def settled(page):
    part = date_part(page)
    until(page, lambda: page.session.table.loading is None and part.runner.costs is not None)
    return part


def recipes_of(page):
    return date_part(page).spec.recipes


def test_slugs_of_cuts_say_what_recipes_say():
    for slug in CUTS:
        assert cuts_slug(Recipe("lr", **cut_params(slug))) == slug
    assert cut_params("quantile-1") == cut_params("nonsense") == cut_params("")
    mixed = (Recipe("lr", alpha=0.3), Recipe("rf"), Recipe("alr", discretize="quantile", alpha=1.0))
    assert cuts_of(mixed) == MIXED_CUTS
    assert [recipe.discretize for recipe in with_cuts(mixed, "uniform-10")] == ["uniform", "mdl", "uniform"]
    assert cuts_of((Recipe("rf"), Recipe("lr", discretize=None, alpha=0.3))) == "values"
    smooth = with_cuts((Recipe("hlr", alpha=0.3), Recipe("lr", scale="diagonal", alpha=0.3), Recipe("tan")), "smooth")
    assert [recipe.cuts for recipe in smooth] == ["smooth", "quantile", "quantile"], "as near as a recipe can be"


@pytest.mark.parametrize("page_class", STUDIES)
def test_columns_that_cuts_lose_are_said_and_quantiles_see_them(csv, page_class):
    page = page_on(csv, page_class, f"?page={page_class.slug}")
    part = settled(page)
    assert "MDL" in part.layout.note.object
    assert "finds no cut in 2 of 2 numeric columns: &#x27;a&#x27;, &#x27;b&#x27;" in part.layout.note.object
    assert part.layout.note.visible
    part.menus["cuts"].value = "quantile-10"
    assert {recipe.discretize for recipe in recipes_of(page) if recipe.cuts != "keep"} == {"quantile"}
    part = settled(page)
    assert "no cut" not in part.layout.note.object
    assert "cuts=quantile-10" in page.session.link.query
    assert "of=" not in page.session.link.query, "the page's own recipes, cut so"
    assert "discretize='quantile'" in part.script()
    assert part.menus["cuts"].value == "quantile-10"
    page.close()


def test_cuts_chosen_on_one_page_hold_on_the_others(csv):
    order = page_on(csv, OrderPage, "?page=order&refs=none")
    settled(order)
    session = order.session
    others = [page_class(session) for page_class in (ConvergencePage, DataPage, PathPage)]
    for page in others:
        page.view()
    order.menus["cuts"].value = "quantile-20"
    race, data, path = others
    session.page = "path"
    path.on_shown()
    assert {(r.discretize, r.n_bins) for r in path.spec.recipes} == {("quantile", 20)}
    session.page = "convergence"
    race.on_shown()
    assert {(r.discretize, r.n_bins) for r in race.recipes} == {("quantile", 20)}
    assert race.settings.question == "alr-or-lr"
    session.page = "data"
    data.choose("a")
    until(data, lambda: not data.tasks.busy("costs") and "20 levels" in data._column.title.object)
    assert data._estimates[0].cost.parameters == 2 * (1 + 20 + 20), "persons are no feature"
    data._column.cuts.value = ""
    until(data, lambda: not data.tasks.busy("costs") and "one level" in data._column.title.object)
    assert data._estimates[0].cost.parameters == 2 * (1 + 1 + 1)
    session.page = "order"
    order.on_shown()
    assert order.spec.recipe.discretize == "mdl"
    for page in (order, *others):
        page.close()


def test_rows_are_split_as_was_chosen_in_studies_links_and_scripts(csv):
    page = page_on(csv, OrderPage, "?page=order&of=anje&folds=5&cuts=quantile-5&refs=none")
    part = settled(page)
    assert "200 of 600 rows are duplicates of earlier ones" in part.layout.note.object
    page.menus["split"].value = "once"
    until(page, lambda: page.session.table.loading is None and page.session.table.dataset.n_rows == 400)
    part = settled(page)
    assert "repeat" not in part.layout.note.object
    assert "split=once" in page.session.link.query
    assert "dataset = dataset.split_by(repeats='once')" in part.script()
    page.study_view.press_run()
    until(page, lambda: page.study_view.study.phase == "done" and page.study_view.drawn_state[0][0] == "done")
    assert "Duplicate rows are dropped" in page.study_view.sentence.object
    again = opened(OrderPage, page.session.link.query)
    again.session.table.load_bytes("signs.csv", csv)
    until(again, lambda: again.session.table.loading is None and again.session.table.dataset is not None)
    assert again.session.table.dataset.hash == page.session.table.dataset.hash
    page.menus["split"].value = ""
    until(page, lambda: page.session.table.loading is None and page.session.table.dataset.n_rows == 600)
    assert "split" not in page.session.link.query
    for one in (page, again):
        one.close()


def test_groups_and_times_are_offered_and_the_script_gives_the_same_rows(csv, tmp_path, monkeypatch):
    page = page_on(csv, OrderPage, "?page=order&of=lr_a1&folds=5&refs=none")
    settled(page)
    options = split_options(page.session.table.dataset)
    assert options["together by person"] == "g2"
    assert {"in time by a", "in time by b"} < set(options)
    assert not any("class" in words for words in options)
    page.menus["split"].value = "g2"
    until(page, lambda: page.session.table.loading is None and page.session.table.dataset.splitting.units is not None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signs.csv").write_bytes(csv)
    made = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec("import alrviz\n" + dataset_code(page.session), made)
    assert made["dataset"].hash == page.session.table.dataset.hash
    page.close()


def test_of_many_columns_likely_splits_come_first_and_all_others_behind_one_entry():
    """A table of thirteen columns had a menu of 27 entries."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({f"v{k}": random.integers(0, 9, 200) for k in range(10)})
    frame = frame.assign(
        patient_no=np.arange(200) % 30, visit_date=pd.date_range("2024-01-01", periods=200).astype(str)
    )
    frame["class"] = np.where(frame["v0"] > 4, "a", "b")
    page = page_on(frame.to_csv(index=False).encode(), OrderPage, "?page=order&of=lr_a1&refs=none")
    settled(page)
    menu, dataset = page.menus["split"], page.session.table.dataset
    whole = split_options(dataset)
    assert len(whole) > 20
    assert len(menu.options) <= 8
    assert {"at random", "together by patient_no", "in time by visit_date"} < set(menu.options)
    menu.value = MORE_SPLITS
    assert menu.options == whole
    assert menu.value == ""  # nothing was chosen by that
    menu.value = whole["together by v3"]
    until(page, lambda: page.session.table.loading is None and page.session.table.dataset.splitting.units is not None)
    until(page, lambda: menu.value == whole["together by v3"])
    assert menu.options == whole, "of this table all are offered from now on"
    page.close()


@pytest.mark.parametrize("page_class", [OrderPage, PathPage, ComparePage])
def test_a_menu_of_cuts_never_shows_another_choice_than_the_one_made(csv, page_class):
    """What is set back and forth while a press is handled stays as it was in the browser."""
    page = page_on(csv, page_class, "?page=" + page_class.slug)
    part = settled(page)
    menu, shown = part.menus["cuts"], []
    menu.param.watch(lambda event: shown.append(event.new), "value")
    for slug in ("quantile-5", "quantile-10", ""):
        menu.value = slug
        settled(page)
    assert shown == ["quantile-5", "quantile-10", ""]
    assert page.session.cuts == ""
    part.menus["cuts"].value = "uniform-10"
    assert page.session.cuts == "uniform-10"
    page.close()
