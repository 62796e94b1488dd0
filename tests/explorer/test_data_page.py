"""The Data page without a browser: what it shows, offers, draws and prices."""

import gzip
import io
import re
import time
import zipfile
from html import unescape

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.explorer.pages.data.cards import classes_html, columns_frame, head_html, notes_html, numbers_html
from alrviz.explorer.pages.data.column_picture import picture_of
from alrviz.explorer.pages.data.columns_wall import CARDS_PER_PAGE
from alrviz.explorer.pages.data.page import DataPage
from alrviz.explorer.pages.data.read_options import missing_text, missing_tokens
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.shell.notices import problem_html
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe

# panel-material-ui's FileDownload passes on an option that Panel deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style' were provided"),
]

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page():
    session = Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False))
    session.link.open(State(page="data", data="iris"))
    page = DataPage(session)
    page.view()
    page.drawer()
    return settle(page)


def settle(page):
    end = time.monotonic() + 30
    while page.session.pump() | page.pump():
        assert time.monotonic() < end, "the page did not settle"
        time.sleep(0.005)
    return page


def shown(page):
    return " ".join(str(pane.object) for pane in page_panes(page))


def test_a_page_opened_while_a_table_is_read_shows_that_one_first(page):
    session = page.session
    session.table.load_demo("led", rows=50)
    assert session.table.loading is not None
    late = DataPage(session)
    late.view()
    assert not hasattr(late, "_columns"), "the columns of iris, of which nobody asks"
    settle(late)
    assert "led" in late._name.object
    assert [card["name"] for card in cards(late)] == [column.name for column in session.table.dataset.columns]
    late.close()


def page_panes(page):
    found = [page._name, page._head, page._notes, page._classes, page._costs, page._target.text]
    return [*found, page._column.title, page._column.numbers.table]


def cards(page):
    return page._columns.wall.cards


def roles(page):
    return [card["role"] for card in cards(page)]


def tell(page, name, **message):
    """Send what the browser sends about a column."""
    position = [column.name for column in page.session.table.dataset.columns].index(name)
    page._columns.wall._handle_msg({"position": position, **message})
    return settle(page)


def buttons(page):
    return {button.label: button for button in page._questions.panel.select(pmui.Button)}


def open_doubts(page):
    return page._questions.open_doubts(page.session.table.full_table)


def drop(page, text, name="mine.csv"):
    page.session.table.load_bytes(name, text)
    return settle(page)


def test_a_demo_is_shown_priced_and_drawn(page):
    html = shown(page)
    assert "150 rows" in html
    assert "3 classes of" in html
    assert html.count("<span class='good'>yes</span>") == 4  # four columns: order 5 is refused
    assert "the table has only 4 used columns" in html
    assert page._column.title.object.startswith("<h2>sepal length")
    assert len(page._column.view._bars.data["top"])


def test_cuts_are_those_that_a_race_makes(page):
    dataset = page.session.table.dataset
    name = dataset.columns[0].name
    raced = prepare(dataset, Recipe("lr", seed=3))
    page.session.seed = 3
    page._column.draw()
    settle(page)
    assert page._column.view._cuts.data["x"].tolist() == raced.encoder.columns_[0].cuts.tolist()
    assert "cut on the 105 training rows" in page._column.title.object
    others = [picture_of(dataset, name, "mdl", 10, seed).cuts.tolist() for seed in range(6)]
    assert len({tuple(cuts) for cuts in others}) > 1  # other rows, other cuts


def test_the_numbers_behind_the_picture_are_shown_and_saved(page):
    card = page._column
    assert card.numbers.table.object == ""  # folded: nothing to compute
    card.numbers.open = True
    assert "<th class='n'>setosa</th>" in card.numbers.table.object
    back = pd.read_csv(io.StringIO(card.csv()), comment="#")
    assert list(back.columns) == ["level", "class", "rows", "share"]
    assert back["rows"].sum() == 150
    assert page.session.table.dataset.hash in card.csv()
    page.choose(page.session.table.dataset.target)
    settle(page)
    back = pd.read_csv(io.StringIO(card.csv()), comment="#")
    assert back.loc[back["level"] == back["class"], "share"].tolist() == [1.0] * 3


