"""Lessons as a static site: what is recorded of each step, and what stands in the files."""

import json
import re
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from alrviz.cli import main
from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Answer, Question
from alrviz.explorer.lessons.reader import read_lesson
from alrviz.explorer.publish import publish
from alrviz.explorer.publish.record import record_lesson

LESSON = """
id: two-steps
title: A race & a <study>
steps:
  - page: convergence
    set: {data: xor, rows: 200, racers: alr_o2_a1_i5, measure: error}
    text: A race of *one* model, and {{script}}.
    ask: {id: wrong, kind: number, text: "How many are wrong?", low: 0, high: 1,
          answer: {measure: value, of: [heldout_error, name=alr]}}
    run: true
    reveal: Few.
  - page: bias
    set: {data: xor, rows: 200, of: lr_o1_a1~lr_o2_a1, folds: 2x2}
    text: First a question without Run.
    ask: {id: most, kind: choice, text: "Which is wrong most often?", options: {1: one, 2: two},
          answer: {measure: highest, of: [error, order]}}
  - text: Then Run.
    run: true
  - text: That was all.
"""


@pytest.fixture
def lesson():
    return read_lesson(LESSON, "two-steps.yaml")


def data_of(page):
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])


def test_a_page_holds_what_each_step_shows_and_the_right_answers(lesson, tmp_path):
    numbers = []
    files = publish(
        tmp_path / "new" / "site", [lesson], address="https://example.org/", scorm=True,
        on_step=lambda of, number: numbers.append(number),
    )  # fmt: skip
    assert [file.name for file in files] == ["index.html", "two-steps.html", "two-steps-scorm.zip"]
    assert numbers == [1, 3]
    index, page = (file.read_text() for file in files[:2])
    assert "A race &amp; a &lt;study&gt;" in index
    assert "https://example.org/two-steps.html" in index
    assert re.search(r"""(src|href)=["']?(https?:)?//""", page) is None
    steps = data_of(page)["steps"]
    assert "{{script}}" in steps[0]["text"]
    race, question, study, end = (step["result"] for step in steps)
    assert question is end is None
    assert [line["name"] for line in race["film"]["lines"]] == ["alr"]
    assert race["film"]["measures"][race["film"]["measure"]]["label"].startswith("0-1 loss")
    share = steps[0]["question"]["outcome"]
    assert share == pytest.approx(race["film"]["measures"][race["film"]["measure"]]["lines"][0]["held"][-1], abs=1e-5)
    (low, high), = steps[0]["question"]["ranges"]  # fmt: skip
    assert low < share < high
    assert steps[1]["question"]["outcome"] == "1"  # columns alone see nothing of xor
    assert steps[1]["question"]["ranges"] is None
    assert len(study["figures"]) >= 2
    assert "0.1" in study["figures"][0]
    assert "complete rounds" not in study["sentence"]  # of the whole study, not of its beginning
    with zipfile.ZipFile(files[2]) as package:
        manifest = ElementTree.fromstring(package.read("imsmanifest.xml"))
        assert {element.get("href") for element in manifest.iter()} - {None} == {"lesson.html"}
        assert package.read("lesson.html").decode() == page


def test_right_ranges_are_the_numbers_that_count_as_right():
    question = Question("q", "sketch", "?", (), Answer("values"), low=-1, high=1)
    outcome = (0.4, -0.4, 0.0)
    for k, (low, high) in enumerate(question.right_ranges(outcome)):
        for number, right in ((low, True), (high, True), (low - 1e-6, False), (high + 1e-6, False)):
            said = (*outcome[:k], number, *outcome[k + 1 :])
            assert question.is_right(said, outcome) is right, (k, number)
    assert question.right_ranges(outcome)[0] == pytest.approx((0.3, 0.4 / 0.75))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name=alr]", "name=lr]", "step 1"),
        ("  - text: Then Run.\n    run: true\n", "", "'most'"),
    ],
)
def test_a_question_without_an_answer_is_an_error_with_its_place(old, new, told):
    assert old in LESSON
    with pytest.raises(AlrvizError, match=told) as error:
        record_lesson(read_lesson(LESSON.replace(old, new)))
    assert "two-steps" in str(error.value)


def test_pages_of_one_name_are_refused_before_anything_is_run(lesson, tmp_path):
    for lessons in ([lesson, lesson], [replace(lesson, id="index")]):
        with pytest.raises(AlrvizError, match=f"{lessons[0].id}.*different ids"):
            publish(tmp_path / "site", lessons)
    assert not (tmp_path / "site").exists()


def test_a_run_that_fails_is_said_at_once(lesson, monkeypatch):
    monkeypatch.setattr("alrviz.explorer.publish.record.PageVisit.problem", "out of luck")
    with pytest.raises(AlrvizError, match="step 1: the run failed: out of luck"):
        record_lesson(lesson)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--lesson", "xorr"], "parity"), (["--lesson", "none.yaml"], "none.yaml"), (["--url", "example.org"], "https"),
    ],
)  # fmt: skip
def test_the_command_refuses_what_it_cannot_do(arguments, told, tmp_path, capsys):
    assert main(["publish", str(tmp_path / "site"), *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_the_command_writes_a_file_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("alrviz.explorer.lessons.library._user_files", {})
    (tmp_path / "mine.yaml").write_text("id: mine\ntitle: Mine\nsteps:\n  - text: Read *this*.\n")
    (tmp_path / "site").write_text("")
    command = ["publish", str(tmp_path / "site"), "--lesson", str(tmp_path / "mine.yaml")]
    assert main(command) == 2
    assert "is a file" in capsys.readouterr().err
    (tmp_path / "site").unlink()
    assert main(command) == 0
    assert "mine.html" in capsys.readouterr().out
    assert data_of((tmp_path / "site" / "mine.html").read_text())["steps"][0]["text"] == "<p>Read <em>this</em>.</p>\n"
