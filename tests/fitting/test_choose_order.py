"""order="auto" and keep="auto": what rows held out choose, in memory and over passes, and which rows have no part."""

import re

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.splits import FOLDS, split_folds
from alrviz.data.stream.table import open_table
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting import choose_order
from alrviz.fitting.families import alpha_folds
from alrviz.fitting.prepare import TrainingData, encode_rows
from alrviz.fitting.recipe import AUTOMATIC
from alrviz.fitting.runs.run import Run
from alrviz.stop import NEVER
from alrviz.studies.core.cost import estimate_recipes
from tests.fitting.test_alpha_tuned import planted as coarse_table
from tests.models.test_tuple_selection import planted, prepared


def fixed(family: str, **params) -> alrviz.Recipe:
    """Return a recipe with alpha 1, where the family has one."""
    return alrviz.Recipe(family, **params if family == "anje" else {"alpha": 1.0, **params})


def settled(data, family: str = "salr", **params) -> Run:
    run = alrviz.Run(data, fixed(family, **params))
    run.advance()
    return run


@pytest.mark.parametrize(("family", "highest"), [("anje", 7), ("alr", 4)])
def test_the_order_is_that_beyond_which_rows_held_out_gain_nothing(family, highest):
    run = settled(alrviz.load_demo("tic-tac-toe"), family, order="auto")
    encoded, losses = run.encoded, []
    for order in range(1, highest + 1):
        nll = 0.0
        for fold in split_folds(encoded.y, FOLDS, 0):
            train, test = fold.train, fold.test
            fold = Run.on_encoded(encoded.take(train), fixed(family, order=order), encoded.take(test))
            *_, last = fold.steps()
            nll += last.extra["heldout_log_loss"] * len(test)
        losses.append(nll / encoded.n_rows)
    assert losses[:-1] == sorted(losses[:-1], reverse=True)
    assert losses[-1] > losses[-2]
    listed = ", ".join(f"{loss:.4f} of order {order}" for order, loss in enumerate(losses[:-1], 1))
    why = f"that of order {highest}, {losses[-1]:.4f}, is not lower by one standard error"
    assert run.notes == run.choices
    assert run.notes == [f"order={highest - 1} was chosen by validation log loss of 3 folds: {listed}; {why}"]
    assert [line["order"] for line in run.trials] == [*range(1, highest + 1)]
    np.testing.assert_allclose([line["log_loss"] for line in run.trials], losses, rtol=1e-9)
    assert run.recipe.params["order"] == run.model.space.order == highest - 1


@pytest.mark.parametrize(("slope", "cuts"), [(0.0, "mdl-smooth"), (1.5, "smooth")])
def test_cuts_are_those_that_lose_less_on_rows_held_out(slope, cuts):
    """A threshold among few rows is MDL's, a slope that of smooth levels."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["u", "v", "w"])
    p = np.where(X["u"] > 1.0, 0.99, 0.01) if slope == 0.0 else 1.0 / (1.0 + np.exp(-slope * X.sum(axis=1)))
    data = alrviz.Dataset.from_arrays(X, np.where(rng.random(600) < p, "a", "b"))
    run = settled(data, "hlr", alpha="auto", discretize="auto", order="auto", holdout=0.0)
    alone = settled(data, "hlr", alpha="auto", discretize=cuts, order="auto", holdout=0.0)
    # the search with MDL's cuts begins at the alpha of smooth levels, the one alone further away
    assert run.recipe.replace(alpha=1.0) == alone.recipe.replace(alpha=1.0)
    assert run.recipe.params["alpha"] == pytest.approx(alone.recipe.params["alpha"], rel=0.2)
    assert run.encoder.discretize == cuts
    said = "; numbers are cut by MDL (smooth: v, w), with smooth levels alone it was"
    assert (said in run.notes[0]) == (cuts == "mdl-smooth")
    assert {line["smooth"] for line in run.trials if line["order"] == 1} == {0.0, 1.0}
    with pytest.raises(RecipeError, match="salr has no smooth levels"):
        alrviz.Recipe("salr", discretize="auto", alpha=1.0)


def test_ordered_levels_need_not_be_smoothed():
    """Of neighbours that are unlike, smooth levels say the less; there is no number that MDL could cut."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, 300)
    X = pd.DataFrame({"level": pd.Categorical.from_codes(codes, categories=list("abcdefgh"), ordered=True)})
    data = alrviz.Dataset.from_arrays(X, np.where(rng.random(300) < np.where(codes % 2, 0.97, 0.03), "p", "q"))
    run = settled(data, "hlr", alpha="auto", discretize="auto", order="auto", holdout=0.0)
    assert run.encoder.discretize == "mdl-smooth"
    assert "; ordered levels are not smoothed, with smooth levels alone it was" in run.notes[0]
    assert "MDL" not in run.notes[0]


