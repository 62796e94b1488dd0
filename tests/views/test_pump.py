"""The pump without a browser: it looks while there is something to come, rests at the end, and is woken again."""

import threading
import time

import panel as pn
import pytest

from alrviz.views.core import pump
from alrviz.views.core.pump import Pump, _TickThread


class Callback:
    """What Panel returns for a periodic callback, ticked by hand."""

    def __init__(self, look, period, start):
        self.look, self.period, self.running = look, period, start

    def start(self):
        self.running = True

    def stop(self):
        self.running = False


@pytest.fixture
def made(monkeypatch):
    made = []

    def add(look, period, start):
        made.append(Callback(look, period, start))
        return made[-1]

    monkeypatch.setattr(pn.state, "add_periodic_callback", add)
    monkeypatch.setattr(pump, "page_ready", lambda: True)
    return made


def test_it_rests_when_nothing_is_to_come_and_is_woken_again(made):
    answers, rested = [True, False, False], []
    one = Pump(lambda: answers.pop(0), 50, on_rest=lambda: rested.append(len(answers)))
    assert not made
    one.wake()
    one.wake()
    assert [(callback.period, callback.running) for callback in made] == [(50, True)]
    made[0].look()
    assert made[0].running
    made[0].look()
    assert not made[0].running
    assert rested == [1]
    one.wake()
    assert made[0].running
    assert len(made) == 1


def test_it_waits_for_the_page(made, monkeypatch):
    looks = []
    monkeypatch.setattr(pump, "page_ready", lambda: False)
    one = Pump(lambda: looks.append(1), 50)
    one.wake()
    made[0].look()
    assert not looks
    assert made[0].running


def test_a_visitor_who_leaves_a_served_page_is_told_once(made, monkeypatch):
    left, told = [], []
    monkeypatch.setattr(pn.state, "on_session_destroyed", told.append)
    Pump(lambda: False, 50, on_leave=lambda: left.append(1)).wake()
    assert not told  # a notebook has no session that ends
    monkeypatch.setattr(pump, "server_session", lambda: "a session")
    one = Pump(lambda: False, 50, on_leave=lambda: left.append(1))
    one.wake()
    one.wake()
    assert len(told) == 1
    told[0](None)
    assert left == [1]


def test_a_thread_that_was_stopped_does_not_wake_with_the_next():
    calls = []
    ticking = _TickThread(lambda: calls.append(threading.current_thread()), 0.02)
    for _ in range(3):
        ticking.start()
        ticking.stop()
    ticking.start()
    end = time.monotonic() + 60
    while len(calls) < 5 and time.monotonic() < end:
        time.sleep(0.005)
    ticking.stop()
    assert len(calls) >= 5
    assert len(set(calls)) == 1
