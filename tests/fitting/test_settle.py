"""order="auto" and keep="auto": what rows set apart choose, in memory and over passes, and which rows have no part."""

import numpy as np
import pytest

import alrviz
from alrviz.data.stream.table import open_table
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting import settle as module
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.runs.run import Run
from tests.models.test_tuple_selection import planted, prepared


def settled(data, family: str = "salr", **params) -> Run:
    run = alrviz.Run(data, alrviz.Recipe(family, **params))
    run.advance()
    return run


def test_the_order_is_that_beyond_which_anje_gains_nothing():
    run = settled(alrviz.load_demo("tic-tac-toe"), "alr", order="auto")
    losses = []
    for order in range(1, 8):
        anje = Run.on(run._prepared.choosing(0), alrviz.Recipe("anje", order=order))
        losses.append(anje.advance().extra["heldout_log_loss"])
    assert losses[:6] == sorted(losses[:6], reverse=True)
    assert losses[6] > losses[5]
    listed = ", ".join(f"{loss:.4f} at {order}" for order, loss in enumerate(losses[:6], 1))
    assert run.notes == [
        f"order=6 was chosen by AnJE's log loss on 201 training rows set apart: {listed}; at 7, {losses[6]:.4f}, it is "
        "not lower by one standard error"
    ]
    assert run.recipe.params["order"] == run.model.space.order == 6


@pytest.mark.parametrize("params", [{"order": "auto", "keep": 1.0}, {"order": 2, "keep": "auto"}])
def test_over_passes_the_same_is_chosen(tmp_path, params):
    X, y = planted(6000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    whole = alrviz.read_table(tmp_path / "t.parquet", "class")
    found = [settled(data, holdout=0.0, max_iter=3, solver="adagrad", alpha=0, **params) for data in (stream, whole)]
    for run in found:
        assert len(run.notes) == 1
        assert "on 1,800 training rows set apart" in run.notes[0]
        if params["keep"] == "auto":  # the steps are not those in memory, to the last bit
            assert run.recipe.params["keep"] <= 0.1  # one pair tells, and a column a little
            assert [5, 6] in run.model.space.tuples.tolist()
        else:
            assert run.notes == found[0].notes
            assert run.recipe.params["order"] == 6  # AnJE weighs a pair among many ever less
    with pytest.raises(RecipeError, match="order=9"):
        alrviz.Run(stream, alrviz.Recipe("salr", order=9, keep="auto"))


def test_a_replay_has_the_passes_and_the_notes_of_what_was_chosen(tmp_path):
    X, y = planted(600)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    run = settled(stream, "alr", holdout=0.0, max_iter=3, solver="adagrad", order="auto")
    run.advance()
    again = run.replay(1)
    assert [step.passes for step in again.trace] == [step.passes for step in run.trace]
    assert run.trace[0].passes > 2
    assert again.notes == run.notes


def test_the_smallest_share_within_a_standard_error_is_kept(monkeypatch):
    rng, tried = np.random.default_rng(0), []
    noise = rng.normal(size=400)
    above = {1.0: 0.03, 0.8: 0.0, 0.6: 0.03, 0.4: 0.03, 0.3: 0.5, 0.2: 0.5, 0.1: 0.0, 0.05: 0.0}

    def losses(recipe, stop):
        tried.append(recipe.params["keep"])
        if recipe.params["keep"] == 1.0:
            raise MemoryLimitError("too large", 2, 1)
        return 1.0 + above[tried[-1]] + rng.permutation(noise), np.ones(400)

    monkeypatch.setattr(module, "_losses", losses)
    recipe, (sentence,) = module.settle(alrviz.Recipe("salr", keep="auto"), 9, lambda recipe: recipe, None)
    assert tried == [1.0, 0.8, 0.6, 0.4, 0.3, 0.2]  # two in a row were worse; what is too large is passed over
    assert recipe.params["keep"] == 0.4
    assert sentence == (
        "keep=0.4 was chosen by log loss on 400 training rows set apart: 0.9934, within one standard error of the "
        "lowest, 0.9634 at 0.8"
    )


def test_rows_that_are_held_out_have_no_part():
    of = prepared(*planted(3000))
    train, held = of.encoded.take(np.arange(2000)), of.encoded.take(np.arange(2000, 3000))
    other = alrviz.data.encoded.Encoded(held.codes, 1 - held.y, held.weights, held.levels, held.classes, held.names)
    notes = []
    for own in (held, other):
        run = Run.on(Prepared(train, own), alrviz.Recipe("salr", order="auto", keep="auto"))
        run.advance()
        notes.append((run.notes, run.recipe))
    assert notes[0] == notes[1]


def test_a_classifier_chooses_and_keeps_what_was_chosen(tmp_path):
    X, y = planted(3000)
    model = alrviz.SelectiveALRClassifier(order="auto", keep="auto").fit(X, y)
    assert model.cells_.order > 2
    assert len(model.cells_.tuples) <= 3
    alrviz.save_model(model, tmp_path / "m.zip")
    np.testing.assert_array_equal(alrviz.load_model(tmp_path / "m.zip").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"keep": 2.5}, "keep=2.5 is neither a share nor a number of tuples; .* above 1, such as 2, or 'auto'"),
        ({"keep": "auto", "selection": "cv"}, "chooses twice on the same rows"),
        ({"keep": "auto", "alpha": "cv"}, "expected a number for one of them"),
        ({"keep": "most"}, "keep='most' is not a number; .*or 'auto'"),
        ({"order": "all"}, "order='all' is not a number; .*or 'auto'"),
    ],
)
def test_what_cannot_be_is_refused(params, message):
    with pytest.raises(RecipeError, match=message):
        alrviz.Recipe("salr", **params)


def test_a_number_of_tuples_is_kept_as_it_is():
    data = alrviz.Dataset.from_arrays(*planted(500))
    assert len(settled(data, order=2, keep=4).model.space.tuples) == 4
    assert len(settled(data, order=2, keep=4000).model.space.tuples) == 21
    assert "4 of tuples" in alrviz.Recipe("salr", keep=4).name
    level = settled(data, "hsalr", order=2, keep=3).levels
    assert [len(own.kept) for own in level] == [3, 3]


def test_an_order_is_chosen_where_counts_are_not_smoothed():
    """AnJE, whose log loss chooses, takes logarithms of counts; lr, which is fitted then, does not."""
    data = alrviz.load_demo("led", 600)
    model = alrviz.LRClassifier(order="auto", smoothing=0.0).fit(data.X, data.y)
    assert model.cells_.order == 1


def test_a_study_prices_an_order_to_be_chosen_by_a_likely_one_says_so_and_runs():
    study = alrviz.compare(alrviz.load_demo("led", 300), [alrviz.Recipe("alr", order="auto")], folds=2, n_jobs=1)
    (line,) = (one for _, one in study.price().fits)
    assert (line.refused, line.seconds > 0) == ("", True)
    assert line.lost == "each fit of alr chooses its order, and is priced as of order 2"
    assert "each; each fit of alr chooses its order" in str(study.price())
    assert set(study.run().frame().outcome) <= {"converged", "step limit"}
