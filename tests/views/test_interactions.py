"""InteractionsView without a browser: what is chosen, muted and tried, and the numbers under it."""

import csv
import io
from functools import partial
from html import unescape

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.io.doc import patch_curdoc
from bokeh.plotting import figure

import alrviz
from tests.views.studied import until


@pytest.fixture(scope="module")
def study():
    recipe = alrviz.Recipe("hlr", order=3, alpha=1.0)
    return alrviz.effect_bands(alrviz.load_demo("xor"), recipe, refits=3, n_jobs=1).run()


@pytest.fixture
def view(study):
    made = alrviz.InteractionsView(study)
    yield made
    made.press_stop()


def test_the_most_important_tuple_is_shown_first(view, study):
    assert view.table.index[0] == "bit_1 & bit_2"
    bars = view.ranked.picture["bars"]
    assert bars["name"][0] == "» bit_1 & bit_2"
    assert bars["low"][0] < bars["high"][0]
    cells = view.cells.picture["cells"]
    found = study.interactions
    pure = found.pure.f[found.pure.cells_of(found.number_of("bit_1 & bit_2"))]
    assert sorted(cells["value"]) == pytest.approx(sorted(pure[:, 1] - pure[:, 0]))
    assert "3 resampled fits" in view.key.object
    assert "A column, pair or triple matters if" in view.sentence.object


def test_a_press_on_a_bar_or_a_cell_chooses_its_tuple(view):
    class At:
        x, y = 0.5, len(view.ranked.picture["bars"]["name"]) - 1.5

    view._choose_bar(At)
    assert view.tuples.value == view.subset == view.effects.number_of(view.table.index[1])
    names = view.matrix.picture.key[0]
    At.x, At.y = 0.5, len(names) - 0.5
    view._choose_cell(At)
    assert view.effects.names[view.subset] == names[0]
    assert view.cells.picture["bars"]["name"] == ["0", "1"]


def test_every_quantity_is_shown_of_tuples_of_any_size(view):
    for name in ("bit_1", "bit_1 & bit_2", "bit_1 & bit_2 & bit_3"):
        view.subset = view.effects.number_of(name)
        for view.quantity in ("pure", "phi", "w", "rows", "p", "theta"):
            data = view.cells.picture.data
            values = np.array(data.get("cells", data.get("bars"))["value"], float)
            assert np.isfinite(values).all(), (name, view.quantity)


def test_shares_of_the_class_are_counted(view, study):
    view.param.update(subset=view.effects.number_of("bit_1 & bit_2"), quantity="p", of=1)
    encoded = study.interactions.encoded
    cells = view.cells.picture["cells"]
    for up, across, value in zip(cells["up"], cells["across"], cells["value"], strict=True):
        there = (encoded.codes[0] == int(up)) & (encoded.codes[1] == int(across))
        assert value == pytest.approx(encoded.y[there].mean())


def test_muting_shows_the_held_out_figures_at_once(view):
    before = view.losses.loc["all", "log_loss"]
    view.mutes.value = ["bit_1 & bit_2"]
    assert view.muted == [view.effects.number_of("bit_1 & bit_2")]
    assert view.losses.loc["muted", "log_loss"] > before + 0.1
    assert "without bit_1 &amp; bit_2" in view.muting.object
    assert len(view.curve.picture["now"]["y"]) == 2
    assert view.ranked.picture["bars"]["colour"][0] != view.ranked.picture["bars"]["colour"][1]
    view.muted = []
    assert view.mutes.value == []
    assert view.losses.loc["muted", "log_loss"] == before


