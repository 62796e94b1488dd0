"""Quality beside other libraries: folds, what was measured before, what is not fitted in time."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from alrviz import load_demo
from benchmarks import __main__ as bench
from benchmarks import _quality_page
from benchmarks._child import in_child
from benchmarks._rivals import TunedRival
from benchmarks.quality import limited_means

DOCS = Path(__file__).parents[2] / "docs"


def test_methods_are_judged_on_the_same_folds_and_what_is_known_is_not_made_again(tmp_path, capsys):
    load_demo("led", 600).frame.to_csv(tmp_path / "car.csv", index=False)
    load_demo("tic-tac-toe").frame.head(400).to_csv(tmp_path / "zoo.csv", index=False)  # fewer rows than are judged
    first_path, second_path = tmp_path / "first.csv", tmp_path / "again.csv"
    flags = ["quality", "--data", str(tmp_path), "--sets", "car", "zoo"]
    assert bench.main([*flags, "--methods", "nb", "boosting", "--csv", str(first_path)]) == 0
    frame = pd.read_csv(first_path, comment="#")
    assert set(frame["set"]) == {"car"}
    assert frame.groupby("method").rows.agg(list).to_dict() == {"boosting": [480] * 5, "nb": [480] * 5}
    naive = frame[frame.method == "nb"]
    assert naive.log_loss.mean() < np.log(10) / 2
    assert (naive.over_shares < -5 * naive.over_shares_se).all()
    capsys.readouterr()
    late = ["--methods", "nb", "lr n=1", "--limit", "0.01", "--known", str(first_path), "--csv", str(second_path)]
    assert bench.main([*flags, *late]) == 0
    output = capsys.readouterr().out
    assert "car, nb:" not in output
    assert "car, lr n=1: not fitted within 0.01 s" in output
    (ranks,) = (line.split() for line in output.splitlines() if line.startswith("lr n=1 "))
    assert (ranks[2], ranks[-1]) == ("3.00", "1")
    assert "1 sets (1 categorical, 0 mixed, 0 numeric)" in output


def test_a_rival_is_fitted_with_the_settings_that_lose_least_on_inner_folds():
    data = load_demo("tic-tac-toe")
    X, y = pd.get_dummies(data.X), np.unique(data.y, return_inverse=True)[1]
    grid = [{"max_depth": 1}, {"max_depth": 4}, {"max_depth": None}]  # too coarse, fair, certain where it is wrong
    model = TunedRival(partial(DecisionTreeClassifier, random_state=0), grid, {"min_samples_leaf": 5}).fit(X, y)
    assert model.settings == {"max_depth": 4}
    assert model.model.get_params()["min_samples_leaf"] == 1  # that was for the search alone
    assert model.model.tree_.n_node_samples[0] == len(y)


def test_the_page_is_what_its_figures_say(tmp_path):
    (tmp_path / "images").mkdir()
    shutil.copy(DOCS / "quality.csv", tmp_path)
    _quality_page.write(tmp_path)
    for name in ("quality.csv", "quality.md", "images/quality.svg"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (DOCS / name).read_text(encoding="utf-8")
    means = pd.read_csv(DOCS / "quality.csv")
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    assert " ".join(_quality_page.overview(means).split()) in readme


def test_a_set_is_ranked_when_every_method_was_tried_and_later_figures_take_the_place_of_earlier(tmp_path):
    (tmp_path / "images").mkdir()
    methods = _quality_page.PLAIN
    fields = {"kind": "mixed", "rows": 800, "error": 0.1, "auc": 0.9, "brier": 0.2, "ece": 0.02, "over_shares": -0.1}
    fields |= {"fit_seconds": 1.0}
    whole_rows = [fields | {"set": "whole", "method": name, "log_loss": 0.5 + k} for k, name in enumerate(methods)]
    part = [fields | {"set": "part", "method": "auto", "log_loss": 0.25}]
    late = [{"set": "whole", "kind": "mixed", "method": "ebm", "why": "not fitted within 60 s"}]
    grown = [fields | {"set": "grown", "method": name, "rows": rows, "log_loss": 0.5}
             for name, rows in (("auto", 800), (_quality_page.RIVAL, 1600))]  # fmt: skip
    for name, rows in {"first": whole_rows + part + grown[:1], "later": late + grown[1:]}.items():
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    _quality_page.write(tmp_path, [tmp_path / "first.csv", tmp_path / "later.csv"])
    page = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert "| part \u2021 | 1,000 | **0.2500** |  |" in page
    assert "- not fitted within 60 s: EBM on whole" in page
    means = pd.read_csv(tmp_path / "quality.csv")
    assert means[means.method == "ebm"].log_loss.isna().all()
    assert set(_quality_page.ranked(means)["set"]) == {"whole"}
    assert means[means.set == "grown"].method.tolist() == [_quality_page.RIVAL]  # the other learned from fewer rows


def test_a_rival_is_compared_where_both_are_fitted_and_p_is_corrected_for_all():
    fields = {"kind": "mixed", "rows": 800, "over_shares": -0.1}
    rows = [fields | {"set": f"s{k}", "method": m, "log_loss": loss} for k in range(8) for m, loss in
            (("auto", 0.1 + k), (_quality_page.RIVAL, 0.2 + k), ("ebm", 0.2 + k if k < 7 else np.nan))]  # fmt: skip
    boosting, ebm = _quality_page.each_rival(pd.DataFrame(rows)).splitlines()[2:]
    assert boosting.startswith("| scikit-learn's boosting | 8 | 0 | 8-0-0 |")
    assert ebm.startswith("| EBM | 7 | 1 | 7-0-0 |")
    assert [line.split("|")[7].strip() for line in (boosting, ebm)] == ["0.016", "0.016"], "2 / 2**8, twice"


def test_ratios_count_no_loss_below_the_least_nor_above_the_class_shares():
    fields = {"set": "s", "kind": "mixed", "rows": 800}
    rows = [fields | {"method": name, "log_loss": loss, "over_shares": loss - 0.5}
            for name, loss in (("auto", 1e-9), ("nb", 0.25), (_quality_page.RIVAL, 8.0))]  # fmt: skip
    means = pd.DataFrame(rows)
    assert limited_means(means).log_loss.tolist() == [0.001, 0.25, 0.5]
    assert _quality_page.ratios(means, "nb", _quality_page.RIVAL) == pytest.approx((0.5, 0.5))
    assert means.log_loss.tolist() == [1e-9, 0.25, 8.0]


def stuck(path, seconds):
    path.write_text(str(os.getpid()))
    time.sleep(seconds)


def test_what_takes_too_long_has_begun_and_is_ended(tmp_path):
    answer = in_child(stuck, tmp_path / "pid", 300.0, limit=1.0)
    assert (answer.late, answer.reason) == (True, "not within 1 s")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
