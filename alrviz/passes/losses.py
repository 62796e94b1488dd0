"""The three losses: four kernels each, and the properties that solvers ask for.

    nll     -log p(y | row)                             convex
    mse     (1/C) sum_k (p_k - 1[k = y])^2              not convex
    hinge   sum over k != y of max(0, 1 + z_k - z_y)^2  convex; has no probabilities

Formulas and shapes are in the kernels' modules. Kernels compile when a loss is first used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alrviz.kernels import hinge, scores, squared_error


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss of scores.

    Attributes:
        name: "nll", "mse" or "hinge".
        line_eval, loss_and_residual, hessian_product: the kernels.
        score_hessian_diagonal: the kernel that writes the diagonal of each row's matrix of `hessian_product`, by
            scores.
        convex: whether it is convex in the scores.
        has_probabilities: whether scores stand for probabilities.
    """

    name: str
    line_eval: Callable[..., Any]
    loss_and_residual: Callable[..., Any]
    hessian_product: Callable[..., Any]
    score_hessian_diagonal: Callable[..., Any]
    convex: bool = True
    has_probabilities: bool = True


def _loss(name: str, kernels: Any, **properties: bool) -> Loss:
    """Return the loss with this name, whose kernels are in the module `kernels`; properties: fields of `Loss`."""
    return Loss(
        name, kernels.line_eval, kernels.loss_and_residual, kernels.hessian_product, kernels.diagonal, **properties
    )


NLL = _loss("nll", scores)
MSE = _loss("mse", squared_error, convex=False)
HINGE = _loss("hinge", hinge, has_probabilities=False)
LOSSES: Mapping[str, Loss] = {loss.name: loss for loss in (NLL, MSE, HINGE)}
