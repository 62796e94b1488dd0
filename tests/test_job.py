"""Jobs: as many turns as asked for, results handed over once, nothing after a stop, errors as results."""

import threading

import pytest

from alrviz.errors import Stopped, TableError
from alrviz.explorer.server.limits import MAX_CONCURRENT_TASKS, PAGES, TABLES
from alrviz.job import Job, LatestJob
from tests.conftest import wait_until

PATIENCE = 60


class Told:
    """A task, and all that it told."""

    def __init__(self, places=None):
        self.task, self.found, self.errors = LatestJob("work", places), [], []

    def run(self, work, **options):
        self.task.run(work, self.found.append, self.errors.append, **options)
        return self

    def stream(self, work):
        self.task.run(work, self.found.append, self.errors.append)
        return self

    def ended(self):
        """Whether the thread has ended."""
        return self.task.join(0)

    def settle(self):
        """Poll to the end of the work."""
        wait_until(lambda: not self.task.poll(), 60, "the end of the work")
        return self


def test_the_result_comes_from_a_thread_and_is_handed_over_once_by_poll():
    where = []
    told = Told().run(lambda stop: where.append(threading.current_thread()) or 42)
    told.task.wait(60)
    assert told.found == []
    assert told.task.busy
    assert told.task.poll() is False
    assert told.task.poll() is False
    assert told.found == [42]
    assert where != [threading.main_thread()]


def test_none_is_a_result():
    assert Told().run(lambda stop: None).settle().found == [None]


def test_of_results_on_the_way_the_newest_is_told():
    told, go = Told(), threading.Event()

    def work(stop):
        yield 1
        yield 2
        go.wait(60)
        yield 3

    told.stream(work)
    wait_until(lambda: told.task.poll() and told.found[-1:] == [2], 60, "the second result")
    go.set()
    told.settle()
    assert told.found[-1] == 3


def test_an_error_is_a_result():
    def work(stop):
        raise TableError("no such column")

    def works(stop):
        yield from work(stop)

    assert [str(error) for error in Told().run(work).settle().errors] == ["no such column"]
    assert [str(error) for error in Told().stream(works).settle().errors] == ["no such column"]


def test_new_work_ends_the_old_one_and_what_it_still_finds_is_dropped():
    told, begun, go, seen = Told(), threading.Event(), threading.Event(), []

    def slow(stop):
        begun.set()
        go.wait(60)
        seen.append(stop.stopped)
        return "old"

    told.run(slow)
    assert begun.wait(60)
    told.run(lambda stop: "between")
    told.run(lambda stop: "new")
    assert told.task.poll()
    go.set()
    assert told.settle().found == ["new"]
    assert seen == [True]


def test_after_cancel_nothing_comes():
    for late in (lambda stop: "late", lambda stop: stop.check()):
        told, begun, go = Told(), threading.Event(), threading.Event()

        def work(stop, late=late, begun=begun, go=go):
            begun.set()
            go.wait(60)
            return late(stop)

        told.run(work)
        assert begun.wait(60)
        assert told.task.poll()
        told.task.cancel()
        assert not told.task.busy
        go.set()
        wait_until(told.ended, 60, "the end of its thread")
        assert not told.task.poll()
        assert told.found == told.errors == []


def test_one_of_them_computes_at_a_time_however_fast_they_come():
    told, begun, go = Told(), threading.Event(), threading.Event()

    def slow(stop):
        begun.set()
        go.wait(60)
        return "old"

    told.task.title = "one at a time"
    told.run(slow)
    assert begun.wait(60)
    for k in range(5):
        told.run(lambda stop, k=k: k)
    assert sum(thread.name.endswith("one at a time") for thread in threading.enumerate()) == 1
    go.set()
    assert told.settle().found == [4]


def test_what_was_not_handed_over_before_a_stop_never_is():
    for work in (lambda stop: 42, lambda stop: 1 / 0):
        job, told = Job(work, "test"), []
        job.start()
        job.wait(60)
        assert job.busy
        job.stop()
        assert not job.poll(told.append, told.append)
        assert told == []


def test_a_result_is_waited_for_but_not_for_long():
    told, go = Told(), threading.Event()

    def work(stop):
        yield 1
        go.wait(60)

    told.stream(work)
    told.task.wait(60)
    assert told.task.poll()
    assert told.found == [1]
    told.task.wait(0.01)
    assert told.task.poll()
    go.set()
    told.settle()


def test_work_that_is_not_to_begin_at_once_is_waited_for():
    told = Told().run(lambda stop: 42, begin=False)
    assert told.task.poll()
    assert told.task.seconds == 0
    told.task.begin()
    told.task.begin()
    assert told.settle().found == [42]
    cancelled = Told().run(lambda stop: 42, begin=False)
    cancelled.task.cancel()
    cancelled.task.begin()
    assert not cancelled.task.poll()
    assert cancelled.found == []


