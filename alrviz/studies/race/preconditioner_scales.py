"""The scale of each family beside the curvature, one row a cell and class.

At the class prior pi the Hessian's diagonal is N_cell pi_k (1 - pi_k). Families that share cells are compared at the
same cells, of which a sample is taken where there are many.
"""

import numpy as np
import pandas as pd

from alrviz.models.parameterisation import curvature_at_shares, parameterise
from alrviz.models.tables import Tables

FAMILIES = ("lr", "diagonal", "alr")
MOST_POINTS = 4000  # of a family


def scale_points(tables: Tables, *, alpha_on_phi: float = 0.0) -> pd.DataFrame:
    """Return label, hessian, scale: what `pictures.scales` draws.

    alpha_on_phi: strength of a penalty on phi, which adds 2 alpha to the curvature.
    """
    curvature = curvature_at_shares(tables)[:-1] + 2.0 * alpha_on_phi
    cells = np.arange(len(curvature))
    most_cells = max(1, MOST_POINTS // curvature.shape[1])
    if len(cells) > most_cells:
        cells = np.sort(np.random.default_rng(0).choice(cells, most_cells, replace=False))
    parts = []
    for family in FAMILIES:
        scale = parameterise(family, tables, alpha_on_phi).scale[:-1]
        columns = {"label": family, "hessian": curvature[cells].ravel(), "scale": np.abs(scale[cells]).ravel()}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
