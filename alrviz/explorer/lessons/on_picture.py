"""Place an answer on the page's picture, if it is a number or a sketch of a column that the picture has as an axis.

Nowhere, where it is no number of the picture: a choice, an order, a ratio; then it stands in words alone.
"""

from collections.abc import Mapping
from contextlib import suppress

from alrviz.explorer.lesson import Question, Said
from alrviz.explorer.lessons.answers import where_of
from alrviz.pictures.prediction import Place, Prediction
from alrviz.views.core.live_figure import NumberAxes

_ALONG = {"iteration": ("near", "nearer_1", "iterations")}  # numbers of a race that are places along its iterations


def on_picture(question: Question, said: Said, axes: NumberAxes) -> Prediction | None:
    """Return what was said as marks on a picture with these axes; None where it is no number of theirs."""
    if question.answer is None or question.answer.measure not in ("value", "values"):
        return None
    column, *lines = question.answer.of
    numbers = said if isinstance(said, tuple) else (said,)
    places = [_place(column, where_of(line), number, axes) for line, number in zip(lines, numbers, strict=True)]
    known = tuple(place for place in places if place is not None)
    if len(known) < len(places):
        return None
    names = [option.words for option in question.options] or [""]
    words = (f"you, {name}" if name else f"you: {number:.3g}" for name, number in zip(names, numbers, strict=True))
    return Prediction(known, tuple(words))


def _place(column: str, where: Mapping[str, str], number: str | float, axes: NumberAxes) -> Place | None:
    if isinstance(number, str):
        return None
    if column in _ALONG.get(axes.along, ()):
        return number, None
    if column not in axes.up:
        return None
    at = None
    with suppress(ValueError):
        at = float(where[axes.along]) if axes.along in where else None
    return at, number