def test_work_put_off_behind_another_is_waited_for_too():
    told, computing, go, began = Told(), threading.Event(), threading.Event(), []

    def slow(stop):
        computing.set()
        go.wait(60)

    told.run(slow)
    assert computing.wait(60)
    told.run(lambda stop: began.append(1) or 42, begin=False)
    go.set()
    wait_until(told.ended, 60, "the end of its thread")
    assert began == []
    assert told.task.poll()
    assert told.task.waiting
    told.task.begin()
    assert told.settle().found == [42]


@pytest.mark.parametrize(
    ("error", "words"), [(Stopped("of something else"), "of something else"), (SystemExit(3), "SystemExit(3)")]
)
def test_whatever_ends_work_that_nobody_stopped_is_told_and_the_next_work_begins(error, words):
    def work(stop):
        raise error

    def works(stop):
        yield 1
        raise error

    told = Told().run(work)
    wait_until(told.ended, 60, "the end of its thread")
    told.settle().stream(works).settle().run(lambda stop: 42).settle()
    assert [words in str(each) for each in told.errors] == [True, True]
    assert told.found[-1] == 42


def test_a_thread_that_could_not_be_started_is_tried_again(monkeypatch):
    told = Told()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda thread: (_ for _ in ()).throw(RuntimeError("no more threads")))
        with pytest.raises(RuntimeError, match="no more threads"):
            told.run(lambda stop: 1)
    told.task.begin()
    assert told.settle().found == [1]


def test_no_more_than_a_few_compute_at_a_time():
    go = threading.Event()
    some = [Told(TABLES).run(lambda stop: go.wait(60)) for _ in range(MAX_CONCURRENT_TASKS)]
    wait_until(lambda: not any(told.task.waiting for told in some), 60, "the first ones' beginning")
    extra = Told(TABLES).run(lambda stop: 1)
    extra.task.wait(0.2)
    assert extra.task.waiting
    assert Told(PAGES).run(lambda stop: 2).settle().found == [2]
    extra.run(lambda stop: 3)  # in place of what has waited
    go.set()
    assert extra.settle().found == [3]
    assert all(told.settle().found == [True] for told in some)


def test_how_much_is_done_is_the_latest_works():
    told, go = Told(), threading.Event()

    def work(stop):
        stop.report(0.5)
        go.wait(60)

    assert told.task.share is None
    told.run(work)
    wait_until(lambda: told.task.share == 0.5, 60, "its report")
    told.run(lambda stop: None)
    assert told.task.share is None
    go.set()
    told.settle()


class Counter:
    """Turns that count themselves; `meet(k)` waits until k were taken."""

    def __init__(self, last=None):
        self.count, self.last = 0, last
        self.changed = threading.Condition()

    def __call__(self, stop):
        while self.count != self.last:
            with self.changed:
                self.count += 1
                self.changed.notify_all()
                if self.count == self.last:
                    return
            yield self.count

    def meet(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= count, PATIENCE)


def until_paused(job):
    for _ in range(PATIENCE * 100):
        if job.paused:
            return
        threading.Event().wait(0.01)
    pytest.fail("never paused")


def test_nothing_happens_before_it_is_asked_for():
    turn = Counter()
    job = Job(turn, "test")
    assert not job.started
    assert not job.paused
    assert job.join(0)
    job.pause()
    job.stop()
    assert turn.count == 0
    job.start()  # stopped for good
    assert not job.started


def test_single_turns_add_up():
    turn = Counter()
    job = Job(turn, "test")
    job.step(2)
    job.step(3)
    turn.meet(5)
    until_paused(job)
    assert turn.count == 5
    job.step()
    turn.meet(6)
    until_paused(job)
    assert turn.count == 6
    job.stop()
    assert job.join(PATIENCE)
    assert not job.paused


def test_it_runs_until_the_work_ends():
    turn = Counter(last=100)
    job = Job(turn, "a name")
    job.start()
    assert job.join(PATIENCE)
    assert turn.count == 100
    job.start()
    job.step(5)
    assert job.join(PATIENCE)
    assert turn.count == 100


def test_pause_and_resume():
    turn = Counter()
    job = Job(turn, "test")
    job.start()
    turn.meet(10)
    job.pause()
    until_paused(job)
    count = turn.count
    threading.Event().wait(0.05)
    assert turn.count == count
    job.start()
    assert not job.paused
    turn.meet(count + 10)
    job.step(3)  # from running on: three more, then a pause
    until_paused(job)
    job.stop()
    assert job.join(PATIENCE)


def test_many_hands_on_the_controls():
    turn = Counter()
    job = Job(turn, "test")
    hands = [threading.Thread(target=lambda: [job.step() for _ in range(50)]) for _ in range(8)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join(PATIENCE)
    turn.meet(400)
    until_paused(job)
    assert turn.count == 400
    job.stop()
    assert job.join(PATIENCE)


def test_it_can_stop_itself_and_does_not_wait_for_itself():
    said = []

    def turn(stop):
        job.stop()
        said.append(job.join(PATIENCE))
        yield
        said.append(None)

    job = Job(turn, "test")
    job.start()
    assert job.join(PATIENCE)
    assert said == [False]
