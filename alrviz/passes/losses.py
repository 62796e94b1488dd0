"""What is summed over the rows: three losses, each the same four passes over scores and what follows from its form.

    nll     -log p(y | row)                             convex
    mse     (1/C) sum_k (p_k - 1[k = y])^2              not convex
    hinge   sum over k != y of max(0, 1 + z_k - z_y)^2  convex; has no probabilities

Formulas and shapes are those of the kernels. Only a loss that is used is compiled; nll and mse are one kernel.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alrviz.kernels import hinge, scores


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss of scores.

    Attributes:
        name: "nll", "mse" or "hinge".
        trial, settle, curve, diagonal: the kernels.
        options: what they take besides, last.
        convex: whether it is convex in the scores.
        has_probabilities: whether scores stand for probabilities.
    """

    name: str
    trial: Callable[..., Any]
    settle: Callable[..., Any]
    curve: Callable[..., Any]
    diagonal: Callable[..., Any]
    options: tuple[bool, ...] = ()
    convex: bool = True
    has_probabilities: bool = True


_SOFTMAX = (scores.trial, scores.settle, scores.curve, scores.diagonal)
NLL = Loss("nll", *_SOFTMAX, options=(False,))
MSE = Loss("mse", *_SOFTMAX, options=(True,), convex=False)
HINGE = Loss("hinge", hinge.trial, hinge.settle, hinge.curve, hinge.diagonal, has_probabilities=False)
LOSSES: Mapping[str, Loss] = {loss.name: loss for loss in (NLL, MSE, HINGE)}
