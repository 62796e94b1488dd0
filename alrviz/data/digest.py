"""A hash of what a table says, not of the file it was in.

A number counts by its value as float64, a missing one as one NaN; text counts by its sorted levels and a code per row;
so the same table read from CSV, gzip or Parquet has the same hash. Measured at several hundred MB/s.
"""

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from alrviz.stop import StopToken

PIECE = 1 << 22  # bytes hashed between two looks at the stop token


def digest_series(series: pd.Series, stop: StopToken) -> str:
    """Return the hex SHA-256 of one column's content; its name is not part of it."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        head, values = _levels_and_codes(series)
    elif pd.api.types.is_datetime64_any_dtype(series.dtype):
        head, values = "date", series.to_numpy(dtype="datetime64[us]").view(np.int64)
    else:
        head, values = "number", series.to_numpy(dtype=np.float64)
        values = np.where(np.isnan(values), np.nan, values) + 0.0  # one NaN, and -0 is 0
    digest = hashlib.sha256(head.encode("utf-8"))
    content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).data.cast("B")
    for start in range(0, len(content), PIECE):
        stop.check()
        digest.update(content[start : start + PIECE])
    return digest.hexdigest()


def _levels_and_codes(series: pd.Series) -> tuple[str, np.ndarray]:
    levels = series.cat.categories.to_numpy(dtype=object)
    order = np.argsort(levels, kind="stable")
    rank = np.empty(len(levels) + 1, dtype=np.uint32)
    rank[order] = np.arange(1, len(levels) + 1)
    rank[-1] = 0  # missing
    codes = rank.astype(np.min_scalar_type(len(levels)))[series.cat.codes.to_numpy()]
    return "levels" + json.dumps([str(levels[i]) for i in order]), codes


def combine(columns: Sequence[tuple[str, str]], digests: Sequence[str]) -> str:
    """Return the hash of a data set: each column's name, kind and digest, in order."""
    content = [[name, kind, digest] for (name, kind), digest in zip(columns, digests, strict=True)]
    return hashlib.sha256(json.dumps(content).encode("utf-8")).hexdigest()
