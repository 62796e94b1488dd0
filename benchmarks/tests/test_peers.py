"""What is compared is the same: one objective in every library. How fast each is, no test asks."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alrviz.errors import AlrvizError
from benchmarks import __main__ as bench
from benchmarks import _child, _courses, _each, _target
from benchmarks._courses import Course
from benchmarks._sets import made_rows

SHAPE = ["--rows", "400", "--columns", "4", "--levels", "3", "--classes", "3"]


@pytest.mark.parametrize("classes", [2, 3])
def test_every_library_ends_at_the_same_objective(classes):
    encoded = made_rows(300, 3, 3, classes)
    fits = [fit(encoded, 2, 0.5, 200).objective for fit in (_each.fit_alrviz, _each.fit_scikit_learn, _each.fit_numpy)]
    assert fits == pytest.approx([fits[0]] * 3, rel=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_course_falls_to_the_same_objective(classes):
    encoded = made_rows(300, 3, 3, classes)
    lowest = _each.fit_alrviz(encoded, 2, 0.5, 200).objective
    our_course = _courses.our_course(encoded, _courses.recipe_of(2, 0.5, max_iter=200), Course())
    assert our_course.lowest == pytest.approx(lowest, rel=1e-8)
    for fit in _target.peers_of().values():
        course = fit(encoded, 2, 0.5, Course())
        assert course.lowest == pytest.approx(lowest, rel=1e-7)
        assert course.seconds == sorted(course.seconds)
        assert course.objective[0] == pytest.approx(300 * np.log(classes), rel=1e-9), "not from zero"


def test_a_course_ends_where_it_is_low_enough_or_time_is_over():
    encoded = made_rows(300, 3, 3, 3)
    recipe = _courses.recipe_of(2, 0.5)
    whole = _courses.our_course(encoded, recipe.replace(max_iter=30), Course())
    enough = _courses.our_course(encoded, recipe, Course(enough=whole.objective[5]))
    assert enough.objective == whole.objective[:6]
    assert len(_courses.our_course(encoded, recipe, Course(limit=0.0)).objective) == 1
    heard = _courses.sklearn_course(encoded, 2, 0.5, "lbfgs", Course(limit=0.0))
    assert len(heard.objective) == 1


def test_a_course_tells_when_it_came_under_a_line():
    course = Course(seconds=[1.0, 2.0, 3.0], objective=[9.0, 5.0, 4.0])
    assert [course.reached(target) for target in (9.0, 5.0, 4.5, 3.0)] == [1.0, 2.0, 3.0, np.inf]


def test_every_solver_of_the_registry_races():
    racers = _target.our_racers(2, 1.0)
    assert next(iter(racers)) == "auto"
    assert {"lr lbfgs", "lr gd", "diagonal lbfgs", "alr lbfgs"} <= set(racers)
    assert {recipe.params["penalty"] for recipe in racers.values()} == {"phi"}


def test_peers_sets_libraries_and_their_objectives_side_by_side(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    options = ["--parts", "each", "--repeats", "1", "--iterations", "60", "--csv", str(path)]
    assert bench.main(["peers", *options, *SHAPE]) == 0
    text = capsys.readouterr().out
    assert "against scikit-learn: " in text
    frame = pd.read_csv(path, comment="#")
    assert list(frame.library) == list(_each.FITS)
    assert frame.objective.to_numpy() == pytest.approx(frame.objective[0], rel=1e-6)


@pytest.mark.slow(reason="every solver has a process of its own")
def test_peers_races_to_a_target(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    options = ["--parts", "target", "--alphas", "1", "--limit", "5", "--csv", str(path)]
    assert bench.main(["peers", *options, *SHAPE]) == 0
    frame = pd.read_csv(path, comment="#")
    assert {"auto", "lr lbfgs", "scikit-learn lbfgs", "scikit-learn newton-cg", "numpy and SciPy"} <= set(frame.solver)
    assert np.isfinite(frame.seconds).sum() >= len(frame) - 1, "gd may take longer"
    assert "times our best" in capsys.readouterr().out


@pytest.mark.slow(reason="every recipe has a process of its own")
def test_peers_sets_vowpal_wabbits_losses_beside_ours(tmp_path):
    pytest.importorskip("vowpalwabbit")
    path = tmp_path / "rows.csv"
    for classes in ("2", "3"):
        shape = [*SHAPE[:-1], classes]
        assert bench.main(["peers", "--parts", "loss", "--limit", "5", "--csv", str(path), *shape]) == 0
        frame = pd.read_csv(path, comment="#")
        assert list(frame.passes) == [1, 2, 5, 10]
        assert (frame.loss < np.log(int(classes))).any(), "it has learned nothing"


# ---- work in a process of its own ----------------------------------------------------------------------------------


def refuse() -> None:
    raise AlrvizError("it is too large")


def die() -> None:
    os._exit(3)


def grow(size: int) -> int:
    peak = _child.Peak()
    np.ones(size // 8)
    return peak.growth


def test_a_child_answers_or_says_why_not():
    assert _child.in_child(pow, 2, 5).value == 32
    assert _child.in_child(refuse).reason == "it is too large"
    assert "code 3" in _child.in_child(die).reason
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        _child.in_child(divmod, 1, 0)


def test_a_child_is_ended_when_its_time_is_over():
    import time

    assert _child.in_child(time.sleep, 60, limit=0.2).reason == "not within 0 s"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell peaks")
def test_a_childs_peak_is_what_it_took_at_its_most():
    assert _child.in_child(grow, 2**27).value == pytest.approx(2**27, rel=0.05)
