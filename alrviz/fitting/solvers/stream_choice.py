"""The learner for a table's chunks: the requested one, or the one that a sample of the rows chooses.

"auto" is averaged or tron: both are fitted to the sample, and the one with the lower log loss on validation rows is
chosen. It is averaged if the sample has fewer than MIN_CLASS_ROWS rows of a class of which the table has
KNOWN_FACTOR times as many: the sample then does not show how F curves along its weights, and tron, whose Hessian is the
sample's, takes many passes. (On ten million poker hands, 1 % better on the sample, it was at 0.628 after six passes,
averaged at 0.622 after one.)
"""

import numpy as np

from alrviz.errors import plural
from alrviz.fitting.objectives.streamed import StreamObjective
from alrviz.fitting.solvers.full_passes import FullPasses, fit_sample
from alrviz.fitting.solvers.line_search import LBFGS
from alrviz.fitting.solvers.state import Solver
from alrviz.fitting.solvers.stochastic import TRIAL_PASSES
from alrviz.fitting.solvers.stream_adagrad import StreamAdaGrad, loss_of_mean, search_averaged_eta0
from alrviz.fitting.solvers.tron import Tron
from alrviz.passes.rows import Floats

_MAX_ETA = 0.1  # eta of tron's inner loop, whose turns cost no pass here
MIN_CLASS_ROWS, KNOWN_FACTOR = 30, 4


def stream_solver(name: str, memory: int, seed: int) -> Solver:
    """Return the learner of that name, which is not "auto"."""
    if name in ("tron", "lbfgs"):
        return FullPasses(Tron(memory, _MAX_ETA) if name == "tron" else LBFGS(memory))
    return StreamAdaGrad(seed, name == "averaged")


def chosen_learner(objective: StreamObjective, w0: Floats, memory: int, seed: int) -> tuple[str, str, Solver]:
    """Return the name that "auto" chooses, why, and the learner, after fits to the sample from `w0` (S + 1, C) if it
    has enough rows of each class.
    """
    sample = objective.sample
    class_counts, training = objective.parameterisation.tables.class_counts, sample.training
    is_rare = (np.bincount(training.y, minlength=len(class_counts)) < MIN_CLASS_ROWS) & (
        class_counts >= KNOWN_FACTOR * MIN_CLASS_ROWS
    )
    if is_rare.any():
        classes = plural(int(is_rare.sum()), "class has", "classes have")
        reason = f"averaged: {classes} fewer than {MIN_CLASS_ROWS} of the {training.n_rows:,} rows of tron's start"
        return "averaged", reason, StreamAdaGrad(seed, True)
    eta0 = search_averaged_eta0(objective, w0, seed)
    averaged_loss = loss_of_mean(objective, sample, w0, seed, eta0, TRIAL_PASSES)
    w, tron_loss = fit_sample(objective, w0)
    name = "tron" if tron_loss <= averaged_loss else "averaged"
    other = "averaged" if name == "tron" else "tron"
    losses = sorted((averaged_loss, tron_loss))
    n_training, n_validation = sample.training.n_rows, sample.validation.n_rows  # few rows are used for both
    rows = "these" if n_training == n_validation else f"{n_validation:,} others"
    reason = (
        f"{name}: fitted to {n_training:,} rows its log loss on {rows} is "
        f"{losses[0]:.4f}, that of {other} {losses[1]:.4f}"
    )
    if name == "tron":
        return name, reason, FullPasses(Tron(memory, _MAX_ETA), w)
    return name, reason, StreamAdaGrad(seed, True, eta0)
