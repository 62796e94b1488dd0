"""Objective, solver and start of a fit, from counted tables and a recipe's parameters.

AnJE is assembled like the others, with its own weights and no steps to take: one path serves every family.

For a table read in batches solver="auto" is averaged or tron: both are fitted to a sample of the rows, and the one with
the lower log loss on validation rows is chosen. It is averaged if the sample has fewer than MIN_CLASS_ROWS rows of a
class of which the table has KNOWN_FACTOR times as many: the sample then does not show how F curves along its weights,
and tron, whose Hessian is the sample's, takes many passes. (On ten million poker hands, 1 % better on the sample, it
was at 0.628 after six passes, averaged at 0.622 after one.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError, plural
from alrviz.fitting.fit_settings import Params
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.objectives.ridge import FitObjective
from alrviz.fitting.objectives.streamed import StreamObjective, TrainValidationChunk
from alrviz.fitting.prepare import class_weighted
from alrviz.fitting.solvers import make_solver
from alrviz.fitting.solvers.choice import SolverChoice
from alrviz.fitting.solvers.full_passes import FullPasses, fit_sample
from alrviz.fitting.solvers.line_search import LBFGS
from alrviz.fitting.solvers.solver_support import chosen_solver
from alrviz.fitting.solvers.state import Solver
from alrviz.fitting.solvers.stochastic import TRIAL_PASSES
from alrviz.fitting.solvers.stream_adagrad import StreamAdaGrad, loss_of_mean, search_averaged_eta0
from alrviz.fitting.solvers.tron import Tron
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import Parameterisation, parameterise
from alrviz.models.set_cover import Cover
from alrviz.models.streamed import StreamedCounts
from alrviz.models.tables import Tables
from alrviz.passes.losses import LOSSES
from alrviz.passes.rows import Floats, Rows
from alrviz.stop import NEVER, StopToken

_MAX_ETA = 0.1  # eta of tron's inner loop, whose turns cost no pass here
MIN_CLASS_ROWS, KNOWN_FACTOR = 30, 4


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit ready to run.

    Attributes:
        objective, solver, w0: what is minimised, how, and the start: (S + 1, C), or the free weights if weights are
            shared; one vector of weights and bandwidths for dlr.
        max_iter, tol: step limit and tolerance.
        passes_before: passes before the first step, if max_iter limits passes; None if it limits steps.
        choice: the solver and why, if a sample chose it.
    """

    objective: FitObjective
    solver: Solver
    w0: Floats
    max_iter: int
    tol: float
    passes_before: float | None = None
    choice: SolverChoice | None = None


def assemble(
    rows: Rows,
    cover: Cover,
    tables: Tables,
    params: Params,
    classes: Any,
    stop: StopToken = NEVER,
    *,
    seed: int = 0,
    chains: NDArray[np.int64] | None = None,
) -> Fit:
    """Return the fit of `params` (a complete recipe of a linear family) to `tables` and the `rows` of `cover`.

    `classes` are the labels that `class_weight` may name; `seed` draws a random start; `chains` (a,) are the numbers of
    smooth levels of each column.

    Raises:
        RecipeError: a logarithm of 0 would follow, or a class weight names no class.
    """
    complete_params = {**_NO_STEPS, **params}
    weighted = class_weighted(rows, complete_params["class_weight"], classes)
    return _assemble(weighted, cover, tables, _METRICS[complete_params["scale"]], complete_params, seed, stop, chains)


# The parameters of a family without a fit: AnJE.
_NO_STEPS: Params = {
    "scale": "none", "class_weight": None,
    "alpha": 0.0, "penalty": "phi", "center": 0, "start": "anje", "solver": "gd", "objective": "nll", "bounds": None,
    "memory": 1, "max_iter": 0, "tol": 0.0, "share": "cell-class",
}  # fmt: skip
_METRICS = {
    "none": "lr", "diagonal": "diagonal", "diagonal-adaptive": "adaptive", "theta": "alr", "theta-gamma": "alrj"
}  # fmt: skip
_MODELS: Mapping[str, object] = {"zero": 0, "one": 1, "anje": "anje", "random": 0}
_RANDOM_START_STD = 0.1


def _assemble(
    rows: Rows, cover: Cover, tables: Tables, name: str, params: Params, seed: int, stop: StopToken,
    chains: NDArray[np.int64] | None,
) -> Fit:  # fmt: skip
    parameterisation, unseen_weights, w0 = _weights(tables, name, params, seed, chains)
    objective = LinearObjective(
        rows,
        cover,
        parameterisation,
        alpha=params["alpha"],
        penalty=params["penalty"],
        center=params["center"],
        unseen=unseen_weights,
        loss=LOSSES[params["objective"]],
        bounds=params["bounds"],
        stop=stop,
    )
    return Fit(
        objective,
        make_solver(chosen_solver(params), params["memory"], objective, params["tol"], seed),
        w0,
        params["max_iter"],
        params["tol"],
    )


