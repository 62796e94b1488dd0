"""The score of a tuple by leaving it out: against models that never had it, and on rows that nothing else sees."""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.encode import Encoder
from alrviz.data.splits import validation_rows
from alrviz.errors import MemoryLimitError, RecipeError, Stopped
from alrviz.fitting.families import left_out
from alrviz.fitting.families.family import FitRequest
from alrviz.fitting.families.left_out import TRAINING_SHARE, TRIAL_SHARE, LeaveOneTupleOut, rows_for
from alrviz.fitting.families.selection_rows import InMemory
from alrviz.fitting.objectives.streamed import CodedRows
from alrviz.fitting.prepare import TrainingData, prepare
from alrviz.fitting.solvers.stochastic import TRIAL_PASSES
from alrviz.models.streamed import count_stream
from alrviz.stop import StopToken
from tests.fitting.test_streamed import CLASSES, LEVELS, chunked, objective, rows
from tests.models.test_tuple_selection import planted, prepared


def counted(of: TrainingData, **params) -> InMemory:
    recipe = alrviz.Recipe("salr", **{"order": 2, "alpha": 1.0, **params})
    return InMemory(FitRequest(of, recipe, recipe.params, lambda what: None))


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_tuple_score_is_the_loss_of_a_model_without_it(monkeypatch, alpha):
    monkeypatch.setattr(left_out, "search_eta0", lambda tried, method: 0.2)
    codes, y = rows(900)
    apart, rest = CodedRows(codes[:, :400].copy(), y[:400], CLASSES), (codes[:, 400:], y[400:])
    learned, tried = round(TRAINING_SHARE * 400), round((TRAINING_SHARE + TRIAL_SHARE) * 400)

    def loss(tuples) -> float:
        streamed = count_stream(LEVELS, tuples, chunked(*rest), CLASSES, 1.0, 2**24, 1)
        own = objective(streamed, "alr", codes, y, alpha=alpha, center=0)
        table, order = own.step_table(np.zeros(own.scale.shape)), np.random.default_rng((3, 1))
        if alpha:  # spread over the rows that are learned from, as many as look at a cell
            part = count_stream(LEVELS, tuples, chunked(codes[:, :learned], y[:learned]), CLASSES, 1.0, 2**24, 1)
            seen = dict(zip(part.tables.seen_cells.tolist(), part.tables.counts.sum(axis=1), strict=True))
            visits = np.array(
                [max(1.0, seen.get(cell, 0.0)) for cell in streamed.tables.seen_cells.tolist()] + [learned]
            )
            table[np.append(streamed.rows, len(table) - 2), 3, :CLASSES] = 2 * alpha / visits[:, None]
        for _ in range(TRIAL_PASSES):
            own.passes.visit(apart.codes, apart.y, order.permutation(learned), table, 0.2)
        judged = CodedRows(apart.codes[:, tried:].copy(), apart.y[tried:], CLASSES)
        z = own.scores(own.weights_in(table), judged)
        return judged.loss_and_residual(z, None, 0.0, z, None).nll / judged.n_rows

    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    want = [loss(tuple(t for t in pairs if t != pair)) - loss(tuple(pairs)) for pair in pairs]
    tables = count_stream(LEVELS, 2, chunked(*rest), CLASSES, 1.0, 2**24, 1).tables
    params = alrviz.Recipe("salr", order=2, alpha=alpha, penalty="w").params
    for n_jobs in (1, 2):
        got = LeaveOneTupleOut(tables, apart, params, 3, n_jobs).losses(lambda what: None)
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-5)


def test_memory_for_few_models_takes_fewer_threads_and_for_none_is_refused():
    codes, y = rows(900)
    apart, rest = CodedRows(codes[:, :400].copy(), y[:400], CLASSES), (codes[:, 400:], y[400:])
    tables = count_stream(LEVELS, 2, chunked(*rest), CLASSES, 1.0, 2**24, 1).tables
    params = alrviz.Recipe("salr", order=2, alpha=1.0).params
    with pytest.raises(
        MemoryLimitError, match=r"a model without each of 6 tuples.* 0 MiB may be used: .*'mi-mm'"
    ) as found:
        LeaveOneTupleOut(tables, apart, params, 3, 4, max_bytes=1000)
    each = found.value.needed
    assert [LeaveOneTupleOut(tables, apart, params, 3, 4, max_bytes=k * each)._n_jobs for k in (1, 3, 9)] == [1, 3, 4]


def test_informative_pair_is_found_by_leaving_it_out():
    _, scores = counted(prepared(*planted())).scored(2, 0, "cv")
    assert scores.argmax() == len(scores) - 1
    assert scores[-1] > 10 * np.abs(scores[:-1]).max()


