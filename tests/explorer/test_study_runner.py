"""The states of a study page, with a fake study: what Run may do follows from them."""

import time
from types import SimpleNamespace

import pytest

from alrviz.errors import AlrvizError
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.widgets.study_runner import StudyRunner, StudyState
from alrviz.fitting.cost.cost import Cost


class FakeView:
    def __init__(self):
        self.study, self.outdated, self.is_waiting, self.ready, self.ready_soon = None, False, False, False, False
        self.sentence, self.pressed, self.param = "", 0, self

    def update(self, **values):
        vars(self).update(values)

    def watch(self, study):
        self.study = study

    def tell(self, text):
        self.sentence = text

    def tell_verdict(self, verdict):
        self.tell(str(verdict))

    def tell_none(self):
        self.tell("none")

    def cancel_press(self):
        self.is_waiting = False

    def press_run(self):
        self.is_waiting, self.pressed = False, self.pressed + 1

    repeat_press = press_run


def costs_of(study, seconds=10.0):
    return SimpleNamespace(study=study, cost=Cost(bytes=1, seconds=seconds), refusals=["lr: too large"], n_jobs=1)


def study(phase="waiting", spec="spec"):
    return SimpleNamespace(phase=phase, spec=spec, data_hash="hash", entry=None)


@pytest.fixture
def made():
    runs = SimpleNamespace(asking=False, find_study=lambda study: None)
    session = SimpleNamespace(runs=runs, wake=lambda: None, begin=lambda task: task.begin(), problem=None)
    tasks = PageTasks(session)
    runner = StudyRunner(session, tasks, lambda: None, lambda text: None, autorun_seconds=0.0)
    runner.view = FakeView()

    def estimate(settings, costs):
        def work(stop, tell):
            if isinstance(costs, Exception):
                raise costs
            return costs

        runner.estimate(settings, work)

    def settle():
        end = time.monotonic() + 30
        while tasks.poll():
            assert time.monotonic() < end
            time.sleep(0.005)

    yield SimpleNamespace(runner=runner, view=runner.view, session=session, estimate=estimate, settle=settle)
    tasks.close()


def test_a_study_is_estimated_runs_and_is_done(made):
    runner, view, shown = made.runner, made.view, study()
    assert runner.state is StudyState.IDLE
    made.estimate("settings", costs_of(shown))
    assert (runner.state, view.ready, view.ready_soon) == (StudyState.ESTIMATING, False, True)
    made.settle()
    assert (runner.state, view.ready, view.ready_soon) == (StudyState.READY, True, False)
    assert view.study is shown
    for phase, state in (("running", StudyState.RUNNING), ("queued", StudyState.RUNNING), ("done", StudyState.DONE)):
        shown.phase = phase
        assert runner.state is state
    assert view.pressed == 0


def test_a_running_study_of_other_settings_stays_until_run_replaces_it(made):
    first, second = study("running"), study(spec="other")
    made.estimate("first", costs_of(first))
    made.settle()
    made.estimate("second", costs_of(second))
    assert made.view.outdated
    made.settle()
    assert (made.view.study, made.runner.current, made.runner.state) == (first, None, StudyState.READY)
    first.phase = "stopped"
    made.runner.show(made.runner.costs)
    assert (made.view.study, made.view.outdated) == (second, False)


def test_nothing_to_run_is_said_and_run_is_disabled(made):
    made.estimate("settings", costs_of(None))
    made.settle()
    assert (made.runner.state, made.view.ready, made.view.ready_soon) == (StudyState.IDLE, False, False)
    assert "lr: too large" in made.view.sentence
    assert made.runner.start() is None


def test_a_table_that_does_not_come_leaves_what_was_there(made):
    made.estimate("settings", costs_of(None))
    made.settle()
    made.runner.wait_for_table()
    made.view.is_waiting = True
    assert made.view.ready_soon
    made.estimate("settings", costs_of(None))
    assert (made.view.ready_soon, made.view.is_waiting, made.view.ready) == (False, False, False)
    assert "lr: too large" in made.view.sentence


def test_a_press_waits_for_the_estimate_and_is_forgotten_without_a_table(made):
    made.estimate("settings", costs_of(study()))
    made.view.is_waiting = True
    made.settle()
    assert made.view.pressed == 1
    made.view.is_waiting = True
    made.runner.reset("no table")
    assert (made.runner.state, made.view.is_waiting, made.view.sentence) == (StudyState.IDLE, False, "no table")


def test_a_failed_estimate_is_a_problem_and_can_be_repeated(made):
    made.estimate("settings", AlrvizError("broken"))
    made.settle()
    assert (made.runner.state, str(made.session.problem)) == (StudyState.IDLE, "broken")
    made.estimate("settings", costs_of(study()))
    made.settle()
    assert (made.runner.state, made.session.problem) == (StudyState.READY, None)


def test_the_first_study_begins_by_itself_only_if_it_is_cheap(made):
    made.estimate("settings", costs_of(study(), seconds=0.0))
    made.settle()
    assert made.view.pressed == 1
    made.estimate("others", costs_of(study(), seconds=0.0))
    made.settle()
    assert made.view.pressed == 1


def test_a_lessons_question_holds_results_back(made):
    made.session.runs.asking = True
    made.estimate("settings", costs_of(study("stopped")))
    made.settle()
    assert made.view.study is None
    made.session.runs.asking = False
    made.runner.show_again()
    assert made.view.study is not None