def test_thresholds_and_jointly_informative_numbers_are_found():
    """MDL is better at order 1, and cuts neither of two numbers whose product's sign is told."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 4)), columns=list("uvst"))
    score = np.where(X["s"] > 0.8, 3, -1) + np.where(X["t"] > -0.3, 1, -1) + 1.5 * np.sign(X["u"] * X["v"])
    y = np.where(rng.random(1500) < 1.0 / (1.0 + np.exp(-score)), "p", "q")
    model = alrviz.AutoClassifier().fit(X[:1000], y[:1000])
    assert model.encoder_.discretize == "mdl-smooth"
    assert model.order_ >= 2
    assert "numbers are cut by MDL (smooth: u, v)" in model.chosen_
    alone = alrviz.AutoClassifier(discretize="mdl").fit(X[:1000], y[:1000])
    losses = [-np.log(of.predict_proba(X[1000:])[np.arange(500), (y[1000:] == "q") * 1]) for of in (alone, model)]
    assert np.mean(losses[0]) > np.mean(losses[1]) + 0.1


def test_mdl_without_cuts_is_not_compared_with_smooth_levels():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["u", "v"])
    data = alrviz.Dataset.from_arrays(X, np.where(X["u"] * X["v"] > 0, "a", "b"))
    run = settled(data, "hlr", alpha="auto", discretize="auto", order="auto", holdout=0.0)
    assert (run.recipe.discretize, run.recipe.params["order"]) == ("smooth", 2)
    assert {line["smooth"] for line in run.trials if line["order"] == 1} == {1.0}


@pytest.mark.parametrize(("n_bits", "n_columns", "family"), [(3, 12, "alr"), (3, 12, "hlr"), (4, 7, "lr")])
def test_parity_of_some_bits_is_found_though_pairs_do_not_help(n_bits, n_columns, family):
    rng = np.random.default_rng(n_bits)
    bits = rng.integers(0, 2, (1500, n_columns))
    flipped = rng.random(1500) < 0.05
    y = np.where((bits[:, :n_bits].sum(axis=1) % 2 == 1) ^ flipped, "odd", "even")
    run = settled(alrviz.Dataset.from_arrays(pd.DataFrame(bits).astype(str), y), family, order="auto", alpha=1.0)
    tried = [line["order"] for line in run.trials]
    assert tried[:3] == [1, 2, n_bits]
    assert run.recipe.params["order"] >= n_bits
    assert f"tuples of {n_bits} are lacking" in run.notes[0]


def test_unpredictable_class_leads_to_no_higher_order():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        columns = pd.DataFrame(rng.integers(0, 3, (800, 10))).astype(str)
        data = alrviz.Dataset.from_arrays(columns, rng.choice(["a", "b"], 800))
        assert [line["order"] for line in settled(data, "lr", order="auto", alpha=1.0).trials] == [1, 2]


def test_exclusive_or_of_three_numbers_is_found_in_merged_levels():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 5)), columns=list("uvwst"))
    y = np.where((X["u"] > 0) ^ (X["v"] > 0) ^ (X["w"] > 0), "a", "b")
    data = alrviz.Dataset.from_arrays(X, y)
    run = settled(data, "hlr", order="auto", alpha=1.0, discretize="smooth", holdout=0.0)
    merged = run.encoded.with_merged_levels(6)
    assert merged.levels.tolist() == [6] * 5
    assert merged.codes.max() == 5
    for j in range(5):
        counts = np.bincount(merged.codes[j], minlength=6)
        assert counts.min() > 100
        assert (np.diff(merged.codes[j][np.argsort(run.encoded.codes[j])]) >= 0).all()
    assert run.recipe.params["order"] == 3


@pytest.mark.parametrize("discretize", ["mdl", "mdl-smooth"])
def test_cuts_of_a_fold_are_learned_without_the_rows_that_judge_it(discretize):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    y = np.where(X["a"] + 0.5 * X["b"] + 0.8 * rng.normal(size=300) > 0, "p", "q")
    run = settled(alrviz.Dataset.from_arrays(X, y), "lr", alpha=1.0, discretize=discretize, order="auto", holdout=0.0)
    losses, uncut = np.empty(300), []
    for fold in split_folds(y, 3, run.recipe.seed):
        train, test = fold.train, fold.test
        model = alrviz.LRClassifier(order=1, alpha=1.0, discretize=discretize).fit(X.iloc[train], y[train])
        uncut.append(tuple(column.name for column in model.encoder_.columns_ if column.n_levels in (1, 64)))
        chance = model.predict_proba(X.iloc[test])
        losses[test] = -np.log(chance[np.arange(len(test)), np.searchsorted(model.classes_, y[test])])
    assert run.trials[0]["log_loss"] == pytest.approx(losses.mean(), rel=1e-5)
    assert len({*uncut}) > 1, "MDL finds a cut of b in one fold alone"


@pytest.mark.parametrize(
    "params", [{"alpha": "auto", "discretize": "smooth"}, {"alpha": 1.0, "discretize": "quantile"}]
)
def test_a_run_and_a_classifier_choose_the_same(params):
    """Each order with cuts of its own, on the same rows, whoever asks."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["u", "v"])
    data = alrviz.Dataset.from_arrays(X, np.where(X["u"] * X["v"] + rng.normal(size=300) / 3 > 0, "a", "b"))
    recipe = alrviz.Recipe("hlr", order="auto", holdout=0.0, **params)
    run = alrviz.Run(data, recipe)
    run.start()
    assert run.join()
    model = alrviz.make_estimator(recipe).fit(data.X, data.y)
    assert run.recipe.params["order"] == model.cells_.order == 2
    assert model.chosen_ == run.choices[0]
    pd.testing.assert_frame_equal(model.alphas_, pd.DataFrame(run.trials))
    np.testing.assert_array_equal(run.model.phi, model.phi_)


