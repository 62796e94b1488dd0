"""All orders at once: what a row's score is made of by hand, blocks that hold lower tuples, the same over passes."""

import io
import json
import zipfile
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import alrviz
from alrviz import load_model
from alrviz.data.stream.table import open_table
from alrviz.errors import ModelFileError
from alrviz.estimators.frames import _LEVEL_SEPARATOR as LEVEL_SEPARATOR
from alrviz.fitting.cost.estimate import estimate_levels
from alrviz.models.cell_space import AllOrders, CellSpace, space_of
from alrviz.models.plan import plan_cover
from tests.estimators.model_files import file_of, rewritten
from tests.models.test_tuple_selection import planted


def test_an_unseen_cell_falls_back_to_its_parts_by_hand():
    rows = [("a", "x", "p"), ("a", "y", "q"), ("b", "x", "q"), ("b", "x", "p"), ("a", "x", "p"), ("c", "y", "q")] * 5
    frame = pd.DataFrame(rows, columns=["u", "v", "class"])
    model = alrviz.HALRClassifier(order=2, smoothing=1.0, alpha=1.0).fit(frame[["u", "v"]], frame["class"])
    new = pd.DataFrame({"u": ["b", "a", "new"], "v": ["y", "x", "y"]})  # b with y was never seen, nor was "new"
    cells = model.to_frame()["phi"]
    one, other = (cells.loc[key].to_numpy() for key in (("u", "b"), ("v", "y")))
    want = [
        one + other,
        cells.loc[[("u", "a"), ("v", "x"), (LEVEL_SEPARATOR.join("uv"), LEVEL_SEPARATOR.join("ax"))]]
        .to_numpy()
        .sum(axis=0),
        other,
    ]
    with pytest.warns(alrviz.UnseenLevelWarning):
        scores = model.decision_function(new)
    difference = np.array(want) + model.intercept_
    np.testing.assert_allclose(scores, difference[:, 1] - difference[:, 0], rtol=1e-12)
    counts = pd.crosstab([frame["u"], frame["v"]], frame["class"])
    theta = (counts.loc[("a", "x"), "p"] + 1 / 6) / ((frame["class"] == "p").sum() + 1)  # three levels by two
    log_theta = model.to_frame().loc[(LEVEL_SEPARATOR.join("uv"), LEVEL_SEPARATOR.join("ax")), ("log_theta", "p")]
    assert log_theta == pytest.approx(np.log(theta))


def test_one_order_is_alr_and_lower_tuples_come_first():
    data = alrviz.load_demo("tic-tac-toe")
    alr, halr = (alrviz.Run(data, alrviz.Recipe(family, order=1, alpha=1.0)) for family in ("alr", "halr"))
    assert [step.objective for step in alr.steps()] == [step.objective for step in halr.steps()]
    space = space_of(np.array([2, 3, 4]), AllOrders(3))
    assert space.members == [list(own) for size in (1, 2, 3) for own in combinations(range(3), size)]
    assert space.cards.tolist() == [2, 3, 4, 6, 8, 12, 24]


@pytest.mark.parametrize("order", [2, 3])
def test_blocks_of_the_highest_order_hold_the_lower_ones(order):
    codes = np.random.default_rng(0).integers(0, 3, (8, 2000)).astype(np.uint8)
    levels = np.full(8, 3)
    space = space_of(levels, AllOrders(order))
    plan, alone = plan_cover(codes, space), plan_cover(codes, CellSpace(levels, order))
    assert len(plan.blocks) == len(alone.blocks)
    assert sorted(t for block in plan.blocks for t in block.tuples) == list(range(space.n_tuples))
    for block in plan.blocks:
        for own in (block, *block.inner):
            assert all({*space.members[t]} <= {*own.columns.tolist()} for t in own.tuples)


