"""Whether a change leaves every family's predictions the same, bit for bit, on ten sets.

`python -m benchmarks same --data DIR --out before.json` on one tree, then `--against before.json` on the other: it ends
with code 2 where a digest differs. Fits that draw random numbers take seed 0.
"""

import argparse
import json
import warnings
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from alrviz import Recipe, make_estimator
from alrviz.errors import AlrvizError
from alrviz.fitting.families import FAMILIES
from benchmarks._tools import Row, data_file

SETS = (
    "australian", "balance-scale", "german", "heart-cleveland", "hepatitis",
    "iris", "labor", "tic-tac-toe", "wine", "zoo",
)  # fmt: skip
TARGET = "class"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file to write and the file to compare with."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the digests as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the digests of another tree")


def recipes() -> dict[str, Recipe]:
    """Return a recipe of every family by name, at orders 1 and 2 where the family has orders."""
    recipes: dict[str, Recipe] = {}
    for name, family in FAMILIES.items():
        fixed = {
            name: param.default_in_links for name, param in family.params.items() if param.link_default is not None
        }
        if "order" in family.params:
            recipes |= {f"{name} n={order}": Recipe(name, order=order, **fixed) for order in (1, 2)}
        else:
            recipes[name] = Recipe(name, **fixed)
    return recipes


def digest(recipe: Recipe, frame: pd.DataFrame) -> str:
    """Fit a recipe to a table; return the start of the SHA-256 of its probabilities, or the error's class."""
    features = frame.drop(columns=TARGET)
    try:
        probabilities = make_estimator(recipe).fit(features, frame[TARGET]).predict_proba(features)
    except AlrvizError as error:
        return type(error).__name__
    return sha256(np.ascontiguousarray(probabilities, dtype=float).tobytes()).hexdigest()[:16]


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the names of fits whose digests differ, or that only one of the two has."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Fit every family to every set; yield a row a fit with its digest."""
    digests: dict[str, str] = {}
    warnings.simplefilter("ignore")  # of columns that MDL drops and fits that do not converge
    for name in SETS:
        path = data_file(options.data, name)
        if path is None:
            raise AlrvizError("the sets are read from a folder; expected --data DIR")
        frame = pd.read_csv(path)
        for title, recipe in recipes().items():
            digests[f"{name}, {title}"] = digest(recipe, frame)
            yield {"set": name, "recipe": title, "digest": digests[f"{name}, {title}"]}
    print(f"{len(digests)} fits")
    if options.out is not None:
        options.out.write_text(json.dumps(digests, indent=0), encoding="utf-8")
    if options.against is not None:
        changed_fits = differences(json.loads(options.against.read_text(encoding="utf-8")), digests)
        if changed_fits:
            raise AlrvizError(f"{len(changed_fits)} fits differ: {'; '.join(changed_fits)}")
        print("all digests are equal")