def test_order_rejected_by_one_fold_is_reported_with_losses_of_its_rows(monkeypatch):
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 400)
    monkeypatch.setattr("alrviz.fitting.solvers.choose_alpha.CLEAR_STANDARD_ERRORS", np.inf)
    run = settled(alrviz.Dataset.from_arrays(*coarse_table(600)), "hlr", order="auto", alpha="auto", holdout=0.0)
    losses_told = (
        r"3 folds: .*, ([\d.]+) of order 3; that of order 4, ([\d.]+) on the first fold alone, "
        r"where order 3 has ([\d.]+), is"
    )
    every, other, own = map(float, re.search(losses_told, run.notes[0]).groups())
    alpha, losses = run.recipe.params["alpha"], []
    for fold in split_folds(run.encoded.y, FOLDS, 0):
        train, test = fold.train, fold.test
        fold = Run.on_encoded(
            run.encoded.take(train), alrviz.Recipe("hlr", order=3, alpha=alpha), run.encoded.take(test)
        )
        *_, last = fold.steps()
        losses.append(last.extra["heldout_log_loss"])
    assert (every, own) == (pytest.approx(np.mean(losses), rel=5e-3), pytest.approx(losses[0], rel=5e-3))
    assert own > 1.05 * every
    tried = pd.DataFrame(run.trials)
    least = tried.pivot_table(index="order", columns="folds", values="log_loss", aggfunc="min").round(4)
    assert (least.loc[3, FOLDS], least.loc[4, 1], np.isnan(least.loc[4, FOLDS])) == (every, other, True)


def test_an_order_that_is_clearly_better_on_one_fold_is_not_evaluated_on_others(monkeypatch):
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 400)
    run = settled(alrviz.Dataset.from_arrays(*coarse_table(600)), "hlr", order="auto", alpha="auto", holdout=0.0)
    trials = pd.DataFrame(run.trials)
    lowest_losses = trials.pivot_table(index="order", columns="folds", values="log_loss", aggfunc="min").round(4)
    assert lowest_losses[FOLDS].dropna().index.tolist() == [1]
    assert run.recipe.params["order"] == 3
    stated_losses = [float(loss) for loss in re.findall(r"([\d.]+) of order", run.notes[0])]
    assert "a third of the rows" in run.notes[0]
    assert stated_losses[1:3] == lowest_losses.loc[[2, 3], 1].tolist()
    assert stated_losses[0] == pytest.approx(lowest_losses.loc[1, 1], rel=0.01)


