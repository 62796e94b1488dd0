"""Encoder: every dtype a table comes in, missing and unseen values, weights, and what may not change the codes."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from alrviz.data.column_encoder import interval_labels
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded, code_dtype
from alrviz.data.parse_values import LevelCodes
from alrviz.errors import RecipeError, Stopped, TableError
from alrviz.stop import StopToken

Y8 = np.array(list("ppqqppqq"))


def one(values, **options) -> tuple[Encoder, list[int]]:
    """Fit an encoder on one column "c" of eight rows; return it and the codes."""
    frame = pd.DataFrame({"c": values})
    encoder = Encoder(**options).fit(frame, Y8)
    return encoder, encoder.transform(frame)[0].tolist()


TEXT = ["b", "a", None, "b", "c", "c", "a", "b"]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(TEXT, dtype=object),
        pd.Series(TEXT, dtype="str"),
        pd.Series(TEXT, dtype="string[python]"),
        pd.Series(TEXT, dtype="string[pyarrow]"),
        pd.Series(TEXT, dtype=pd.ArrowDtype(__import__("pyarrow").string())),
        pd.Categorical(TEXT, categories=["z", "c", "b", "a", "unused"]),
        pd.Series(TEXT, dtype=object).fillna(np.nan),
    ],
    ids=lambda values: str(values.dtype),
)
def test_text_of_every_dtype_gets_sorted_levels_and_missing_last(values):
    encoder, codes = one(values)
    column = encoder.columns_[0]
    assert column.labels == ("a", "b", "c", "missing")
    assert column.missing_code == 3
    assert column.kind == "categorical"
    assert codes == [1, 0, 3, 1, 2, 2, 0, 1]
    skipping, codes = one(values, missing="skip")
    assert skipping.levels_.tolist() == [3]
    assert codes == [1, 0, 3, 1, 2, 2, 0, 1]  # 3 now means "no level"


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, None, 1, 3, 3, 2, 1], dtype="Int64"),
        pd.Series([1, 2, None, 1, 3, 3, 2, 1], dtype=pd.ArrowDtype(__import__("pyarrow").int32())),
        pd.Series([1, 2, None, 1, 3, 3, 2, 1], dtype=object),
        pd.Series([1.0, 2, np.nan, 1, 3, 3, 2, 1], dtype=np.float32),
        pd.Series([Decimal(1), Decimal(2), None, Decimal(1), Decimal(3), Decimal(3), Decimal(2), Decimal(1)]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_numbers_of_every_dtype_are_numeric(values):
    encoder, codes = one(values, discretize=None)
    assert encoder.columns_[0].kind == "numeric"
    assert encoder.columns_[0].labels == ("1", "2", "3", "missing")
    assert codes == [0, 1, 3, 0, 2, 2, 1, 0]
    chosen, codes = one(values, categorical_features="all")
    assert chosen.columns_[0].kind == "categorical"
    assert chosen.columns_[0].labels == ("1", "2", "3", "missing")
    assert codes == [0, 1, 3, 0, 2, 2, 1, 0]


def test_booleans_are_categorical():
    for dtype in (bool, "boolean", object):
        encoder, codes = one(pd.Series([True, False] * 4, dtype=dtype))
        assert encoder.columns_[0].labels == ("False", "True")
        assert codes == [1, 0] * 4
    assert Encoder().fit(np.array([[True], [False]]), [0, 1]).columns_[0].kind == "categorical"


def test_ordered_categorical_keeps_order_and_drops_unused_levels():
    sizes = pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    encoder, codes = one(pd.Series(["large", "small"] * 4, dtype=sizes))
    assert encoder.columns_[0].kind == "ordinal"
    assert encoder.columns_[0].labels == ("small", "large")
    assert codes == [1, 0] * 4
    assert encoder.transform(pd.DataFrame({"c": pd.Series(["middle"], dtype=sizes)})).tolist() == [[2]]


def test_values_of_mixed_types_are_levels_by_their_texts():
    values = pd.Series([1, "1", 2.5, " x", None, True, "x ", "  "], dtype=object)
    encoder, codes = one(values)
    assert encoder.columns_[0].labels == ("1", "True", "2.5", "x", "missing")
    assert codes == [0, 0, 2, 3, 4, 1, 3, 4]


@pytest.mark.parametrize("cell", [["a"], ("a", "b"), {"a": 1}, {"a"}, np.array([1, 2])])
def test_a_cell_of_several_values_is_refused(cell):
    values = pd.Series(["x", "y", None, 1] * 2, dtype=object)
    encoder, _ = one(values)
    values[1] = cell
    with pytest.raises(TableError, match="column 'c' holds a "):
        one(values)
    with pytest.raises(TableError, match="column 'c' holds a "):
        encoder.transform(pd.DataFrame({"c": values}))


@pytest.mark.parametrize(
    ("levels", "known"),
    [
        (["a", "b"], {" a": 0, "b\t": 1, "": 2, "NA": 2, None: 2, "c": 3}),
        ([1, 2.5], {"1": 0, "1.0": 0, "1e0": 0, True: 0, "true": 0, "2.50": 1, "01": 3, "?": 2}),
        ([True, False], {"True": 1, "TRUE": 1, 1: 1, "0": 0, "no": 3}),
        (["NA", "1.0"], {"NA": 1, "1.0": 0, "null": 2, "1": 3, "inf": 3}),
        (["Inf", "x"], {"1e999": 3, "inf": 3, "Inf": 0}),
    ],
)
def test_a_value_is_a_level_by_its_text_else_by_the_number_it_is(levels, known):
    train = pd.DataFrame({"c": pd.Series([*levels, None] * 2, dtype=object)})
    encoder = Encoder(categorical_features="all").fit(train, [0, 1] * len(levels) + [0, 1])
    for value, code in known.items():
        rows = pd.DataFrame({"c": pd.Series([value, levels[0]], dtype=object)})
        assert encoder.transform(rows)[0, 0] == code, repr(value)


def test_a_level_is_known_as_float_and_as_text():
    train = pd.DataFrame({"c": pd.Categorical([1, 2, 1, 2])})
    encoder = Encoder().fit(train, [0, 1, 0, 1])
    for column in ([2, 1, 7], [2.0, 1.0, 7.0], ["2", "1", "7"], np.array([2, 1, 7], dtype=np.int8)):
        assert encoder.transform(pd.DataFrame({"c": column})).tolist() == [[1, 0, 2]]
    text = Encoder().fit(pd.DataFrame({"c": ["1", "2"]}), [0, 1])
    assert text.transform(pd.DataFrame({"c": [2, 1, 3]})).tolist() == [[1, 0, 2]]


def test_unseen_and_missing_without_a_level_mean_no_level():
    frame = pd.DataFrame({"text": ["a", "b"], "number": [1.0, 2.0]})
    encoder = Encoder(discretize=None).fit(frame, [0, 1])
    codes = encoder.transform(pd.DataFrame({"text": ["z", None, "a"], "number": [1.5, np.nan, 2.0]}))
    assert codes.tolist() == [[2, 2, 0], [2, 2, 1]]


@pytest.mark.parametrize("discretize", ["mdl", "quantile", "uniform", None])
@pytest.mark.parametrize("missing", ["level", "skip"])
def test_constant_and_empty_columns_have_one_level(discretize, missing):
    frame = pd.DataFrame({"same": [4.0] * 8, "word": ["a"] * 8, "nan": [np.nan] * 8, "none": [None] * 8})
    encoder = Encoder(discretize=discretize, missing=missing).fit(frame, Y8)
    assert encoder.levels_.tolist() == [1, 1, 1, 1]
    nobody = 0 if missing == "level" else 1
    assert encoder.transform(frame)[:, 0].tolist() == [0, 0, nobody, nobody]
    assert encoder.columns_[2].labels == (("missing",) if missing == "level" else ("(no value seen)",))
    other = pd.DataFrame({"same": [5.0], "word": ["b"], "nan": [1.0], "none": ["x"]})
    assert encoder.transform(other)[1:].tolist() == [[1], [1], [1]]


def test_intervals_take_the_cut_to_their_left():
    frame = pd.DataFrame({"c": [0.0, 1, 2, 3, 10, 11, 12, 13]})
    encoder = Encoder().fit(frame, np.repeat([0, 1], 4))
    assert encoder.columns_[0].cuts.tolist() == [6.5]
    assert encoder.columns_[0].labels == ("<= 6", "> 6")
    assert encoder.transform(pd.DataFrame({"c": [6.5, np.nextafter(6.5, 7), -1e300, np.nan]})).tolist() == [
        [0, 1, 0, 2]
    ]
    for discretize in ("quantile", "uniform"):
        assert Encoder(discretize=discretize, n_bins=4).fit(frame, Y8).levels_.tolist() == [
            4 if discretize == "quantile" else 2
        ]


def test_interval_labels_tell_close_cuts_apart():
    labels = interval_labels(np.array([0.1234567891, 0.1234567892]))
    assert len(set(labels)) == 3
    assert interval_labels(np.empty(0)) == ["any number"]


def test_cuts_and_levels_come_from_rows_with_weight_only():
    frame = pd.DataFrame({"c": ["a", "b", "c", None], "d": [1.0, 2.0, 3.0, np.nan]})
    encoder = Encoder(discretize=None).fit(frame, ["p", "q", "r", "r"], [1, 2, 0, 0])
    assert encoder.columns_[0].labels == ("a", "b")
    assert encoder.columns_[1].labels == ("1", "2")
    assert encoder.classes_.tolist() == ["p", "q"]
    assert encoder.transform(frame).tolist() == [[0, 1, 2, 2], [0, 1, 2, 2]]


def test_encode_maps_classes_and_refuses_new_ones():
    frame = pd.DataFrame({"c": ["a", "b", "a"]})
    encoder = Encoder().fit(frame, pd.Series(["yes", "no", "yes"], dtype="category"))
    encoded = encoder.encode(frame, np.array(["no", "yes", "no"], dtype=object), [1, 0, 2.5])
    assert encoded.y.tolist() == [0, 1, 0]
    assert encoded.y.dtype == np.int32
    assert encoded.weights.tolist() == [1.0, 0.0, 2.5]
    assert encoded.total == 3.5
    assert (encoded.n_rows, encoded.n_columns, encoded.n_classes, encoded.names) == (3, 1, 2, ("c",))
    with pytest.raises(TableError, match=r"'maybe'.*'no'.*'yes'"):
        encoder.encode(frame, ["no", "yes", "maybe"])
    assert Encoder().fit(frame, [1, 0, 1]).encode(frame, [1.0, 0.0, 1.0]).y.tolist() == [1, 0, 1]


def test_encoded_takes_rows_and_keeps_one_layout():
    frame = pd.DataFrame({"c": list("abcd"), "d": list("abab")})
    encoder = Encoder().fit(frame, [0, 1, 0, 1])
    part = encoder.encode(frame, [0, 1, 0, 1], [1, 2, 3, 4]).take(np.array([3, 0]))
    assert part.codes.tolist() == [[3, 0], [1, 0]]
    assert part.codes.flags.c_contiguous
    assert (part.y.tolist(), part.weights.tolist(), part.levels.tolist()) == ([1, 0], [4.0, 1.0], [4, 2])
    with pytest.raises(TableError, match="2 rows of codes"):
        Encoded(part.codes, part.y[:1], part.weights, part.levels, part.classes, part.names)


@pytest.mark.parametrize(
    ("levels", "dtype"), [(1, np.uint8), (255, np.uint8), (256, np.uint16), (65535, np.uint16), (65536, np.uint32)]
)
def test_the_smallest_dtype_that_holds_no_level_too(levels, dtype):
    assert code_dtype(np.array([2, levels])) == dtype
    if levels < 300:
        encoder = Encoder(categorical_features="all").fit(np.arange(levels)[:, None], np.arange(levels) % 2)
        codes = encoder.transform(np.array([[-5], [levels - 1]]))
        assert codes.dtype == dtype
        assert codes.tolist() == [[levels, levels - 1]]


@pytest.mark.parametrize(
    ("features", "kinds"),
    [
        ("from_dtype", ["numeric", "categorical", "numeric"]),
        (None, None),
        (["n"], None),
        (["t"], ["numeric", "categorical", "numeric"]),
        ([True, True, False], ["categorical", "categorical", "numeric"]),
        ([1, 2], ["numeric", "categorical", "categorical"]),
        (np.array([1]), ["numeric", "categorical", "numeric"]),
        ("all", ["categorical"] * 3),
    ],
)
def test_categorical_features(features, kinds):
    frame = pd.DataFrame({"n": [1, 2], "t": ["a", "b"], "m": [0.5, 1.5]})
    if kinds is None:  # "t" is then numeric, which it is not
        with pytest.raises(TableError, match="'t' is used as numeric but holds something else"):
            Encoder(categorical_features=features).fit(frame, [0, 1])
    else:
        encoder = Encoder(categorical_features=features).fit(frame, [0, 1])
        assert [column.kind for column in encoder.columns_] == kinds


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("from_dtypes", "did you mean 'from_dtype'"),
        (["colour"], "no column 'colour'; did you mean 'color'"),
        ([True], "mask of 1"),
        ([5], "index outside 0..1"),
        ([0.5], "names, booleans or indices"),
        ([[0, 1]], "names, booleans or indices"),
    ],
)
def test_categorical_features_that_mean_nothing(features, message):
    with pytest.raises(RecipeError, match=message):
        Encoder(categorical_features=features).fit(pd.DataFrame({"color": ["a", "b"], "x": [1, 2]}), [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discretize": "mld"}, "did you mean 'mdl'"),
        ({"missing": "levels"}, "did you mean 'level'"),
        ({"n_bins": 1}, "at least 2"),
        ({"n_bins": 2.5}, "at least 2"),
    ],
)
def test_parameters_that_mean_nothing(options, message):
    with pytest.raises(RecipeError, match=message):
        Encoder(**options)


@pytest.mark.parametrize(
    ("X", "y", "weights", "message"),
    [
        (pd.DataFrame({"height": [1.0, np.inf]}), [0, 1], None, r"'height' holds an infinite number \(row 1\)"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}), [0, 1], None, "'when' holds dates"),
        (pd.DataFrame({"z": [1j, 2j]}), [0, 1], None, "'z' holds complex numbers"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), [0, 1], None, "'a' occurs 2 times"),
        (pd.DataFrame({"a": []}), [], None, "no rows; at least one"),
        (pd.DataFrame(index=[0, 1]), [0, 1], None, "no column is a feature"),
        (np.array([1.0, 2.0]), [0, 1], None, "2-D"),
        (pd.DataFrame({"a": [1, 2]}), [0], None, r"shape \(2,\), got \(1,\)"),
        (pd.DataFrame({"a": [1, 2]}), [0, None], None, "no class in row 1"),
        (pd.DataFrame({"a": [1, 2]}), np.array([0, "b"], dtype=object), None, "all numbers or all text"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1, -1], "not negative"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1, np.nan], "finite"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [0, 0], "nothing is left"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1, 1e308], "divide the weights by their mean"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1e308, 1e308], "sums to inf"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1e-300, 1e-300], "divide the weights by their mean"),
        (pd.DataFrame({"a": [1, 2]}), [0, 1], [1], r"sample_weight must have shape \(2,\)"),
    ],
)
def test_tables_that_cannot_be_used(X, y, weights, message):
    with pytest.raises(TableError, match=message):
        Encoder().fit(X, y, weights)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "uint64", "object"])
def test_whole_numbers_that_floats_would_merge_are_levels(dtype):
    numbers = [2**62 + i % 20 for i in range(60)]
    frame = pd.DataFrame({"a": pd.array(numbers, dtype=dtype)})
    with pytest.warns(UserWarning, match="'a' holds numbers of more digits than a float can distinguish"):
        encoder = Encoder().fit(frame, [i % 2 for i in range(60)])
    assert encoder.columns_[0].values == tuple(2**62 + i for i in range(20))
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.transform(frame).tolist() == [[i % 20 for i in range(60)]]


def test_number_out_of_float_range_is_a_level():
    frame = pd.DataFrame({"a": [10**400, 1, 10**400, 1]}, dtype=object)
    with pytest.warns(UserWarning, match="more digits"):
        encoder = Encoder().fit(frame, [0, 1, 0, 1])
    assert encoder.transform(frame).tolist() == [[1, 0, 1, 0]]
    with pytest.raises(TableError, match="'a' is used as numeric"):
        Encoder(categorical_features=None).fit(frame, [0, 1, 0, 1])


def test_columns_are_found_by_name_and_missed_by_name():
    frame = pd.DataFrame({"age": [1.0, 2.0], "name": ["a", "b"]})
    encoder = Encoder(discretize=None).fit(frame, [0, 1])
    assert encoder.transform(frame[["name", "age"]]).tolist() == encoder.transform(frame).tolist()
    assert encoder.transform(frame.assign(more=1)).tolist() == encoder.transform(frame).tolist()
    with pytest.raises(TableError, match=r"'age'.*'ages'"):
        encoder.transform(frame.rename(columns={"age": "ages"}))
    with pytest.raises(TableError, match="'age' is used as numeric"):
        encoder.transform(pd.DataFrame({"age": ["old", "new"], "name": ["a", "b"]}))
    assert encoder.transform(np.array([[1.0, "a"]], dtype=object)).tolist() == [[0], [0]]
    with pytest.raises(TableError, match=r"1 columns.*2"):
        encoder.transform(np.array([[1.0]]))


def test_numbers_that_are_levels_read_as_they_are_written_and_zero_has_no_sign():
    for column in ([0.0, -0.0, 0.4, 1e300, 3.0], [-0.0, 0.0, 3.0, 1e300, 0.4]):
        code = Encoder(discretize=None).fit(pd.DataFrame({"x": column}), [0, 1, 0, 1, 0]).columns_[0]
        assert code.labels == ("0", "0.4", "3", "1e+300")
        assert str(code.values[0]) == "0.0"


def test_lists_and_matrices_are_tables():
    assert Encoder(discretize=None).fit([[1, "a"], [2, "b"]], [0, 1]).columns_[1].labels == ("a", "b")
    kinds = [column.kind for column in Encoder().fit(np.array([[1, "a"], [2, "b"]], dtype=object), [0, 1]).columns_]
    assert kinds == ["numeric", "categorical"]
    assert Encoder().fit(np.array([["1"], ["2"]]), [0, 1]).columns_[0].kind == "categorical"
    assert [column.name for column in Encoder().fit(np.zeros((2, 2)), [0, 1]).columns_] == ["x0", "x1"]


def test_a_stopped_token_ends_fit_and_transform():
    token = StopToken()
    frame = pd.DataFrame({"a": ["x", "y"]})
    encoder = Encoder().fit(frame, [0, 1], stop=token)
    token.stop()
    for call in (lambda: encoder.fit(frame, [0, 1], stop=token), lambda: encoder.transform(frame, stop=token)):
        with pytest.raises(Stopped):
            call()


@pytest.mark.parametrize("discretize", ["quantile", None])
@pytest.mark.parametrize("missing", ["level", "skip"])
def test_a_row_alone_has_the_codes_that_it_has_in_its_table(missing, discretize):
    frame = pd.DataFrame({
        "real": [0.5, -0.0, None, 7.25, 2.0**60, 1.0],
        "whole": [3, 1, 2, 4, -5, 2**53 + 1],
        "small": np.array([1, 2, 3, 1, 2, 0], np.uint8),
        "short": np.array([0.1, 0.2, np.nan, 0.3, 0.1, 0.5], np.float32),
        "gaps": pd.array([1, None, 3, 4, 1, 2], "Int64"),
        "text": ["a", "b", None, "1", "1.5", "a"],
        "objects": pd.Series(["x", 1, 1.0, True, None, 2.5], dtype=object),
        "flag": [True, False, True, True, False, False],
        "category": pd.Categorical(["u", None, "v", "u", "w", "v"]),
        "years": pd.Categorical([2020, 2021, 2020, 2020, 2021, 2021], ordered=True),
        "fractions": pd.Categorical([0.5, 1.0, None, 0.5, 2.5, 1.0]),
    })  # fmt: skip
    encoder = Encoder(discretize=discretize, n_bins=3, missing=missing).fit(frame.iloc[:4], [0, 1, 0, 1])
    whole = encoder.transform(frame)
    assert (whole == encoder.levels_[:, None]).any()  # values that training never saw
    for i in range(len(frame)):
        np.testing.assert_array_equal(encoder.transform(frame.iloc[[i]]), whole[:, [i]])
        back = frame.iloc[[i], ::-1]
        np.testing.assert_array_equal(encoder.transform(back), whole[:, [i]])
    for matrix in (
        np.array([[0.5, 3.0], [np.nan, 1e9]]),
        np.array([[1, 2], [3, 4]]),
        np.array([["u", "1"], ["v", "w"]]),
    ):
        encoder = Encoder(discretize=discretize, missing=missing).fit(matrix, [0, 1])
        for i in range(2):
            np.testing.assert_array_equal(encoder.transform(matrix[[i]]), encoder.transform(matrix)[:, [i]])


def test_a_row_alone_is_read_value_by_value_and_refused_as_its_table_is(monkeypatch):
    frame = pd.DataFrame({"age": [1.0, 2.0, None], "name": pd.Categorical(["a", None, "b"])})
    encoder = Encoder(discretize="quantile", n_bins=2).fit(frame, [0, 1, 0])
    for age, message in ((np.inf, "infinite number .row 0."), ("old", "used as numeric"), (10**400, "used as numeric")):
        with pytest.raises(TableError, match=message):
            encoder.transform(pd.DataFrame({"age": pd.Series([age], dtype=object), "name": ["a"]}))
    with pytest.raises(TableError, match="no column 'age'"):
        encoder.transform(frame[["name"]].head(1))
    monkeypatch.setattr(Encoder, "_matching", None)
    assert encoder.transform(frame.iloc[[2]]).tolist() == [[2], [1]]
    assert encoder.transform(np.array([[2.0, "c"]], dtype=object)).tolist() == [[1], [3]]


def test_categories_are_matched_once_a_table(monkeypatch):
    """Not for each of its rows, nor for each of its batches; other categories of the same size are others."""
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", "c"] * 10)})
    encoder = Encoder().fit(frame, [0, 1] * 15)
    asked = []
    code = LevelCodes.code
    monkeypatch.setattr(LevelCodes, "code", lambda self, value: asked.append(value) or code(self, value))
    for begin in (0, 10, 20):
        assert encoder.transform(frame.iloc[begin : begin + 5]).tolist() == [[(begin + i) % 3 for i in range(5)]]
    assert asked == ["a", "b", "c"]
    other = pd.DataFrame({"x": pd.Categorical(["c", "b", "q"], categories=["q", "c", "b"])})
    assert encoder.transform(other).tolist() == [[2, 1, 3]]


def test_intervals_of_whole_numbers_are_named_by_the_numbers_that_lie_in_them():
    years = pd.Series([2012, 2013, 2013, 2014, 2015, 2015, 2016, 2017] * 4, name="year")
    y = [0, 1, 1, 0, 0, 0, 1, 1] * 4
    encoder = Encoder(discretize="mdl")
    encoder.fit(pd.DataFrame({"year": years}), y)
    column = encoder.columns_[0]
    assert column.labels == ("<= 2012", "2013", "2014 to 2015", "> 2015")
    assert [column.labels[code] for code in column.transform(pd.Series([2012, 2013, 2015, 2016]))] == list(
        column.labels
    )
    encoder.fit(pd.DataFrame({"year": years + 0.5}), y)
    assert encoder.columns_[0].labels[1] == "(2013, 2014]", "not whole"
    assert interval_labels(np.array([2.2, 2.6]), whole=True)[1] == "(2.2, 2.6]", "no whole number lies there"
    assert interval_labels(np.array([1.0, np.inf]), whole=True)[1] == "(1, inf]"
