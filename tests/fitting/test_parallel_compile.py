"""Kernels of passes that another process compiles: kept on disk for this one, and only where nothing is."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from alrviz.errors import Stopped
from alrviz.fitting import warm
from alrviz.stop import StopToken

ROOT = Path(__file__).parents[2]
FIRST = """
import json
from alrviz.fitting.warm import CompileProcess
from alrviz.kernels import rows
from alrviz.passes.warm import warm_passes
from alrviz.stop import StopToken
one, two = CompileProcess(2, "nll"), CompileProcess(2, "nll")
begun = [of.started for of in (one, two)]
one.wait(StopToken()), two.wait(StopToken())
warm_passes(2)
stats = [of.stats for of in vars(rows).values() if hasattr(of, 'stats')]
misses, hits = (sum(sum(getattr(of, what).values()) for of in stats) for what in ("cache_misses", "cache_hits"))
print(json.dumps([*begun, misses, hits]))
"""


def process(folder, threads=2):
    code = f"from alrviz.fitting import warm as of\nof.available_threads = lambda: {threads}\n{FIRST}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"NUMBA_CACHE_DIR": str(folder)}, check=True,
        capture_output=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.slow(reason="kernels are compiled anew, by two processes")
def test_a_machine_that_never_compiled_does_it_in_two_processes_and_never_again(tmp_path):
    first, second, misses, hits = process(tmp_path)
    assert (first, second) == (True, False)
    assert misses == 0, "the other process kept all that was asked for"
    assert hits > 3
    assert process(tmp_path)[:2] == [False, False]


def made_up(monkeypatch, threads=2, never=True):
    monkeypatch.setattr(warm, "available_threads", lambda: threads)
    monkeypatch.setattr(warm, "_never_compiled", lambda: never)
    monkeypatch.setattr(warm, "_once", threading.Lock())


def test_a_stopped_visitor_does_not_wait_and_a_process_that_fails_costs_nothing(monkeypatch):
    made_up(monkeypatch)
    monkeypatch.setattr(warm, "_COMPILE", "import time; time.sleep(1)")
    lasting, stop = warm.CompileProcess(2, "nll"), StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        lasting.wait(stop)
    with monkeypatch.context() as patch:
        patch.setattr(warm, "MAX_WAIT_SECONDS", 0.1)
        lasting.wait(StopToken())
        assert not lasting.ended  # it hangs
    lasting.wait(StopToken())
    assert lasting.ended
    made_up(monkeypatch)
    monkeypatch.setattr(warm, "_COMPILE", "raise SystemExit(3)")
    failing = warm.CompileProcess(2, "nll")
    assert failing.started
    failing.wait(StopToken())
    made_up(monkeypatch)
    monkeypatch.setattr(sys, "executable", "")
    none = warm.CompileProcess(2, "nll")
    assert not none.started
    none.wait(StopToken())


@pytest.mark.parametrize(("threads", "never"), [(1, True), (2, False)])
def test_compile_process_starts_only_if_useful(threads, never, monkeypatch):
    made_up(monkeypatch, threads, never)
    idle = warm.CompileProcess(2, "nll")
    assert not idle.started
    idle.wait(StopToken())
