"""What must not matter: the order of rows, columns, levels, classes; and what weights and constant columns mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alrviz.data.encoded import Encoded
from tests.fitting.tables import drain, prepared_objective, run_of, table

families = st.sampled_from(
    [
        ("lr", {}),
        ("alr", {"start": "one"}),
        ("alr", {"start": "anje"}),
        ("alr", {"scale": "theta-gamma", "start": "one"}),
        ("alr", {"share": "cell"}),
        ("alr", {"share": "tuple", "start": "anje"}),
        ("alr", {"scale": "theta-gamma", "share": "all"}),
        ("lr", {"scale": "diagonal", "start": "anje"}),
        ("lr", {"scale": "diagonal-adaptive", "penalty": "phi"}),
    ]
)
settings_of = st.fixed_dictionaries(
    {
        "order": st.integers(1, 3),
        "alpha": st.sampled_from([0.0, 0.7]),
        "penalty": st.sampled_from(["phi", "w"]),
        "center": st.sampled_from([0, "anje"]),
        "smoothing": st.sampled_from([0.1, 1.0]),
        "missing": st.just("skip"),
    }
)
tables = st.builds(
    table,
    st.integers(5, 60),
    st.lists(st.integers(1, 5), min_size=3, max_size=5),
    st.integers(2, 5),
    seed=st.integers(0, 10**6),
    weights=st.sampled_from([None, "whole", "fractions"]),
    gaps=st.sampled_from([0.0, 0.2]),
)
few = settings(max_examples=15)


def same_fit(one, other, family, params, tolerance=1e-6):
    """F at the start, and after three steps of L-BFGS, is the same to rounding."""
    a, b = (drain(run_of(encoded, family, max_iter=3, tol=0.0, **params)).trace for encoded in (one, other))
    assert b[0].objective == pytest.approx(a[0].objective, rel=1e-11)
    assert len(a) == len(b)
    assert b[-1].objective == pytest.approx(a[-1].objective, rel=tolerance, abs=1e-9)


def changed(encoded, **more):
    parts = {name: getattr(encoded, name) for name in ("codes", "y", "weights", "levels", "classes", "names")}
    return Encoded(**{**parts, **more})


@few
@given(tables, families, settings_of, st.randoms())
def test_the_order_of_rows_does_not_matter(encoded, family, params, random):
    order = np.array(random.sample(range(encoded.n_rows), encoded.n_rows))
    same_fit(encoded, encoded.take(order), family[0], params | family[1])


@few
@given(tables, families, settings_of, st.randoms())
def test_the_order_of_columns_does_not_matter(encoded, family, params, random):
    order = np.array(random.sample(range(encoded.n_columns), encoded.n_columns))
    names = tuple(encoded.names[j] for j in order)
    other = changed(encoded, codes=encoded.codes[order], levels=encoded.levels[order], names=names)
    same_fit(encoded, other, family[0], params | family[1])


@few
@given(tables, families, settings_of, st.randoms())
def test_the_order_of_levels_does_not_matter(encoded, family, params, random):
    codes = encoded.codes.copy()
    for j, top in enumerate(encoded.levels):
        codes[j] = np.array([*random.sample(range(int(top)), int(top)), top])[encoded.codes[j]]  # "no level" stays
    same_fit(encoded, changed(encoded, codes=codes), family[0], params | family[1])


@few
@given(tables, families, settings_of, st.randoms())
def test_the_order_of_classes_does_not_matter(encoded, family, params, random):
    order = np.array(random.sample(range(encoded.n_classes), encoded.n_classes))
    other = changed(encoded, y=order[encoded.y].astype(np.int32))
    a, b = (run_of(e, family[0], max_iter=2, tol=0.0, **(params | family[1])) for e in (encoded, other))
    drain(a), drain(b)
    assert b.trace[0].objective == pytest.approx(a.trace[0].objective, rel=1e-11)
    assert b.trace[-1].objective == pytest.approx(a.trace[-1].objective, rel=1e-6, abs=1e-9)


@few
@given(tables, families, settings_of)
def test_a_row_twice_is_a_row_of_weight_two(encoded, family, params):
    rng = np.random.default_rng(encoded.n_rows)
    times = rng.integers(1, 4, encoded.n_rows)
    weighted = changed(encoded, weights=encoded.weights * times)
    same_fit(weighted, encoded.take(np.repeat(np.arange(encoded.n_rows), times)), family[0], params | family[1])


@few
@given(tables, families, settings_of)
def test_a_row_of_weight_zero_is_absent(encoded, family, params):
    weights = encoded.weights.copy()
    weights[encoded.n_classes :: 3] = 0.0  # every class keeps a row
    present = encoded.take(weights > 0)
    # the levels are the training rows' own: one that only absent rows have is a level that nobody has
    same_fit(changed(encoded, weights=weights), present, family[0], params | family[1])


@few
@given(tables, st.sampled_from(["lr", "alr"]), st.sampled_from([0.1, 1.0]))
def test_a_constant_column_changes_only_intercepts_at_order_one(encoded, family, smoothing):
    """It adds the same to every row: without a penalty all else stays as it was."""
    wider = changed(
        encoded,
        codes=np.concatenate([encoded.codes, np.zeros((1, encoded.n_rows), encoded.codes.dtype)]),
        levels=np.append(encoded.levels, 1),
        names=(*encoded.names, "constant"),
    )
    params = {"order": 1, "alpha": 0.0, "smoothing": smoothing, "missing": "skip"}
    (narrow, _), (wide, _) = (prepared_objective(e, family, **params) for e in (encoded, wider))
    cells = len(narrow.scale) - 1
    np.testing.assert_allclose(wide.scale[:cells], narrow.scale[:cells], rtol=1e-12)
    np.testing.assert_allclose(wide.scale[-1], narrow.scale[-1], rtol=1e-12)
    assert (wide.scale[cells] == (1 if family == "lr" else 0)).all()  # theta of a constant column is 1
    rng = np.random.default_rng(0)
    w = rng.normal(size=narrow.scale.shape)
    shifted = np.insert(w, cells, 1.5, axis=0)
    shifted[-1] -= 1.5 * wide.scale[cells] / wide.scale[-1]
    scores = [of.model(v).scores(e.codes, 1) for of, v, e in ((wide, shifted, wider), (narrow, w, encoded))]
    np.testing.assert_allclose(*scores, rtol=1e-10, atol=1e-9)
    model, other = (
        drain(run_of(e, "anje", **{k: v for k, v in params.items() if k != "alpha"})) for e in (encoded, wider)
    )
    assert other.trace[0].nll == pytest.approx(model.trace[0].nll, rel=1e-12)
