"""How free weights become phi: the only thing in which the linear families differ.

    phi = scale * w,  one row per seen cell, then one row for the class weights b

    lr        scale 1                                alr       scale log theta, for b log pi
    diagonal  scale 1 / sqrt(N_cell pi_k (1 - pi_k)), for b 1 / sqrt(N pi_k (1 - pi_k));
              with the penalty on phi, 2 alpha is added under the root

A center or a start names a model, that is a phi; in w it is phi / scale:
    0 or "zero"   phi = 0        1 or "one"   w = 1 (alr only)        "anje"   phi = gamma log theta, b = log pi
"""

from dataclasses import dataclass

import numpy as np

from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats

_MODEL_OF = {0: "zero", 1: "one", "zero": "zero", "one": "one", "anje": "anje"}


@dataclass(frozen=True, eq=False)
class Parameterisation:
    """phi = scale * w.

    Attributes:
        family: "lr", "alr" or "diagonal": what the scale was made of.
        scale: (S + 1, C); the last row belongs to the class weights.
        tables: the counts behind it.
    """

    family: str
    scale: Floats
    tables: Tables

    def weights_of(self, model: object) -> Floats:
        """Return w (S + 1, C) of the model that a center (0, 1, "anje") or a start ("zero", "one", "anje") names."""
        name = _MODEL_OF[model]
        if name == "zero":
            return np.zeros_like(self.scale)
        if name == "one":
            return np.ones_like(self.scale)
        gamma = self.tables.space.gamma
        if self.family == "alr":  # gamma log theta / log theta, exact also where log theta is 0
            w = np.full_like(self.scale, gamma)
            w[-1] = 1.0
            return w
        w = anje_phi(self.tables)
        if self.family == "diagonal":
            w /= self.scale
        return w

    def unseen_phi(self, model: object) -> Floats:
        """Return (T, C): phi of a cell that no training row has, in the named model (0 where that model is 0)."""
        name = _MODEL_OF[model]
        log_theta = self.tables.log_theta_unseen
        if name == "zero":
            return np.zeros_like(log_theta)
        return log_theta if name == "one" else self.tables.space.gamma * log_theta


def anje_phi(tables: Tables) -> Floats:
    """Return phi of AnJE, (S + 1, C): gamma log theta, and log pi in the last row."""
    return np.concatenate([tables.space.gamma * tables.log_theta, tables.log_pi[None, :]])


def parameterise(family: str, tables: Tables, alpha_on_phi: float = 0.0) -> Parameterisation:
    """Return the parameterisation of "lr", "alr" or "diagonal"; `alpha_on_phi` is 0 if the penalty is on w."""
    if family == "lr":
        scale = np.ones((len(tables.seen) + 1, tables.n_classes))
    elif family == "alr":
        scale = np.concatenate([tables.log_theta, tables.log_pi[None, :]])
    else:
        total = tables.counts.sum(axis=1)
        pi = np.exp(tables.log_pi)
        mass = np.append(total, tables.class_counts.sum())
        scale = 1.0 / np.sqrt(np.outer(mass, pi * (1.0 - pi)) + 2.0 * alpha_on_phi)
    return Parameterisation(family, scale, tables)
