"""Where learning curves of neighbouring orders cross, on curves made by hand."""

import pandas as pd

from alrviz.studies.statistics.crossing import crossings


def curves(**racers):
    """A summary from name=(label, order, {seen: error})."""
    return pd.DataFrame(
        [
            {"racer": k, "label": label, "name": name, "order": order, "seen": seen, "error": error}
            for k, (name, (label, order, points)) in enumerate(racers.items())
            for seen, error in points.items()
        ]
    )


def test_the_higher_order_is_ahead_from_the_point_after_which_it_never_falls_back():
    table = curves(
        one=("lr", 1, {50: 0.4, 100: 0.3, 150: 0.3, 200: 0.3, 400: 0.3}),
        two=("lr", 2, {50: 0.5, 100: 0.2, 150: 0.5, 200: 0.2, 400: 0.1}),
        three=("lr", 3, {50: 0.6, 100: 0.6, 200: 0.1, 400: 0.2}),
    )
    first, second = crossings(table, "error")
    assert (first.lower, first.higher, first.racer, first.n_rows, first.from_start) == ("one", "two", 1, 200, False)
    assert (second.lower, second.higher, second.racer, second.n_rows) == ("two", "three", 2, None)


def test_equal_is_not_ahead_and_means_over_a_handful_of_rows_do_not_count():
    table = curves(
        one=("lr", 1, {5: 0.1, 50: 0.4, 100: 0.3}),
        two=("lr", 2, {5: 0.9, 50: 0.3, 100: 0.2}),
        three=("lr", 3, {5: 0.9, 50: 0.2, 100: 0.2}),
    )
    first, second = crossings(table, "error")
    assert (first.n_rows, first.from_start) == (50, True)
    assert second.n_rows is None


def test_families_are_told_apart_and_two_curves_of_one_order_are_not_compared():
    flat = {50: 0.4, 100: 0.3}
    table = curves(
        lr=("lr", 1, flat),
        alr=("alr", 2, {50: 0.1, 100: 0.1}),
        sgd=("anje", 1, flat),
        other=("anje", 1, flat),
        higher=("anje", 2, flat),
    )
    assert crossings(table, "error") == []


def test_naive_bayes_is_the_first_order_of_anje():
    table = curves(nb=("nb", 1, {50: 0.4, 100: 0.2}), anje=("anje", 2, {50: 0.5, 100: 0.1}))
    (found,) = crossings(table, "error")
    assert (found.lower, found.higher, found.n_rows) == ("nb", "anje", 100)


def test_orders_that_are_not_neighbours_by_number_but_in_the_study_are_compared():
    table = curves(three=("lr", 3, {50: 0.2}), one=("lr", 1, {50: 0.4}))
    (found,) = crossings(table, "error")
    assert (found.lower, found.higher, found.racer, found.from_start) == ("one", "three", 0, True)


def test_a_lead_below_its_standard_error_is_called_slight():
    table = curves(one=("lr", 1, {50: 0.4, 100: 0.30}), two=("lr", 2, {50: 0.3, 100: 0.25}))
    slight = [crossings(table.assign(error_se=error), "error")[0].slight for error in (0.03, 0.04)]
    assert slight == [False, True]  # the difference of .05 has an error of .042, and of .057
    assert not crossings(table, "error")[0].slight
