"""What studies make ready beforehand: no kernel is compiled inside anyone's seconds."""

import pytest

from alrviz.fitting import warm as warm_module
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_cuts, warm_prequential
from alrviz.kernels import prequential
from alrviz.studies import ready, streams
from alrviz.studies.learning_curve import learning_curve
from tests.studies.sweeps import small

WARMED = {
    "lr": ["covers", "cuts", "fit"],
    "anje": ["covers", "cuts", "fit"],
    "dlr": ["density"],
    "elr": ["conditional", "covers", "cuts"],
    "tan": ["cuts", "networks"],
    "kdb": ["cuts", "networks"],
    "ande": ["cuts", "networks"],
}


@pytest.mark.parametrize("family", WARMED)
def test_each_family_has_its_kernels_made_ready(family, monkeypatch):
    called = []
    for name in ("covers", "cuts", "density", "fit", "conditional", "networks"):
        monkeypatch.setattr(ready, f"warm_{name}", lambda *_, name=name: called.append(name))
    ready.warm(Recipe(family), 3)
    assert sorted(called) == WARMED[family]


def test_learning_row_by_row_compiles_nothing_that_was_not_made_ready(monkeypatch):
    called = []
    monkeypatch.setattr(streams, "warm_prequential", lambda: called.append(len(prequential.visit.signatures)))
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
