"""What studies make ready beforehand: no kernel is compiled inside anyone's seconds."""

import pytest

from alrviz.data.demos import load_demo
from alrviz.data.splits import SplitSpec
from alrviz.errors import MemoryLimitError
from alrviz.estimators.make import make_estimator
from alrviz.fitting import warm as warm_module
from alrviz.fitting.families import cells, conditional, density, networks
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_cuts, warm_prequential
from alrviz.kernels import prequential
from alrviz.studies.core import fold_cache, learning_curve_task
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.protocols.learning_curve import learning_curve
from tests.studies.sweeps import small

WARMED = {
    "lr": ["covers", "cuts", "fit"],
    "anje": ["covers", "cuts", "fit"],
    "dlr": ["density"],
    "elr": ["covers", "cuts", "networks", "passes"],
    "tan": ["covers", "cuts", "networks"],
    "kdb": ["covers", "cuts", "networks"],
    "ande": ["covers", "cuts", "networks"],
}


@pytest.mark.parametrize("family", WARMED)
def test_each_family_has_its_kernels_made_ready(family, monkeypatch):
    called = []
    for module in (fold_cache, cells, density, conditional, networks):
        for name in ("covers", "cuts", "density", "fit", "networks", "passes"):
            if hasattr(module, f"warm_{name}"):
                monkeypatch.setattr(module, f"warm_{name}", lambda *_, name=name: called.append(name) or 0.0)
    fold_cache.warm(Recipe(family), 3)
    assert sorted(called) == WARMED[family]


@pytest.mark.parametrize(
    "second",
    [Recipe("kdb", selective=False), Recipe("ande"), Recipe("elr", structure="tan", max_iter=2, cross_tuning=False)],
)
def test_shared_network_seconds_count_for_each_recipe(second):
    dataset, first = load_demo("tic-tac-toe", 100), Recipe("tan", smoothing=1.0)
    made = fold_cache.PreparedFold(SentTable.from_dataset(dataset), SplitSpec(0, 0, 2, 0), first)
    made.fit(make_estimator(first, n_jobs=1), first)
    pairs = made.prepared.tables(2, 1.0)
    made._covering = dict.fromkeys(made._covering, 100.0)
    assert made.fit(make_estimator(second, n_jobs=1), second) > 400.0, "covers and tables of orders 1 and 2"
    assert made.prepared.tables(2, 1.0) is pairs
    refused = Recipe("tan", smoothing=2.0)
    with pytest.raises(MemoryLimitError):
        made.fit(make_estimator(refused, n_jobs=1, max_memory=1000), refused)
    assert ("tables", 2, 2.0) not in made._covering, "nothing is counted that is refused"


def test_learning_row_by_row_compiles_nothing_that_was_not_made_ready(monkeypatch):
    called = []
    monkeypatch.setattr(
        learning_curve_task, "warm_prequential", lambda: called.append(len(prequential.visit.signatures))
    )
    warm_prequential()
    before = len(prequential.visit.signatures)
    recipes = [Recipe("anje", order=1), Recipe("alr", order=2, alpha=0.0, solver="adagrad", start="zero")]
    study = learning_curve(small().dataset, recipes, n_jobs=1, repeats=1).run()
    assert study.progress.failed == 0
    assert called == [before] * 2
    assert len(prequential.visit.signatures) == before > 0


def test_everything_made_ready_includes_columns_cut_and_rows_one_by_one(monkeypatch):
    called = []
    for name in ("covers", "passes", "single", "networks", "density"):
        monkeypatch.setattr(warm_module, f"warm_{name}", lambda *_: 0.0)
    for made in (warm_cuts, warm_prequential):
        monkeypatch.setattr(warm_module, made.__name__, lambda made=made: called.append(made.__name__))
    warm_module.warm()
    assert called == ["warm_cuts", "warm_prequential"]
