"""Scales of the preconditioners beside the Hessian's diagonal, a row for each cell and class.

At the class prior pi the Hessian's diagonal is N_cell pi_k (1 - pi_k). Families are compared on the same cells, of
which a sample is drawn if there are many.
"""

import numpy as np
import pandas as pd

from alrviz.models.parameterisation import curvature_at_shares, parameterise
from alrviz.models.tables import Tables

FAMILIES = ("lr", "diagonal", "alr")
MAX_POINTS = 4000  # of each family


def scale_points(tables: Tables, *, alpha_on_phi: float = 0.0) -> pd.DataFrame:
    """Return the columns label, hessian, scale, which `pictures.scales` draws.

    alpha_on_phi: strength of a penalty on phi, which adds 2 alpha to the diagonal.
    """
    curvature = curvature_at_shares(tables)[:-1] + 2.0 * alpha_on_phi
    cells = np.arange(len(curvature))
    max_cells = max(1, MAX_POINTS // curvature.shape[1])
    if len(cells) > max_cells:
        cells = np.sort(np.random.default_rng(0).choice(cells, max_cells, replace=False))
    family_frames = []
    for family in FAMILIES:
        scale = parameterise(family, tables, alpha_on_phi).scale[:-1]
        columns = {"label": family, "hessian": curvature[cells].ravel(), "scale": np.abs(scale[cells]).ravel()}
        family_frames.append(pd.DataFrame(columns))
    return pd.concat(family_frames, ignore_index=True)