def test_a_table_of_many_classes_has_the_largest_apart():
    frame = pd.DataFrame({"x": ["<u>", "v"] * 80, "class": [f"<c{i % 8}>" for i in range(160)]})
    dataset = read_table(frame, name="t")
    classes = [str(label) for label in dataset.labels.cat.categories]
    html = numbers_html(picture_of(dataset, "x", "mdl", 10), classes)
    assert "4 others" in html
    assert "<u>" not in html
    assert "<c1>" not in html
    assert html.count("<tr>") == 3


def test_what_is_not_on_the_page_yet_is_not_built(page):
    assert list(page._gallery.place) == []
    assert list(page._empty) == []
    page._gallery.open()
    first = next(button for button in page._gallery.place[0].select(pmui.Button) if button.label == "wine")
    first.clicks += 1
    settle(page)
    assert page.session.table.dataset.name == "wine"
    assert not page._gallery.place[0].open


def test_choosing_a_column_draws_it_and_tells_its_kind(page):
    name = page.session.table.dataset.columns[3].name
    page.choose(name)
    settle(page)
    assert page._column.title.object.startswith(f"<h2>{name}")
    assert (page._column.kind.value, page._column.cuts.visible, page._column.column.value) == ("numeric", True, name)
    page._column.cuts.value = "uniform-10"
    settle(page)
    assert "equal widths: 10 levels" in page._column.title.object


def test_a_kind_is_changed_from_the_card_and_from_the_menu(page):
    name = page.session.table.dataset.columns[0].name
    tell(page, name, role="ignore")
    assert page.session.table.dataset.kinds[name] == "ignore"
    assert roles(page) == ["ignore", "feature", "feature", "feature", "target"]
    page.choose(name)
    page._column.kind.value = "categorical"
    settle(page)
    assert page.session.table.dataset.kinds[name] == "categorical"
    tell(page, name, role="ignore")
    tell(page, name, role="feature")
    assert page.session.table.dataset.kinds[name] == "numeric", "as it is guessed"


def test_every_change_is_undone_by_one_press(page):
    before = page.session.table.dataset
    names = [column.name for column in before.columns]
    tell(page, names[0], role="ignore")
    tell(page, names[1], role="target")  # a number of many values: refused
    tell(page, names[2], pick=[0, 1, 2, 10, 11, 12])
    page._columns.keep.clicks += 1
    settle(page)
    assert page.session.table.history[0].words == f"{names[0]}: ignore"
    assert page.session.table.dataset.n_rows < 150
    assert "only=2v" in page.session.link.query
    buttons(page)["Undo"].clicks += 1
    settle(page)
    assert page.session.table.dataset.n_rows == 150
    assert page.session.table.dataset.kinds[names[0]] == "ignore"
    buttons(page)["Undo"].clicks += 1
    settle(page)
    assert page.session.table.dataset.hash == before.hash
    assert "Undo" not in buttons(page)


def test_an_id_is_ignored_and_taken_back_with_one_click(page):
    rows = "".join(f"K{i:04d},{i % 5},{'ab'[i % 2]}\n" for i in range(100))
    drop(page, "customer,size,class\n" + rows)
    assert page.session.table.dataset.kinds["customer"] == "ignore"
    assert "customer" in page._notes.object
    tell(page, "customer", role="feature")
    assert page.session.table.dataset.kinds["customer"] == "categorical"


def test_rows_picked_in_one_histogram_are_counted_in_all(page):
    dataset = page.session.table.dataset
    first, last = dataset.columns[0].name, dataset.target
    tell(page, last, pick=[0])
    wall = page._columns.wall
    assert [sum(map(sum, counts)) for counts in wall.selected] == [50] * 5
    assert "50 of 150 rows" in page._columns.words.object
    assert "100.0 %" in page._classes.object
    tell(page, first, pick=[0, 1, 2])
    low = dataset.frame[first][dataset.frame[last] == "setosa"] if last in dataset.frame else None
    assert sum(map(sum, wall.selected[0])) <= 50
    assert low is None or len(low) == 50
    page._columns.clear()
    settle(page)
    assert (wall.selected, wall.picks, page._columns.bar.visible) == ([], {}, False)


