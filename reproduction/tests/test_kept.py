"""Steps that are kept: what is finished is not computed again, whatever ended the sitting."""

import pytest

from alrviz import Recipe, load_demo
from alrviz.fitting.runs.run import Run
from reproduction import elr_trace, limit_studies, races
from reproduction.kept import Step, kept_rows
from reproduction.settings import Settings


def steps(calls, fail_at=None):
    def compute(k):
        if k == fail_at:
            raise KeyboardInterrupt
        calls.append(k)
        return [{"k": k, "square": k * k}]

    return [Step(f"step {k}", ["square", k], compute, (k,)) for k in range(4)]


def test_what_is_finished_is_not_computed_again(tmp_path):
    settings, calls = Settings(tmp_path, keep=tmp_path / "home"), []
    ending = kept_rows("squares", steps(calls, fail_at=2), settings)
    assert [next(ending)[0], next(ending)[0]] == ["step 0", "step 1"]
    with pytest.raises(KeyboardInterrupt):
        next(ending)
    second_run = list(kept_rows("squares", steps(calls), settings))
    assert calls == [0, 1, 2, 3]
    assert [row["square"] for _, rows in second_run for row in rows] == [0, 1, 4, 9]


def test_what_is_kept_can_be_shown_alone(tmp_path):
    settings, calls = Settings(tmp_path, keep=tmp_path / "home"), []
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    assert list(kept_rows("squares", steps(calls), only)) == []
    next(kept_rows("squares", steps(calls), settings))
    assert [label for label, _ in kept_rows("squares", steps(calls), only)] == ["step 0"]
    assert calls == [0]


def test_a_key_is_of_a_study_a_table_and_what_was_asked(tmp_path):
    settings, calls = Settings(tmp_path, keep=tmp_path / "home"), []
    list(kept_rows("squares", steps(calls), settings))
    list(kept_rows("others", steps(calls), settings))
    other_table = [Step(step.label, step.key, step.compute, step.arguments, "hash") for step in steps(calls)]
    list(kept_rows("squares", other_table, settings))
    assert len(calls) == 12


def test_nothing_is_kept_unless_asked(tmp_path):
    calls = []
    for _ in range(2):
        list(kept_rows("squares", steps(calls), Settings(tmp_path)))
    assert len(calls) == 8


def test_a_pool_is_begun_only_for_what_is_left(tmp_path):
    settings, calls = Settings(tmp_path, keep=tmp_path / "home"), []
    list(kept_rows("squares", steps(calls), settings))
    two = Settings(tmp_path, keep=tmp_path / "home", jobs=2)
    assert len(list(kept_rows("squares", steps(calls), two))) == 4  # a pool in vain warns


@pytest.mark.parametrize(
    ("module", "compute"),
    [
        (races, lambda data: races.raced({}, data, Recipe("lr", order=1, alpha=0.3, holdout=0.0, max_iter=1))),
        (elr_trace, lambda data: elr_trace.traced("one", data, 1)),
        (limit_studies, lambda data: limit_studies.poker(300)),
        (limit_studies, limit_studies.elr_optimum),
    ],
)
def test_a_step_takes_one_thread_however_many_there_are(monkeypatch, module, compute):
    n_jobs = []

    def run(*arguments, **options):
        n_jobs.append(options.get("n_jobs"))
        return Run(*arguments, **options)

    monkeypatch.setattr(module, "Run", run)
    compute(load_demo("monks-1"))
    assert set(n_jobs) == {1}
