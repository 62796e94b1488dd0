"""The study of bias and variance: its summary is what its rows and predictions say."""

import numpy as np
import pytest

from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.study_task import failure, pack, unpack
from alrviz.studies.protocols.bias_variance import PARTS, Errors
from alrviz.studies.statistics.decomposition import decompose
from tests.studies.sweeps import small


@pytest.fixture(scope="module")
def study():
    return small([Recipe("anje", order=1), Recipe("lr", order=3, alpha=0.01, max_iter=20)], rounds=4).run()


def test_parts_add_up_to_the_mean_error_of_the_rows(study):
    lines, frame = study.summary(), study.frame()
    assert (lines.bias + lines.variance).to_numpy() == pytest.approx(lines.error.to_numpy(), abs=1e-12)
    assert (lines.bias_unbiased + lines.variance_unbiased).to_numpy() == pytest.approx(lines.error, abs=1e-12)
    assert (lines.bias_domingos + lines.net_variance_domingos).to_numpy() == pytest.approx(lines.error, abs=1e-12)
    weighted = [np.average(part.error, weights=part.test_rows) for _, part in frame.groupby("racer")]
    assert lines.error.to_numpy() == pytest.approx(weighted, abs=1e-12)
    assert lines.rounds.tolist() == [4, 4]


def test_naive_bayes_varies_less_and_is_more_biased_than_order_3(study):
    nb, lr = study.summary().itertuples()
    assert nb.bias > lr.bias
    assert nb.variance < lr.variance


def test_standard_errors_are_the_jackknifes(study):
    labels = study.dataset.y
    predicted = Errors(labels).predictions([(c, r) for c, r in study.results() if c.racer == 1])
    y = np.unique(labels, return_inverse=True)[1]
    left = np.array([decompose(np.delete(predicted, k, 0), y, 2).variance for k in range(4)])
    assert study.summary().variance_se[1] == pytest.approx(np.sqrt(3 / 4 * ((left - left.mean()) ** 2).sum()))


def test_only_complete_rounds_count_and_two_are_needed(study):
    results = [(c, r) for c, r in study.results() if c.racer == 0]
    errors = Errors(study.dataset.y)
    assert len(errors.predictions(results[:-1])) == 3
    assert len(errors.predictions([(results[0][0], failure("lost")), *results[1:]])) == 3
    assert errors.parts("nb", results[:-1])["rounds"] == 3
    assert errors.parts("nb", results) == Errors(study.dataset.y).parts("", results), "another round is taken up"
    early = small(rounds=1).run().summary()
    assert early.rounds.tolist() == [1, 1, 1]
    assert early[list(PARTS)].isna().all(axis=None)


def test_fewer_rows_to_learn_from_are_a_part_of_the_same_fold(study):
    shared = small([Recipe("anje", order=1)], rounds=2, train_shares=(0.25, 1.0)).run()
    frame = shared.frame()
    assert frame.groupby("train_share").train_rows.first().to_dict() == {0.25: 25, 1.0: 100}
    y = shared.dataset.y
    for few, all_rows in zip(shared.tasks[:4], shared.tasks[4:], strict=True):
        assert set(few.split.splits(y).train) < set(all_rows.split.splits(y).train)
        assert few.split.splits(y).test.tolist() == all_rows.split.splits(y).test.tolist()
    assert shared.summary().train_share.tolist() == [0.25, 1.0]
    whole = study.frame().query("racer == 0 and repeat < 2").log_loss
    assert frame[frame.train_share == 1.0].log_loss.tolist() == whole.tolist()


@pytest.mark.parametrize("top", [1, 255, 256, 70_000])
def test_predictions_survive_packing(top):
    predicted = np.random.default_rng(0).integers(0, top + 1, 1000)
    predicted[0] = top
    assert unpack(pack(predicted)).tolist() == predicted.tolist()
