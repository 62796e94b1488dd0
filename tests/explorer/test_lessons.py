"""Every shipped lesson from end to end, without a browser: asked, locked, run, answered from what ran."""

import re

import pandas as pd
import pytest

from alrviz import Recipe, load_demo, race
from alrviz.data.demos import demo_line, demo_truth
from alrviz.errors import AlrvizError
from alrviz.explorer.app import page_classes
from alrviz.explorer.lesson import Answer, Option, Question
from alrviz.explorer.lessons import library
from alrviz.explorer.lessons.answers import MEASURES, answer, check_column, on_picture, tables
from alrviz.explorer.lessons.progress import Progress, keep_progress, progress_of
from alrviz.explorer.publish.record import PageVisit
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.shell.lesson_panel import LessonPanel
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.studies.race.reference_fit import TRUTH, fit_reference
from alrviz.views.core.live_figure import NumberAxes

OWNER = "b" * 32
PAGES = {page.slug: page for page in page_classes()}
# What is right, by what the lessons' own words say happens. A number stands for itself, within a tenth of it.
SAID = {
    "nll": {"early": "> 0.95", "sure": "0.4 to 1.2", "line": "yes"},
    "naive-bayes": {"new": "no", "two": "> 1.25", "units": ("alr", "lr from 0", "lr from AnJE")},
    "coordinates": {"first": ("alr", "diagonal", "lr"), "gamma": "> 2", "heldout": "> 0.01"},
    "parity": {"xor": (0.347, 0.0967, 0.0967), "pairs": "> 0.01", "train": "< 0.69"},
    "alpha": {"loss": "4.64", "error": "10000", "center": "no"},
    "acceleration": {"penalty": "> 3", "separable": "0.8 to 1.25", "single": 10},
    "bias-variance": {"few": "nb", "many": "lr", "bias": "> 0.16", "between": "nb"},
    "learning-curves": {"early": "3", "middle": ("1", "2", "3"), "late": "2"},
    "bandwidth": {"silverman": "0.09 to 0.15", "chosen": "< 0.2", "moons": "> 0.25"},
    "calibration": {"waveform": "> 0.1", "led": "< 0.04", "lr": "> 0.1"},
    "order": {"zero": "no", "balance": "1", "loss": ("3", "2", "1"), "error": "2"},
    "interactions": {"most": "bit_7 & bit_11", "alone": "< 0.05", "product": "left_weight"},
}
# Every figure that the texts of a lesson state, as it is written ("<": the text says that it is less), the step whose
# run has it, a measure and what that is of.
FIGURES = {
    "nll": [
        ("2.30", 1, "value", "nll", "name=lr, iteration=0"), ("0.76", 1, "value", "nll", "name=lr"),
        ("35", 1, "value", "iterations", "name=lr"),
        ("<0.01", 1, "difference", "nll", "name=lr, iteration=5", "name=lr"),
    ],
    "naive-bayes": [
        ("0.854", 1, "value", "heldout_log_loss", "name=lr from AnJE, iteration=0"),
        ("0.872", 1, "value", "heldout_log_loss", "name=lr from AnJE"),
        ("6", 1, "value", "near", "name=lr from AnJE"), ("11", 1, "value", "near", "name=lr from 0"),
        ("43", 2, "value", "near", "name=lr from AnJE"), ("16", 2, "value", "near", "name=lr from 0"),
        ("0.80", 2, "value", "heldout_log_loss", "name=lr from AnJE, iteration=0"),
        ("0.36", 2, "value", "heldout_log_loss", "name=lr from AnJE"),
        ("0.36", 2, "value", "heldout_log_loss", "name=lr from 0"),
        ("13", 3, "value", "near", "name=alr"), ("38", 3, "value", "near", "name=lr from 0"),
        ("49", 3, "value", "near", "name=lr from AnJE"),
        *(("0.38", 3, "value", "heldout_log_loss", f"name={of}") for of in ("alr", "lr from 0", "lr from AnJE")),
    ],
    "coordinates": [
        ("63", 1, "value", "near", "name=alr"), ("123", 1, "value", "near", "name=diagonal"),
        ("200", 1, "value", "iterations", "name=lr"), ("200", 2, "value", "near", "name=alrj"),
        ("63", 2, "value", "near", "name=alr"), ("0.691", 3, "value", "nll", "name=lr"),
        ("0.690", 3, "value", "nll", "name=alr"), ("1.28", 3, "value", "heldout_log_loss", "name=lr"),
        ("1.46", 3, "value", "heldout_log_loss", "name=alr"),
        ("<0.95", 3, "value", "heldout_log_loss", "name=lr, iteration=5"),
        ("<0.95", 3, "value", "heldout_log_loss", "name=alr, iteration=5"),
    ],
    "parity": [
        ("0.719", 2, "value", "heldout_log_loss", "name=alr n=2"),
        ("0.693", 2, "value", "heldout_log_loss", "name=alr n=1"), ("0.675", 3, "value", "nll", "name=alr n=2"),
    ],
    "alpha": [
        *((was, 1, "value", "log_loss", f"name=alr alpha 1, alpha={alpha}")
          for was, alpha in (("0.52", "4.64"), ("0.58", "10000"), ("1.08", "0.0001"))),
        *((was, 3, "percent", "error", f"name=alr alpha 1, alpha={alpha}")
          for was, alpha in (("14", "4.64"), ("12", "10000"), ("17", "0.0001"))),
        ("0.52", 2, "value", "log_loss", "name=alr alpha 1 to AnJE, alpha=4.64"),
        ("0.58", 2, "value", "log_loss", "name=alr alpha 1 to AnJE, alpha=10000"),
        ("0.47", 2, "value", "log_loss", "name=alr alpha 1 to 0, alpha=4.64"),
        ("1.07", 2, "value", "log_loss", "name=alr alpha 1 to 0, alpha=10000"),
    ],
    "acceleration": [
        ("107", 1, "value", "near", "name=alr"), ("23", 1, "value", "near", "name=lr"),
        ("13", 2, "value", "near", "name=alr"), ("13", 2, "value", "near", "name=lr"),
        ("10", 3, "value", "near", "name=alr"), ("11", 3, "value", "near", "name=lr"),
    ],
    "bias-variance": [
        ("0.238", 1, "value", "error", "name=nb"), ("0.269", 1, "value", "error", "name=lr"),
        ("0.198", 3, "value", "error", "name=lr"), ("0.211", 3, "value", "error", "name=nb"),
        ("0.150", 1, "value", "bias_unbiased", "name=nb"), ("0.176", 3, "value", "bias_unbiased", "name=nb"),
        ("0.123", 1, "value", "bias_unbiased", "name=lr"), ("0.124", 3, "value", "bias_unbiased", "name=lr"),
        ("0.221", 4, "value", "error", "name=nb, train_share=0.3"),
        ("0.247", 4, "value", "error", "name=lr, train_share=0.3"),
    ],
    "learning-curves": [
        *((was, step, "value", "log_loss", f"order={order}, seen={seen}")
          for step, seen, all_orders in (
              (1, 50, ("2.15", "1.82", "1.42")), (2, 1200, ("1.06", "1.16", "1.28")),
              (3, 5000, ("0.899", "0.872", "0.920")))
          for order, was in enumerate(all_orders, 1)),
    ],
    "bandwidth": [
        ("11.7", 1, "percent", "heldout_error", "name=dlr"), ("0.12", 2, "value", "bandwidth", "column=x1"),
        ("0.25", 1, "value", "nll", "name=dlr"), ("0.15", 2, "value", "nll", "name=dlr"),
        ("0.27", 1, "value", "heldout_log_loss", "name=dlr"), ("0.18", 2, "value", "heldout_log_loss", "name=dlr"),
        ("0.17", 3, "value", "nll", "name=dlr"), ("0.38", 3, "value", "heldout_log_loss", "name=dlr"),
        ("0.13", 3, "value", "bandwidth", "column=x1"), ("0.13", 3, "value", "bandwidth", "column=x2"),
    ],
    "calibration": [
        *((was, step, name, "order=1")
          for step, all_three in (
              (1, ("16", "0.94", "0.78")), (2, ("1.5", "0.745", "0.730")), (3, ("13", "0.85", "0.715")))
          for name, was in zip(("points", "confidence", "accuracy"), all_three, strict=True)),
    ],
    "order": [
        *((was, step, "value", "log_loss", f"order={order}")
          for step, losses in ((1, {0: "0.633", 1: "0.652", 2: "0.360"}), (2, {1: "0.335", 2: "0.421", 3: "0.674"}),
                               (3, {1: "0.205", 2: "0.128", 3: "0.063"}))
          for order, was in losses.items()),
        *((was, 4, "percent", "error", f"order={order}") for order, was in ((1, "4.5"), (2, "6.4"), (3, "3.2"))),
    ],
    "interactions": [
        ("0.135", 1, "value", "nats", "name=bit_7 & bit_11"), ("0.044", 1, "value", "nats", "name=bit_1"),
        *(("<0.001", 1, "value", "nats", f"name={of}") for of in ("bit_7", "bit_11", "bit_1 & bit_2")),
        ("0.0004", 2, "value", "nats", "name=a1"), ("0.165", 2, "value", "nats", "name=a1 & a2"),
        ("0.146", 3, "value", "nats", "name=left_weight"),
        ("<0.01", 3, "value", "nats", "name=left_distance & right_weight"),  # the longest of a pair
    ],
}  # fmt: skip
# Figures that are no outcome: what is set, what a table or a formula is; of bandwidth also what a test below has.
GIVEN = {
    "nll": "0 0.1 0.11 0.47 1 10", "naive-bayes": "0 0.1 21", "coordinates": "0.1 1 6",
    "parity": "0 0.1 0.11 0.25 0.30 0.75 0.9 1 2 2.30 3 112", "alpha": "0 1 1.10 3 4.64 5 188 10000",
    "acceleration": "0 0.0001 0.1 1 2", "bias-variance": "30 100 300 1,000",
    "learning-curves": "0 1 1.10 2 3 50 1,000 1,200 5,000", "bandwidth": "7.7 9.7 0.23",
    "calibration": "1 21 90 100 150 160 200", "order": "0 1 2 3 500 958", "interactions": "1 66",
}  # fmt: skip


