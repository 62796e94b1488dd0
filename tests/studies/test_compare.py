"""Comparing recipes over data sets: means, win-draw-loss, ranks, and what leaves the program."""

import io

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.export import study_csv
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.compare import COMPARED, compare, pairs, ranks, table, to_latex
from alrviz.studies.statistics.significance import sign_test

RECIPES = (Recipe("anje", order=1), Recipe("lr", order=2, alpha=0.3), Recipe("rf", n_estimators=5))


def sets():
    return [load_demo("monks-1", 150), load_demo("xor", 200), load_demo("iris", 90)]


@pytest.fixture(scope="module")
def study():
    return compare(sets(), RECIPES, repeats=2, n_jobs=1).run()


def test_means_are_those_of_the_rows_and_every_set_has_its_line(study):
    lines, frame = study.summary(), study.frame()
    assert study.progress.failed == 0
    assert lines.data.tolist() == [name for name in ("monks-1", "xor", "iris") for _ in RECIPES]
    assert (lines.fits == 4).all()
    for line in lines.itertuples():
        mine = frame[(frame.data == line.data) & (frame.racer == line.racer)]
        assert line.log_loss == pytest.approx(mine.log_loss.mean())
        assert line.ece_sd == pytest.approx(mine.ece.std())
        assert line.train_seconds == pytest.approx(mine.train_seconds.mean())
    assert np.isfinite(lines[list(COMPARED)]).all(axis=None), "a forest's zeros too"


def test_a_set_is_judged_as_it_is_alone(study):
    alone = bias_variance(sets()[1], RECIPES, rounds=2, n_jobs=1).run()
    of_xor = study.frame().query("data == 'xor'").reset_index(drop=True)
    numbers = [name for name in of_xor if not name.endswith("seconds")]
    pd.testing.assert_frame_equal(of_xor[numbers], alone.frame()[numbers], check_exact=True)
    parts = alone.summary()
    assert study.summary().query("data == 'xor'").bias.tolist() == parts.bias.tolist()


def test_a_restricted_order_needs_no_cells_of_others(study):
    few = compare(sets()[:1], RECIPES[1:2], repeats=2, n_jobs=1)
    assert {task.key for task in few.tasks} < {task.key for task in study.tasks}


def test_pairs_and_ranks_by_hand(study):
    means = table(study, "error")
    found = pairs(study, "error", digits=3)
    assert len(found) == 3
    for line in found.itertuples():
        a, b = means[line.a].round(3), means[line.b].round(3)
        assert (line.wins, line.draws, line.losses) == ((a < b).sum(), (a == b).sum(), (a > b).sum())
        assert line.p == pytest.approx(sign_test(line.wins, line.losses))
        assert line.win_draw_loss == f"{line.wins}/{line.draws}/{line.losses}"
    losses = table(study, "log_loss")
    assert ranks(study)["rank"].to_numpy() == pytest.approx(losses.rank(axis=1).mean().to_numpy())
    assert ranks(study).ratio[1] == pytest.approx(np.exp(np.log(losses.iloc[:, 1] / losses.iloc[:, 0]).mean()))
    assert ranks(study).ratio[0] == 1.0


def test_a_summary_is_there_before_anything_is_computed():
    lines = compare(sets(), RECIPES, repeats=2, n_jobs=1).summary()
    assert (lines.fits == 0).all()
    assert len(lines) == 9


def test_csv_contains_its_provenance_and_can_be_read_back(study):
    text = study_csv(study)
    assert '# study: "compare"' in text
    assert sum(line.startswith("# recipe ") for line in text.splitlines()) == 3
    back = pd.read_csv(io.StringIO(text), comment="#")
    assert back.log_loss.tolist() == study.frame().log_loss.tolist()


def test_latex_escapes_names():
    frame = pd.DataFrame({"a_b": ["50 % & {more}", None], "x": [0.12345, float("nan")]})
    lines = to_latex(frame, digits=2).splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[2] == r"a\_b & x \\"
    assert lines[4:6] == [r"50 \% \& \{more\} & 0.12 \\", r"-- & -- \\"]


def test_incomparable_input_raises():
    with pytest.raises(RecipeError, match="different names and contents"):
        compare([load_demo("xor"), load_demo("xor")], RECIPES)
    with pytest.raises(RecipeError, match="did you mean 'log_loss'"):
        table(compare(load_demo("xor", 50), RECIPES, n_jobs=1), "logloss")
