"""Headlines of study pages in all their states, from real fits: one sentence of at most 15 words."""

import numpy as np
import pytest

import alrviz
from alrviz.data.read import read_table
from alrviz.studies.core import study as core_study
from alrviz.studies.core.workers import compute_tasks
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.studies import bias_variance, compare, learning_curve, order, selection
from tests.headlines import check_headline

LONG = "annual income before tax of the household in thousands of euros last year"


def long_named_table():
    """A table whose column and class names have many words; the class is the exclusive or of two columns."""
    dataset = alrviz.load_demo("xor", 300)
    frame = dataset.X.astype(str).set_axis([f"{LONG} {k}" for k in range(dataset.X.shape[1])], axis=1)
    return read_table(frame.assign(target=[f"{LONG} {label}" for label in dataset.y]), target="target")


def verdicts(study, page_verdict):
    """Return the verdicts before Run, with one fit less than all, and at the end."""
    states = [page_verdict(study)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            core_study, "compute_tasks", lambda tasks, *args, **options: compute_tasks(tasks[:-1], *args, **options)
        )
        study.run()
    assert study.progress.n_done == len(study.tasks) - 1
    states.append(page_verdict(study))
    study.run()
    states.append(page_verdict(study))
    return states


def order_verdicts(dataset, **options):
    study = alrviz.choose_order(dataset, alrviz.Recipe("lr", alpha=1.0), repeats=1, folds=2, n_jobs=1, **options)
    return verdicts(study, lambda study: order.page_verdict(study, study.verdict(), study.summary()))


def tuple_verdicts(dataset, **options):
    study = alrviz.choose_tuples(dataset, folds=2, n_jobs=1, **options)
    return verdicts(study, lambda study: selection.page_verdict(study, study.verdict(), study.summary()))


def search_verdicts(dataset, order, keeps):
    study = alrviz.choose_tuples(
        dataset,
        alrviz.Recipe("salr" if order == 1 else "hsalr", alpha=1.0),
        orders=(order,),
        keeps=(0.5, 1.0),
        n_jobs=1,
    )
    view = alrviz.SelectionView(study)
    found = []
    for keep in keeps:
        view.keep = keep
        found.append(selection.search_verdict(view.wait()))
    return found


def bias_verdicts(dataset, kind, recipes, **options):
    study = alrviz.bias_variance(dataset, recipes, rounds=2, n_jobs=1, **options)
    return verdicts(study, lambda study: bias_variance.page_verdict(study, study.summary(), kind))


def compare_verdicts(datasets, recipes):
    study = alrviz.compare(datasets, recipes, repeats=2, n_jobs=1)
    return verdicts(study, lambda study: compare.page_verdict(study, study.summary(), "log_loss"))


def learning_verdicts(dataset):
    study = alrviz.learning_curve(dataset, ANJE, repeats=2, n_jobs=1)

    def page_verdict(study):
        curves = learning_curve.measured(study.summary())
        crossed = learning_curve.crossings(curves, "log_loss") if "log_loss" in curves else []
        return learning_curve.page_verdict(study, crossed)

    return verdicts(study, page_verdict)


def effects_verdicts(dataset, **params):
    model = alrviz.HLRClassifier(**{"alpha": 0.3, **params}).fit(dataset.X, dataset.y)
    return [alrviz.interactions(model, dataset).verdict()]


def evaluation_verdicts(dataset):
    model = alrviz.LRClassifier(order=1, alpha=0.3).fit(dataset.X, dataset.y)
    return [alrviz.evaluate(model, dataset).verdict()]


def shuffled():
    dataset = alrviz.load_demo("monks-1")
    labels = np.random.default_rng(1).permutation(dataset.y)
    return read_table(dataset.X.astype(str).assign(shuffled_class=labels.astype(str)), target="shuffled_class")


ANJE = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
STATES = {
    "order clear": lambda: order_verdicts(alrviz.load_demo("xor", 300), orders=(0, 1, 2, 3)),
    "order none": lambda: order_verdicts(shuffled(), orders=(0, 1)),
    "order with references": lambda: order_verdicts(alrviz.load_demo("monks-1"), orders=(1, 2), references=True),
    "selection": lambda: tuple_verdicts(alrviz.load_demo("twelve-bits", 600), keeps=(0.2, 0.5, 1.0)),
    "selection of columns": lambda: tuple_verdicts(alrviz.load_demo("balance-scale"), keeps=(0.5, 1.0), orders=(1,)),
    "search of columns": lambda: search_verdicts(alrviz.load_demo("twelve-bits", 800), 1, (1, 50, 100)),
    "search of pairs": lambda: search_verdicts(alrviz.load_demo("twelve-bits", 800), 2, (1, 30, 100)),
    "search of triples": lambda: search_verdicts(alrviz.load_demo("twelve-bits", 800), 3, (10, 100)),
    "search of many": lambda: search_verdicts(alrviz.load_demo("breast-cancer"), 2, (5, 60, 100)),
    "search of long names": lambda: search_verdicts(long_named_table(), 2, (1, 100)),
    "bias and variance": lambda: bias_verdicts(alrviz.load_demo("monks-1"), "plug-in", ANJE),
    "bias and variance, Domingos": lambda: bias_verdicts(
        alrviz.load_demo("monks-1"), "Domingos", ANJE, train_shares=(0.5, 1.0)
    ),
    "bias and variance, long names": lambda: bias_verdicts(
        alrviz.load_demo("monks-1"), "Domingos",
        [alrviz.Recipe("lr", order=n, alpha=alpha, center="anje", max_iter=5) for n in (1, 2) for alpha in (0.1, 1.0)],
    ),
    "compare one": lambda: compare_verdicts([alrviz.load_demo("monks-1")], ANJE),
    "compare two": lambda: compare_verdicts([alrviz.load_demo("monks-1"), alrviz.load_demo("tic-tac-toe")], ANJE),
    "compare alone": lambda: compare_verdicts([alrviz.load_demo("monks-1")], ANJE[:1]),
    "learning curve": lambda: learning_verdicts(alrviz.load_demo("monks-1")),
    "interactions": lambda: effects_verdicts(alrviz.load_demo("twelve-bits", 1500), order=2),
    "interactions of many": lambda: effects_verdicts(alrviz.load_demo("tic-tac-toe"), order=2),
    "no interactions": lambda: effects_verdicts(shuffled(), order=2, alpha=10.0),
    "interactions of long names": lambda: effects_verdicts(long_named_table(), order=2),
    "columns": lambda: effects_verdicts(alrviz.load_demo("breast-cancer"), order=1),
    "evaluation": lambda: evaluation_verdicts(alrviz.load_demo("monks-1")),
    "evaluation of long names": lambda: evaluation_verdicts(long_named_table()),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_headline_is_short(state):
    for verdict in STATES[state]():
        assert isinstance(verdict, Verdict)
        check_headline(verdict)