def assemble_stream(
    streamed: StreamedCounts, trial: TrainValidationChunk, sample: TrainValidationChunk, params: Params,
    stop: StopToken = NEVER, *, seed: int = 0, passes_before: float = 0.0,
    start: LinearModel | None = None,
) -> Fit:  # fmt: skip
    """Return the fit of `params` to a stream that was counted in `passes_before` passes.

    Step lengths and learners are chosen on `trial` and `sample`; see `StreamObjective`. `seed` draws the order of rows.
    Given a start model, or no steps to take, the fit does not begin with a fit to the sample.
    """
    complete_params = {**_NO_STEPS, **params}
    parameterisation, unseen_weights, w0 = _weights(
        streamed.tables, _METRICS[complete_params["scale"]], complete_params, seed
    )
    objective = StreamObjective(
        streamed,
        parameterisation,
        alpha=complete_params["alpha"],
        penalty=complete_params["penalty"],
        center=complete_params["center"],
        unseen=unseen_weights,
        trial=trial,
        sample=sample,
        passes_before=passes_before,
        stop=stop,
    )
    if start is not None:
        w0 = objective.weights_of(start)
    choice = None
    if complete_params["solver"] == "auto":
        name, reason, solver = chosen_learner(objective, w0, complete_params["memory"], seed)
        choice = SolverChoice(name, complete_params["memory"], reason, 0)
    else:
        solver = stream_solver(complete_params["solver"], complete_params["memory"], seed)
    if isinstance(solver, FullPasses) and (start is not None or complete_params["max_iter"] == 0):
        solver = replace(solver, first=w0)
    return Fit(objective, solver, w0, complete_params["max_iter"], complete_params["tol"], passes_before, choice)


def stream_solver(name: str, memory: int, seed: int) -> Solver:
    """Return the solver called `name`, which is not "auto", for a table read in batches.

    memory: number of corrections of L-BFGS; seed: of the order of rows.
    """
    if name in ("tron", "lbfgs"):
        return FullPasses(Tron(memory, _MAX_ETA) if name == "tron" else LBFGS(memory))
    return StreamAdaGrad(seed, name == "averaged")


def chosen_learner(objective: StreamObjective, w0: Floats, memory: int, seed: int) -> tuple[str, str, Solver]:
    """Return the learner that "auto" chooses: its name, the reason, and the solver.

    It is chosen by fits to the sample from `w0` (S + 1, C), if that has enough rows of each class. memory, seed: as in
    `stream_solver`.
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
    other_name = "averaged" if name == "tron" else "tron"
    losses = sorted((averaged_loss, tron_loss))
    n_training, n_validation = sample.training.n_rows, sample.validation.n_rows  # few rows are used for both
    rows_text = "these" if n_training == n_validation else f"{n_validation:,} others"
    reason = (
        f"{name}: fitted to {n_training:,} rows its log loss on {rows_text} is "
        f"{losses[0]:.4f}, that of {other_name} {losses[1]:.4f}"
    )
    if name == "tron":
        return name, reason, FullPasses(Tron(memory, _MAX_ETA), w)
    return name, reason, StreamAdaGrad(seed, True, eta0)


def check_stream(params: Params) -> None:
    """Raise `RecipeError` for parameters that fits over chunks do not support."""
    for name, allowed_values in _STREAM_SETTINGS.items():
        if name in params and params[name] not in allowed_values:
            raise RecipeError(
                f"{name}={params[name]!r} is not supported for a table read in batches; expected "
                f"{' or '.join(map(repr, allowed_values))}, or read_table, which reads it into memory"
            )


_STREAM_SETTINGS: Mapping[str, tuple[object, ...]] = {
    "solver": ("auto", "averaged", "adagrad", "tron", "lbfgs"), "objective": ("nll",), "bounds": (None,),
    "class_weight": (None,), "share": ("cell-class",), "scale": ("none", "diagonal", "theta", "theta-gamma"),
}  # fmt: skip


def weights_of(tables: Tables, params: Params, seed: int) -> tuple[Parameterisation, Floats]:
    """Return the parameterisation by which weights, one for each cell and class, become phi, and the start (S + 1, C).

    params: a complete recipe's; seed: of a random start.
    """
    complete_params = {**_NO_STEPS, **params, "share": "cell-class"}
    parameterisation, _, w0 = _weights(tables, _METRICS[complete_params["scale"]], complete_params, seed)
    return parameterisation, w0


def _weights(
    tables: Tables, name: str, params: Params, seed: int, chains: NDArray[np.int64] | None = None
) -> tuple[Parameterisation, Unseen | None, Floats]:
    """Return the parameterisation of `share` in params, phi of unseen cells (None for 0), and the start, shaped as w.

    name: the parameterisation's kind; seed: of a random start; chains (a,): numbers of smooth levels of each column.
    """
    start_model = _MODELS[params["start"]]
    fallback = params["center"] if params["alpha"] else start_model
    m_estimate = params["unseen"] == "m-estimate"
    if name in ("alr", "alrj") or start_model != 0 or fallback not in (0, "shares"):  # these need log theta
        tables.require_finite()
        if m_estimate and tables.smoothing == 0:
            raise RecipeError(
                "unseen='m-estimate' with smoothing=0 takes the logarithm of 0; expected smoothing above 0"
            )
    on_phi = params["penalty"] == "phi"
    parameterisation = parameterise(
        name, tables, params["alpha"], params["share"], on_phi=on_phi, ordered_levels=chains
    )
    if params["start"] == "random":
        w0 = np.random.default_rng(seed).normal(0.0, _RANDOM_START_STD, parameterisation.shape)
    else:
        w0 = parameterisation.weights_of(start_model)
    return parameterisation, _unseen(parameterisation, fallback, params["missing"]) if m_estimate else None, w0


def _unseen(parameterisation: Parameterisation, model: object, missing: str) -> Unseen:
    return Unseen(parameterisation.unseen_phi(model), known_only=missing == "skip")