def test_the_fit_starts_at_the_model_of_a_fold():
    data = alrviz.Dataset.from_arrays(*coarse_table(600))
    run = alrviz.Run(data, alrviz.Recipe("hlr", order="auto", alpha="auto", holdout=0.0, tol=1e-9))
    assert len([*run.steps()]) > 2
    cold_run = alrviz.Run(data, run.recipe)
    assert len([*cold_run.steps()]) > len(run.trace)
    assert run.trace[0].objective < 0.5 * cold_run.trace[0].objective
    np.testing.assert_allclose(run.model.phi, cold_run.model.phi, atol=2e-3)
    assert run.replay(2).trace[2].objective == run.trace[2].objective


def test_rows_known_as_codes_alone_stay_as_they_are():
    of = prepared(*planted(600))
    run = Run.on_prepared(of, alrviz.Recipe("lr", order="auto", alpha="auto"))
    run.advance()
    assert run.encoded is of.encoded
    order, alpha = run.recipe.params["order"], run.recipe.params["alpha"]
    assert alpha in [trial["alpha_1"] for trial in run.trials if trial["order"] == order]


def test_hinge_loss_is_compared_by_log_loss():
    data = alrviz.load_demo("tic-tac-toe", 300)
    runs = [settled(data, "lr", order="auto", objective=objective) for objective in ("nll", "hinge")]
    assert runs[0].notes == runs[1].notes
    few = alrviz.Dataset.from_arrays([["a"], ["b"]], [0, 1])
    assert settled(few, "hlr", order="auto", alpha="auto", holdout=0.0).notes == [
        "too few rows to hold some out: order=1, alpha=1"
    ]


def test_orders_with_too_much_work_or_memory_are_not_tried(monkeypatch):
    data = alrviz.load_demo("tic-tac-toe")
    monkeypatch.setattr(choose_order, "MAX_PASS_SECONDS", 0.0)
    assert (
        settled(data, "alr", order="auto")
        .notes[0]
        .endswith("of order 1; order 2 takes too long to be tried (order=2 fits it anyway)")
    )


def test_few_rows_of_many_numbers_keep_all_pairs_so_that_folds_go_over_rows():
    """Of some pairs alone they would go over cells, many times slower."""
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(166, 60))), rng.integers(0, 6, 166)
    recipe = AUTOMATIC.replace(order=2, discretize="smooth")
    rows = encode_rows(recipe, X, y)
    of, share = choose_order.limit_work(recipe, rows, None, NEVER)
    assert (of, share >= 1.0) == (recipe, True)
    assert alpha_folds.uses_gram_matrix(of, rows.encoded)


def test_columns_of_one_level_have_no_pairs():
    rng = np.random.default_rng(0)
    for columns, words in (
        (np.zeros((60, 2)), "no column has"),
        (np.eye(2)[rng.integers(0, 2, 60)] * [0, 1], "only 1"),
    ):
        run = settled(alrviz.Dataset.from_arrays(columns, rng.integers(0, 2, 60)), "hlr", order="auto", alpha="auto")
        assert re.search(f"; {words}.* more than one level$", run.notes[-1])


