"""Compiling apart: what was never compiled is, by children, once; what is kept is not; a stop is not waited through."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from alrviz.errors import Stopped
from alrviz.fitting import apart
from alrviz.kernels.cuts import class_weights
from alrviz.stop import StopToken


@pytest.fixture
def asked(monkeypatch):
    """What children are asked to do; they do nothing for as long as a stop may take."""
    asked = []

    def start(code):
        asked.append(code)
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)"])

    monkeypatch.setattr(apart, "_children", {})
    monkeypatch.setattr(apart, "_start", start)
    yield asked
    for child in apart._children.values():
        child.wait()


def test_what_is_kept_is_not_compiled_again(asked, monkeypatch):
    monkeypatch.setattr(apart, "kept", lambda kernel: True)
    apart.compile_apart(3)
    assert asked == []


def test_covers_and_passes_are_compiled_beside_each_other_and_once(asked, monkeypatch):
    monkeypatch.setattr(apart, "kept", lambda kernel: False)
    apart.compile_apart(3)
    apart.compile_apart(3)
    assert len(asked) == 2
    assert "warm_covers()" in asked[0]
    assert "warm_passes(3)" in asked[1]
    for code in asked:
        compile(code, "child", "exec")


def test_a_stop_is_not_waited_through(asked, monkeypatch):
    monkeypatch.setattr(apart, "kept", lambda kernel: False)
    token = StopToken()
    token.stop()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        apart.compile_apart(3, token)
    assert time.monotonic() - begun < 1
    assert any(child.poll() is None for child in apart._children.values())


def test_a_machine_that_starts_no_children_compiles_as_it_goes(monkeypatch):
    monkeypatch.setattr(apart, "_children", {})
    monkeypatch.setattr(apart, "kept", lambda kernel: False)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    apart.compile_apart(3)
    assert apart._children == {}


def test_kept_is_what_numba_has_a_file_of(tmp_path):
    stats = SimpleNamespace(cache_path=str(tmp_path))
    kernel = SimpleNamespace(py_func=class_weights.py_func, __name__="class_weights", stats=stats)
    assert not apart.kept(kernel)
    (tmp_path / "cuts.class_weights-17.py311.nbi").touch()
    assert apart.kept(kernel)
    stats.cache_path = None
    assert not apart.kept(kernel)
