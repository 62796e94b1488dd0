"""The numbers of a decision map: what the model says at each place, whatever stands in the other columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import alrviz
from alrviz.errors import Stopped, TableError
from alrviz.stop import StopToken
from alrviz.studies.maps import decision_map as numbers
from alrviz.studies.maps.axes import MAX_LEVELS, axes_of, axis_of, first_axes, one_scale
from alrviz.studies.maps.decision_map import decision_map
from alrviz.studies.maps.partial_dependence import N_NEAREST, WIDTH, others_of


@pytest.fixture(scope="module")
def mixed():
    """Two numbers, two columns of levels and three classes that depend on all of them."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "length": rng.normal(5, 2, 240),
            "weight": rng.gamma(2.0, 1.0, 240),
            "colour": pd.Categorical(rng.choice(["red", "blue", "green"], 240)),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], 240), categories=["s", "m", "l"], ordered=True),
        }
    )
    score = X["length"] - 5 + 2.0 * (X["colour"] == "red") - 1.5 * X["size"].cat.codes + rng.normal(size=240)
    y = np.where(score > 0.5, "high", np.where(score > -1.5, "middle", "low"))
    return X, y


@pytest.fixture(scope="module")
def model(mixed):
    return alrviz.LRClassifier(order=1, alpha=1.0).fit(*mixed)


def last(maps):
    return list(maps)[-1]