def test_an_effect_is_corrected_by_hand():
    recipe = alrviz.Recipe("hlr", order=2, alpha=1.0)
    study = alrviz.effect_bands(alrviz.load_demo("age-curve"), recipe, refits=0, n_jobs=1).run()
    view = alrviz.InteractionsView(study, subset=study.interactions.number_of("age"))
    part, bars = view.editing, view.cells.picture["bars"]

    class At:
        x, y = 0.1, len(bars["name"]) - 1.5  # the second bar

    view._press_cells(At)
    assert part.body.open
    assert part.cell.value == (bars["name"][1],)
    assert part.value.value == pytest.approx(bars["value"][1], abs=1e-3)
    assert not part.undo.visible
    part.value.value = 0.25
    part.set.param.trigger("clicks")
    assert view.cells.picture["bars"]["value"][1] == pytest.approx(0.25)
    assert view.losses.loc["all", "log_loss"] == pytest.approx(part.edits.price.loc["log_loss", "after"])
    assert f"{part.edits.price.loc['log_loss', 'change']:+.4f}" in part.text.object
    part.rising.param.trigger("clicks")
    assert (np.diff(view.cells.picture["bars"]["value"]) >= -1e-9).all()
    model = alrviz.load_model(io.BytesIO(part.keep.make_bytes()))
    assert model.edits_["step"].max() == 2
    view.subset = study.interactions.number_of("age & pressure")
    assert not part.rising.visible
    cells = view.cells.picture["cells"]
    At.x, At.y = cells["x"][0], cells["y"][0]
    view._press_cells(At)
    assert part.cell.value == (cells["up"][0], cells["across"][0])
    part.flat.param.trigger("clicks")
    np.testing.assert_allclose(view.cells.picture["cells"]["value"], 0.0, atol=1e-12)
    for _ in range(3):
        part.undo.param.trigger("clicks")
    assert not part.undo.visible
    view.subset = study.interactions.number_of("age")
    np.testing.assert_array_equal(view.cells.picture["bars"]["value"], bars["value"])
    view.press_stop()


def test_what_cannot_be_corrected_is_not_offered():
    data = alrviz.load_demo("age-curve", rows=400)
    density = alrviz.InteractionsView(alrviz.interactions(alrviz.DLRClassifier(alpha=1.0).fit(data.X, data.y), data))
    part = density.editing
    assert part.set.disabled
    assert [part.undo.visible, part.keep.visible, part.rising.visible] == [False] * 3
    data = alrviz.load_demo("age-curve")
    pairs = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=1.0).fit(data.X, data.y), data)
    view = alrviz.InteractionsView(pairs, subset=pairs.number_of("age"))
    assert view.editing.set.disabled
    assert view.editing.flat.disabled
    view.editing.falling.param.trigger("clicks")  # changes the pair
    assert view.editing.edits.log["columns"].unique().tolist() == ["age & pressure"]
    assert view.editing.undo.visible


def test_a_row_is_taken_apart_and_its_levels_are_tried(view):
    view.row = 5
    row = view.one_row
    bars = row.sum.picture["bars"]
    assert sum(bars["value"][:-1]) == pytest.approx(view.explanation.log_odds)
    assert bars["end"][-2:] == pytest.approx([view.explanation.log_odds] * 2)
    assert bars["zero"][1:-1] == pytest.approx(bars["end"][:-2])
    view.column = 0
    other = view.explanation.what_if("bit_1")[view.explanation.label]
    assert row.levels.picture["bars"]["value"] == pytest.approx(other.tolist())
    row.worst.clicks += 1
    encoded = view.effects.encoded
    assert view.row == view.effects.worst(1)[0]
    assert f"Row {view.row:,} is of class <b>{view.effects.classes[encoded.y[view.row]]}</b>" in row.text.object


def test_levels_that_are_tried_add_up_and_are_taken_back(study):
    found = study.interactions
    view = alrviz.RowView(found, row=5)
    part, own = view.part, view.explanation.log_odds
    level = found.level(0, 5)
    other = next(label for label in found.labels(0)[:-1] if label != level)

    class At:
        x, y = 0.5, len(part.level.options) - 0.5 - part.level.options.index(other)

    part._bar_tapped(At)
    assert view.changes == {"bit_1": other}
    assert part.level.value == other
    assert part.undo.visible
    expected = found.row(5, label="1", other_label="0", changes={"bit_1": other})
    assert view.explanation.log_odds == pytest.approx(expected.log_odds)
    assert sum(part.sum.picture["bars"]["value"][:-1]) == pytest.approx(expected.log_odds)
    assert f"bit_1 were <b>{other}</b>" in part.text.object
    assert f'"bit_1": "{other}"' in view.csv()
    part.column_menu.value, part.level.value = 1, found.level(1, 5)  # what it is anyway
    assert view.changes == {"bit_1": other}
    part.undo.clicks += 1
    assert view.changes == {}
    assert view.explanation.log_odds == pytest.approx(own)
    view.changes = {"bit_1": other}
    part.rows.value = 6
    assert view.changes == {}
    view.dark = True
    assert part.sum.picture.key[-1] is True
    assert view.png()[:4] == b"\x89PNG"


