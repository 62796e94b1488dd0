import numpy as np
import pandas as pd
import pytest

from alrviz.pictures.scales import binned, scales


def points():
    hessian = np.geomspace(0.1, 1000, 500)
    by = {"lr": np.ones(500), "diagonal": 3 / np.sqrt(hessian), "alr": -np.log(hessian / 5000)}
    return pd.concat([pd.DataFrame({"label": k, "hessian": hessian, "scale": v}) for k, v in by.items()])


def test_diagonal_lies_on_the_inverse_root_and_lr_is_flat():
    table = binned(points())
    diagonal = table[table["label"] == "diagonal"]
    slope = np.polyfit(np.log(diagonal["hessian"]), np.log(diagonal["middle"]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.02)
    assert np.allclose(table[table["label"] == "lr"]["middle"], 1)
    assert (table["low"] <= table["high"]).all()


def test_cells_never_seen_are_left_out():
    unseen = pd.DataFrame({"label": "alr", "hessian": [0.0, 1.0, 2.0], "scale": [1.0, 0.0, 2.0]})
    assert len(binned(unseen)) == 1


def test_figure_names_families_and_says_that_both_axes_are_logarithmic():
    fig = scales(points()).plot().figure
    assert {"lr", "alr", "diagonal"} <= {r.name for r in fig.renderers}
    assert all("log scale" in axis.axis_label for axis in (fig.xaxis[0], fig.yaxis[0]))
    scales(pd.DataFrame({"label": [], "hessian": [], "scale": []})).plot()
