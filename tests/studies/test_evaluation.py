"""Evaluation by hand and beside scikit-learn: confusion, figures at a threshold, groups, weights, classes absent."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binomtest, norm
from sklearn import metrics
from sklearn.ensemble import RandomForestClassifier

import alrviz
from alrviz.errors import TableError
from alrviz.studies.core.compute_task import compute
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.protocols.evaluate import evaluate_predictions, evaluation_of, out_of_fold
from alrviz.studies.statistics.evaluation import wilson
from alrviz.studies.statistics.measures import auc_error
from alrviz.studies.statistics.row_groups import OTHER


def of(p, y, classes=None, X=None, **more):
    """The evaluation of probabilities; of one number a row it is the second class's."""
    p = np.asarray(p, float)
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    classes = ["no", "yes"] if classes is None else classes
    with np.errstate(divide="ignore"):
        return evaluation_of(np.log(p), classes, y, pd.DataFrame(index=range(len(p))) if X is None else X, **more)


def drawn(n=400, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    y = np.array([rng.choice(classes, p=row) for row in p])
    X = pd.DataFrame({"colour": rng.choice(list("abc"), n), "size": rng.normal(size=n)})
    return p, y, [f"c{k}" for k in range(classes)], X


@pytest.fixture
def small():
    """Ten rows, three of them "yes"; at .5 two of these are found, and two others are taken for one."""
    return of([0.9, 0.6, 0.3, 0.8, 0.5, 0.4, 0.2, 0.1, 0.1, 0.0], ["yes"] * 3 + ["no"] * 7)


def test_a_two_by_two_table_by_hand(small):
    found = small.at(0.5)
    assert found[["tp", "fp", "fn", "tn"]].tolist() == [2, 2, 1, 5]
    rates = ["sensitivity", "specificity", "ppv", "npv", "accuracy", "positive", "lift"]
    np.testing.assert_allclose(found[rates].astype(float), [2 / 3, 5 / 7, 2 / 4, 5 / 6, 7 / 10, 4 / 10, (2 / 4) / 0.3])
    assert small.class_of_interest == "yes", "the rarer one"
    decided = small.decided(0.5)
    assert decided.confusion().to_numpy().tolist() == [[5, 2], [1, 2]]
    assert decided.confusion("true").loc["yes", "yes"] == pytest.approx(2 / 3)
    assert decided.confusion("pred").loc["no", "no"] == pytest.approx(5 / 6)
    assert small.confusion().to_numpy().tolist() == [[6, 1], [1, 2]], "of equal ones the first class"


def test_matched_thresholds_by_hand(small):
    """Of the seven "no" six lie below .8: specificity 6/7 begins at .6."""
    found = small.at(specificity=0.8)
    assert (found.threshold, found.tp, found.fp) == (0.6, 2, 1)
    assert small.at(specificity=1.0)[["threshold", "tp", "fp"]].tolist() == [0.9, 1, 0]
    assert small.at(sensitivity=1.0)[["threshold", "tp", "fp"]].tolist() == [0.3, 3, 3]
    assert small.at(miss=1)[["threshold", "tp"]].tolist() == [0.5, 2]
    assert small.at(miss=4)[["threshold", "tp", "fp"]].tolist() == [0.2, 3, 4]
    assert small.at(1.0)[["tp", "fp"]].tolist() == [0, 0]
    assert np.isnan(small.at(1.0).ppv), "nothing is predicted so"


def test_costs_decide_the_predicted_class(small):
    """A missed row that costs four false alarms is the threshold 1/5; of three classes by hand."""
    costs = [[0, 1], [4, 0]]
    cheap = small.decided(costs=costs)
    assert cheap.confusion().equals(small.decided(0.2 + 1e-9).confusion())
    assert cheap.cost(costs) < small.cost(costs)
    three = of([[0.5, 0.3, 0.2]], ["a"], list("abc"))
    assert three.decided(costs=[[0, 1, 1], [9, 0, 9], [1, 1, 0]]).predicted.tolist() == [1]
    assert three.decided(0.2, "c").predicted.tolist() == [2]
    assert three.decided(0.21, "c").predicted.tolist() == [0]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_figures_are_scikit_learns(classes):
    p, y, names, X = drawn(classes=classes)
    found, predicted = of(p, [names[k] for k in y], names, X), p.argmax(axis=1)
    total = found.summary()
    assert total.log_loss == pytest.approx(metrics.log_loss(y, p))
    assert total.error == pytest.approx(1 - metrics.accuracy_score(y, predicted))
    assert total.balanced_error == pytest.approx(1 - metrics.balanced_accuracy_score(y, predicted))
    assert total.brier == pytest.approx(metrics.brier_score_loss(y, p, scale_by_half=False))
    share = np.bincount(y) / len(y)
    assert total.shares_log_loss == pytest.approx(metrics.log_loss(y, np.tile(share, (len(y), 1))))
    if classes > 2:
        assert total.auc == pytest.approx(metrics.roc_auc_score(y, p, multi_class="ovr"))
    for k, name in enumerate(names):
        line = found.by_class().set_index("class").loc[name]
        assert line.auc == pytest.approx(metrics.roc_auc_score(y == k, p[:, k]))
        assert line.average_precision == pytest.approx(metrics.average_precision_score(y == k, p[:, k]))
        assert line.sensitivity == pytest.approx(metrics.recall_score(y == k, predicted == k))
        assert line.ppv == pytest.approx(metrics.precision_score(y == k, predicted == k))
        curve = found.curve(name)
        fpr, tpr, _ = metrics.roc_curve(y == k, p[:, k], drop_intermediate=False)
        np.testing.assert_allclose(curve.sensitivity, tpr)
        np.testing.assert_allclose(1 - curve.specificity, fpr, atol=1e-12)
        at = found.at(0.3, label=name)
        assert at.sensitivity == pytest.approx(metrics.recall_score(y == k, p[:, k] >= 0.3))
        assert at.npv == pytest.approx(metrics.precision_score(y != k, p[:, k] < 0.3))
        assert at.accuracy == pytest.approx(metrics.accuracy_score(y == k, p[:, k] >= 0.3))
        counts = found.as_predicted(name)[["tn", "fp", "fn", "tp"]]
        assert counts.tolist() == metrics.confusion_matrix(y == k, predicted == k).ravel().tolist()
    table = metrics.confusion_matrix(y, predicted)
    np.testing.assert_array_equal(found.confusion(), table)
    for line in found.confusions(100).itertuples(index=False):
        i, k = names.index(line[0]), names.index(line.predicted)
        assert (line.rows, line.share) == (table[i, k], pytest.approx(table[i, k] / table[i].sum()))


def test_weights_are_repeated_rows():
    """But for the bins of the reliability curve, where no row is divided, and for intervals: a row that counts three
    times tells no more than one.
    """
    p, y, names, X = drawn(200)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    labels = np.array(names)[y]
    one, other = of(p, labels, names, X, sample_weight=weight), of(p[again], labels[again], names, X.iloc[again])
    same = [
        name for name in one.summary().index if name not in ("rows", "ece", "error_low", "error_high", "log_loss_error")
    ]
    np.testing.assert_allclose(one.summary()[same].astype(float), other.summary()[same].astype(float))
    np.testing.assert_allclose(one.confusion(), other.confusion())
    for made in ({"threshold": 0.3}, {"specificity": 0.9}, {"miss": 3}):
        left, right = (e.at(label="c1", **made).drop("class").astype(float) for e in (one, other))
        np.testing.assert_allclose(left, right)
    columns = ["error", "low", "high", "log_loss", "share", "predicted", "p", "sensitivity", "specificity"]
    merged = one.groups("colour")[columns] - other.groups("colour")[columns]
    assert merged.drop(columns=["low", "high"]).abs().max().max() < 1e-12
    assert one.reliability().rows.sum() == pytest.approx(len(again))
    assert one.reliability("c0").rows.sum() == pytest.approx(len(again))
    with pytest.raises(TableError, match="expected 200 finite numbers"):
        of(p, labels, names, X, sample_weight=-np.ones(200))


def test_lift_and_reliability_by_hand(small):
    """The first two of ten rows by probability hold one of three: lift (1/2) / .3; the whole has lift 1."""
    curve = small.curve()
    assert curve.lift.iloc[2] == pytest.approx(0.5 / 0.3)
    assert (curve.positive.iloc[-1], curve.lift.iloc[-1]) == (1.0, pytest.approx(1.0))
    table = small.reliability("yes", bins=2)
    assert table.rows.tolist() == [5, 5]
    np.testing.assert_allclose(table.confidence, [(0 + 0.1 + 0.1 + 0.2 + 0.3) / 5, (0.4 + 0.5 + 0.6 + 0.8 + 0.9) / 5])
    np.testing.assert_allclose(table.accuracy, [1 / 5, 2 / 5])


def test_groups_beside_each_other():
    p, y, names, X = drawn(300)
    found = of(p, np.array(names)[y], names, X)
    table = found.groups("colour", "c1").set_index("group")
    for colour, part in table.iterrows():
        rows = (X.colour == colour).to_numpy()
        wrong = int((p[rows].argmax(axis=1) != y[rows]).sum())
        interval = binomtest(wrong, int(rows.sum())).proportion_ci(method="wilson")
        assert (part.rows, part.error) == (rows.sum(), pytest.approx(wrong / rows.sum()))
        assert (part.low, part.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
        assert part.shares_error == pytest.approx(1 - np.bincount(y[rows]).max() / rows.sum())
        assert part.log_loss == pytest.approx(metrics.log_loss(y[rows], p[rows], labels=[0, 1, 2]))
        own = np.tile(np.bincount(y[rows], minlength=3) / rows.sum(), (rows.sum(), 1))
        assert part.shares_log_loss == pytest.approx(metrics.log_loss(y[rows], own, labels=[0, 1, 2]))
        mine, said, losses = y[rows] == 1, p[rows].argmax(axis=1) == 1, -np.log(p[rows, y[rows]])
        assert part.sensitivity == pytest.approx(metrics.recall_score(mine, said))
        assert part.specificity == pytest.approx(metrics.recall_score(~mine, ~said))
        shares = [part.share, part.predicted, part.p]
        np.testing.assert_allclose(shares, [mine.mean(), said.mean(), p[rows, 1].mean()])
        assert part.standard_error == pytest.approx(losses.std(ddof=1) / np.sqrt(rows.sum()))
    assert table.rows.sum() == 300
    assert len(found.groups("size")) == 4, "numbers by quarters"
    seconds = found.groups(1_600_000_000 + np.arange(300))
    assert seconds.rows.tolist() == [75] * 4
    assert seconds.group.is_unique
    assert found.groups(np.r_[np.full(80, -np.inf), np.arange(140), np.full(80, np.inf)]).rows.sum() == 300
    gaps = found.groups(["(missing)", None] * 150)
    assert gaps.group.tolist() == ["(missing)", "((missing))"]
    many = found.groups([f"g{k % 40}" for k in range(300)])
    assert len(many) == 13
    assert many.group.iloc[-1] == OTHER
    assert found.groups([None if k < 30 else "a" for k in range(300)]).rows.tolist() == [270, 30]
    ordered = pd.Categorical(["low", "high", "high"] * 100, categories=["low", "mid", "high"], ordered=True)
    in_order = replace(found, X=X.assign(grade=ordered)).groups("grade")
    assert in_order.group.tolist() == ["low", "high"], "levels with an order stand in it"
    with pytest.raises(TableError, match=r"'color'.*'colour'"):
        found.groups("color")


def test_the_calibration_error_that_chance_gives():
    """Of right probabilities it is the mean over draws of the classes."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 200)
    p = np.column_stack([1 - p, p])
    draws = [of(p, np.array(["a", "b"])[(rng.random(200) < p[:, 1]).astype(int)], ["a", "b"], None) for _ in range(120)]
    assert draws[0].chance_ece() == pytest.approx(np.mean([one.summary().ece for one in draws]), rel=0.06)
    for unit in (1 / 200, 1000.0):  # whatever rows are weighed in
        again = replace(draws[0], weight=np.full(200, unit))
        assert again.chance_ece() == pytest.approx(draws[0].chance_ece(), rel=0.01)
    uneven = [replace(one, weight=1 + 20 * (np.arange(200) % 10 == 0)) for one in draws]
    assert uneven[0].chance_ece() == pytest.approx(np.mean([one.summary().ece for one in uneven]), rel=0.06)
    assert uneven[0].chance_ece() > 1.3 * draws[0].chance_ece()


def test_the_worst_rows_come_first():
    p, y, names, X = drawn(50)
    worst = of(p, np.array(names)[y], names, X).worst(5)
    loss = -np.log(p[np.arange(50), y])
    np.testing.assert_allclose(worst.loss, np.sort(loss)[::-1][:5])
    assert worst.index.tolist() == np.argsort(-loss)[:5].tolist()
    assert worst.colour.tolist() == X.colour[worst.index].tolist()
    own, said = (p[worst.index, k[worst.index]] for k in (y, p.argmax(axis=1)))
    np.testing.assert_allclose(worst[["p", "p_predicted"]], np.column_stack([own, said]))
    assert worst.predicted.tolist() == [names[k] for k in p[worst.index].argmax(axis=1)]
    other = of(p, np.array(names)[y], names, X).decided(0.0, "c1").worst(5)
    np.testing.assert_allclose(other.p_predicted, p[worst.index, 1])


def test_classes_that_are_not_there():
    """A class without rows has no curve; one that the model does not know is said, and its rows are lost."""
    p = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.6, 0.2, 0.2]]
    found = of(p, ["a", "b", "b"], list("abc"))
    assert found.confusion().loc["c"].sum() == 0
    assert found.confusion("true").loc["c"].sum() == 0
    assert np.isnan(found.by_class().set_index("class").auc["c"])
    assert found.summary()["classes"] == 2
    strange = of(p, ["a", "z", "b"], list("abc"))
    assert strange.classes == ("a", "b", "c", "z")
    assert strange.rows_text == "rows"
    assert strange.notes == ("1 row is of a class that the model has not learned: 'z'",)
    assert strange.error == pytest.approx(2 / 3)
    assert np.isfinite(strange.summary().log_loss)
    left = of(p, ["a", None, "b"], list("abc"))
    assert (len(left.y), left.notes) == (2, ("1 row has no class and is left out",))
    with pytest.raises(TableError, match="no rows with a class"):
        of(p, [None] * 3, list("abc"))


def test_one_class_alone_has_figures_and_no_curves():
    found = of([0.2, 0.6], ["no", "no"])
    assert found.summary()[["error", "shares_error", "shares_log_loss"]].tolist() == [0.5, 0.0, 0.0]
    assert np.isnan(found.summary().auc)
    assert found.class_of_interest == "no"
    with pytest.raises(TableError, match="no row is of this class"):
        found.at(label="yes", sensitivity=0.5)
    assert np.isnan(found.at(label="yes").sensitivity)
    assert len(found.groups(["x", "y"])) == 2


def test_thousands_of_classes():
    """The matrix of those most often confused, the rest as one; no mean of thousands of curves."""
    rng = np.random.default_rng(0)
    n, classes = 3000, 2000
    y = rng.integers(0, classes, n)
    p = np.full((n, classes), 0.1 / classes)
    p[np.arange(n), np.where(rng.random(n) < 0.7, y, 7)] += 0.9
    found = of(p, [f"k{k}" for k in y], [f"k{k}" for k in range(classes)])
    matrix = found.confusion(max_classes=10)
    assert matrix.shape == (11, 11)
    assert matrix.to_numpy().sum() == n
    assert "k7" in matrix
    assert (matrix.index[-1], np.isnan(found.summary().auc)) == (OTHER, True)
    assert found.confusions(3)["predicted"].tolist() == ["k7"] * 3
    assert len(found.by_class(5)) == 5


def test_a_model_its_file_and_a_forest_are_evaluated(tmp_path):
    data = alrviz.load_demo("tic-tac-toe")
    X, y, rest, labels = data.X[:700], data.y[:700], data.X[700:], data.y[700:]
    model = alrviz.NaiveBayesClassifier().fit(X, y)
    found = alrviz.evaluate(model, rest, labels)
    assert found.summary().log_loss == pytest.approx(metrics.log_loss(labels, model.predict_proba(rest)))
    alrviz.save_model(model, tmp_path / "model.zip", dataset=data)
    data.frame[700:].to_csv(tmp_path / "new.csv", index=False)
    again = alrviz.evaluate(tmp_path / "model.zip", tmp_path / "new.csv", data.target)
    assert again.summary().tolist() == pytest.approx(found.summary().tolist())
    assert list(again.worst(1).columns[5:]) == list(data.X.columns)
    codes = rest.apply(lambda column: column.cat.codes)
    forest = RandomForestClassifier(5, random_state=0).fit(X.apply(lambda column: column.cat.codes), y == "positive")
    theirs = alrviz.evaluate(forest, codes, labels == "positive")
    assert theirs.classes == ("False", "True")
    assert theirs.error == pytest.approx(1 - forest.score(codes, labels == "positive"))
    assert alrviz.evaluate(model, data).summary()["rows"] == 958
    with pytest.raises(TableError, match="no column 'kind'"):
        evaluate_predictions(alrviz.predict_table(model, rest, keep="all"), (), "kind")
    with pytest.raises(TableError, match="a class for each row"):
        alrviz.evaluate(model, rest, labels[:5])


def test_labels_are_the_models_whatever_their_type():
    for given, classes in itertools.product(([0, 1, 1], [0.0, 1.0, 1.0], ["0", "1", "1"]), ([0, 1], ["0", "1"])):
        assert of([0.2, 0.7, 0.4], given, classes).confusion().to_numpy().tolist() == [[1, 0], [1, 1]]


def test_a_run_is_judged_on_the_rows_that_it_held_out():
    run = alrviz.Run(alrviz.load_demo("tic-tac-toe"), alrviz.Recipe("alr", order=1, alpha=1.0))
    steps = list(run.steps())
    found = alrviz.evaluate(run)
    assert found.rows_text == "test rows of tic-tac-toe"
    assert found.summary().log_loss == pytest.approx(steps[-1].extra["heldout_log_loss"])
    assert found.error == pytest.approx(steps[-1].extra["heldout_error"])


def test_rows_left_out_in_turn_are_judged_as_the_study_did():
    study = alrviz.choose_order(alrviz.load_demo("monks-1"), orders=(0, 1, 2), repeats=2, folds=3, n_jobs=1)
    found = out_of_fold(study, 1)
    table = SentTable.from_dataset(study.dataset)
    tasks = [task for task in study.tasks if task.racer == 1 and task.split.repeat == 0]
    rows = [compute(task, table).rows[0] for task in tasks]
    assert len(found.y) == study.dataset.n_rows
    sizes = [row["test_rows"] for row in rows]
    assert found.summary().log_loss == pytest.approx(np.average([row["log_loss"] for row in rows], weights=sizes))
    assert found.rows_text == "left-out rows of monks-1 (3 folds)"


def test_wilsons_interval_holds_at_the_ends():
    for wrong, rows in ((0, 5), (5, 5), (1, 1000)):
        theirs = binomtest(wrong, rows).proportion_ci(method="wilson")
        np.testing.assert_allclose(wilson(wrong / rows, rows), (theirs.low, theirs.high), atol=1e-12)


def test_columns_without_names_are_called_by_their_numbers():
    X, y = np.arange(40).reshape(20, 2) % 3, np.arange(20) % 2
    found = alrviz.evaluate(alrviz.NaiveBayesClassifier().fit(X, y), X, y)
    assert found.groups("1").rows.sum() == 20


def test_a_run_over_batches_is_judged_on_some_of_its_held_out_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))
    monkeypatch.setattr("alrviz.studies.protocols.evaluate.MAX_STREAM_ROWS", 100)
    data = alrviz.load_demo("monks-1")
    data.frame.to_parquet(tmp_path / "monks.parquet")
    run = alrviz.Run(alrviz.open_table(tmp_path / "monks.parquet"), alrviz.Recipe("anje", order=1, holdout=0.5))
    with pytest.raises(alrviz.AlrvizError):
        alrviz.evaluate(run)
    run.start()
    run.join()
    found = alrviz.evaluate(run)
    assert len(found.y) == 100
    assert re.search(r"100 of 2\d\d test rows, drawn at random", found.notes[0])
    rows = found.X.astype(data.X.dtypes.to_dict())
    np.testing.assert_allclose(found.log_p, alrviz.estimator_of(run).predict_log_proba(rows), atol=1e-12)
    unheld = alrviz.Run(run.dataset, alrviz.Recipe("anje", order=1, holdout=0.0))
    unheld.start()
    unheld.join()
    assert alrviz.evaluate(unheld).rows_text.startswith("training rows")


def test_unevaluable_input_raises_with_the_reason():
    with pytest.raises(TableError, match="probabilities of 2 rows are NaN"):
        of([0.3, np.nan, np.nan], ["yes", "no", "no"])
    with pytest.raises(TableError, match="two classes are called '1'"):
        of([0.3, 0.4], ["1", "1"], [1, "1"])
    data = alrviz.load_demo("xor", 100)
    model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    with pytest.raises(TableError, match=r"'bit_1'.*'class'"):
        alrviz.evaluate(model, data, "bit_1")


def test_a_run_over_batches_is_taken_apart_and_reported_by_some_of_its_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))
    monkeypatch.setattr("alrviz.studies.effects.interactions.MAX_ROWS", 150)
    data = alrviz.load_demo("monks-1")
    data.frame.to_parquet(tmp_path / "monks.parquet")
    stream = alrviz.open_table(tmp_path / "monks.parquet")
    run = alrviz.Run(stream, alrviz.Recipe("hlr", order=2, alpha=1.0, holdout=0.3))
    run.start()
    run.join()
    found = alrviz.interactions(run)
    assert found.encoded.n_rows == 150
    assert found.has_heldout
    assert re.search(r"Measured on 150 of \d+ training rows, drawn at random\.$", found.verdict().detail)
    scores = found.pure.scores(found.encoded.codes)
    own = run.model.scores(found.encoded.codes)
    np.testing.assert_allclose(scores, own - own.mean(axis=1, keepdims=True), atol=1e-10)
    alrviz.save_report(run, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "of a table of 432 rows" in text
    assert "is read in batches" in text
    assert "alrviz.open_table(FILE" in text


def test_the_error_of_an_auc_is_delongs_and_its_interval_covers():
    """By the definition: placements of each row, pair by pair; then 200 tables of a known AUC."""
    rng = np.random.default_rng(0)
    score, mine = rng.integers(0, 6, 40).astype(float), rng.random(40) < 0.4
    pairs = (score[mine][:, None] > score[~mine]) + 0.5 * (score[mine][:, None] == score[~mine])
    m, n = pairs.shape
    expected = np.sqrt(pairs.mean(axis=1).var(ddof=1) / m + pairs.mean(axis=0).var(ddof=1) / n)
    assert auc_error(score, mine) == pytest.approx(expected)
    assert np.isnan(auc_error(score, np.arange(40) == 3))
    true, covered = norm.cdf(1.5 / np.sqrt(2)), {"auc": 0, "error": 0}
    for _ in range(200):
        y = rng.random(150) < 0.3
        x = rng.normal(size=150) + 1.5 * y
        said = of(expit(1.5 * x - 1.125 + np.log(0.3 / 0.7)), np.where(y, "yes", "no")).summary()
        covered["auc"] += said.auc_low <= true <= said.auc_high
        half = -np.log(0.3 / 0.7) / 1.5 + 0.75  # where the probability is a half
        error = 0.3 * norm.cdf(half - 1.5) + 0.7 * norm.sf(half)
        covered["error"] += said.error_low <= error <= said.error_high
    assert all(0.91 <= hits / 200 <= 0.99 for hits in covered.values()), covered


def test_a_mean_and_its_error_count_rows_of_equal_weight():
    p, y, classes, X = drawn(300)
    plain = of(p, y, classes, X).summary()
    losses = -np.log(p[np.arange(300), [classes.index(label) for label in y]]) if isinstance(y[0], str) else None
    weighted = of(p, y, classes, X, sample_weight=np.full(300, 2.5)).summary()
    for name in ("log_loss", "log_loss_error", "error_low", "error_high"):
        assert weighted[name] == pytest.approx(plain[name])
    if losses is not None:
        assert plain.log_loss_error == pytest.approx(losses.std(ddof=1) / np.sqrt(300))