class Visit(PageVisit):
    """A step of a lesson as a link opens it: a session, its page and the panel."""

    def __init__(self, lesson, number, registry, owner=OWNER):
        super().__init__(f"?lesson={lesson}&step={number}", owner, registry)
        self.opened = []  # links that the panel asks for
        self.panel = LessonPanel(self.session, self.lesson, lambda: self.page, self.opened.append)
        self.show()

    def wait_until(self, condition, seconds=120):
        def has_looked():
            self.panel.look()
            return condition()

        super().wait_until(has_looked, seconds)


@pytest.fixture
def registry():
    return Registry(ServerLimits(), timer=False)


def an_answer(question):
    """Some answer, whatever it is worth."""
    if question.kind == "choice":
        return question.values[0]
    middle = max(question.low, -1.0) / 2 + min(question.high, 1.0) / 2
    return {"number": middle, "order": list(question.values), "sketch": [middle] * len(question.values)}[question.kind]


# A page and a kind of question each; the other lessons' figures are checked with the evidence (.ci/run).
EACH_KIND = ("nll", "alpha", "learning-curves", "bandwidth", "interactions")
EVIDENCE = pytest.mark.slow(reason="the lessons of EACH_KIND go the same way; this checks the figures of its texts")


@pytest.mark.parametrize("id", [pytest.param(id, marks=[] if id in EACH_KIND else EVIDENCE) for id in library.SHIPPED])
def test_a_lesson_from_end_to_end(id, registry):
    found, ran, unmet = {}, {}, []
    for number, step in enumerate(library.read_shipped(id).steps, 1):
        visit = Visit(id, number, registry)
        if step.ask is not None:
            assert visit.session.runs.asking
            assert visit.panel.shown["reveal"] is None
            visit.panel._handle_msg({"given": an_answer(step.ask)})
            # A step that runs nothing asks one question of several about what the next step runs.
            assert visit.session.runs.asking == (not step.run)
            assert ("Next" in visit.panel.shown["note"]) == (not step.run)
        if step.run:
            visit.press_run()
            visit.wait_until(lambda visit=visit: visit.panel.shown["reveal"] is not None)
            assert not visit.panel._problem, visit.panel._problem
            ran[number] = tables(visit.panel._result)
            for table in ran[number]:
                for column in table.columns:
                    check_column(visit.page.slug, column)
            for asked in (step.ask, *unmet):
                found[asked.id] = was = answer(asked, visit.panel._result)
                asked.read(list(was) if isinstance(was, tuple) else was)
            assert visit.panel.outcome == found[step.ask.id]
            unmet = []
        elif step.ask is not None:
            unmet.append(step.ask)
        visit.close()
    visit.panel._handle_msg({"go": 1})
    summary, many = visit.panel.shown["summary"], len(visit.lesson.questions)
    assert (visit.panel.shown["next_label"], visit.panel.place) == ("All lessons", "")
    assert [result["outcome"] for result in summary] == [found[question.id] for question in visit.lesson.questions]
    assert len(summary) == many
    visit.panel._handle_msg({"go": -1})
    assert visit.panel.shown["next_label"] == "Finish"
    for _ in range(2):
        visit.panel._handle_msg({"go": 1})
    assert visit.panel.place == "?page=lessons"
    assert found.keys() == SAID[id].keys()
    for question, said in SAID[id].items():
        words = isinstance(said, str) or (isinstance(said, tuple) and isinstance(said[0], str))
        assert found[question] == (said if words else pytest.approx(said, rel=0.1)), (question, found)
    assert progress_of(OWNER, library.read_shipped(id)).step == len(library.read_shipped(id).steps)
    for was, step, measure, *of in FIGURES[id]:
        number, figure = float(was.lstrip("<")), measured(ran[step], measure, *of)
        rounding = 0.5000001 * 10.0 ** -len(was.partition(".")[2])
        within = 0 <= figure < number if was[0] == "<" else abs(figure - number) <= rounding
        assert within, f"{id} says {was} of {measure} {of} at step {step}; it is {figure:.6g}"


