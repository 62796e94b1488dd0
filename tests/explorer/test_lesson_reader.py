"""A lesson's file: what it holds, and what is said of one that is broken."""

import re

import pytest

from alrviz.cli import main
from alrviz.data.demos import demo_line, demo_names, load_demo
from alrviz.errors import AlrvizError
from alrviz.explorer.app import page_classes
from alrviz.explorer.lessons import library
from alrviz.explorer.lessons.answers import COLUMNS, MEASURES
from alrviz.explorer.lessons.reader import MAX_FILE_BYTES, PARTS, read_lesson
from alrviz.explorer.lessons.writer import lesson_yaml
from alrviz.explorer.server.visitor_ids import LOCAL_SWITCH
from alrviz.explorer.session.state import State, read_link
from alrviz.explorer.shell import markdown
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.shell import choices_of, open_link
from alrviz.explorer.widgets.table_settings import CUTS
from tests.conftest import ROOT

GOOD = """\
id: mine
title: Mine
steps:
  - page: convergence
    set: {data: xor, q: orders}
    text: Look at $x$.
    show: [side]
    ask:
      id: who
      kind: choice
      text: Who?
      options: {lr: LR, alr: ALR}
      answer: {measure: lowest, of: [near, name]}
    run: true
  - text: And then?
  - page: order
    text: Another page.
  - set: "?page=bias&data=led&lesson=other&step=3"
    text: A link as it was copied.
"""


def read(text):
    return read_lesson(text, "mine.yaml", choices_of(page_classes()))


def test_a_step_opens_a_link_and_the_next_stays_on_it():
    lesson = read(GOOD)
    links = [step.link for step in lesson.steps]
    assert links[0] == links[1] == "?page=convergence&data=xor&q=orders"
    assert links[2:] == ["?page=order", "?page=bias&data=led"]
    assert set(lesson.steps[0].hide) == set(PARTS) - {"side"}
    assert (lesson.version, lesson.steps[0].run, lesson.steps[1].run) == (1, True, False)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("data: xor", "data: xorr", r"line 5, step 1\.set\.data: .*nearest: xor"),
        ("data: xor", "dat: xor", r"line 5, step 1\.set\.dat: .*did you mean 'data'"),
        ("q: orders", "q: order", r"line 5, .*q.*nearest: orders"),
        ("q: orders", "racers: lrr_o2", r"line 5, .*racers.*lrr"),
        ("q: orders", "seed: many", r"line 5, .*seed=many cannot be read|line 5, .*seed=many"),
        ("page: convergence", "page: convergance", r"line 4, step 1\.page: .*nearest: convergence"),
        ("kind: choice", "kind: chioce", r"line 10, step 1\.ask\.kind: .*did you mean 'choice'"),
        ("measure: lowest", "measure: lowst", r"line 13, .*answer\.measure: .*did you mean 'lowest'"),
        ("of: [near, name]", "of: [near]", r"line 13, .*of: lowest takes \[column, key"),
        ("measure: lowest, of: [near, name]", "measure: value, of: [near, name=lr]", r"line 13, .*'lr' is not a range"),
        ("of: [near, name]", "of: [near, name, lr]", r"line 13, .*answer\.of: 'lr' selects no row"),
        ("of: [near, name]", "of: [nearr, name]", r"line 13, .*answer\.of: .*no column 'nearr'; did you mean 'near'"),
        (
            "of: [near, name]",
            "of: [near, name, iteratio=3]",
            r"line 13, .*no column 'iteratio'; did you mean 'iteration'\? There are name, iteration, ",
        ),
        ("of: [near, name]", "of: [near, name=lr]", r"line 13, .*answer\.of: .*expected the name of a column"),
        ("title: Mine\n", "title: Mine\nversion: 1.5\n", r"line 3, version: 1.5 is not a whole number"),
        ("show: [side]", "show: [sidee]", r"line 7, step 1\.show: .*did you mean 'side'"),
        ("    run: true", "    rnu: true", r"line 14, step 1\.rnu: .*did you mean 'run'"),
        ("run: true", "run: maybe", r"line 14, .*expected one of true"),
        ("  - text: And then?", "  - txt: And then?", r"line 15, step 2\.txt: .*did you mean 'text'"),
        ("title: Mine\n", "", r"line 1, lesson: title is missing"),
        ("id: mine", "id: My lesson", r"line 1, id: .*lower-case letters"),
        ("text: Look at", "text: *look", r"line 6.*aliases"),
        ("text: Look at $x$.", "text:\tLook\n\trun: true", r"line \d+: not valid YAML.*by spaces, not by a tab"),
        ("    run: true", "     run: true", r"line \d+: not valid YAML.*equally far from the left"),
        ("text: Look at $x$.", "text: Look: at", r"line 6.*not valid YAML.*quotes"),
        (
            "text: Look at $x$.",
            "text: 'Look at $x$.",
            r"line \d+: .*not closed: look at line 6",
        ),
        ("options: {lr: LR, alr: ALR}", "options: {lr: LR}", r"line 12, .*2 to 8 options"),
        ("options: {lr: LR, alr: ALR}", "options: {lr: LR, lr: ALR}", r"line 12, .*occurs twice"),
        ("kind: choice", "kind: number", r"line 12, .*kind number has no options"),
        (
            "text: Look at $x$.",
            "text: [a, b]",
            r"line 6, step 1\.text: expected one text without brackets, this is a list",
        ),
    ],
)
def test_what_is_wrong_is_said_with_line_field_and_the_nearest_choice(old, new, says):
    assert old in GOOD
    with pytest.raises(AlrvizError, match=r"mine\.yaml, " + says):
        read(GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("[" * 50_000, "deep"),
        ("a: &a [x]\nb: [*a, *a]", "aliases"),
        ("id: !!python/object/apply:os.system ['false']", "expected one text|missing"),
        ("x" * (MAX_FILE_BYTES + 1), "at most 200,000 bytes"),
        ("- a", "expected lines of the form"),
        ("\x00", "not valid YAML"),
        ("id: x\ntitle: y\nsteps: [" + "a, " * 60_000 + "a]", "line 3.* at most 5,000 texts"),
        ("id: x\ntitle: \ud800", "line 2.* surrogate"),
        ('id: x\ntitle: "\\ud800"\nsteps: [{text: a}]', "line 2, title.* surrogate"),
    ],
)
def test_a_hostile_file_is_refused(text, says):
    with pytest.raises(AlrvizError, match=says):
        read(text)


