"""How often kernels are compiled: five class widths, two widths of keys and of codes, whatever the table."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json
from unittest import mock
import numpy as np
from alrviz.kernels import cells, density, features as dense, grids, hinge, plan
from alrviz.kernels import ratios, rows, scores
from alrviz.kernels import squared_error, stochastic
from alrviz.models import linear
from alrviz.models.density import DensityFeatures
from alrviz.passes import density as density_passes
from tests.fitting.mixed import density_run, mixed
from tests.fitting.tables import drain, run_of, table

KERNELS = {
    "widths and keys": [rows.scatter],
    "forward": [rows.forward],
    "widths": [rows.expand, rows.scatter_to_cells],
    "keys": [rows.count, stochastic.sgd, stochastic.adagrad, stochastic.sum_losses, stochastic.count_visits],
    "once": [
        *(
            getattr(of, name) for of in (scores, hinge, squared_error)
            for name in ("line_eval", "loss_and_residual", "hessian_product", "diagonal")
        ),
        cells.fill_index, plan.grow, plan.cover_tuples,
    ],
    "density": [
        density.log_sums, ratios.write_numeric, ratios.write_categorical, density.bundle,
        grids.find_stretches, grids.spread_votes,
        grids.convolve, grids.look_up,
    ],
    "dense": [dense.forward, dense.scatter],
    "codes": [cells.join, cells.distinct_cells, cells.locate, cells.score, cells.link_joint_values,
              cells.find_keys, cells.add_values],
}
counts = {}
def note(name):
    counts[name] = {kind: sorted({len(kernel.signatures) for kernel in of}) for kind, of in KERNELS.items()}

SOLVERS = [
    ("lr", {"solver": "tron", "objective": "hinge"}),
    ("alr", {"solver": "tron", "objective": "mse"}),
    ("alr", {"solver": "sgd", "objective": "mse", "share": "tuple"}),
    ("lr", {"solver": "adagrad"}),
]

def fit(n_classes, rows=40, levels=(3, 2, 4), **more):
    families = [("lr", {}), ("alr", {"start": "anje"}), ("anje", {}), ("lr", {"scale": "diagonal"})]
    for family, params in families + SOLVERS:
        encoded = table(rows, levels, n_classes, weights="fractions", gaps=0.1, **more)
        limit = {} if family == "anje" else {"max_iter": 3}
        run = drain(run_of(encoded, family, encoded.take(np.arange(5)), order=2, missing="skip", **params, **limit))
        for many in (0, linear._MIN_PLANNED_LOOKUPS):
            limits = {"_MIN_PLANNED_LOOKUPS": many, "_MIN_TABLE_LOOKUPS": many}
            with mock.patch.multiple(linear, **limits):
                run.model.scores(encoded.codes)
        run._fit.objective.hvp(run.state.point, run.state.point.w)

fit(5); note("one width")
fit(8); note("same width")
fit(3); note("two widths")
fit(17); note("above 16")
fit(3, dtype=np.uint8); fit(3, dtype=np.uint16); note("narrow codes")
fit(3, dtype=np.uint32); note("wide codes")

many = table(70_000, (66_000, 2), 3, dtype=np.uint32)
many.codes[0] = np.arange(70_000) % 66_000
for solver in ("lbfgs", "sgd", "adagrad"):
    assert drain(run_of(many, "lr", order=1, max_iter=1, solver=solver)).outcome.code == "step limit"
note("wide keys")
density_passes._VOTES_PER_CALL = 1000  # bundles are made
for n_classes in (2, 3, 17):
    y = np.arange(5000, dtype=np.int32) % n_classes
    x = np.append(np.linspace(0, 1, 4998), [50.0, np.nan])[None]
    x.flags.writeable = False
    level = (y[None] % 2).astype(np.uint8)
    features = DensityFeatures(x, level, np.array([2]), y, np.ones(5000), n_classes)
    h = np.log(features.silverman)
    for leave_out in (False, True):
        features.training(h, leave_out), features.training(h - 6, leave_out, gradient=False)
    features.rows(x, level, h), features.curve(0, np.linspace(0, 1, 9), h[0]), features.levels(0)
note("densities")
for n_classes in (2, 3, 17):
    for mode in ("loo", "silverman", "validation", "paper"):
        of = mixed(340, n_classes)
        assert drain(density_run(of, of.take(np.arange(9)), bandwidth=mode, max_iter=4)).model.scores_of(of).size
note("fits of densities")
print(json.dumps(counts))
"""


def test_kernels_are_compiled_once_a_width(tmp_path):
    """In a process of its own: what other tests compiled would be counted too."""
    root = Path(__file__).parents[2]
    script = tmp_path / "count.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    narrow = {"keys": [1], "once": [1], "codes": [1], "density": [0], "dense": [0]}
    for name, widths in {"one width": 1, "same width": 1, "two widths": 2, "above 16": 3, "narrow codes": 3}.items():
        # new rows have wide keys; covers are made ready with those of two classes
        of = {"widths and keys": [widths], "forward": [2 * widths + 1], "widths": [widths]}
        assert counts[name] == of | narrow, name
    assert counts["wide codes"] == {**of, **narrow, "codes": [2]}
    wide = {**narrow, "keys": [2], "codes": [2]}
    assert counts["wide keys"] == {**of, "widths and keys": [4], **wide}
    assert counts["densities"]["density"] == counts["fits of densities"]["density"] == [1]
    assert counts["fits of densities"]["dense"] == [1]
