"""The Data page with mouse and keys: rows picked in one histogram, kept and given back; a doubt; a role."""

import re

import pytest

from tests.browser.steps import Explorer

pytestmark = pytest.mark.browser

CODES = "age,drinks,class\n" + "".join(
    f"{20 + i % 50},{999 if i % 20 == 0 else i % 12},{'ab'[i % 2]}\n" for i in range(400)
)


def test_rows_picked_by_mouse_and_by_keys_are_kept_and_given_back(explorer: Explorer):
    explorer.open("?page=data&data=iris")
    explorer.wait_says("^150 rows")
    histogram = explorer.page.get_by_role("listbox", name="Rows by petal length (cm)")
    box = histogram.bounding_box()
    explorer.page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 20)
    explorer.page.mouse.down()
    explorer.page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 20, steps=3)
    explorer.page.mouse.up()
    explorer.wait_says("of 150 rows$")
    other = explorer.page.get_by_role("listbox", name="Rows by class")
    assert other.get_by_role("option").first.get_attribute("aria-label") == "class setosa: 0 of 50 rows"
    other.focus()
    for key in ("ArrowRight", "Space"):
        explorer.page.keyboard.press(key)
    explorer.wait_says("^50 of 150 rows$|^4[0-9] of 150 rows$")
    explorer.button("Clear").click()
    explorer.wait(lambda: not explorer.says("of 150 rows$"), "no selection")
    histogram.focus()
    for key in ("ArrowRight", "Space"):
        explorer.page.keyboard.press(key)
    explorer.button("Clear").wait_for()
    histogram.focus()
    explorer.page.keyboard.press("Escape")
    explorer.wait(lambda: not explorer.says("of 150 rows$"), "no selection")


def test_a_doubt_and_a_role_are_one_press_each_and_undone_by_one(explorer: Explorer):
    explorer.open("?page=data&data=iris")
    explorer.wait_says("^150 rows")
    explorer.dropped("codes.csv", CODES.encode())
    explorer.wait_says("999")
    explorer.button("Read it this way").click()
    explorer.wait_says("20 missing")
    explorer.page.get_by_role("radio", name="ignored: age").check(force=True)
    explorer.wait_says("^\u2713 age: ignore$")
    assert explorer.asked()["kinds"] == ["0i"]
    explorer.button("Undo").last.click()
    explorer.wait(lambda: not explorer.says("age: ignore"), "age is a feature again")
    explorer.button("Undo").last.click()
    explorer.wait(lambda: re.search("Read it this way", explorer.text()), "the question is asked again")


def small_table(columns: int) -> bytes:
    head = ",".join([*(f"column_{k}" for k in range(columns)), "class"])
    rows = (",".join([*("uvw"[(i * (k + 2) + i // 3) % 3] for k in range(columns)), "xy"[i % 2]]) for i in range(84))
    return "\n".join([head, *rows]).encode()


def test_each_file_opened_in_convergence_is_named_and_raced_at_the_default_order(explorer: Explorer):
    explorer.open("")
    explorer.wait_says("per iteration")
    menu = explorer.page.get_by_role("combobox", name=re.compile("^Data"))
    for name, columns in (("first", 1), ("second", 3), ("third", 4)):
        explorer.go("Data")
        explorer.dropped(f"{name}.csv", small_table(columns))
        explorer.wait_says(f"^{name}$")
        explorer.button("Open in Convergence").click()
        explorer.wait(lambda name=name: name in menu.inner_text(), lambda: f"the menu's table: {menu.inner_text()}")
        assert not explorer.says("^recorded earlier$|outdated"), "the race of the table before"
        explorer.wait_says("^ended$")
        assert name in menu.inner_text()
    assert explorer.page.get_by_role("button", name="n = 2", exact=True).get_attribute("aria-pressed") == "true"


def test_missing_text_is_added_in_the_drawer_and_the_file_read_again(explorer: Explorer):
    cells = ("c" if i % 12 == 0 else ".." if i % 19 == 0 else i * 3 % 50 for i in range(84))
    rows = "".join(f"{cell},{'abcz'[i % 4]},{'xy'[i % 2]}\n" for i, cell in enumerate(cells))
    explorer.open("?page=data&data=iris")
    explorer.wait_says("^150 rows")
    explorer.dropped("mine.csv", f"size,grade,class\n{rows}".encode())
    explorer.wait_says("^84 rows")
    explorer.button("How it was read").click()
    box = explorer.page.get_by_role("textbox", name="Missing values are written")
    assert box.input_value() == "empty, c, .."
    box.fill("empty, c, .., z")
    box.blur()
    explorer.button("Read the file again").click()  # not covered by the text below
    explorer.wait_says("read again with missing")
