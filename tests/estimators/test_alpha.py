"""alpha="cv": chosen inside the rows that fit is given, by validation log loss."""

import numpy as np
import pytest
from sklearn.base import clone

import alrviz
from alrviz.data.demos import load_demo
from alrviz.data.encode import Encoder
from alrviz.data.splits import FOLDS, split_folds
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.estimators import ALRClassifier, LRClassifier
from alrviz.estimators.make import make_estimator
from alrviz.fitting import alpha_path
from alrviz.fitting.alpha_path import cross_validate_alpha
from alrviz.fitting.cost import table_shape
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED, Outcome
from alrviz.studies.core.cost import choosing_cost

GRID = alpha_path.GRID.values


def by_hand(data, recipe, alpha):
    """The mean test log loss of one alpha, every fit from its own start and to its end."""
    losses = []
    for fold in split_folds(data.y, FOLDS, recipe.seed):
        train, test = fold.train, fold.test
        model = make_estimator(recipe.replace(alpha=alpha)).fit(data.X.iloc[train], data.y[train])
        log_p = model.predict_log_proba(data.X.iloc[test])
        losses.append(-log_p[np.arange(len(test)), np.searchsorted(model.classes_, data.y[test])].mean())
    return np.mean(losses)


@pytest.mark.parametrize("recipe", [Recipe("lr", order=2, alpha="cv"), Recipe("alr", order=1, alpha="cv")])
def test_the_alpha_chosen_is_the_best_of_the_grid(recipe):
    data = load_demo("mixed-types", 300)
    model = make_estimator(recipe).fit(data.X, data.y)
    losses = {alpha: by_hand(data, recipe, alpha) for alpha in GRID}
    assert losses[model.alpha_] == pytest.approx(min(losses.values()), rel=2e-3)
    for line in model.alphas_.itertuples():
        assert line.log_loss == pytest.approx(losses[line.alpha], rel=1e-2)
    same = make_estimator(recipe.replace(alpha=model.alpha_)).fit(data.X, data.y)
    assert np.array_equal(model.phi_, same.phi_)


def test_cells_of_a_fold_are_counted_once_whatever_alphas_are_tried(monkeypatch):
    data, counted = load_demo("led", 300), []
    original = table_shape.estimate_seen
    monkeypatch.setattr(table_shape, "estimate_seen", lambda *args: counted.append(args[1]) or original(*args))
    model = LRClassifier(order=2, alpha="cv").fit(data.X, data.y)
    assert len(model.alphas_) > 3
    assert counted == [2] * (FOLDS + 1)  # those of the folds, and of the fit at the alpha chosen


def test_labels_that_mean_nothing_are_pulled_hard_and_clear_ones_are_not():
    data = load_demo("xor", 400)
    shuffled = np.random.default_rng(0).permutation(data.y)
    assert LRClassifier(order=2, alpha="cv").fit(data.X, shuffled).alpha_ > 20
    assert LRClassifier(order=2, alpha="cv").fit(data.X, data.y).alpha_ < 10


def test_rows_encoded_before_give_the_same():
    data = load_demo("led", 300)
    plain, model = ALRClassifier(order=1, alpha="cv"), ALRClassifier(order=1, alpha="cv")
    encoder = Encoder().fit(data.X, data.y)
    model.fit_prepared(data.X, TrainingData(encoder.encode(data.X, data.y), None, encoder))
    assert np.array_equal(plain.fit(data.X, data.y).phi_, model.phi_)
    assert model.alpha_ == plain.alpha_


def test_a_row_twice_is_not_asked_for_but_weights_count():
    """With weights 0 and 1 the choice is that of the rows of weight 1."""
    data = load_demo("tic-tac-toe", 200)
    weights = np.where(np.arange(200) % 4 == 0, 0.0, 1.0)
    kept = weights > 0
    weighted = LRClassifier(order=1, alpha="cv").fit(data.X, data.y, weights)
    assert weighted.alpha_ == LRClassifier(order=1, alpha="cv").fit(data.X[kept], data.y[kept]).alpha_


def test_a_class_of_one_row_does_not_stop_it():
    data = load_demo("tic-tac-toe", 60)
    y = data.y.copy()
    y[0] = "once"
    assert LRClassifier(order=1, alpha="cv").fit(data.X, y).alpha_ in GRID
    with pytest.raises(RecipeError, match='"cv" cannot hold out'):
        cross_validate_alpha(Recipe("lr", alpha="cv"), data.X[:3], np.array(["a", "b", "c"], object), np.ones(3))


def test_one_fold_of_many_rows_judges_unless_nearly_all_are_of_one_class(monkeypatch):
    monkeypatch.setattr("alrviz.data.splits.SINGLE_FOLD_ROWS", 400)
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 300)
    made, encoded = [], alpha_path.encode_rows
    monkeypatch.setattr(alpha_path, "encode_rows", lambda *a, **k: made.append(encoded(*a, **k)) or made[-1])
    X = load_demo("led", 600).X
    recipe, weights = Recipe("lr", order=1, alpha="cv"), np.ones(600)
    for rare, folds in ((300, 1), (20, FOLDS)):
        made.clear()
        counts = np.array([rare, 600 - rare])
        cross_validate_alpha(recipe, X, np.repeat(["a", "b"], counts), weights)
        assert len(made) == folds
        iteration = Cost(seconds=1.0, passes=1)
        one, half = (choosing_cost(iteration, recipe, of, 7).seconds for of in (counts, np.array([300, 300])))
        assert one == pytest.approx(folds * half)


