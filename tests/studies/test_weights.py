"""A column of weights: whole weights are repeated rows in fits, folds, studies, evaluations and reports."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import alrviz
from alrviz import Recipe
from alrviz.data import splits
from alrviz.data.read import read_table
from alrviz.errors import DoubtfulTableWarning, RecipeError, TableError
from alrviz.fitting.families import FAMILIES
from alrviz.studies.core.compute_task import compute
from alrviz.studies.core.study_task import fold_tasks
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.protocols.alpha_path import alpha_path
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.choose_order import choose_order
from alrviz.studies.protocols.evaluate import evaluate, out_of_fold
from alrviz.studies.protocols.learning_curve import learning_curve
from alrviz.studies.protocols.report_facts import report_facts
from alrviz.studies.race.milestones import heldout_losses
from alrviz.studies.race.reference_fit import fit_reference
from alrviz.views.report.page import report_html

ROWS = 160
LR = Recipe("lr", order=1, alpha=1.0, tol=1e-10)


def noisy(seed=0):
    """Rows of persons, each with a whole weight; the class follows a number and a pair of texts."""
    random = np.random.default_rng(seed)
    made = pd.DataFrame({"a": random.normal(size=ROWS).round(1), "b": random.choice(list("uvw"), ROWS)})
    made["c"] = random.choice(list("st"), ROWS)
    made["w"], made["person"] = random.integers(1, 4, ROWS), np.arange(ROWS)
    odds = made.a + 2 * (made.b == "u") * (made.c == "s") - 0.5
    made["class"] = np.where(random.random(ROWS) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return made


@pytest.fixture(scope="module", autouse=True)
def folds_by_first_rows():
    """Folds that are drawn from one row of each group are the same whether rows are weighed or repeated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "MAX_STRATIFIED_GROUPS", 0)
        yield


@pytest.fixture(scope="module")
def tables():
    """The same rows, weighed and repeated."""
    made, kinds = noisy(), {"person": "group", "b": "categorical", "c": "categorical"}
    again = made.loc[made.index.repeat(made.w)].reset_index(drop=True)
    return read_table(made, "class", w="weight", **kinds), read_table(again, "class", w="ignore", **kinds)


# Of what rows are drawn for, other rows may be drawn; no row is divided between the bins of a calibration curve.
DRAWS = {"rf", "hgb", "svm"}
FITTED = [
    LR, LR.replace(order=2), LR.replace(discretize="quantile"), LR.replace(discretize="smooth"),
    LR.replace(alpha="cv"), LR.replace(alpha="auto"),
    Recipe("hlr", order="auto", alpha="auto", discretize="auto", center="shares"),
    LR.replace(order=2, class_weight="balanced"), Recipe("alr", order=2, tol=1e-9, alpha=1.0),
    Recipe("alr", order=2, objective="mse", tol=1e-9, alpha=1.0), Recipe("hlr", order=2, alpha=(1.0, 2.0), tol=1e-9),
    Recipe("salr", order=2, keep="auto", tol=1e-9, alpha=1.0), Recipe("dlr", alpha=1, bandwidth="validation"),
    Recipe("elr", cross_tuning=True),
    *(
        Recipe(name, **({"alpha": 1.0} if "alpha" in family.params else {}))
        for name, family in FAMILIES.items()
        if name not in {*DRAWS, "lr", "dlr", "elr"}
    ),
]  # fmt: skip


@pytest.mark.parametrize("recipe", FITTED, ids=lambda recipe: recipe.name)
def test_a_fold_of_weighed_rows_is_that_of_repeated_rows(tables, recipe):
    weighed, repeated = (
        compute(
            fold_tasks(table.hash, [recipe], splits.repeated_folds(1, 3, 1), 0)[0], SentTable.from_dataset(table)
        ).rows[0]
        for table in tables
    )
    assert weighed["outcome"] not in ("failed", "diverged"), weighed["sentence"]
    assert weighed["test_rows"] < repeated["test_rows"]
    for name in ("log_loss", "error", "rmse", "balanced_error", "average_precision_loss", "train_log_loss"):
        assert weighed[name] == pytest.approx(repeated[name], rel=2e-5, nan_ok=True), name