def blobs(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X @ [2.0, -1.0] + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def test_map_cell_has_the_prediction_of_the_model():
    X, y = blobs()
    model = LogisticRegression().fit(X, y)
    maps = list(decision_map(model, X, y))
    assert [surface.values.shape for surface in maps] == [(20, 20, 2), (60, 60, 2), (140, 140, 2)]
    assert [surface.is_last for surface in maps] == [False, False, True]
    for surface in maps:
        u = surface.across.centres(surface.values.shape[1])
        v = surface.up.centres(surface.values.shape[0])
        for i, j in ((0, 0), (3, 17), (19, 5)):
            expected = model.predict_proba([[u[j], v[i]]])[0]
            np.testing.assert_allclose(surface.values[i, j], expected, atol=1e-6)
    assert surface.across.low < X[:, 0].min()
    assert surface.up.high > X[:, 1].max()


def test_typical_values_are_medians_and_most_frequent_levels(mixed, model):
    X, _ = mixed
    surface = last(decision_map(model, X, across="length", up="weight"))
    place = X.iloc[[0]].assign(
        length=surface.across.centres(140)[7],
        weight=surface.up.centres(140)[90],
        colour=pd.Categorical([X["colour"].mode()[0]], dtype=X["colour"].dtype),
        size=pd.Categorical([X["size"].mode()[0]], dtype=X["size"].dtype),
    )
    np.testing.assert_allclose(surface.values[90, 7], model.predict_proba(place)[0], atol=1e-6)


def test_other_columns_at_a_row(mixed, model):
    X, _ = mixed
    surface = last(decision_map(model, X, across="length", up="weight", others="row", row=11))
    place = X.iloc[[11]].assign(length=surface.across.centres(140)[7], weight=surface.up.centres(140)[90])
    np.testing.assert_allclose(surface.values[90, 7], model.predict_proba(place)[0], atol=1e-6)


def test_the_mean_over_rows_is_partial_dependence(mixed, model):
    X, _ = mixed[0].iloc[:40], mixed[1]
    surface = last(decision_map(model, X, across="colour", up="length", others="mean"))
    assert surface.across.levels == ("blue", "green", "red")
    side = len(surface.values)
    for level, at in (("blue", 3), ("red", side - 1)):
        rows = X.assign(
            colour=pd.Categorical([level] * len(X), dtype=X["colour"].dtype), length=surface.up.centres(side)[at]
        )
        expected = model.predict_proba(rows).mean(axis=0)
        np.testing.assert_allclose(surface.values[at, surface.across.levels.index(level)], expected, atol=1e-6)


def test_near_rows_weigh_more(mixed, model):
    X, _ = mixed
    surface = last(decision_map(model, X, across="size", up="length", others="near"))
    side, level = len(surface.values), surface.across.levels.index("m")
    v = surface.up.centres(side)[12]
    squares = (X["size"] != "m").to_numpy() + ((X["length"] - v) / X["length"].std(ddof=0)).to_numpy() ** 2
    near = np.argsort(squares)[:N_NEAREST]
    weights = np.exp(-squares[near] / (2 * WIDTH**2))
    rows = X.iloc[near].assign(size=pd.Categorical(["m"] * N_NEAREST, dtype=X["size"].dtype), length=v)
    expected = weights @ model.predict_proba(rows) / weights.sum()
    np.testing.assert_allclose(surface.values[12, level], expected, atol=1e-6)


def test_far_from_all_rows_the_nearest_still_count():
    X = pd.DataFrame({"u": [0.0, 1.0, 2.0], "v": [0.0, 1.0, 2.0]})
    held = others_of(X, axis_of(X, "u"), axis_of(X, "v"), "near")
    rows, weights = held.rows(np.array([1e6]), np.array([1e6]))
    assert rows[0, weights[0].argmax()] == 2
    assert weights[0].sum() == pytest.approx(1.0)


def test_a_score_is_a_score_with_its_boundary_at_0():
    X, y = blobs()
    model = LinearSVC().fit(X, y)
    surface = last(decision_map(model, X, y))
    assert (surface.probability, surface.single) == (False, True)
    u, v = surface.across.centres(140), surface.up.centres(140)
    grid = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    said = np.array(surface.classes)[surface.winner.ravel()]
    assert (said == model.predict(grid)).all()
    turned = last(decision_map(model, X, y, classes=["yes", "no"]))
    np.testing.assert_allclose(turned.values, -surface.values)
    assert (np.array(turned.classes)[turned.winner] == np.array(surface.classes)[surface.winner]).all()


def test_scores_of_three_classes(mixed):
    X, y = mixed[0][["length", "weight"]], mixed[1]
    surface = last(decision_map(LinearSVC().fit(X, y), X, y))
    assert (surface.single, surface.values.shape[2]) == (False, 3)
    four = np.arange(len(y)) % 4
    pairs = SVC(decision_function_shape="ovo").fit(X, four)
    with pytest.raises(TableError, match="decision_function_shape='ovr'"):
        list(decision_map(pairs, X, four))


def test_an_order_of_classes_holds_for_models_that_know_fewer():
    X, y = blobs()
    surface = last(decision_map(LogisticRegression().fit(X, y), X, y, classes=["maybe", "yes", "no"]))
    assert surface.classes == ("maybe", "yes", "no")
    assert surface.absent() == [("maybe", 0.0)]
    scores = last(decision_map(LinearSVC().fit(X, y), X, y, classes=["maybe", "yes", "no"]))
    assert (scores.winner == surface.winner).mean() > 0.97
    assert scores.absent() == [("maybe", -np.inf)]
    with pytest.raises(TableError, match="not among"):
        list(decision_map(LogisticRegression().fit(X, y), X, classes=["yes", "maybe"]))


def test_a_class_that_wins_nowhere_is_named_with_its_highest_probability():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 10)
    y = np.array(["left", "right"] * 20)
    y[0] = "rare"
    model = LogisticRegression(C=0.1).fit(X, y)
    surface = last(decision_map(model, X, y))
    ((name, highest),) = surface.absent()
    assert name == "rare"
    assert highest == pytest.approx(float(surface.values[..., surface.classes.index("rare")].max()))
    assert 0 < highest < 0.5


def test_a_pipeline_gets_the_columns_it_was_fitted_on(mixed):
    X, y = mixed
    columns = make_column_transformer((OneHotEncoder(), ["colour", "size"]), (StandardScaler(), ["length", "weight"]))
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    surface = last(decision_map(model, X, y, across="colour", up="size"))
    assert surface.values.shape == (3, 3, 3)
    place = X.iloc[[0]].assign(
        colour=pd.Categorical(["red"], dtype=X["colour"].dtype),
        size=pd.Categorical(["l"], dtype=X["size"].dtype),
        length=X["length"].median(),
        weight=X["weight"].median(),
    )
    np.testing.assert_allclose(surface.values[2, 2], model.predict_proba(place)[0], atol=1e-6)