def measured(ran, measure, *of):
    """A measure of what ran, and of Which order? the mean of a column of its reliability curve."""
    if measure == "points":
        return 100 * MEASURES["overconfidence"].compute(ran, of, ())
    if measure in ("confidence", "accuracy"):
        lines = next(table for table in ran if measure in table).query(of[0].replace("=", "=="))
        return (lines[measure] * lines.rows).sum() / lines.rows.sum()
    return MEASURES[measure].compute(ran, tuple(of), ())


@pytest.mark.parametrize("id", library.SHIPPED)
def test_a_lesson_states_no_figure_that_is_not_measured_or_given(id):
    steps = library.read_shipped(id).steps
    texts = [text for step in steps for text in (step.text, step.reveal, step.ask.text, step.ask.explain)]
    stated = set(re.findall(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?", " ".join(texts)))
    assert stated == {was.lstrip("<") for was, *_ in FIGURES[id]} | set(GIVEN[id].split())


def test_what_the_lesson_on_bandwidths_says_of_fits_that_it_does_not_run():
    moons = race(load_demo("two-moons"), [Recipe("dlr", bandwidth="silverman", alpha=10.0)])
    moons.start()
    moons.join()
    losses = [measured(tables(moons), "value", name, "name=dlr") for name in ("nll", "heldout_log_loss")]
    assert losses == [pytest.approx(0.18, abs=0.005), pytest.approx(0.23, abs=0.005)]
    best = fit_reference(TRUTH, load_demo("four-gaussians"), holdout=0.3, seed=0, truth=demo_truth("four-gaussians"))
    assert 100 * best.error == pytest.approx(9.7, abs=0.05)
    assert "best possible error 7.7 %" in demo_line("four-gaussians")


def test_what_the_lesson_on_penalties_says_of_the_race_without_one():
    led = race(load_demo("led"), [Recipe("lr", alpha=0), Recipe("alr", alpha=0)])
    led.start()
    led.join()
    assert measured(tables(led), "ratio", "nearer_1", "name=lr", "name=alr") == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("id", library.SHIPPED)
def test_no_figure_at_the_beginning_of_a_text_is_read_as_a_lists(id):
    steps = library.read_shipped(id).steps
    for text in (text for step in steps for text in (step.text, step.reveal, step.ask.explain)):
        assert "<ol start" not in markdown_html(text), text


def test_nothing_runs_before_the_answer_and_the_answer_stays(registry):
    visit = Visit("parity", 1, registry, "c" * 32)
    page, panel = visit.page, visit.panel
    visit.wait_until(lambda: visit.session.table.dataset is not None and page.starter.has_estimates)
    page.race_view.press_run()
    visit.wait_until(lambda: visit.session.problem is not None)
    assert "still open" in str(visit.session.problem)
    assert page.race_view.race is None
    for wrong in ([0.1, 0.2], [0.1, 0.2, 9], "a", {"x": 1}, [0.1, 0.2, None]):
        panel._handle_msg({"given": wrong})
        assert "That is no answer" in panel.shown["note"]
        assert visit.session.runs.asking
    panel._handle_msg({"given": [0.5, 0.1, 0.1]})
    panel._handle_msg({"given": [0.3, 0.3, 0.3]})  # locked
    assert panel.answer_of(visit.lesson.questions[0]) == (0.5, 0.1, 0.1)
    panel.record_answer([0.2, 0.2, 0.2], of_class=True)  # a class that is asked again, before anything has run
    assert panel.answer_of(visit.lesson.questions[0]) == (0.2, 0.2, 0.2)
    panel.record_answer([0.5, 0.1, 0.1], of_class=True)
    visit.close()
    again = Visit("parity", 1, registry, "c" * 32)  # a reload
    assert not again.session.runs.asking
    assert again.panel.shown["question"]["answer"] == (0.5, 0.1, 0.1)
    again.close()
    other = Visit("parity", 1, registry, "d" * 32)
    assert other.session.runs.asking  # another visitor's is their own
    other.close()


def test_back_and_on_turn_the_panel_or_open_the_steps_link(registry, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "id: mine\ntitle: '<b>Mine</b>'\nsteps:\n  - {page: order, text: One}\n  - {text: Two}\n"
        "  - {page: bias, text: Three}\n"
    )
    library.add_file(file)
    try:
        visit = Visit("mine", 1, registry)
        assert "<b>Mine" not in visit.panel.shown["head"]
        visit.panel._handle_msg({"go": -1})
        visit.panel._handle_msg({"go": 1})
        assert (visit.session.step, visit.panel.place) == (2, "")
        assert "lesson=mine&step=2" in visit.session.link.query
        visit.panel._handle_msg({"go": 1})
        assert visit.opened == ["?lesson=mine&step=3"]
        assert not visit.panel.has_same_page(3)
        assert visit.panel.has_same_page(1)
        visit.close()
        last = Visit("mine", 3, registry)
        last.panel._handle_msg({"go": 1})
        assert last.panel.place == "?page=lessons"
        last.close()
    finally:
        library._user_files.clear()


def test_a_measure_of_what_is_not_there_says_what_there_is():
    raced = race(load_demo("xor", rows=200), [Recipe("lr", order=1, alpha=0.3)])
    raced.start()
    raced.join()
    for of, says in (
        (("nl", "name=lr"), "no column 'nl'; did you mean 'nll'"),
        (("nll", "name=alr"), "no row of the result has name=alr; there are lr"),
        (("nll", "iteration>3"), "selects no row"),
        (("outcome", "name=lr"), "is 'converged', not a number"),
    ):
        with pytest.raises(AlrvizError, match=says):
            answer(Question("q", "number", "?", (), Answer("value", of)), raced)


def test_how_much_has_fallen_is_of_one_racer_also_beside_one_of_densities():
    racers = pd.DataFrame({"name": ["lr", "dlr"], "nll": [1.0, 2.0]})
    steps = pd.DataFrame({"name": ["lr"] * 3 + ["dlr"], "iteration": [0, 1, 2, 0], "nll": [5.0, 2.0, 1.0, 2.0]})
    found = [racers, steps, pd.DataFrame({"column": ["x"], "bandwidth": [1.0]})]
    fallen = MEASURES["fallen"].compute
    assert fallen(found, ("nll", "name=lr, iteration=1"), ()) == 0.75
    with pytest.raises(AlrvizError, match="name more columns"):
        fallen(found, ("nll", "iteration=0"), ())


def test_who_reads_the_folder_of_progress_learns_nobodys_cookie(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))
    lesson = library.read_shipped(library.SHIPPED[0])
    keep_progress(OWNER, lesson, Progress(2))
    assert (progress_of(OWNER, lesson).step, progress_of("c" * 32, lesson).step) == (2, 0)
    folder = tmp_path / "lessons"
    assert OWNER not in " ".join(map(str, tmp_path.rglob("*")))
    assert [oct(one.stat().st_mode & 0o777) for one in (folder, *folder.iterdir())] == ["0o700", "0o600"]


def test_the_learning_curves_are_of_the_measure_that_is_asked_about(registry):
    for number in (1, 2, 3):
        visit = Visit("learning-curves", number, registry)
        assert visit.page.tab.study_view.measure == "log_loss"
        visit.close()


@pytest.mark.parametrize(
    ("kind", "measure", "of", "said", "places"),
    [
        ("number", "value", ("near", "name=alr"), 40.0, ((40.0, None),)),
        ("number", "value", ("nll", "name=lr, iteration=0"), 2.0, ((0.0, 2.0),)),
        ("number", "value", ("nll", "name=lr"), 2.0, ((None, 2.0),)),
        ("sketch", "values", ("nll", "iteration=1", "iteration=5"), (2.0, 1.0), ((1.0, 2.0), (5.0, 1.0))),
        ("number", "value", ("rmse", "name=lr"), 2.0, None),
        ("number", "percent", ("nll", "name=lr"), 2.0, None),
        ("choice", "lowest", ("nll", "name"), "a", None),
    ],
)
def test_a_number_of_the_pictures_axes_is_drawn_on_it(kind, measure, of, said, places):
    options = (Option("a", "A"), Option("b", "B")) if kind != "number" else ()
    question = Question("q", kind, "?", options, Answer(measure, of), low=0, high=100)
    found = on_picture(question, said, NumberAxes(None, "iteration", ("nll",)))
    assert (None if found is None else found.places) == places