def test_what_was_taken_apart_before_is_shown_without_a_study(study):
    data = alrviz.load_demo("xor")
    found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    assert alrviz.InteractionsView(given_effects=found).effects is found
    view = alrviz.InteractionsView(found, muted=["bit_1 & bit_2"])
    assert view.body.visible
    assert view.effects is found
    assert view.losses.loc["muted", "error"] > 0.4
    assert "no whiskers" in view.key.object
    view._numbers.open = True
    for name in view._pictures:
        assert view._pictures[name].picture is not None
    assert "test" not in view._numbers.table.object + "".join(view.ranked.picture["bars"]["tip"])
    assert "these rows' loss" in view.ranked.picture["bars"]["tip"][0]
    view.watch(study)
    assert "test loss without" in view._numbers.table.object
    assert view.effects is study.interactions
    assert "3 resampled fits" in view.key.object
    view.show_model(found, {"model": "mine.zip"})
    assert view.effects is found
    assert "mine.zip" in view.origin("row").title
    page = view.page().decode()
    assert page.count("<svg") >= 6
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert found.verdict().headline in unescape(page)
    assert "mine.zip" in view.csv_of_summary()


def test_columns_of_tuples_are_dots(view):
    view.labels = "dots"
    picture = view.ranked.picture
    first = [picture["dots"]["x"][k] for k in range(2)]
    assert picture["spans"]["x0"][0] == min(first)
    assert picture["spans"]["x1"][0] == max(first)
    assert len(picture["dots"]["x"]) == sum(len(view.effects.members(name)) for name in view.table.index[:16])
    bars = picture["bars"]
    spread = np.array(bars["at_value"]) - np.array(bars["zero"])
    assert spread / spread[0] == pytest.approx(np.array(bars["value"]) / bars["value"][0])


def test_triples_are_small_multiples(view):
    view.subset = view.effects.number_of(["bit_1", "bit_2", "bit_3"])
    picture = view.cells.picture
    assert picture["heads"]["words"] == ["bit_3 = 0", "bit_3 = 1"]
    cells = picture["cells"]
    assert len(cells["value"]) == 8
    pure = view.effects.quantity(view.subset, "pure", 1, 0)
    assert sorted(cells["value"]) == pytest.approx(sorted(pure))
    assert not set(zip(cells["left"][:4], cells["top"][:4], strict=True)) & set(
        zip(cells["left"][4:], cells["top"][4:], strict=True)
    )
    column = view.effects.columns.index("bit_3")
    at = picture["cells"]["panel"].index("bit_3 = 1")
    codes = view.effects.encoded.codes
    there = (codes[column] == 1) & (codes[0] == int(cells["up"][at])) & (codes[1] == int(cells["across"][at]))
    assert cells["rows"][at] == there.sum()


def test_the_tables_are_those_that_are_shown(view):
    view._numbers.open = True
    assert "bit_1 &amp; bit_2" in view._numbers.table.object
    cells_csv = view._csv(lambda effects: effects.effects("bit_1", "bit_2"))
    for text in (view.csv_of_summary(), cells_csv, view._contributions_csv()):
        lines = [line for line in csv.reader(io.StringIO(text)) if line and not line[0].startswith("#")]
        assert len(lines) > 2


def test_bands_come_while_it_computes():
    study = alrviz.effect_bands(
        alrviz.load_demo("led", 200), alrviz.Recipe("lr", order=1, alpha=1.0), refits=3, n_jobs=1
    )
    view = alrviz.InteractionsView(study)
    assert not view.body.visible
    assert "Press Run" in view.sentence.object
    view.press_run()
    until(view, lambda: study.phase == "done")
    view.pump()
    assert view.body.visible
    assert view.table["nats_low"].notna().all()
    view.dark = True
    assert view.ranked.picture.key[-1] is True


def _rendered(holoviews, element):
    document = Document()  # of its own: another test's may be current, and gone
    with patch_curdoc(document):
        return holoviews.render(element, backend="bokeh")


def test_pictures_are_holoviews_elements_that_compose(study):
    holoviews = pytest.importorskip("holoviews", reason="HoloViews is not installed")
    view = alrviz.InteractionsView(study, labels="dots")
    parts = view.elements()
    assert list(parts) == ["importance", "interactions", "effect", "kept-tuples", "row", "what-if"]
    render = partial(_rendered, holoviews)
    beside = render(parts["importance"] + parts["effect"])
    assert len(list(beside.select({"type": figure}))) == 2
    cells = parts["effect"].get(0)
    assert cells["x0"].tolist() == pytest.approx(list(view.cells.picture["cells"]["left"]))
    assert set(cells[cells.vdims[0]]) == set(view.cells.picture["cells"]["colour"])
    together = parts["kept-tuples"] * holoviews.HLine(0.5)
    assert len(render(together).renderers) >= 4