@pytest.mark.parametrize(
    "message",
    ["", {}, {"position": "0", "look": True}, {"position": 99, "look": True}, {"position": 0, "role": "king"},
     {"position": 0, "pick": ["x", -1, 999, None]}, {"position": True}, {"pick": [0]}],
)  # fmt: skip
def test_messages_that_make_no_sense_change_nothing(page, message):
    dataset = page.session.table.dataset
    page._columns.wall._handle_msg(message)
    settle(page)
    assert page.session.table.dataset is dataset
    assert page._columns.wall.picks == {}


def test_many_columns_are_shown_page_by_page(page):
    page.session.table.load_demo("digits")
    settle(page)
    names = [column.name for column in page.session.table.dataset.columns]
    assert [card["name"] for card in cards(page)] == names[:CARDS_PER_PAGE]
    tell(page, names[2], pick=[1])
    settle(tell(page, names[CARDS_PER_PAGE], turn=True))  # the rows are counted once the cards are there
    assert [card["name"] for card in cards(page)] == names[CARDS_PER_PAGE : 2 * CARDS_PER_PAGE]
    assert len(page._columns.wall.selected) == CARDS_PER_PAGE, "what is picked on another page holds here too"
    page.choose(names[1])
    settle(page)
    assert cards(page)[1]["name"] == names[1], "the page that the column is on"
    assert page._columns.wall.position_shown == 1


def test_a_column_that_gives_the_class_away_is_asked_about(page):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"noise": rng.integers(0, 4, 300), "verdict": np.where(y, "guilty", "free"), "class": y})
    drop(page, frame.to_csv(index=False))
    assert list(page.session.table.dataset.leaks) == ["verdict"]
    buttons(page)["No, ignore it"].clicks += 1
    settle(page)
    assert page.session.table.dataset.kinds["verdict"] == "ignore"
    assert list(page.session.table.dataset.leaks) == []


def test_a_measured_target_is_offered_in_quartiles(page):
    frame = pd.DataFrame({"a": list("xyz") * 40, "price": np.arange(120) / 7})
    drop(page, frame.to_csv(index=False))
    assert page._target.panel.visible
    assert not page._full.visible
    assert "holds 120 different numbers" in page._target.text.object
    assert page._target.quartiles.visible
    out = {button.label: button for button in page._target.panel.select(pmui.Button)}
    out["Demo sets"].clicks += 1
    assert page._gallery.place[0].open
    out["Cancel"].clicks += 1
    assert (page._full.visible, page._target.panel.visible) == (True, False)
    assert page.session.table.dataset.name == "iris"
    drop(page, frame.to_csv(index=False))
    page._target.quartiles.clicks += 1
    settle(page)
    assert page._full.visible
    assert page.session.table.dataset.n_classes == 4


def test_a_number_asked_to_be_the_class_is_refused_and_offered_in_quartiles(page):
    frame = pd.DataFrame({"price": np.arange(120) / 7, "class": list("xyz") * 40})
    drop(page, frame.to_csv(index=False))
    page.ask_kind("price", "target")
    settle(page)
    assert "different numbers" in str(page.session.problem)
    assert page.session.table.dataset.target == "class"
    assert roles(page) == ["feature", "target"]
    buttons(page)["Cut into quartiles"].clicks += 1
    settle(page)
    assert page.session.table.dataset.target == "price"


def test_names_and_levels_from_data_are_never_html(page):
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "b"] * 30, "class": [HOSTILE, "no", "no"] * 20})
    dataset = read_table(frame, name=HOSTILE)
    for html in (head_html(dataset, HOSTILE), classes_html(dataset), notes_html(dataset)):
        assert "<img" not in html
    drop(page, frame.to_csv(index=False), name=f"{HOSTILE}.csv")
    page.choose(HOSTILE)
    settle(page)
    assert "<img" not in shown(page)
    assert "&lt;img" in shown(page)
    assert "innerHTML" not in page._columns.wall._esm, "texts are set as text in the browser"


