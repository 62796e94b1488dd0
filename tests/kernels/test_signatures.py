"""How often kernels are compiled: five widths and two code widths, whatever the table."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json
import numpy as np
from alrviz.kernels import rows as R, scores as S
from tests.fitting.tables import drain, run_of, table

counts = {}
def note(name):
    kernels = {"forward": R.forward, "scatter": R.scatter, "count": R.count, "trial": S.trial, "settle": S.settle,
               "curve": S.curve}
    counts[name] = {k: len(v.signatures) for k, v in kernels.items()}

def fit(n_classes, **more):
    for family, params in [("lr", {}), ("alr", {"start": "anje"}), ("anje", {}), ("lr", {"scale": "diagonal"})]:
        encoded = table(40, (3, 2, 4), n_classes, weights="fractions", gaps=0.1, **more)
        limit = {} if family == "anje" else {"max_iter": 3}
        run = drain(run_of(encoded, family, encoded.take(np.arange(5)), order=2, missing="skip", **params, **limit))
        run.model.scores(encoded.codes)
        run._fit.objective.hvp(run.state.point, run.state.point.w)

fit(5); note("one width")
fit(8); note("same width")
fit(3); note("two widths")
fit(17); note("above 16")
fit(3, dtype=np.uint8); fit(3, dtype=np.uint16); note("narrow codes")
fit(3, dtype=np.uint32); note("wide codes")
print(json.dumps(counts))
"""


def test_kernels_are_compiled_once_a_width(tmp_path):
    """In a process of its own: what other tests compiled would be counted too."""
    import json

    root = Path(__file__).parents[2]
    script = tmp_path / "count.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    row_passes, softmax = ("forward", "scatter"), ("trial", "settle", "curve", "count")
    for name, widths in {"one width": 1, "same width": 1, "two widths": 2, "above 16": 3, "narrow codes": 3}.items():
        assert {counts[name][kernel] for kernel in row_passes} == {widths}, name
        assert {counts[name][kernel] for kernel in softmax} == {1}, name
    assert {counts["wide codes"][kernel] for kernel in row_passes} == {4}
    assert counts["wide codes"]["count"] == 2
    assert {counts["wide codes"][kernel] for kernel in ("trial", "settle", "curve")} == {1}