def test_loss_without_probabilities_raises_with_alternatives():
    data = load_demo("xor", 100)
    with pytest.raises(RecipeError, match=r'objective="hinge" has no probabilities; expected objective="nll"'):
        LRClassifier(order=1, alpha="cv", objective="hinge").fit(data.X, data.y)


@pytest.mark.parametrize("code", [DIVERGED, FAILED])
def test_a_fit_that_does_not_end_well_is_skipped_and_starts_none(code, monkeypatch):
    data, starts, ends = load_demo("led", 200), {}, {}

    class Bad(Run):
        """A run that ends badly at some strengths."""

        @classmethod
        def on_prepared(cls, prepared, recipe, *, start=None, **more):
            starts.setdefault(recipe.params["alpha"], start)
            return super().on_prepared(prepared, recipe, start=start, **more)

        def steps(self):
            yield from super().steps()
            strength = self.recipe.params["alpha"]
            ends.setdefault(strength, self.model.phi)
            if strength in bad:
                self.outcome = Outcome(code, "")

    bad = {GRID[1], GRID[2]}
    monkeypatch.setattr(alpha_path, "Run", Bad)
    ask = (Recipe("lr", order=1, alpha="cv"), data.X, data.y, np.ones(200))
    chosen, tried = cross_validate_alpha(*ask)
    assert tried.alpha.tolist()[:2] == [GRID[0], GRID[3]]
    assert np.array_equal(starts[GRID[3]].phi, ends[GRID[0]])
    assert not np.array_equal(ends[GRID[2]], ends[GRID[0]])
    assert chosen in set(tried.alpha)
    bad.update(GRID)
    with pytest.raises(RecipeError, match="no alpha whose fits end well; give a number"):
        cross_validate_alpha(*ask)


def test_with_an_order_to_be_chosen_no_fit_starts_from_another_of_other_cells():
    data = load_demo("xor", 200)
    assert LRClassifier(order="auto", alpha="cv").fit(data.X[["bit_1", "bit_2"]], data.y).cells_.order == 2


def test_folds_share_the_memory_they_take_together(monkeypatch):
    data, limits = load_demo("led", 200), []
    real = Run.on_prepared
    monkeypatch.setattr(Run, "on_prepared", lambda *a, **more: limits.append(more["max_memory"]) or real(*a, **more))
    model = LRClassifier(order=1, alpha="cv", max_memory=30_000_000).fit(data.X, data.y)
    *of_folds, own = limits
    assert set(of_folds) == {10_000_000}
    assert own == 30_000_000
    assert len(of_folds) == FOLDS * len(model.alphas_)
    with pytest.raises(MemoryLimitError, match=r'alpha="cv".*3 folds.*1'):
        LRClassifier(order=1, alpha="cv", max_memory=3000).fit(data.X, data.y)


def test_parameters_survive_recipes_and_copies():
    recipe = Recipe("alr", order=2, alpha="cv")
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert recipe.name == "alr n=2 from zero, L2 penalty by inner folds on w, TRON"
    estimator = make_estimator(recipe)
    assert estimator.alpha == "cv"
    assert clone(estimator).to_recipe() == recipe.replace(holdout=0.0)
    with pytest.raises(RecipeError, match="takes many fits"):
        Run(load_demo("xor"), recipe)
    with pytest.raises(RecipeError, match=r"expected a number from 0 to .* or 'cv'"):
        Recipe("lr", alpha="best")


class Label(str):
    """A label that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Label.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_labels_are_compared_a_few_times_a_row():
    """Every row of a fold against every other was 460 s of 500,000 rows."""
    data = load_demo("led", 600)
    y = np.array([Label(label) for label in data.y], dtype=object)
    Label.compared = 0
    cross_validate_alpha(Recipe("lr", order=1, alpha="cv"), data.X, y, np.ones(len(y)))
    assert Label.compared < 40 * len(y)


@pytest.mark.parametrize(
    ("make", "setting"),
    [
        (alrviz.ALRClassifier, {"order": 1}), (alrviz.LRClassifier, {"order": 1, "alpha": "cv"}),
        (alrviz.SelectiveALRClassifier, {"order": 1, "keep": "auto"}), (alrviz.WANBIACClassifier, {}),
    ],
)  # fmt: skip
def test_time_limit_ends_every_search_and_is_named(make, setting):
    data = alrviz.load_demo("tic-tac-toe")
    limited = make(**setting, time_limit=1e-9).fit(data.X, data.y)
    assert limited.alpha_ == 1.0
    assert "time" in limited.chosen_
    assert len(limited.alphas_) == (setting.get("alpha") == "cv")  # it compares no penalties without one
    ample = make(**setting, time_limit=1e6).fit(data.X, data.y)
    assert ample.alpha_ == make(**setting).fit(data.X, data.y).alpha_ != 1.0
    with pytest.raises(alrviz.RecipeError, match="time_limit"):
        make(**setting, time_limit=0).fit(data.X, data.y)