@pytest.mark.parametrize(
    ("options", "line", "missing"),
    [
        (
            '\n        "< 0.2": a\n        "0.4 to 1": b\n        "> 1": c',
            14,
            "a number between 0.2 and 0.4, below '0.4 to 1'",
        ),
        ('["> 1", "0.5 to 1", "< 0.5", "< 0.1"]', 12, None),
        ('["> 0.5", "< 0.5"]', 12, "the number 0.5, below '> 0.5'"),
        ('["-2 to -1", "-1 to 0", "1 to 2"]', 12, "a number between 0 and 1, below '1 to 2'"),
        ('["0 to 9", "1 to 2", "3 to 12"]', 12, None),
    ],
)
def test_ranges_leave_no_gap(options, line, missing):
    text = GOOD.replace("{lr: LR, alr: ALR}", options).replace("lowest, of: [near, name]", "value, of: [near, name=lr]")
    if missing is None:
        assert read(text).questions
        return
    with pytest.raises(AlrvizError) as error:
        read(text)
    assert str(error.value) == f"mine.yaml, line {line}, step 1.ask.options: no option holds {missing}"


def test_the_shipped_lessons_are_read_as_the_pages_would_have_them():
    choices = choices_of(page_classes())
    for id in library.SHIPPED:
        text = (library.files("alrviz.explorer.lessons") / "shipped" / f"{id}.yaml").read_text(encoding="utf-8")
        lesson = read_lesson(text, f"{id}.yaml", choices)
        assert lesson.id == id
        assert 8 <= lesson.minutes <= 15
        assert lesson.questions


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>)",
        "![x](https://example.org/x.png)",
        r"$\text{<img/src=x/onerror=alert(1)>}$",
        r"$\href{javascript:alert(1)}{x}$",
        r"$\style{background:url(x)}{x}$",
        "$$\n<script>alert(1)</script>\n$$",
    ],
)
def test_a_text_cannot_be_more_than_text(text):
    made = markdown_html(text)
    assert not any(bad in made for bad in ("<script", "<img", 'href="javascript', 'href="data', "style=", "<iframe"))


def test_a_formula_is_elements_and_attributes_that_lead_nowhere(monkeypatch):
    for latex in (
        r"\color{red}{x}",
        r"\frac{a}{b}",
        r"\begin{aligned}a&=b\\c&=d\end{aligned}",
        r"\sum_{i=1}^n \hat{x}_i",
    ):
        assert "<math" in markdown_html(f"${latex}$"), latex
    for evil in ("<mi onclick='f()'>x</mi>", "<maction>x</maction>", "<mi href='?'>x</mi>", "<mtext><img></mtext>"):
        monkeypatch.setattr(markdown, "math", lambda latex, evil=evil, **_: f"<math>{evil}</math>")
        made = markdown_html("$x$")
        assert "<code>x</code>" in made, "what a converter may ever make"
        assert "<math" not in made


