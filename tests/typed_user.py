"""A user's script as type checkers read it: `.ci/run` checks that no public name is Any. Run by test_public.py too."""

from typing import assert_type

import pandas as pd

import alrviz


def use() -> pd.DataFrame:
    """Walk the public names once."""
    dataset = alrviz.load_demo("led", rows=300)
    assert_type(dataset, alrviz.Dataset)
    recipe = alrviz.Recipe("alr", order=2)
    model = alrviz.ALRClassifier(order=2, alpha=0.3)
    assert_type(model, alrviz.ALRClassifier)
    assert_type(model.fit(dataset.X, dataset.y), alrviz.ALRClassifier)
    run = alrviz.Run(dataset, recipe)
    for step in run.steps():
        assert_type(step, alrviz.Step)
        assert_type(step.nll, float)
    assert_type(run.trace, alrviz.Trace)
    assert_type(run.outcome, alrviz.Outcome | None)
    racing = alrviz.race(dataset, [recipe, alrviz.Recipe("lr")])
    assert_type(racing, alrviz.Race)
    study = alrviz.compare(dataset, recipe)
    assert_type(study, alrviz.Study)
    view = alrviz.RaceView(racing)
    assert_type(view, alrviz.RaceView)
    return study.frame()