@pytest.mark.parametrize("params", [{"order": "auto", "keep": 1.0}, {"order": 2, "keep": "auto"}])
def test_over_passes_the_same_is_chosen(tmp_path, params):
    X, y = planted(4000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    whole = alrviz.read_table(tmp_path / "t.parquet", "class")
    found = [settled(data, holdout=0.0, max_iter=3, solver="adagrad", alpha=0, **params) for data in (stream, whole)]
    for run in found:
        assert len(run.notes) == 1
        if params["keep"] == "auto":  # the steps are not those in memory, to the last bit
            assert "on 1,200 validation rows" in run.notes[0]
            assert run.recipe.params["keep"] <= 0.1  # one pair tells, and a column a little
            assert [5, 6] in run.model.space.tuples.tolist()
        else:
            assert run.recipe.params["order"] == 2
            assert ("; on 4,000 rows drawn from the table" in run.notes[0]) == (run is found[0])
    with pytest.raises(RecipeError, match="order=9"):
        alrviz.Run(stream, alrviz.Recipe("salr", order=9, keep="auto", alpha=1.0))


def test_a_replay_has_the_passes_and_the_notes_of_what_was_chosen(tmp_path):
    X, y = planted(600)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    run = settled(stream, "salr", holdout=0.0, max_iter=3, solver="adagrad", order="auto", keep="auto")
    run.advance()
    again = run.replay(1)
    assert [step.passes for step in again.trace] == [step.passes for step in run.trace]
    assert run.trace[0].passes > 2
    assert (again.notes, again.trials) == (run.notes, run.trials)


def test_the_smallest_share_within_a_standard_error_is_kept(monkeypatch):
    rng, tried = np.random.default_rng(0), []
    noise = rng.normal(size=400)
    above = {1.0: 0.03, 0.8: 0.0, 0.6: 0.03, 0.4: 0.03, 0.3: 0.5, 0.2: 0.5, 0.1: 0.0, 0.05: 0.0}

    def losses(_, recipe, stop):
        tried.append(recipe.params["keep"])
        if recipe.params["keep"] == 1.0:
            raise MemoryLimitError("too large", 2, 1)
        return 1.0 + above[tried[-1]] + rng.permutation(noise), np.ones(400)

    monkeypatch.setattr(choose_order.ShareFold, "_losses", losses)
    recipe, sentence = choose_order.choose_n_tuples(
        alrviz.Recipe("salr", keep="auto", alpha=1.0), lambda recipe: recipe, None
    )
    assert tried == [1.0, 0.8, 0.6, 0.4, 0.3, 0.2]  # two in a row were worse; what is too large is passed over
    assert recipe.params["keep"] == 0.4
    assert sentence == (
        "keep=0.4 was chosen by log loss on 400 validation rows: 0.9934, within one standard error of the "
        "lowest, 0.9634 at 0.8"
    )


def test_rows_that_are_held_out_have_no_part():
    of = prepared(*planted(3000))
    train, held = of.encoded.take(np.arange(2000)), of.encoded.take(np.arange(2000, 3000))
    other = alrviz.data.encoded.Encoded(held.codes, 1 - held.y, held.weights, held.levels, held.classes, held.names)
    notes = []
    for own in (held, other):
        run = Run.on_prepared(TrainingData(train, own), alrviz.Recipe("salr", order="auto", keep="auto", alpha=1.0))
        run.advance()
        notes.append((run.notes, run.recipe))
    assert notes[0] == notes[1]


def test_classifier_stores_the_chosen_order(tmp_path):
    X, y = planted(3000)
    model = alrviz.SelectiveALRClassifier(order="auto", keep="auto", alpha=1.0).fit(X, y)
    assert model.cells_.order == 2
    assert len(model.cells_.tuples) <= 3
    assert [sentence.split(" ")[0][:5] for sentence in model.chosen_.split("; ")[::2]] == ["order", "keep="]
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
def test_contradicting_settings_raise(params, message):
    with pytest.raises(RecipeError, match=message):
        alrviz.Recipe("salr", **params)


def test_a_number_of_tuples_is_kept_as_it_is():
    data = alrviz.Dataset.from_arrays(*planted(500))
    assert len(settled(data, order=2, keep=4).model.space.tuples) == 4
    assert len(settled(data, order=2, keep=4000).model.space.tuples) == 21
    assert "4 of tuples" in alrviz.Recipe("salr", keep=4, alpha=1.0).name
    level = settled(data, "hsalr", order=2, keep=3).levels
    assert [len(own.kept_indices) for own in level] == [3, 3]


def test_an_order_is_chosen_where_counts_are_not_smoothed():
    """AnJE, whose log loss chooses, takes logarithms of counts; lr, which is fitted then, does not."""
    data = alrviz.load_demo("led", 600)
    model = alrviz.LRClassifier(order="auto", smoothing=0.0, alpha=0.3).fit(data.X, data.y)
    assert model.cells_.order == 1


def test_where_the_likely_order_does_not_fit_into_memory_the_one_that_is_taken_is_estimated():
    """A study of 100 columns of 2,000 levels reserved the 29 GB of order 2, and could not run."""
    data, recipe = alrviz.load_demo("led", 3000), alrviz.Recipe("alr", order="auto", alpha=1.0)
    one, two = estimate_recipes(data, [recipe.replace(order=order) for order in (1, 2)], 0.2, NEVER)
    (line,) = estimate_recipes(data, [recipe], 0.2, NEVER, max_memory=(one.cost.bytes + two.cost.bytes) // 2)
    assert (line.refusal, line.cost.parameters) == ("", one.cost.parameters)
    assert "order 1" in line.note


def test_a_study_estimates_an_order_to_be_chosen_by_a_likely_one_says_so_and_runs():
    study = alrviz.compare(
        alrviz.load_demo("led", 120), [alrviz.Recipe("alr", order="auto", alpha=1.0)], folds=2, n_jobs=1
    )
    (line,) = study.estimate().fits
    assert (line.refusal, line.cost.seconds > 0) == ("", True)
    assert "order 2" in line.note
    assert line.note in str(study.estimate())
    assert set(study.run().frame().outcome) <= {"converged", "step limit"}