def test_scikit_learn_finds_the_same_coefficients():
    made = noisy(1).assign(w=lambda own: own.w / 3.7)  # a survey's weights: N rows count as N
    dataset = read_table(made, "class", w="weight", person="ignore", a="ignore", b="categorical")
    levels = pd.get_dummies(dataset.X).assign(one=1.0).to_numpy(float)  # the intercept has a penalty, too
    weights = (made.w / made.w.mean()).to_numpy()
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-12, fit_intercept=False).fit(
        levels, dataset.y, weights
    )
    recipe = Recipe("lr", order=1, alpha=1.0, holdout=0.0, tol=0.0)
    run = alrviz.Run(dataset, recipe)
    for _ in run.steps():
        pass
    ours = run.model.scores_of(run.encoded)
    found = ours[:, 1] - ours[:, 0]
    np.testing.assert_allclose(found, theirs.decision_function(levels), atol=1e-6)
    plain = alrviz.Run(dataset.with_kinds(w="ignore"), recipe)
    for _ in plain.steps():
        pass
    other = plain.model.scores_of(plain.encoded)
    assert np.abs(other[:, 1] - other[:, 0] - found).max() > 0.05


def test_studies_of_weighed_rows_are_those_of_repeated_rows(tables):
    def figures(make, names):
        both = [make(table).run() for table in tables]
        weighed, repeated = (study.summary() for study in both)
        for name in names:
            np.testing.assert_allclose(
                weighed[name].astype(float), repeated[name].astype(float), rtol=1e-5, err_msg=name
            )
        return both

    parts = ["error", "bias", "variance", "bias_unbiased", "variance_domingos", "bias_se"]
    studies = figures(lambda table: bias_variance(table, [LR], rounds=3, n_jobs=1), parts)
    first, second = (out_of_fold(study, 0) for study in studies)
    same_evaluation(first, second)
    figures(lambda table: alpha_path(table, LR, repeats=2, n_jobs=1), ["log_loss", "error", "rmse", "train_log_loss"])
    orders = figures(lambda table: choose_order(table, LR, orders=(0, 1, 2), repeats=1, n_jobs=1), ["log_loss", "gain"])
    assert orders[0].verdict().order == orders[1].verdict().order
    with pytest.raises(RecipeError, match=r"weights in 'w'; .*w='ignore'"):
        learning_curve(tables[0], [Recipe("anje", order=1)])


def same_evaluation(weighed, repeated):
    names = ["classes", "log_loss", "shares_log_loss", "error", "balanced_error", "brier", "auc", "average_precision"]
    np.testing.assert_allclose(*(one.summary()[names].astype(float) for one in (weighed, repeated)), rtol=1e-6)
    np.testing.assert_allclose(weighed.confusion(), repeated.confusion())
    np.testing.assert_allclose(weighed.shares, repeated.shares)
    np.testing.assert_allclose(weighed.at(0.4)[["tp", "fn", "ppv"]].astype(float),
                               repeated.at(0.4)[["tp", "fn", "ppv"]].astype(float))  # fmt: skip


