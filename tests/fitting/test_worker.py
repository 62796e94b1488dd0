"""The thread that takes turns: exactly as many as it may, until it is told or its work ends."""

import threading

import pytest

from alrviz.fitting.runs.worker import Worker

PATIENCE = 60


class Counter:
    """Turns that count themselves; `meet(k)` waits until k were taken."""

    def __init__(self, last=None):
        self.count, self.last = 0, last
        self.changed = threading.Condition()

    def __call__(self):
        with self.changed:
            self.count += 1
            self.changed.notify_all()
            return self.count != self.last

    def meet(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= count, PATIENCE)


def until_paused(worker):
    for _ in range(PATIENCE * 100):
        if worker.paused:
            return
        threading.Event().wait(0.01)
    pytest.fail("never paused")


def test_nothing_happens_before_it_is_asked_for():
    turn = Counter()
    worker = Worker(turn, "test")
    assert not worker.started
    assert not worker.paused
    assert worker.join(0)
    worker.pause()
    worker.stop()
    assert turn.count == 0
    worker.resume()  # stopped for good
    assert not worker.started


def test_single_turns_add_up():
    turn = Counter()
    worker = Worker(turn, "test")
    worker.step(2)
    worker.step(3)
    turn.meet(5)
    until_paused(worker)
    assert turn.count == 5
    worker.step()
    turn.meet(6)
    until_paused(worker)
    assert turn.count == 6
    worker.stop()
    assert worker.join(PATIENCE)
    assert not worker.paused


def test_it_runs_until_the_work_ends():
    turn = Counter(last=100)
    worker = Worker(turn, "a name")
    worker.resume()
    assert worker.join(PATIENCE)
    assert turn.count == 100
    worker.resume()
    worker.step(5)
    assert worker.join(PATIENCE)
    assert turn.count == 100


def test_pause_and_resume():
    turn = Counter()
    worker = Worker(turn, "test")
    worker.resume()
    turn.meet(10)
    worker.pause()
    until_paused(worker)
    count = turn.count
    threading.Event().wait(0.05)
    assert turn.count == count
    worker.resume()
    assert not worker.paused
    turn.meet(count + 10)
    worker.step(3)  # from running on: three more, then a pause
    until_paused(worker)
    worker.stop()
    assert worker.join(PATIENCE)


def test_many_hands_on_the_controls():
    turn = Counter()
    worker = Worker(turn, "test")
    hands = [threading.Thread(target=lambda: [worker.step() for _ in range(50)]) for _ in range(8)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join(PATIENCE)
    turn.meet(400)
    until_paused(worker)
    assert turn.count == 400
    worker.stop()
    assert worker.join(PATIENCE)


def test_it_can_stop_itself_and_does_not_wait_for_itself():
    said = []

    def turn():
        worker.stop()
        said.append(worker.join(PATIENCE))
        return True

    worker = Worker(turn, "test")
    worker.resume()
    assert worker.join(PATIENCE)
    assert said == [False]