def test_the_export_says_where_it_comes_from(page):
    exported = page.columns_csv()
    back = pd.read_csv(io.StringIO(exported), comment="#")
    assert list(back["kind"]) == ["numeric"] * 4 + ["target"]
    assert page.session.table.dataset.hash in exported


def test_missing_tokens_come_back_from_their_text():
    assert missing_tokens(missing_text(("", "?", "N/A"))) == ("", "?", "N/A")
    assert missing_tokens("  ? , - ,\nn. d.\n") == ("", "?", "-", "n. d.")
    texts = ("", "a, b", "x;y", '"', 'say "no"', "empty", "n. d.")
    assert missing_tokens(missing_text(texts)) == texts


@pytest.mark.parametrize("entry", ['"open', '"a"b', "?, z; y"])
def test_unusable_missing_text_is_named_and_nothing_is_read(page, entry):
    drop(page, "a,b,class\n" + "".join(f"{i},x{i % 3},{'yn'[i % 2]}\n" for i in range(40)))
    panel, table = find(page), page.session.table.dataset
    panel.widgets["missing"].value = entry
    panel._read_button.clicks += 1
    assert entry.rpartition(", ")[2] in str(page.session.problem)
    settle(page)
    assert page.session.table.dataset is table


def test_missing_box_shows_all_texts_in_force_and_adding_one_keeps_them(page):
    rows = (
        f"{'c' if i % 12 == 0 else '..' if i % 19 == 0 else i * 3 % 50},{'abcz'[i % 4]},{'xy'[i % 2]}\n"
        for i in range(84)
    )
    drop(page, "size,grade,class\n" + "".join(rows))
    panel = find(page)
    assert {"empty", "c", ".."} == set(panel.widgets["missing"].value.split(", "))
    panel.widgets["missing"].value += ", z"
    panel._read_button.clicks += 1
    dataset = settle(page).session.table.dataset
    assert dataset.kinds["size"] == "numeric"
    assert set(dataset.X["grade"].cat.categories) == {"a", "b", "c"}, "c is missing among numbers alone"
    assert {"empty", "c", "..", "z"} == set(find(page).widgets["missing"].value.split(", "))
    panel = find(page)
    panel.widgets["missing"].value = "empty, .., z"
    panel._read_button.clicks += 1
    dataset = settle(page).session.table.dataset
    assert "c" in set(dataset.table.values[0].series.astype(str)), "a text taken out is no longer missing"


def test_open_in_convergence_is_disabled_while_a_file_is_read(page):
    page.session.table.load_bytes(
        "mine.csv", "a,b,class\n" + "".join(f"{i},{i % 3},{'yn'[i % 2]}\n" for i in range(40))
    )
    assert page._race[0].disabled
    settle(page)
    assert not page._race[0].disabled


def test_costs_of_a_table_without_features_say_so(page):
    drop(page, "a,class\n" + "".join(f"x{i},{'yn'[i % 2]}\n" for i in range(84)))
    assert "no column is a feature" in str(page.session.problem)
    assert "0 rows" not in str(page.session.problem)


def test_read_options_are_shown_and_read_again(page):
    drop(page, "a;b;class\n" + "".join(f"{i},5;x{i % 3};{'ja' if i % 2 else 'nein'}\n" for i in range(40)))
    assert "semicolons, utf-8, 1 header row, decimal commas" in page._head.object
    panel = find(page)
    assert (panel.widgets["delimiter"].value, panel.widgets["decimal"].value, panel._fields.visible) == (";", ",", True)
    panel.widgets["missing"].value = "empty, x0"
    panel._read_button.clicks += 1
    settle(page)
    assert next(c for c in page.session.table.dataset.columns if c.name == "b").missing == 14
    page.session.table.load_demo("iris")
    settle(page)
    assert not panel._fields.visible