def test_runs_and_evaluations_use_the_weights(tables):
    runs = [alrviz.Run(table, LR.replace(holdout=0.3)) for table in tables]
    for run in runs:
        for _ in run.steps():
            pass
    weighed, repeated = runs
    assert (weighed.trace.rows, weighed.trace.heldout_rows) == (repeated.trace.rows, repeated.trace.heldout_rows)
    for name in ("heldout_log_loss", "heldout_error", "train_error"):
        assert weighed.trace[-1].extra[name] == pytest.approx(repeated.trace[-1].extra[name], rel=1e-8)
    assert weighed.trace.baseline == pytest.approx(repeated.trace.baseline)
    losses = [heldout_losses(run) for run in runs]
    assert losses[0].mean() == pytest.approx(losses[1].mean(), rel=1e-8)
    same_evaluation(*map(evaluate, runs))
    effects = [alrviz.interactions(run).importance()[["share", "nats", "loss"]] for run in runs]
    np.testing.assert_allclose(*effects, rtol=1e-6, atol=1e-9)
    models = [alrviz.fit(table, order=1, alpha=1.0) for table in tables]
    np.testing.assert_allclose(*(model.predict_proba(tables[0].X) for model in models), rtol=1e-6)
    same_evaluation(*(evaluate(models[0], table) for table in tables))
    assert evaluate(models[0], tables[0], sample_weight=np.ones(ROWS)).total == ROWS
    for peer in ("lr", "splines"):
        fits = [fit_reference(peer, table, holdout=0.3, seed=0) for table in tables]
        assert fits[0].log_loss == pytest.approx(fits[1].log_loss, rel=1e-3)
        assert fits[0].error == pytest.approx(fits[1].error)


def test_a_file_is_evaluated_by_its_column_of_weights(tables, tmp_path):
    made, model = noisy(2), alrviz.fit(tables[0], order=1, alpha=1.0)
    made.to_csv(tmp_path / "new.csv", index=False)
    found = evaluate(model, tmp_path / "new.csv", "class", sample_weight="w")
    assert found.total == made.w.sum()
    assert found.error == pytest.approx(evaluate(model, made, made["class"], sample_weight=made.w).error)
    with pytest.raises(TableError, match=r"'weigt'.*row weights"):
        evaluate(model, tmp_path / "new.csv", "class", sample_weight="weigt")


def test_a_frame_with_a_column_like_weights_is_fitted_with_a_warning():
    made = noisy().rename(columns={"w": "pspwght"}).drop(columns="person")
    with pytest.warns(DoubtfulTableWarning, match=r"'pspwght'.*\*\*{'pspwght': 'weight'}"):
        model = alrviz.fit(made, "class", order=1, alpha=1.0)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    given = alrviz.fit(made, "class", order=1, alpha=1.0, sample_weight=made.pspwght)
    role = alrviz.fit(read_table(made, "class", pspwght="weight"), order=1, alpha=1.0)
    np.testing.assert_array_equal(given.predict_proba(made), role.predict_proba(made))


def test_equal_weights_are_none(tables):
    made = noisy()
    plain, equal = (read_table(made.assign(w=2.5), "class", person="group", w=kind) for kind in ("ignore", "weight"))
    runs = [alrviz.Run(table, LR.replace(holdout=0.3)) for table in (plain, equal)]
    for run in runs:
        for _ in run.steps():
            pass
    assert runs[0].trace[-1].objective == runs[1].trace[-1].objective
    np.testing.assert_array_equal(runs[0].model.phi, runs[1].model.phi)


def test_a_report_is_of_the_weights(tables):
    made = [report_facts(table, alrviz.LRClassifier(order=1, alpha=1.0), holdout=0.3) for table in tables]
    same_evaluation(*(facts.evaluation for facts in made))
    np.testing.assert_allclose(*(facts.effects.importance()["nats"] for facts in made), rtol=1e-5, atol=1e-9)
    pages = [report_html(facts) for facts in made]
    assert ["Rows count by their weight" in page for page in pages] == [True, False]
    shares = [re.findall(r"<td[^>]*>([\d.]+ %)", page.split("<h3>The classes")[1])[:2] for page in pages]
    assert shares[0] == shares[1]

    class Unweighed(alrviz.NaiveBayesClassifier):
        def fit(self, X, y=None):
            return super().fit(X, y)

    with pytest.raises(TableError, match="takes no row weights"):
        report_facts(tables[0], Unweighed())


def test_parts_of_a_data_set_keep_their_weights(tables):
    part = replace(tables[0], frame=tables[0].frame.head(9), labels=tables[0].labels.head(9))
    assert np.array_equal(part.weights, tables[0].weights[:9])
