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