@pytest.mark.parametrize("order", [2, 3])
def test_scores_by_blocks_are_those_of_single_cells(order):
    data = alrviz.load_demo("tic-tac-toe")
    run = alrviz.Run(data, alrviz.Recipe("halr", order=order, max_iter=5, alpha=1.0))
    list(run.steps())
    covered = run._prepared.covered_rows(AllOrders(order))
    encoded, z = run.encoded, run.objective.scores(run.state.point.w, covered.heldout)
    assert run.trace[-1].nll == pytest.approx(
        -run.model.scores(encoded.codes)[np.arange(encoded.n_rows), encoded.y].sum()
        + np.logaddexp.reduce(run.model.scores(encoded.codes), axis=1).sum()
    )
    assert covered.cover.index.space.n_tuples == sum(1 for k in range(order) for _ in combinations(range(9), k + 1))
    assert z.shape[0] == covered.heldout.n_rows


def test_over_passes_it_is_the_model_in_memory_and_is_saved(tmp_path):
    X, y = planted(3000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    recipe = alrviz.Recipe("halr", order=2, holdout=0.0, max_iter=3, solver="adagrad", alpha=1.0)
    run, whole = alrviz.Run(stream, recipe), alrviz.Run(alrviz.read_table(tmp_path / "t.parquet", "class"), recipe)
    list(run.steps()), list(whole.steps())
    np.testing.assert_array_equal(run.tables.log_theta, whole.tables.log_theta)
    assert run.trace[0].nll == pytest.approx(whole.trace[0].nll)
    assert run.trace[-1].nll < 0.9 * run.trace[0].nll
    assert run.estimate.cost.parameters == 2 * (1 + len(run.tables.seen_cells)) == whole.estimate.cost.parameters
    alrviz.save_model(alrviz.estimator_of(run), tmp_path / "m.zip")
    np.testing.assert_array_equal(
        alrviz.load_model(tmp_path / "m.zip").predict_proba(X), alrviz.estimator_of(run).predict_proba(X)
    )


@pytest.fixture(scope="module")
def car():
    """Four columns, four classes: rows, order 2's own cells, and lower ones."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (400, 4)).astype(str), columns=list("abcd"))
    score = (X["a"] == X["b"]).to_numpy() + X["c"].astype(int).to_numpy()
    return alrviz.Dataset.from_arrays(X, (score + (rng.random(400) < 0.3)).astype(str))


def fitted(data, family, **params):
    run = alrviz.Run(data, alrviz.Recipe(family, holdout=0.0, tol=1e-13, max_iter=1000, **{"alpha": 1.0, **params}))
    list(run.steps())
    return run, run.model.scores(run.encoded.codes)


@pytest.mark.parametrize(("family", "plain", "penalty"), [("hlr", "lr", "phi"), ("halr", "alr", "w")])
def test_an_infinite_alpha_leaves_its_order_out(car, family, plain, penalty):
    inf = float("inf")
    for alpha, order, own in [((inf, 0.5), 2, 0.5), ((0.5, inf), 1, 0.5), ((0.5, 0.5, inf), None, 0.5)]:
        mine, scores = fitted(car, family, order=len(alpha), alpha=alpha, penalty=penalty)
        as_one = (family, 2) if order is None else (plain, order)
        other, same = fitted(car, as_one[0], order=as_one[1], alpha=own, penalty=penalty)
        assert mine.trace[-1].objective == pytest.approx(other.trace[-1].objective, rel=1e-12)
        np.testing.assert_allclose(scores - scores[:, :1], same - same[:, :1], atol=1e-5)
        gone = mine.tables.tuple_of_seen[(mine.model.phi == 0).all(axis=1)]
        left_out = {k for k, a in enumerate(alpha, 1) if a == inf}
        assert {len(mine.tables.space.members[t]) for t in gone} == left_out


@pytest.mark.parametrize(("alpha", "near"), [((1e9, 0.5), (float("inf"), 0.5)), ((0.5, 1e9), (0.5, float("inf")))])
def test_a_huge_alpha_is_nearly_an_infinite_one(car, alpha, near):
    (_, big), (_, out) = (fitted(car, "hlr", order=2, alpha=one) for one in (alpha, near))
    np.testing.assert_allclose(big, out, atol=1e-4)


@pytest.mark.parametrize("share", ["cell-class", "tuple"])
@pytest.mark.parametrize(("family", "scale", "penalty"), [
    ("hlr", "none", "phi"), ("hlr", "diagonal", "phi"), ("hlr", "diagonal-adaptive", "phi"), ("halr", "theta", "w"),
])  # fmt: skip
def test_gradients_of_several_alphas_against_differences(car, family, scale, penalty, share):
    if share != "cell-class" and scale != "theta":
        return
    recipe = {"order": 2, "alpha": (0.3, 4.0), "scale": scale, "penalty": penalty, "share": share}
    of = fitted(car, family, **recipe)[0].objective
    rng = np.random.default_rng(1)
    w, d = (rng.normal(0, 0.3, of.center.shape) for _ in range(2))
    ahead, behind = (of.value_grad(w + step * 1e-5 * d).objective for step in (1, -1))
    point = of.value_grad(w)
    assert (point.gradient * d).sum() == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
    phi, sizes = of.parameterisation.phi(w), (of.parameterisation.tables.space.strides > 0).sum(axis=1)
    own = np.append(np.array([0.3, 4.0])[sizes[of.parameterisation.tables.tuple_of_seen] - 1], 0.3)
    if penalty == "phi":
        assert point.penalty == pytest.approx((own[:, None] * phi**2).sum())


def test_hierarchical_lr_is_logistic_regression_on_crosses_scaled_by_alpha(car):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder

    alpha, X = (0.2, 2.0), car.X.astype(str)
    crosses = pd.DataFrame({f"{a}{b}": X[a] + X[b] for a, b in combinations(X, 2)})
    parts = [(np.ones((len(X), 1)), min(alpha)), *zip((X, crosses), alpha, strict=True)]
    dense = [
        (part if isinstance(part, np.ndarray) else OneHotEncoder(sparse_output=False).fit_transform(part))
        / np.sqrt(2.0 * a)
        for part, a in parts
    ]
    rival = LogisticRegression(fit_intercept=False, C=1.0, tol=1e-10, max_iter=10_000).fit(np.hstack(dense), car.y)
    run, scores = fitted(car, "hlr", order=2, alpha=alpha)
    p = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    np.testing.assert_allclose(p, rival.predict_proba(np.hstack(dense)), atol=1e-5)
    assert run.outcome.code == "converged"


@pytest.mark.parametrize(("family", "scale", "penalty"), [
    ("lr", "none", "phi"), ("lr", "diagonal", "phi"), ("alr", "theta", "w"), ("alr", "theta-gamma", "phi"),
    ("hlr", "none", "phi"), ("halr", "theta", "w"),
])  # fmt: skip
def test_a_huge_penalty_toward_the_class_shares_gives_them(car, family, scale, penalty):
    for share in ("cell-class",) if family == "lr" else ("cell-class", "tuple"):
        recipe = {"alpha": 1e10, "center": "shares", "scale": scale, "penalty": penalty, "share": share}
        run, scores = fitted(car, family, order=2, **recipe)
        p = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        shares = np.exp(run.tables.log_pi)
        np.testing.assert_allclose(p, np.tile(shares, (len(p), 1)), atol=1e-6)


def test_several_alphas_are_validated_saved_and_streamed(tmp_path, car):
    for given, words in [
        ({"alpha": (1.0,)}, "has 1 numbers, but there are 2 orders"),
        ({"alpha": (float("inf"),) * 2}, "leaves every order out"),
        ({"alpha": (-1.0, 1.0)}, r"alpha\[0\]=-1.0 is out of range"),
        ({"alpha": (1.0, 2.0), "order": "auto"}, "order='auto' may choose another; expected order=2"),
        ({"alpha": (1.0, 2.0), "share": "all"}, "one weight for the cells of all orders"),
    ]:
        with pytest.raises(alrviz.AlrvizError, match=words):
            alrviz.Recipe("hlr", **given)
    with pytest.raises(alrviz.AlrvizError, match="is not a number"):
        alrviz.Recipe("lr", alpha=(1.0, 2.0))
    recipe = alrviz.Recipe("hlr", alpha=[0.1, float("inf")])
    assert recipe == alrviz.Recipe.from_json(recipe.to_json())
    assert "L2 penalty 0.1, inf on phi" in recipe.name
    assert recipe.replace(order=3).params["alpha"] == (0.1, float("inf"), float("inf"))
    assert recipe.replace(family="lr").params["alpha"] == alrviz.Recipe("lr").params["alpha"]

    model = alrviz.HLRClassifier(alpha=(0.3, 2.0)).fit(car.X, car.y)
    alrviz.save_model(model, tmp_path / "m.zip")
    again = alrviz.load_model(tmp_path / "m.zip")
    assert again.alpha == (0.3, 2.0)
    np.testing.assert_array_equal(again.predict_proba(car.X), model.predict_proba(car.X))

    car.X.assign(y=car.y).astype(str).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "y", cache=tmp_path / "codes")
    for alpha in ((0.3, 2.0), (0.3, float("inf"))):
        own = alrviz.Recipe("hlr", alpha=alpha, holdout=0.0, max_iter=300, solver="tron", tol=1e-10)
        over, whole = alrviz.Run(stream, own), alrviz.Run(alrviz.read_table(tmp_path / "t.parquet", "y"), own)
        list(over.steps()), list(whole.steps())
        assert over.trace[-1].objective == pytest.approx(whole.trace[-1].objective, rel=1e-5)


@pytest.mark.parametrize("family", ["hlr", "halr"])
def test_single_columns_and_the_best_of_higher_orders_are_kept(family):
    """Exclusive or of two columns, which tell nothing by themselves, beside one that does."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (3000, 7)).astype(str), columns=list("abcdefg"))
    y = (X["b"] != X["e"]).to_numpy() + 2 * (X["g"] == "1").to_numpy() + (rng.random(3000) < 0.1) > 1
    data = alrviz.Dataset.from_arrays(X, np.where(y, "yes", "no"))
    run = alrviz.Run(data, alrviz.Recipe(family, order=3, keep=2, alpha=(1.0, 10.0, 10.0)))
    list(run.steps())
    members = [tuple(own) for own in run.tables.space.members]
    columns = run.encoded.n_columns
    assert members[:columns] == [(j,) for j in range(columns)]
    assert list(map(len, members[columns:])) == [2, 2, 3, 3]
    assert (1, 4) in members
    assert all(any(set(pair) < set(three) for pair in members[columns:-2]) for three in members[-2:])
    assert [level.tuples.shape[1] for level in run.levels] == [2, 3]
    model = alrviz.estimator_of(run)
    np.testing.assert_array_equal(load_model(file_of(model)).predict_proba(data.X), model.predict_proba(data.X))


def test_keep_one_equals_the_model_without_selection():
    data = alrviz.load_demo("led", 500)
    kept, whole = (fitted(data, "hlr", order=2, alpha=(1.0, 5.0), keep=keep) for keep in (21.0, 1.0))
    assert kept[0].tables.space.has_parts
    assert kept[0].tables.space.n_tuples == whole[0].tables.space.n_tuples
    np.testing.assert_allclose(kept[1], whole[1], atol=1e-6)


def with_constant(X):
    """The same table with a third column that is the same in every row."""
    wide = X.copy()
    wide.insert(2, "same", "a")
    return wide


@pytest.mark.parametrize(("kind", "params"), [
    (alrviz.HLRClassifier, {"order": 2, "alpha": (0.1, 3.0)}),
    (alrviz.HALRClassifier, {"order": 3}),
    (alrviz.HALRClassifier, {"order": 3, "keep": 4}),
    (alrviz.AutoClassifier, {}),
])  # fmt: skip
def test_a_column_of_one_level_changes_no_model(car, kind, params):
    wide = with_constant(car.X)
    model, other = (kind(**params).fit(table, car.y) for table in (car.X, wide))
    np.testing.assert_allclose(other.predict_proba(wide), model.predict_proba(car.X), rtol=1e-10)
    assert other.cells_.n_tuples == model.cells_.n_tuples > len(car.X.columns)
    chosen, other_chosen = (getattr(each, "chosen_", "").split(";")[0] for each in (model, other))  # less the reason
    assert other_chosen == chosen
    again = load_model(file_of(other))
    np.testing.assert_array_equal(again.predict_proba(wide), other.predict_proba(wide))
    assert again.to_frame().equals(other.to_frame())


def test_over_passes_a_column_of_one_level_changes_no_model_and_no_price(car, tmp_path):
    found = []
    for name, X in (("plain", car.X), ("wide", with_constant(car.X))):
        X.assign(**{"class": car.y}).to_parquet(tmp_path / f"{name}.parquet", index=False)
        stream = open_table(tmp_path / f"{name}.parquet", "class", cache=tmp_path / name)
        run = alrviz.Run(stream, alrviz.Recipe("halr", order=2, holdout=0.0, max_iter=3, solver="tron", alpha=1.0))
        list(run.steps())
        found.append(run)
    assert found[0].trace[-1].objective == pytest.approx(found[1].trace[-1].objective, rel=1e-10)
    assert found[0].estimate.cost.parameters == found[1].estimate.cost.parameters
    levels = np.array([3, 3, 1, 3, 3])
    of = [
        estimate_levels(own, 4, 400, alrviz.Recipe("hlr", order=2, alpha=0.3)) for own in (levels[levels > 1], levels)
    ]
    narrow, wide = (each.cost for each in of)
    assert (narrow.parameters, narrow.seconds) == (wide.parameters, wide.seconds)


@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_an_order_above_the_columns_of_several_levels_is_that_of_all_these(car, alpha):
    few = with_constant(car.X[["a", "b"]])
    model, lower = (alrviz.HLRClassifier(order=order, alpha=alpha).fit(few, car.y) for order in (3, 2))
    assert model.cells_.members == [[0], [1], [0, 1]]
    apart = 1e-3 if alpha == "auto" else 1e-6  # alphas that folds choose end where little is to be gained
    np.testing.assert_allclose(model.predict_proba(few), lower.predict_proba(few), atol=apart)
    nothing = alrviz.HLRClassifier(order=2, alpha=0.3).fit(few[["same"]].assign(other="b"), car.y)
    np.testing.assert_allclose(nothing.predict_proba(few[["same"]].assign(other="b"))[0], car_shares(car), atol=0.01)


@pytest.fixture(scope="module")
def lacking():
    """Columns of one level or more, two of them with gaps: a flag, and a number that MDL leaves in one interval."""
    rng = np.random.default_rng(0)
    there = rng.random((2, 400)) < 0.5
    X = pd.DataFrame({
        "flag": np.where(there[0], "x", None),
        "number": np.where(there[1], rng.normal(size=400), np.nan),
        "u": rng.choice(list("uvw"), 400),
        "v": rng.choice(list("st"), 400),
    })  # fmt: skip
    return X, np.where(there[0] ^ (rng.random(400) < 0.1), "p", "q")


@pytest.mark.parametrize(("kind", "params"), [
    (alrviz.HLRClassifier, {"order": 2}),
    (alrviz.HALRClassifier, {"order": 2}),
    (alrviz.HALRClassifier, {"order": 2, "keep": 2}),
    (alrviz.HLRClassifier, {"order": 2, "alpha": "auto"}),
    (alrviz.HLRClassifier, {"order": "auto", "alpha": 1.0}),
    (alrviz.AutoClassifier, {}),
])  # fmt: skip
def test_missing_values_are_informative_without_a_level(lacking, kind, params):
    X, y = lacking
    model = kind(missing="skip", **params).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.cells_.members[:4] == [[0], [1], [2], [3]]
    again = load_model(file_of(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_missing_values_are_informative_in_streamed_fits(lacking, tmp_path):
    X, y = lacking
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    recipe = alrviz.Recipe(
        "hlr", order=2, missing="skip", discretize="mdl", holdout=0.0, tol=1e-10, solver="tron", alpha=0.3
    )
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    run, whole = (alrviz.Run(data, recipe) for data in (stream, alrviz.Dataset.from_arrays(X, y)))
    list(run.steps()), list(whole.steps())
    assert run.tables.space.members == whole.tables.space.members
    assert len(run.tables.space.members) == 10
    assert run.trace[-1].objective == pytest.approx(whole.trace[-1].objective, rel=1e-6)
    assert run.estimate.cost.parameters == whole.estimate.cost.parameters


def test_order_is_tried_if_only_missing_values_are_informative():
    rng = np.random.default_rng(0)
    there = rng.random((2, 600)) < 0.5
    X = pd.DataFrame({name: np.where(own, "x", None) for name, own in zip("ab", there, strict=True)})
    y = np.where((there[0] == there[1]) ^ (rng.random(600) < 0.1), "p", "q")
    model = alrviz.AutoClassifier(missing="skip").fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.cells_.members == [[0], [1], [0, 1]]


@pytest.mark.parametrize("kind", [alrviz.HLRClassifier, alrviz.SelectiveALRClassifier])
def test_pair_informative_by_missing_values_is_chosen(kind):
    rng = np.random.default_rng(0)
    there = rng.random(800) < 0.5
    X = pd.DataFrame({"a": np.where(there, "x", None)} | {name: rng.choice(list("uv"), 800) for name in "bcd"})
    y = np.where((there == (X["c"] == "u")) ^ (rng.random(800) < 0.1), "p", "q")
    chosen = {"selection": "gain"} if kind is alrviz.SelectiveALRClassifier else {}
    model = kind(order=2, missing="skip", keep=2, **chosen).fit(X.assign(same="k"), y)
    assert [0, 2] in model.cells_.members
    assert model.score(X.assign(same="k"), y) > 0.85


def test_where_a_missing_value_is_no_level_columns_of_one_level_are_priced():
    levels, own = np.array([3, 3, 1]), {"order": 2, "missing": "skip", "alpha": 1.0}
    of = [alrviz.Recipe("hlr", **own), alrviz.Recipe("salr", selection="gain", **own)]
    assert [estimate_levels(levels, 2, 400, recipe).cost.parameters for recipe in of] == [
        2 * (1 + 3 + 3 + 1 + 9 + 3 + 3)
    ] * 2


@pytest.mark.parametrize("change", [
    lambda members: [*members[:-1], members[-2]],
    lambda members: [[0], [1], [2], *members[3:]],
    lambda members: [[1], [0], *members[2:]],
    lambda members: members[:-1],
])  # fmt: skip
def test_a_file_of_other_tuples_is_refused(car, change):
    file = file_of(alrviz.HLRClassifier(order=2, alpha=0.3).fit(with_constant(car.X), car.y))
    with zipfile.ZipFile(file) as zipped:
        table = pq.read_table(pa.BufferReader(zipped.read("tuples.parquet"))).to_pandas()
    members = change([list(map(int, own)) for own in table["members"]])
    out = io.BytesIO()
    table.head(len(members)).assign(members=members).to_parquet(out)
    with pytest.raises(ModelFileError, match="does not list the tuples of order 2"):
        load_model(rewritten(file, **{"tuples.parquet": out.getvalue()}))


def car_shares(data):
    """How often each class is there."""
    return np.unique(data.y, return_counts=True)[1] / len(data.y)


def test_a_tuple_with_a_column_of_one_level_is_not_chosen_by_its_gain(car):
    wide = with_constant(car.X)
    run = alrviz.Run(
        alrviz.Dataset.from_arrays(wide, car.y),
        alrviz.Recipe("salr", order=2, selection="gain", keep=1.0, holdout=0.0, max_iter=2, alpha=1.0),
    )
    list(run.steps())
    pairs = [own for own in run.tables.space.members if len(own) == 2]
    assert pairs
    assert all(2 not in own for own in pairs)
    model = alrviz.estimator_of(run)
    np.testing.assert_array_equal(load_model(file_of(model)).predict_proba(wide), model.predict_proba(wide))


def test_a_recipe_that_leaves_an_order_out_is_json_for_every_reader():
    recipe = alrviz.Recipe("hlr", order=2, alpha=(float("inf"), 1.0))
    text = recipe.to_json()
    assert json.loads(text, parse_constant=pytest.fail)["params"]["alpha"] == ["inf", 1.0]
    assert alrviz.Recipe.from_json(text) == recipe
    for alpha in (np.array([[1.0, 2.0]]), np.array(0.3), ("cv", 1.0), ()):
        with pytest.raises(alrviz.RecipeError):
            alrviz.Recipe("hlr", order=2, alpha=alpha)