def test_points_stand_where_their_rows_are(mixed, model):
    X, y = mixed
    surface = last(decision_map(model, X, y, across="size", up="length"))
    points = surface.points
    assert (points.total, points.absent, points.thinned) == (240, 0, False)
    np.testing.assert_array_equal(points.y, X["length"])
    np.testing.assert_array_equal(np.floor(points.x), X["size"].cat.codes)
    assert (np.array(surface.classes)[points.truth] == y).all()
    assert (np.array(surface.classes)[points.predicted] == model.predict(X)).all()


def test_many_points_are_thinned_and_counted(monkeypatch):
    monkeypatch.setattr(numbers, "MAX_POINTS", 50)
    X, y = blobs(300)
    frame = pd.DataFrame(X, columns=["u", "v"])
    frame.loc[:9, "u"] = np.nan
    y = y.astype(object)
    model = alrviz.LRClassifier(order=1, alpha=1.0).fit(frame, y)
    points = last(decision_map(model, frame, y)).points
    assert (len(points.rows), points.total, points.absent, points.thinned) == (50, 300, 10, True)
    assert (points.rows >= 10).all()
    np.testing.assert_array_equal(points.x, frame["u"].to_numpy()[points.rows])


def test_a_stop_ends_a_map_between_chunks(mixed, model):
    stop = StopToken()
    maps = decision_map(model, *mixed, others="mean", stop=stop)
    next(maps)
    stop.stop()
    with pytest.raises(Stopped):
        next(maps)


def test_chunks_change_nothing(mixed, model, monkeypatch):
    whole = last(decision_map(model, mixed[0], others="near", sides=(30,)))
    monkeypatch.setattr(numbers, "CHUNK_ROWS", 37)
    np.testing.assert_array_equal(last(decision_map(model, mixed[0], others="near", sides=(30,))).values, whole.values)


def test_levels_stand_in_their_order_with_what_is_missing_last():
    column = pd.Series(pd.Categorical(["b", None, "a", "b"], categories=["b", "a", "unused"], ordered=True))
    axis = axis_of(column.to_frame("c"), "c")
    assert axis.levels == ("b", "a", "missing")
    np.testing.assert_array_equal(axis.positions(column), [0.5, 2.5, 1.5, 0.5])
    assert axis.value(0.2) == "b"
    assert pd.isna(axis.value(2.9))
    assert axis_of(pd.DataFrame({"c": [True, False]}), "c").levels == ("False", "True")


@pytest.mark.parametrize(
    ("names", "ends", "same"),
    [
        (("x1", "x2"), (4.0, 3.0), True),
        (("x", "y"), (4.0, 3.0), True),
        (("pos_x", "pos_y"), (4.0, 3.0), True),
        (("0", "1"), (4.0, 3.0), True),
        (("petal length (cm)", "petal width [cm]"), (6.0, 2.4), True),
        (("length (cm)", "width (mm)"), (4.0, 3.0), False),
        (("length (cm)", "width"), (4.0, 3.0), False),
        (("age", "income"), (50.0, 50_000.0), False),
        (("age", "pressure"), (50.0, 60.0), False),
        (("max", "may"), (4.0, 3.0), False),
        (("x1", "x2"), (4.0, 0.5), False),
    ],
)
def test_columns_of_one_unit_have_one_scale(names, ends, same):
    frame = pd.DataFrame({name: [0.0, end] for name, end in zip(names, ends, strict=True)})
    across, up = axes_of(frame, names)
    assert one_scale(across, up) is same
    middles = [(axis.low + axis.high) / 2 for axis in (across, up)]
    assert middles == pytest.approx([end / 2 for end in ends])
    if same:
        square = axes_of(frame, names, shape=1.0)
        assert square[0].length == pytest.approx(square[1].length)
        assert max(across.length, up.length) <= 2.001 * min(across.length, up.length)
        for shape, filled in ((1.6, 1.6), (5.0, 2.0), (0.1, 0.5)):
            wide, high = axes_of(frame, names, shape=shape)
            assert wide.length / high.length == pytest.approx(filled), "the map fills a frame of this shape"
    else:
        assert [axis.length for axis in (across, up)] == [axis_of(frame, name).length for name in names]


def test_words_and_numbers_have_no_scale_in_common():
    across, up = axes_of(pd.DataFrame({"x1": ["a", "b"], "x2": [0.0, 1.0]}), ("x1", "x2"))
    assert not one_scale(across, up)


