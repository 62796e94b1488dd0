"""Bokeh's renderers and axes as numbers, colours and words, for drawing without a browser."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.core.enums import MarkerType
from bokeh.core.property.vectorization import Field, Value
from bokeh.models import Axis, GlyphRenderer
from numpy.typing import NDArray


class Marks:
    """The marks of a renderer.

    Attributes:
        kind: the name of their glyph ("Line").
        count: how many there are.
    """

    def __init__(self, renderer: GlyphRenderer):
        self._glyph, self._data = renderer.glyph, renderer.data_source.data
        self.kind = type(self._glyph).__name__
        self.count = max(map(len, self._data.values()), default=0)

    def has(self, name: str) -> bool:
        """Return whether marks of this kind have the property `name`."""
        return hasattr(self._glyph, name)

    def find(self, name: str, default: Any = None) -> tuple[Any, bool]:
        """Return the property `name` (`default` if it is not set), and whether it is a column with a value per mark."""
        value = getattr(self._glyph, name, default)
        field = value.field if isinstance(value, Field) else value
        is_marker = name == "marker" and field in MarkerType  # "x" is one, and the name of a column too
        if isinstance(field, str) and field in self._data and not is_marker:
            return self._data[field], True
        return value.value if isinstance(value, Value) else value, False

    def get(self, name: str, default: Any = None) -> Any:
        """Return the property `name`: an array with one value per mark, or the one value that all share.

        It is `default` if it is not set.
        """
        return self.find(name, default)[0]

    def each(self, name: str, default: Any = None) -> list[Any]:
        """Return the property `name` of each mark, or `default` if it is not set."""
        value, is_column = self.find(name, default)
        return list(value) if is_column else [value] * self.count

    def sides(self) -> tuple[NDArray[np.float64], ...]:
        """Return the sides of boxes (quads or bars): left, right, bottom and top, (count,) each."""
        side_names = {"VBar": ("x", "x", "bottom", "top"), "HBar": ("left", "right", "y", "y")}
        left, right, bottom, top = (
            np.asarray(self.each(name), float) for name in side_names.get(self.kind, ("left", "right", "bottom", "top"))
        )
        if self.kind == "VBar":
            half_width = np.asarray(self.each("width"), float) / 2
            return left - half_width, right + half_width, bottom, top
        half_width = np.asarray(self.each("height") if self.kind == "HBar" else [0.0], float) / 2
        return left, right, bottom - half_width, top + half_width

    def first(self, name: str) -> Any:
        """Return the property `name` of the first mark; None without marks."""
        value, is_column = self.find(name)
        return value if not is_column else value[0] if len(value) else None


def level_words(axis: Axis) -> Callable[[float], str] | None:
    """Return the function that names a place on an axis of levels; None for another axis.

    Of a formatter written in JavaScript only what it looks words up in is known.
    """
    args = getattr(axis.formatter, "args", None) or {}
    level_names, tick_places = list(args.get("words", ())), list(args.get("at", ()))

    def name(place: float) -> str:
        k = math.floor(place) if not tick_places else tick_places.index(place) if place in tick_places else -1
        return str(level_names[k]) if 0 <= k < len(level_names) else ""

    return name if level_names else None
