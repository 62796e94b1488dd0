"""Which learner goes over a table's chunks: the one asked for, or what a sample of the rows chooses.

"auto" is averaged or tron: whichever has the lower log loss on further rows, both fitted to the sample. It is averaged
where the sample has fewer than RARE rows of a class of which the table has KNOWN times as many: how F bends along its
weights the sample cannot tell, and tron, whose Hessian is the sample's, takes many passes. (On ten million poker hands,
lower by 1 % on the sample, it was at 0.628 after six passes, averaged at 0.622 after one.)
"""

import numpy as np

from alrviz.errors import plural
from alrviz.fitting.objectives.streamed import StreamObjective
from alrviz.fitting.solvers.full_passes import FullPasses, fitted_sample
from alrviz.fitting.solvers.line_search import LBFGS
from alrviz.fitting.solvers.state import Solver
from alrviz.fitting.solvers.stochastic import PASSES
from alrviz.fitting.solvers.stream_adagrad import StreamAdaGrad, longest_mean, loss_of_mean
from alrviz.fitting.solvers.tron import Tron
from alrviz.passes.rows import Floats

_LOOSE = 0.1  # eta of the inner loop of tron, whose turns cost no pass here
RARE, KNOWN = 30, 4


def stream_solver(name: str, memory: int, seed: int) -> Solver:
    """Return the learner of that name, not "auto"."""
    if name in ("tron", "lbfgs"):
        return FullPasses(Tron(memory, _LOOSE) if name == "tron" else LBFGS(memory))
    return StreamAdaGrad(seed, name == "averaged")


def chosen_learner(objective: StreamObjective, w0: Floats, memory: int, seed: int) -> tuple[str, str, Solver]:
    """Return what "auto" is, why, and the learner: both candidates are fitted to the sample, from `w0` (S + 1, C), if
    it has rows enough of each class.
    """
    sample = objective.sample
    every, drawn = objective.parameterisation.tables.class_counts, sample.training
    rare = (np.bincount(drawn.y, minlength=len(every)) < RARE) & (every >= KNOWN * RARE)
    if rare.any():
        few = plural(int(rare.sum()), "class has", "classes have")
        why = f"averaged: {few} fewer than {RARE} of the {drawn.n_rows:,} rows that tron would begin with"
        return "averaged", why, StreamAdaGrad(seed, True)
    eta0, _ = longest_mean(objective, w0, seed)
    by_rows = loss_of_mean(objective, sample, w0, seed, eta0, PASSES)
    w, by_fit = fitted_sample(objective, w0)
    name = "tron" if by_fit <= by_rows else "averaged"
    other = "averaged" if name == "tron" else "tron"
    losses = sorted((by_rows, by_fit))
    learned, judged = sample.training.n_rows, sample.validation.n_rows  # of few rows they are the same
    those = "these" if learned == judged else f"{judged:,} others"
    why = (
        f"{name}: fitted to {learned:,} rows its log loss on {those} is "
        f"{losses[0]:.4f}, that of {other} {losses[1]:.4f}"
    )
    if name == "tron":
        return name, why, FullPasses(Tron(memory, _LOOSE), w)
    return name, why, StreamAdaGrad(seed, True, eta0)