def test_of_too_many_levels_the_most_frequent_are_shown():
    column = pd.Series([f"l{k:02}" for k in range(MAX_LEVELS + 5)] + ["l34"] * 3)
    axis = axis_of(column.to_frame("c"), "c")
    assert (len(axis.levels), axis.left_out) == (MAX_LEVELS, 5)
    assert "l34" in axis.levels
    assert np.isnan(axis.positions(column)).sum() == 5


def test_an_axis_rests_while_it_fits():
    frame = pd.DataFrame({"u": [0.0, 10.0]})
    axis = axis_of(frame, "u")
    moved = axis_of(pd.DataFrame({"u": [1.0, 9.0]}), "u", axis)
    assert (moved.low, moved.high) == (axis.low, axis.high)
    assert axis_of(pd.DataFrame({"u": [0.0, 11.0]}), "u", axis).high > axis.high
    assert axis_of(pd.DataFrame({"u": [0.0, 1.0]}), "u", axis).high < 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"across": "lenght", "up": "weight"}, "length"),
        ({"others": "nearest"}, "near"),
        ({"others": "row", "row": 240}, "0 to 239"),
        ({"y": ["low"]}, "expected one per row"),
    ],
)
def test_error_messages_name_valid_values(mixed, model, options, message):
    with pytest.raises(TableError, match=message):
        list(decision_map(model, mixed[0], **options))


@pytest.mark.parametrize("model", [object(), LogisticRegression(), LinearDiscriminantAnalysis])
def test_unfitted_classifier_cannot_be_mapped(model):
    with pytest.raises(TableError, match="expected a fitted classifier"):
        list(decision_map(model, [[0.0, 1.0], [1.0, 0.0]]))


def test_map_starts_on_numeric_scales_by_default(mixed):
    X, _ = mixed
    assert first_axes(X[["colour", "length", "size", "weight"]]) == ("length", "weight")
    assert first_axes(X, "colour", "length") == ("colour", "length")
    assert first_axes(X, None, "length") == ("weight", "length")
    assert first_axes(X, "colour", "gone") == ("colour", "length")
    assert first_axes(X, "weight", "weight") == ("weight", "length")


def test_map_starts_with_the_most_informative_columns():
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 400)
    clear, other = y + 0.6 * draw.normal(size=400), y + 0.8 * draw.normal(size=400)
    columns = {
        "signup year": 2020 + y,  # tells all, but in two columns of points
        "noise": draw.normal(size=400),
        "other": np.where(draw.random(400) < 0.05, np.nan, other),
        "copy": clear * 2,
        "clear": clear,
        "plan": np.where(y, "a", "b"),
    }
    frame = pd.DataFrame(columns)
    assert first_axes(frame) == ("noise", "other")
    assert first_axes(frame, y=y) == ("other", "copy"), "a copy adds nothing to what it is one of"
    assert first_axes(frame, None, "noise", y=y)[0] in ("clear", "copy")
    assert first_axes(frame[["signup year", "plan", "noise"]], y=y) == ("signup year", "noise")
    assert first_axes(frame[["plan", "noise"]], y=y) == ("noise", "plan")
    X = frame[["noise", "copy", "other"]]
    surface = last(decision_map(LogisticRegression().fit(X.fillna(0), y), X.fillna(0), y, sides=(8,)))
    assert (surface.across.name, surface.up.name) == ("copy", "other")


def test_one_column_makes_no_map():
    with pytest.raises(TableError, match="two columns and some rows, got 1"):
        list(decision_map(object(), [[0.0], [1.0]]))


def test_the_frame_has_a_line_a_place(mixed, model):
    surface = last(decision_map(model, mixed[0], across="colour", up="size"))
    frame = surface.frame()
    assert list(frame.columns) == ["colour", "size", *(f"p({name})" for name in surface.classes)]
    assert len(frame) == 9
    line = frame[(frame["colour"] == "red") & (frame["size"] == "s")].iloc[0]
    where = surface.up.levels.index("s"), surface.across.levels.index("red")
    np.testing.assert_allclose(line.iloc[2:].to_numpy(dtype=float), surface.values[where], atol=1e-7)