def test_the_sheets_of_a_packed_workbook_can_be_chosen(page):
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks are written with openpyxl")
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for sheet in (book.active, book.create_sheet("second")):
        for row in [("size", "class"), *[(k + 0.5, "xy"[k % 2]) for k in range(30)]]:
            sheet.append(row)
    book.active.title = "first"
    book.save(buffer)
    panel = find(page)
    drop(page, gzip.compress(buffer.getvalue()), name="t.xlsx.gz")
    assert (panel.widgets["sheet"].visible, panel.widgets["sheet"].options, panel.widgets["sheet"].value) == (
        True,
        ["first", "second"],
        "first",
    )


def test_one_decimal_mark_for_all_is_a_choice(page):
    drop(page, "a;b;c;class\n" + "".join(f"{i}.5;{i},5;{i}.25;{'ja' if i % 2 else 'nein'}\n" for i in range(40)))
    panel = find(page)
    assert panel.widgets["decimal"].value == ""
    assert "decimal comma" in page._notes.object
    assert page.session.table.dataset.kinds["b"] == "numeric"
    panel._read_button.clicks += 1
    settle(page)
    assert page.session.table.dataset.kinds["b"] == "numeric"
    panel.widgets["decimal"].value = "."
    panel._read_button.clicks += 1
    settle(page)
    assert page.session.table.dataset.kinds["b"] != "numeric"


@pytest.mark.parametrize("packed", [lambda text: gzip.compress(text.encode()), lambda text: text.encode("utf-16")])
def test_both_readings_of_a_large_file_are_compared_however_it_is_written(page, packed, monkeypatch):
    monkeypatch.setattr("alrviz.explorer.pages.data.questions.PREVIEW_BYTES", 1_000)
    rows = "".join(f"0{i % 6 + 1}/0{i % 4 + 1}/2020,{i * i},{'xy'[i % 2]}\n" for i in range(400))
    page.session.table.load_bytes("when.csv", packed("when,n,class\n" + rows))
    settle(page)
    now, other = page._questions._result
    assert now.names[0] == other.names[0] == "when"
    assert now.changed_cells


def test_a_long_form_is_pivoted_by_one_click_and_back_by_another(page):
    cells = (("K", "4.5"), ("Na", "140"), ("smokes", "yes"))
    rows = "".join(f"{k},{test},{text},{'ab'[k % 2]}\n" for k in range(30) for test, text in cells)
    drop(page, "patient,test,value,class\n" + rows)
    assert [doubt.code.value for doubt in open_doubts(page)] == ["long form"]
    page._questions._change.clicks += 1
    settle(page)
    assert list(page.session.table.dataset.frame) == ["patient", "class", "K", "Na", "smokes"]
    assert page.session.table.dataset.n_rows == 30
    (change,) = page.session.table.history
    page.session.table.changes.undo(change)
    settle(page)
    assert page.session.table.dataset.n_rows == 90


def test_the_order_of_dates_is_a_choice(page):
    drop(page, "when,class\n" + "".join(f"0{i % 6 + 1}/0{i % 4 + 1}/2020,{'xy'[i % 2]}\n" for i in range(40)))
    assert [doubt.code.value for doubt in open_doubts(page)] == ["day or month first"]
    months = page.session.table.dataset.frame["when month"].nunique()
    panel = find(page)
    assert panel.widgets["dayfirst"].value == ""
    panel.widgets["dayfirst"].value = "day"
    panel._read_button.clicks += 1
    settle(page)
    assert (months, page.session.table.dataset.frame["when month"].nunique()) == (6, 4)
    assert panel.widgets["dayfirst"].value == "day"
    assert open_doubts(page) == []
    panel.widgets["dayfirst"].value = ""
    panel._read_button.clicks += 1
    settle(page)
    assert page.session.table.dataset.frame["when month"].nunique() == 6


