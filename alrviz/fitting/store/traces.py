"""Steps of a run as bytes of the store, and back: JSON of columns, compressed; every number comes back bit for bit."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from alrviz.fitting.solvers.step import Step

_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")


def pack_steps(steps: Sequence[Step]) -> bytes:
    """Return steps in few bytes: about a hundred a step of a usual race."""
    fields = [[_plain(getattr(step, name)) for step in steps] for name in _FIELDS]
    names = list(dict.fromkeys(name for step in steps for name in step.extra))
    extra = {name: [_plain(step.extra.get(name)) for step in steps] for name in names}
    return zlib.compress(json.dumps([fields, extra], separators=(",", ":")).encode(), 1)


def unpack_steps(packed: bytes) -> list[Step]:
    """Return the steps that `pack_steps` was given."""
    fields, extra = json.loads(zlib.decompress(packed))
    return [
        Step(
            **dict(zip(_FIELDS, values, strict=True)),
            extra={name: column[k] for name, column in extra.items() if column[k] is not None},
        )
        for k, values in enumerate(zip(*fields, strict=True))
    ]


def _plain(value: Any) -> Any:
    """A number that JSON knows; numpy's own are none."""
    return value.item() if hasattr(value, "item") else value