def test_a_text_has_formulas_and_marks():
    made = markdown_html("**bold** $x < y$ and $$\\sum_i x_i$$")
    assert "<strong>bold</strong>" in made
    assert made.count("<math") == 2


def test_a_lesson_made_from_here_is_a_lesson_of_the_same_state():
    state = read_link("?page=order&data=monks-2&folds=5&seed=3&of=lr_a1&run=" + "a" * 32)
    lesson = read(lesson_yaml(state))
    assert read_link(lesson.steps[0].link) == state.replace(run="")
    raced = read_link("?data=xor&q=own&racers=lr_o1_a0~alr_o2_a0")
    step = read(lesson_yaml(raced)).steps[0]
    assert read_link(step.link) == raced
    assert step.ask is not None


def test_a_bare_link_to_a_lesson_opens_what_its_step_sets_and_another_is_taken_as_it_is():
    pages = page_classes()
    state, told, lesson = open_link("?lesson=parity&step=2", pages)
    assert (state.data, state.lesson, state.step, told) == ("parity", "parity", 2, "")
    assert lesson.title.startswith("XOR")
    state, _, _ = open_link("?lesson=parity&step=2&data=led", pages)
    assert state.data == "led"
    state, told, lesson = open_link("?lesson=paritty", pages)
    assert lesson is None
    assert "nearest: parity" in told
    assert state == State()


def test_ones_own_lesson_is_read_again_and_what_broke_is_said(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD)
    library.add_file(file)
    try:
        assert library.names()[0] == "mine"
        file.write_text(GOOD.replace("Mine", "Changed"))
        assert library.find("mine").title == "Changed"
        file.write_text(GOOD.replace("kind: choice", "kind: x"))
        _, told, lesson = open_link("?lesson=mine", page_classes())
        assert lesson is None
        assert "mine.yaml, line 10" in told
    finally:
        library._user_files.clear()


def test_the_documentations_samples_are_questions_and_it_lists_tables_and_settings():
    docs = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    samples = re.findall(r"```yaml\n( +ask:.*?)```", docs, re.DOTALL)
    pages = ("bias", "convergence")
    head = "id: mine\ntitle: Mine\nsteps:\n  - page: "
    kinds = [read(f"{head}{page}\n{text}").questions[0].kind for page, text in zip(pages, samples, strict=True)]
    assert kinds == ["order", "sketch"]
    for name in demo_names():
        data = load_demo(name)
        begins, ends = f"\n| `{name}` | {data.n_rows:,} | {data.n_classes} | ", f" | {demo_line(name)} |"
        assert ends in docs.partition(begins)[2].partition("\n")[0], name
    tables = docs.partition("### Tables and settings")[2].partition("### A question")[0]
    choices = choices_of(page_classes())
    for page in ("convergence", "boundaries", "path", "order", "bias", "interactions"):
        lines = " ".join(re.findall(rf"\n\| {page} \| .*", tables))
        for key in ("question", "measure", "axis", "tab", "folds", "references", "refits"):
            assert [one for one in choices(page).get(key, ()) if f"`{one}`" not in lines] == [], (page, key)
    cuts = next(line for line in tables.splitlines() if line.startswith("| all | `cuts`"))
    assert [slug for slug in CUTS if slug and f"`{slug}`" not in cuts] == []


def test_the_documentations_lesson_is_one_and_the_command_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(LOCAL_SWITCH, "")  # the command sets it for its process, which is that of other tests here
    docs = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    text = docs.partition("```yaml\n")[2].partition("```")[0]
    assert read(text).questions[0].id == "pairs"
    assert [name for name in MEASURES if f"| `{name}` |" not in docs] == []
    for page, columns in COLUMNS.items():
        assert f"\n| {page} | {', '.join(f'`{name}`' for name in columns)} |\n" in docs
    fine = tmp_path / "fine.yaml"
    fine.write_text(text)
    assert main(["explore", "--lesson", str(fine), "--check", "--token", "none"]) == 0
    assert "Lesson my-parity, version 1: 2 steps, no error; questions: step 1." in capsys.readouterr().out
    broken = tmp_path / "mine.yaml"
    broken.write_text(text.replace("data: parity", "data: paritty"))
    assert main(["explore", "--lesson", str(broken), "--check"]) != 0
    assert "mine.yaml, line 8, step 1.set.data: there is no data 'paritty'" in capsys.readouterr().err