def test_rows_that_are_held_out_choose_nothing_and_rows_that_choose_are_not_counted():
    of = prepared(*planted(1000))
    first, second = of.encoded.take(np.arange(700)), of.encoded.take(np.arange(700, 1000))
    scores = [counted(TrainingData(first, held)).scored(2, 0, "cv")[1] for held in (None, second)]
    np.testing.assert_array_equal(scores[0], scores[1])
    apart = TrainingData(first, second).validation(0)
    assert (apart.encoded.n_rows, apart.holdout.n_rows) == (490, 210)
    assert apart.tables(1, 1.0).class_counts.sum() == 490


def test_cuts_are_learned_without_the_rows_that_choose():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    y = np.where(X["a"] + 0.8 * rng.normal(size=400) > 0, "p", "q")
    apart = prepare(
        alrviz.Dataset.from_arrays(X, y), alrviz.Recipe("salr", order=1, holdout=0.0, alpha=1.0)
    ).validation(0)
    chosen = validation_rows((y == "q").astype(int), 0)[0]
    rest = np.setdiff1d(np.arange(400), chosen)
    own, every = Encoder().fit(X.iloc[rest], y[rest]), Encoder().fit(X, y)
    assert (own.transform(X) != every.transform(X)).any()
    np.testing.assert_array_equal(apart.encoded.codes, own.transform(X.iloc[rest]))
    np.testing.assert_array_equal(apart.holdout.codes, own.transform(X.iloc[chosen]))


def test_cutting_a_fold_checks_the_stop_token_of_the_requesting_run():
    rng = np.random.default_rng(5)
    data = alrviz.Dataset.from_arrays(pd.DataFrame(rng.normal(size=(400, 3))), np.repeat(["p", "q"], 200))
    recipe, first = alrviz.Recipe("salr", order=1, holdout=0.0, alpha=1.0), StopToken()
    prepare(data, recipe, stop=first)
    first.stop()
    of = prepare(data, recipe)
    stopped = StopToken()
    stopped.stop()
    with pytest.raises(Stopped):
        of.validation(0, stopped)
    assert of.validation(0).encoded.n_rows == 280


def test_rows_that_belong_together_are_not_parted_by_choosing():
    X, y = planted(1000)
    data = alrviz.Dataset.from_arrays(X.assign(person=np.arange(1000) // 4), y).split_by(groups="person")
    run = alrviz.Run(data, alrviz.Recipe("salr", order=2, selection="cv", max_iter=1, alpha=1.0))
    run.advance()
    units = run._prepared.splitting.units
    rest, chosen = run._prepared.validation(0), run._prepared.validation(0).holdout
    assert rest.encoded.n_rows + chosen.n_rows == len(units)
    assert len(rest.splitting.units) == rest.encoded.n_rows
    assert len(np.unique(rest.splitting.units)) + chosen.n_rows / 4 == pytest.approx(len(np.unique(units)), abs=2)


def test_rows_that_choose_are_in_no_order_of_the_file():
    """Groups that stand class by class: the first rows that choose must not be of one class."""
    X, y = planted(1200)
    order = np.argsort(y, kind="stable")
    data = alrviz.Dataset.from_arrays(X.iloc[order].reset_index(drop=True).assign(g=np.arange(1200) // 4), y[order])
    run = alrviz.Run(data.split_by(groups="g"), alrviz.Recipe("salr", order=2, selection="cv", max_iter=1, alpha=1.0))
    run.advance()
    chosen = run._prepared.validation(0).holdout
    share, first = chosen.y.mean(), chosen.y[: chosen.n_rows // 2].mean()
    assert abs(first - share) < 0.15


@pytest.mark.parametrize("weights", ["rows", "classes"])
def test_weights_are_refused_where_rows_are_learned_one_by_one(weights):
    X, y = planted(600)
    model = alrviz.SelectiveALRClassifier(
        selection="cv", class_weight="balanced" if weights == "classes" else None, alpha=1.0
    )
    own = np.where(np.arange(600) % 2, 2.0, 1.0) if weights == "rows" else None
    with pytest.raises(RecipeError, match="expected equal weights"):
        model.fit(X, y, sample_weight=own)


@pytest.mark.parametrize("family", ["salr", "hsalr"])
def test_too_many_tuples_are_refused_before_anything_is_counted(family):
    assert rows_for(100) > rows_for(1000) >= left_out.MIN_ROWS
    data = alrviz.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (50, 70)).astype(str), ["a", "b"] * 25)
    run = alrviz.Run(data, alrviz.Recipe(family, order=2, alpha=1.0, selection="cv", keep=1.0))
    with pytest.raises(RecipeError, match=r"each of 2,415 tuples; expected at most 1,\d+ .*selection='mi'"):
        run.advance()
    assert run.levels == ()
    if family == "hsalr":  # of few columns grow few pairs, which the rows tell
        next(alrviz.Run(data, run.recipe.replace(keep=5, max_iter=1)).steps())