PYTHON = re.compile(r"\w\(|\w=\w|\bpass\b|\bNone\b|\bTrue\b|options|ReadOptions|target=|\btokens\b")
ROWS = {
    "missing numbers": "age,class\n" + "".join(f"{-999 if i % 9 == 0 else i},{'xy'[i % 2]}\n" for i in range(60)),
    "dates both ways": "when,class\n" + "".join(f"0{i % 6 + 1}/0{i % 4 + 1}/2020,{'xy'[i % 2]}\n" for i in range(60)),
    "a class of numbers": "a,class\n" + "".join(f"{i % 7},{i}.5\n" for i in range(60)),
    "a class with gaps": "a,b,class\n" + "".join(f"{i % 7},{i}.5,{'xy'[i % 2] if i < 9 else ''}\n" for i in range(60)),
    "UTF-16 without a mark": "a,b,class\n1,2,x\n" * 9,
    "repeats": "a,b,class\n" + "1,2,x\n3,4,y\n" * 30,
    "words among numbers": "a,class\n" + "".join(f"{'word' if i == 7 else i},{'xy'[i % 2]}\n" for i in range(60)),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_page_tells_a_table_in_words_of_the_page(page, name):
    text = ROWS[name]
    drop(page, text.encode("utf-16-le") if name.startswith("UTF-16") else text)
    if name == "words among numbers":
        page.ask_kind("a", "numeric")
        settle(page)
    session = page.session
    told = [problem_html(session.problem)] if session.problem is not None else []
    told += [page._target.text.object] if session.table.pending is not None else [notes_html(session.table.dataset)]
    assert any(len(words) > 60 for words in told)
    for words in told:
        assert not PYTHON.search(re.sub(r"<[^>]*>", "", unescape(words))), words


def test_lines_before_the_names_are_shown_and_can_be_changed(page):
    rows = "".join(f"{i}.5,x{i % 3},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    drop(page, f"Sales of the year\na,b,class\n{rows}")
    panel = find(page)
    assert (panel.widgets["skip_rows"].value, panel.widgets["skip_footer"].value, panel.widgets["header"].value) == (
        1,
        0,
        1,
    )
    panel.widgets["skip_footer"].value = 10
    panel._read_button.clicks += 1
    settle(page)
    assert page.session.table.dataset.n_rows == 30
    assert page.session.table.source.upload.options.delimiter is None  # what nobody changed is detected anew
    panel.widgets["skip_rows"].value = 2
    panel.widgets["header"].value = 0
    panel._read_button.clicks += 1
    settle(page)
    table = page.session.table.pending or page.session.table.dataset.table
    assert table.names == ("column 1", "column 2", "column 3")
    assert table.n_rows == 30


def test_a_number_that_may_be_missing_is_read_so_with_one_press(page):
    values = [-999 if i in (3, 17) else 12 + i % 19 for i in range(60)]
    drop(page, "a,b,class\n" + "".join(f"{v},{i}.5,{'xy'[i % 2]}\n" for i, v in enumerate(values)))
    html = " ".join(str(pane.object) for pane in page._questions.panel.select(pn.pane.HTML))
    assert re.search(r"<mark[^>]*>-999</mark>", html)
    assert re.search(r"<mark[^>]*><i>missing</i></mark>", html)
    assert "-999" not in page._notes.object, "asked, so not told as well"
    buttons(page)["Read it this way"].clicks += 1
    settle(page)
    assert next(c for c in page.session.table.dataset.columns if c.name == "a").missing == 2
    assert "Read it this way" not in buttons(page)
    buttons(page)["Undo"].clicks += 1
    settle(page)
    assert next(c for c in page.session.table.dataset.columns if c.name == "a").missing == 0
    buttons(page)["Keep this reading"].clicks += 1
    settle(page)
    assert "Read it this way" not in buttons(page)
    buttons(page)["Undo"].clicks += 1
    settle(page)
    assert "Read it this way" in buttons(page)


def test_what_may_be_an_id_is_told_and_can_be_left_out(page):
    rows = "".join(f"{10**7 + 7919 * (i * 7 % 60)},{i % 9},{'xy'[i % 2]}\n" for i in range(60))
    drop(page, f"ref,size,class\n{rows}")
    assert page.session.table.dataset.kinds["ref"] == "numeric"
    assert "of as many digits, as ids are: &#x27;ref&#x27;" in page._notes.object
    tell(page, "ref", role="ignore")
    assert page.session.table.dataset.kinds["ref"] == "ignore"
    assert "as ids are" not in page._notes.object


def test_a_guessed_class_offers_others(page):
    rows = "".join(f"{i}.5,{'uv'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))
    drop(page, f"size,plan,region\n{rows}")
    assert page.session.table.dataset.target == "region"
    buttons(page)["plan"].clicks += 1
    settle(page)
    assert page.session.table.dataset.target == "plan"
    assert "region" not in buttons(page)


def find(page):
    from alrviz.explorer.pages.data.read_options import ReadOptionsPanel

    panel = ReadOptionsPanel(page.session)
    assert isinstance(panel.panel, pn.Column)
    return panel


def test_the_grid_lists_every_column():
    dataset = load_demo("iris")
    assert list(columns_frame(dataset)["column"]) == [column.name for column in dataset.columns]


def test_a_demos_kinds_are_its_makers_until_they_are_changed(page):
    assert page.columns_csv().count("by construction") == 5
    page.ask_kind(page.session.table.dataset.columns[0].name, "categorical")
    settle(page)
    assert page.columns_csv().count("by construction") == 4
    assert "as you said" in page.columns_csv()


NO_TABLES = {
    "one column": b"text\n" + b"".join(b"a line of words %d\n" % k for k in range(40)),
    "empty table": b"a,b,c\n",
    "uneven lines": b"Dear all,\n\nas you know, we met, and talked, and left.\nYes.\n" * 9 + b"a,b,c,d,e,f,g\n" * 3,
    "foreign format": b"%PDF-1.7\n" + bytes(range(1, 200)) * 9,
}


@pytest.mark.parametrize("code", NO_TABLES)
def test_a_file_that_is_no_table_is_told_what_would_be_possible(page, code):
    before = page.session.table.dataset
    drop(page, NO_TABLES[code], name="<b>.txt")
    assert page.session.problem.code == code
    card = page._refusal
    assert card.panel.visible
    assert card.text.object.count("<li>") >= 2
    assert "<b>" not in card.text.object
    assert page._full.visible
    assert page.session.table.dataset is before
    assert page._race[0].disabled
    page.session.clear_notice()
    assert not card.panel.visible
    assert not page._race[0].disabled


def test_a_table_of_a_zip_is_chosen_and_filled_down_on_the_page(page):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("one", "two"):
            lines = "".join(f"{'uv'[k % 2] if k % 4 == 0 else ''},{k},{'xy'[k % 2]}\n" for k in range(40))
            archive.writestr(f"{name}.csv", f"place,{name},class\n{lines}")
    drop(page, file.getvalue(), name="tables.zip")
    assert page._refusal.options.visible
    panel = find(page)
    assert [*panel.widgets["sheet"].options] == ["", "one.csv", "two.csv"]
    panel.widgets["sheet"].value, panel.widgets["fill_down"].value = "two.csv", True
    panel._read_button.clicks += 1
    settle(page)
    table = page.session.table.dataset.table
    assert table.names == ("place", "two", "class")
    assert table.values[0].series.notna().all()
    assert panel.widgets["sheet"].value == "two.csv"


def test_a_refused_file_is_read_with_other_options(page):
    drop(page, "a~b~class\n" + "".join(f"{k}~{k % 7}~{'xy'[k % 2]}\n" for k in range(40)))
    assert page.session.problem.code == "one column"
    panel = find(page)
    panel.widgets["delimiter"].options = {"~": "~"}
    panel.widgets["delimiter"].value = "~"
    panel._read_button.clicks += 1
    settle(page)
    assert page.session.table.dataset.table.names == ("a", "b", "class")
    assert not page._refusal.panel.visible
