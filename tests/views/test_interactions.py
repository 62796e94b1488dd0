"""InteractionsView without a browser: what is chosen, muted and tried, and the numbers under it."""

import csv
import io

import numpy as np
import pytest

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
    assert bars["name"][0] == "▸ bit_1 & bit_2"
    assert bars["low"][0] < bars["high"][0]
    cells = view.cells.picture["cells"]
    found = study.interactions
    pure = found.pure.f[found.pure.cells_of(found.number_of("bit_1 & bit_2"))]
    assert sorted(cells["value"]) == pytest.approx(sorted(pure[:, 1] - pure[:, 0]))
    assert "3 refits" in view.key.object
    assert "Main effects carry" in view.sentence.object


def test_a_press_on_a_bar_or_a_cell_chooses_its_tuple(view):
    class At:
        x, y = 0.5, len(view.ranked.picture["bars"]["name"]) - 1.5

    view._choose_bar(At)
    assert view.tuples.value == view.subset == view.found.number_of(view.table.index[1])
    names = view.matrix.picture.key[0]
    At.x, At.y = 0.5, len(names) - 0.5
    view._choose_cell(At)
    assert view.found.names[view.subset] == names[0]
    assert view.cells.picture["bars"]["name"] == ["0", "1"]


@pytest.mark.parametrize("quantity", ["pure", "phi", "rows", "p", "theta"])
def test_every_quantity_is_shown_of_tuples_of_any_size(view, quantity):
    view.quantity = quantity
    for name in ("bit_1", "bit_1 & bit_2", "bit_1 & bit_2 & bit_3"):
        view.subset = view.found.number_of(name)
        data = view.cells.picture.data
        values = np.array(data.get("cells", data.get("bars"))["value"], float)
        assert np.isfinite(values).all(), name


def test_shares_of_the_class_are_counted(view, study):
    view.param.update(subset=view.found.number_of("bit_1 & bit_2"), quantity="p", of=1)
    encoded = study.interactions.encoded
    cells = view.cells.picture["cells"]
    for up, across, value in zip(cells["up"], cells["across"], cells["value"], strict=True):
        there = (encoded.codes[0] == int(up)) & (encoded.codes[1] == int(across))
        assert value == pytest.approx(encoded.y[there].mean())


def test_muting_shows_the_held_out_figures_at_once(view):
    before = view.losses.loc["all", "log_loss"]
    view.mutes.value = ["bit_1 & bit_2"]
    assert view.muted == ["bit_1 & bit_2"]
    assert view.losses.loc["muted", "log_loss"] > before + 0.1
    assert "without bit_1 &amp; bit_2" in view.muting.object
    assert len(view.curve.picture["now"]["y"]) == 2
    assert view.ranked.picture["bars"]["colour"][0] != view.ranked.picture["bars"]["colour"][1]
    view.muted = []
    assert view.mutes.value == []
    assert view.losses.loc["muted", "log_loss"] == before


def test_a_row_is_taken_apart_and_its_levels_are_tried(view):
    view.row = 5
    bars = view.sum.picture["bars"]
    assert sum(bars["value"]) == pytest.approx(view.explanation.log_odds)
    view.column = 0
    other = view.explanation.what_if("bit_1")[view.explanation.of]
    assert view.levels.picture["bars"]["value"] == pytest.approx(other.tolist())
    view.worst.clicks += 1
    encoded = view.found.encoded
    assert view.row == view.found.worst(1)[0]
    assert f"Row {view.row:,} is of class <b>{view.found.classes[encoded.y[view.row]]}</b>" in view.told.object


def test_the_tables_are_those_that_are_shown(view):
    view._numbers.open = True
    assert "bit_1 &amp; bit_2" in view._numbers.table.object
    for text in (view.csv_of_summary(), view._csv_of_cells(), view._csv_of_row()):
        lines = [line for line in csv.reader(io.StringIO(text)) if line and not line[0].startswith("#")]
        assert len(lines) > 2


def test_bands_come_while_it_computes():
    study = alrviz.effect_bands(alrviz.load_demo("led", 200), alrviz.Recipe("lr", order=1, alpha=1.0), refits=3)
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
