"""Structures: TAN against every tree, KDB by hand, given parents; the information they are made of."""

import numpy as np
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from alrviz.errors import RecipeError
from alrviz.models.structures import (
    Structure,
    class_information,
    conditional_information,
    kdb_structure,
    naive_structure,
    structure_of_parents,
    tan_structure,
)
from tests.fitting.tables import counted, table
from tests.oracles.networks import best_tree, naive_class_information, naive_conditional_information


@pytest.mark.parametrize("weights", [None, "fractions"])
def test_information_equals_the_formulas(weights):
    encoded = table(80, (3, 4, 2, 5), weights=weights, seed=3)
    rows = encoded.codes.tolist(), encoded.y.tolist(), encoded.weights.tolist()
    single, pairs = counted(encoded, 1), counted(encoded, 2)
    of_class, between = class_information(single), conditional_information(pairs)
    np.testing.assert_allclose(of_class, [naive_class_information(*rows, [j]) for j in range(4)], rtol=1e-11)
    np.testing.assert_allclose(
        class_information(pairs), [naive_class_information(*rows, t) for t in pairs.space.tuples], rtol=1e-11
    )
    for i in range(4):
        for j in range(4):
            expected = naive_conditional_information(*rows, i, j) if i != j else 0.0
            assert between[i, j] == pytest.approx(expected, rel=1e-11)


def test_information_by_hand():
    """Two equal columns that equal the class know log 2 of it, and nothing of each other given it."""
    encoded = table(4, (2, 2, 2), 2)
    encoded.codes[:], encoded.y[:] = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], [0, 0, 1, 1]
    np.testing.assert_allclose(class_information(counted(encoded, 1)), [np.log(2), np.log(2), 0.0], atol=1e-15)
    np.testing.assert_allclose(conditional_information(counted(encoded, 2)), np.zeros((3, 3)), atol=1e-15)
    encoded.y[:] = [0, 1, 1, 0]
    between = conditional_information(counted(encoded, 2))  # given the exclusive or, one column is the other
    assert between[0, 2] == pytest.approx(np.log(2))


def test_where_values_are_missing_only_rows_that_have_them_count():
    encoded = table(60, (3, 4), 2, gaps=0.3, seed=1)
    both = (encoded.codes < encoded.levels[:, None]).all(axis=0)
    kept = encoded.take(both)
    np.testing.assert_allclose(
        conditional_information(counted(encoded, 2)), conditional_information(counted(kept, 2)), rtol=1e-12
    )


@hypothesis_given(st.integers(2, 6), st.integers(0, 10**6))
def test_tan_is_the_best_of_all_trees(a, seed):
    information = np.random.default_rng(seed).integers(0, 4, (a, a)) / 4.0  # with ties
    information = np.triu(information, 1) + np.triu(information, 1).T
    structure = tan_structure(information)
    assert [len(own) for own in structure.parents] == [0] + [1] * (a - 1)
    assert sum(information[j, own[0]] for j, own in enumerate(structure.parents) if own) == best_tree(information)
    _check_order(structure)


def test_kdb_by_hand():
    """Columns by falling information on the class: 2, 0, 3, 1; each takes the two closest before it."""
    of_class = np.array([0.5, 0.1, 0.9, 0.3])
    between = np.array([[0, 4, 1, 2], [4, 0, 3, 3], [1, 3, 0, 5], [2, 3, 5, 0]], float)
    two = kdb_structure(of_class, between, 2)
    assert two == Structure(parents=((2,), (0, 2), (), (2, 0)), order=(2, 0, 3, 1))  # 1: of 2 and 3 the first
    assert kdb_structure(of_class, between, 1).parents == ((2,), (0,), (), (2,))
    assert kdb_structure(of_class, between, 0).parents == naive_structure(4).parents
    assert two.cut(1, 3) == Structure(((2,), (0,), (), (2,)), (2, 0, 3))
    _check_order(two)


def test_columns_of_equal_information_keep_their_order():
    assert kdb_structure(np.zeros(3), np.zeros((3, 3)), 1) == Structure(((), (0,), (0,)), (0, 1, 2))


def test_given_parents():
    structure = structure_of_parents({"wet": ["rain", "sprinkler"], "sprinkler": "rain"}, ["wet", "sprinkler", "rain"])
    assert structure.parents == ((2, 1), (2,), ())
    _check_order(structure)


def test_invalid_structure_raises():
    names = ["wet", "rain"]
    with pytest.raises(RecipeError, match=r"structure names 'rian', which is no column; .*did you mean 'rain'"):
        structure_of_parents({"wet": "rian"}, names)
    with pytest.raises(RecipeError, match="circle among wet, rain"):
        structure_of_parents({"wet": "rain", "rain": "wet"}, names)


def _check_order(structure):
    placed = set()
    for j in structure.order:
        assert placed.issuperset(structure.parents[j])
        placed.add(j)
    assert placed == set(range(len(structure.parents)))
