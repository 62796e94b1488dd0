"""Work on threads: the result once, nothing after a cancel, and errors as results."""

import threading

from alrviz.explorer.session.loading import AT_ONCE, PAGES, Loading


def made(work, log):
    return Loading(
        work, "working", lambda value: log.append(("done", value)), lambda error: log.append(("failed", error))
    )


def test_the_result_is_handed_over_once_and_by_poll():
    log = []
    loading = made(lambda stop: 42, log)
    loading.join(10)
    assert log == []
    assert loading.poll() is False
    assert loading.poll() is False
    assert log == [("done", 42)]


def test_an_error_is_a_result():
    log = []

    def work(stop):
        raise ValueError("no")

    loading = made(work, log)
    loading.join(10)
    loading.poll()
    assert [kind for kind, _ in log] == ["failed"]
    assert str(log[0][1]) == "no"


def test_after_cancel_nothing_comes():
    log, go = [], threading.Event()

    def work(stop):
        go.wait(10)
        stop.check()
        return 1

    loading = made(work, log)
    assert loading.poll() is True
    loading.cancel()
    assert loading.over
    go.set()
    loading.join(10)
    loading.poll()
    assert log == []


def test_work_that_is_not_to_begin_at_once_is_waited_for():
    log = []
    loading = Loading(lambda stop: 42, "working", log.append, log.append, at_once=False)
    assert loading.poll() is True
    assert loading.seconds == 0
    loading.begin()
    loading.begin()
    loading.join(10)
    loading.poll()
    assert log == [42]
    cancelled = Loading(lambda stop: 42, "working", log.append, log.append, at_once=False)
    cancelled.cancel()
    cancelled.begin()
    assert cancelled.poll() is False
    assert log == [42]


def test_no_more_than_a_few_compute_at_a_time():
    log, go = [], threading.Event()
    some = [made(lambda stop: go.wait(10), log) for _ in range(AT_ONCE)]
    extra = made(lambda stop: 1, log)
    extra.join(0.2)
    assert extra.waiting
    page = Loading(lambda stop: 2, "pricing", log.append, log.append, places=PAGES)
    page.join(10)
    page.poll()
    assert log.pop() == 2
    go.set()
    for loading in (*some, extra):
        loading.join(10)
        loading.poll()
    assert len(log) == AT_ONCE + 1
