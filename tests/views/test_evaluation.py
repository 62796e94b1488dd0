"""EvaluationView without a browser: rules and their slider, the figures that follow, groups, names that are hostile."""

import io

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.studies.protocols.evaluate import evaluation_of


@pytest.fixture(scope="module")
def found():
    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.NaiveBayesClassifier().fit(data.X[::2], data.y[::2])
    return alrviz.evaluate(model, data.X[1::2], data.y[1::2], rows_text="test rows")


def read(text):
    return pd.read_csv(io.StringIO(text), comment="#")


def test_it_says_how_good_the_model_is(found):
    view = alrviz.EvaluationView(found)
    assert "of 479 test rows are predicted wrongly" in view.sentence.object
    assert view.label == "negative"
    assert "average precision, of negative" in view._numbers_html(), "two classes have two of it"
    assert not view.slider.visible, "nothing to drag where the most probable class is predicted"
    np.testing.assert_array_equal(view.matrix.plot["cells"].data["rows"], found.confusion().to_numpy().ravel())


def test_a_threshold_is_dragged_and_all_figures_follow(found):
    view = alrviz.EvaluationView(found, rule="threshold")
    figures = view.matrix.plot.figure, view.curve.plot.figure
    for t in (0.2, 0.7):
        view.slider.value = t
        at = found.at(t)
        assert view.slider.label == f"Threshold {t:.3f}"
        assert f"{at.tp} of {at.tp + at.fn} found, {at.fp} false alarms" in view.figures_text.object
        assert view.matrix.plot["cells"].data["rows"].tolist() == [at.tp, at.fn, at.fp, at.tn]
        ring = view.curve.plot["ring"].data
        assert (ring["x"], ring["y"]) == ([1 - at.specificity], [at.sensitivity])
    assert (view.matrix.plot.figure, view.curve.plot.figure) == figures, "fed, not made anew"


@pytest.mark.parametrize(("rule", "says"), [("specificity", "at least 0.900"), ("sensitivity", "at least 0.900")])
def test_a_figure_is_matched(found, rule, says):
    view = alrviz.EvaluationView(found)
    view.rules.value = rule
    assert says in view.slider.label
    assert view.rule_figures[rule] >= 0.9
    assert view.rule_figures.threshold == found.at(**{rule: 0.9}).threshold


def test_the_cost_of_a_miss_is_dragged(found):
    view = alrviz.EvaluationView(found, rule="miss", value=0.75)
    assert view.slider.label == "A missed row costs as much as 10 false alarms"
    assert view.rule_figures.threshold == pytest.approx(1 / 11)
    view.value = 0.25
    assert "1/10 false alarms" in view.slider.label
    view.rule = "most"
    assert np.isnan(view.rule_figures.threshold)
    assert view.rule_figures.tp == found.confusion().loc["negative", "negative"]


def test_costs_of_each_class_said_to_be_each_other_are_typed():
    rng = np.random.default_rng(0)
    p, names = rng.dirichlet(np.ones(3), 200), ["a", "b<i>", "c"]
    found = evaluation_of(np.log(p), names, np.array(names)[rng.integers(0, 3, 200)], pd.DataFrame(index=range(200)))
    view = alrviz.EvaluationView(found)
    assert not view.grid.visible
    view.rule = "costs"
    assert view.grid.visible
    assert not view.slider.visible
    cells = view.matrix.plot["cells"].data
    assert cells["rows"].tolist() == found.confusion().to_numpy().ravel().tolist(), "each error costs 1"
    view.grid[0][2].value = 9.0
    assert view.grid[0][2].label == "a as c"
    costs = np.array([[0, 1, 9], [1, 0, 1], [1, 1, 0]])
    expected = found.decided(costs=costs)
    assert view.matrix.plot["cells"].data["rows"].tolist() == expected.confusion().to_numpy().ravel().tolist()
    assert f"A row costs {expected.cost(costs):.4g} on average" in view.figures_text.object
    view.watch(evaluation_of(np.log(p[:, :2]), names[:2], ["a", "b<i>"] * 100, pd.DataFrame(index=range(200))))
    assert (view.costs, len(view.grid)) == ([], 2), "others' costs are not these classes'"
    view.watch(
        evaluation_of(np.full((9, 9), -np.log(9)), list("abcdefghi"), list("abcdefghi"), pd.DataFrame(index=range(9)))
    )
    assert view.rule == "most", "81 numbers are not asked for"
    assert "Costs" not in view.rules.options


def test_pictures_and_their_numbers(found):
    view = alrviz.EvaluationView(found, rule="threshold")
    for picture in ("precision", "lift", "reliability", "groups"):
        view.picture = picture
        assert view.curve.plot is not None
        assert view.column.visible == (picture == "groups")
    view.column.value = "middle_middle"
    assert read(view.csv("groups")).group.tolist() == ["x", "o", "b"]
    assert list(view.curve.plot["groups"].data["x"]) == found.groups("middle_middle").error.tolist()
    assert read(view.csv("classes")).rows.sum() == 479
    assert read(view.csv("curve")).threshold.iloc[1] == found.curve().threshold.iloc[1]
    assert len(read(view.csv("worst"))) == 479
    view._failures.open = view._numbers.open = True
    assert view.worst.object.count("<tr>") == 13
    assert "class shares alone" in view._numbers.table.object
    assert view.origin("ROC").title == "ROC on 479 test rows"
    assert len(view.png()) > 5_000


def test_another_evaluation_keeps_what_fits(found):
    view = alrviz.EvaluationView(found, label="positive", by="top_left")
    view.watch(alrviz.EvaluationView(found).evaluation)
    assert (view.label, view.by) == ("positive", "top_left")
    data = alrviz.load_demo("iris")
    view.watch(alrviz.evaluate(alrviz.NaiveBayesClassifier().fit(data.X, data.y), data))
    assert view.label in data.classes
    assert view.by == data.X.columns[0]
    view.tell("<i>gone</i>")
    assert not view.body.visible
    assert view.csv("classes") == ""


def test_names_from_data_are_shown_and_never_run():
    evil = "<img src=x onerror=alert(1)>"
    X = pd.DataFrame({evil: ["a", evil, "b"]})
    view = alrviz.EvaluationView(evaluation_of(np.log([[0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]), [evil, "no"],
                                               [evil, "no", evil], X))  # fmt: skip
    view._failures.open = view._numbers.open = True
    view.picture = "groups"
    for text in (view.sentence.object, view.figures_text.object, view.worst.object, view._numbers.table.object):
        assert "<img" not in text
    assert "&lt;img" in view._numbers.table.object


def test_one_class_and_thousands_of_classes():
    one = evaluation_of(np.log([[0.4, 0.6], [0.7, 0.3]]), ["a", "b"], ["a", "a"], pd.DataFrame(index=[0, 1]))
    view = alrviz.EvaluationView(one, rule="specificity")
    assert "&ndash;" in view.figures_text.object
    for picture in ("precision", "lift", "reliability", "groups"):
        view.picture = picture
    n = 1500
    p = np.full((n, n), 0.1 / n)
    p[np.arange(n), np.arange(n)] += 0.9
    many = evaluation_of(
        np.log(p), [f"k{k}" for k in range(n)], [f"k{k}" for k in range(n)], pd.DataFrame(index=range(n))
    )
    view.watch(many)
    assert len(view.classes.options) == 200
    assert len(view.matrix.plot["cells"].data["rows"]) == 13**2
    assert "1,470 rarer classes" in view._numbers_html()
