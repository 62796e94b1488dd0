"""Of work off the event loop only the latest matters."""

import threading

from alrviz.errors import TableError
from alrviz.views.core.latest_task import LatestTask
from tests.conftest import wait_until


def test_results_come_from_a_thread_and_the_newest_is_taken():
    asking, where = LatestTask(), []

    def work(stop):
        where.append(threading.current_thread())
        yield 1
        yield 2

    asking.ask(work)
    wait_until(lambda: asking.take() == 2, 60, "the last result")
    wait_until(lambda: not asking.busy, 60, "the end of the work")
    assert where != [threading.main_thread()]
    assert asking.take() is None


def test_a_new_question_ends_the_old_one_and_what_it_still_finds_is_dropped():
    asking, begun, go = LatestTask(), threading.Event(), threading.Event()
    seen = []

    def slow(stop):
        begun.set()
        go.wait(5)
        seen.append(stop.stopped)
        yield "old"

    asking.ask(slow)
    assert begun.wait(5)
    asking.ask(lambda stop: ["between"])
    asking.ask(lambda stop: ["new"])
    assert asking.take() is None
    go.set()
    found = wait_until(asking.take, 60, "the new result")
    assert (seen, found) == ([True], "new")


def test_what_is_raised_is_a_result():
    asking = LatestTask()

    def work(stop):
        raise TableError("no such column")
        yield

    asking.ask(work)
    found = wait_until(asking.take, 60, "the error")
    assert str(found) == "no such column"


def test_stopped_work_is_forgotten():
    asking, begun, go = LatestTask(), threading.Event(), threading.Event()

    def work(stop):
        begun.set()
        go.wait(5)
        yield "late"

    asking.ask(work)
    assert begun.wait(5)
    asking.stop()
    assert not asking.busy
    go.set()
    wait_until(lambda: "alrviz-asking" not in [thread.name for thread in threading.enumerate()], 60, "its thread's end")
    assert asking.take() is None


def test_a_result_is_waited_for_but_not_for_long():
    asking, go = LatestTask(), threading.Event()

    def work(stop):
        yield 1
        go.wait(5)

    asking.ask(work)
    asking.wait(5)
    assert asking.take() == 1
    asking.wait(0.01)
    assert asking.take() is None
    go.set()
