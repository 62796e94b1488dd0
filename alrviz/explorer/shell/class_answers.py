"""The answers of a class as HTML: bars of each round beside each other, with the true outcome marked, words escaped."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from alrviz.errors import plural
from alrviz.explorer.lesson import Question, Said
from alrviz.explorer.server.classes import Round
from alrviz.explorer.shell import asset
from alrviz.views.core.style import safe

BINS = 7  # of numbers
MAX_TEXTS = 30  # texts that are listed
MAX_SKETCHES = 60  # students whose sketches are drawn
CSS = asset("class_answers.css")


def answers_html(rounds: Sequence[Round], words: Callable[[str], str] = safe, was: Said | None = None) -> str:
    """Return the answers to a question, each time that it was asked, as HTML.

    words: returns a teacher's words (an option's) as HTML. was: what happened, where that is known.
    """
    asked, question = [one for one in rounds if one.votes], rounds[-1].question
    if not asked:
        return "<p>Nobody has answered.</p>"
    made = {"choice": _choice, "number": _number, "order": _order, "sketch": _sketch, "text": _text}[question.kind]
    counts = ", then ".join(plural(len(one.votes), "answer") for one in asked)
    again = " (pale: before)" if len(asked) > 1 else ""
    return f"<p class='quiet'>{counts}{again}</p>{made(question, asked[-2:], words, was)}{_notes(asked[-1])}"


def _bars(rows: Sequence[tuple[str, Sequence[int], bool]], totals: Sequence[int]) -> str:
    """A row each: its name, how many of each round, whether it is what happened."""
    most = max((count / total for _, counts, _ in rows for count, total in zip(counts, totals, strict=True)), default=1)
    lines = []
    for name, counts, was in rows:
        shares = [count / total for count, total in zip(counts, totals, strict=True)]
        bars = "".join(
            f"<i{' class=before' if k < len(shares) - 1 else ''} style='width:{100 * share / (most or 1):.0f}%'></i>"
            for k, share in enumerate(shares)
        )
        told = "<br>".join(f"{100 * share:.0f} %" for share in shares)
        mark = " ✓ what happened" if was else ""
        lines.append(
            f"<tr{' class=was' if was else ''}><th scope=row>{name}{mark}</th><td>{bars}</td><td>{told}</td></tr>"
        )
    return f"<table class=answers>{''.join(lines)}</table>"


def _choice(question: Question, rounds: Sequence[Round], words: Callable[[str], str], was: Said | None) -> str:
    counted = [Counter(vote.answer for vote in one.votes.values()) for one in rounds]
    rows = [(words(of.words), [found[of.value] for found in counted], of.value == was) for of in question.options]
    return _bars(rows, [len(one.votes) for one in rounds])


def _number(question: Question, rounds: Sequence[Round], words: Callable[[str], str], was: Said | None) -> str:
    values = [np.array([vote.answer for vote in one.votes.values()], float) for one in rounds]
    names, counts, edges = _binned(values)
    happened = float(was) if isinstance(was, float) else None
    at = -1 if happened is None else int(np.searchsorted(edges, [happened], side="right")[0])
    rows = [(safe(name), [count[k] for count in counts], k == at) for k, name in enumerate(names)]
    middle = ", then ".join(_short(float(np.median(one))) for one in values)
    unit = f" {safe(question.unit)}" if question.unit else ""
    told = "" if happened is None else f"; it was {_short(happened)}"
    shown = [row for row in rows if any(row[1]) or row[2]]
    return f"<p>Median {middle}{unit}{told}.</p>" + _bars(shown, [len(one) for one in values])


def _binned(values: Sequence[Any]) -> tuple[list[str], list[list[int]], Any]:
    """Return names of bins, counts of each, and the edges between them; what is far away is in the outer ones."""
    low, high = np.quantile(np.concatenate(values), [0.05, 0.95])
    raw = (high - low) / BINS or max(abs(high), 1.0) / BINS
    raw = max(raw, 1e-12 * max(abs(low), abs(high)), 1e-300)  # what differs by less cannot be told apart
    power = 10.0 ** np.floor(np.log10(raw))
    by = next(step * power for step in (1, 2, 5, 10) if step * power >= raw)
    edges = np.arange(np.floor(low / by) + 1, np.ceil(high / by) + 1e-9) * by
    if not len(edges):
        edges = np.array([np.floor(low / by) * by, np.floor(low / by) * by + by])
    said = [_short(float(edge)) for edge in edges]
    names = [
        f"below {said[0]}",
        *(f"{a} to {b}" for a, b in pairwise(said)),
        f"{said[-1]} or more",
    ]
    counts = [np.bincount(np.searchsorted(edges, one, side="right"), minlength=len(names)).tolist() for one in values]
    return names, counts, edges


def _order(question: Question, rounds: Sequence[Round], words: Callable[[str], str], was: Said | None) -> str:
    counted = [Counter(vote.answer for vote in one.votes.values()) for one in rounds]
    found = sorted(set().union(*counted), key=lambda one: (-counted[-1][one], str(one)))[:BINS]
    if was is not None and was not in found:
        found.append(was)
    rows = [
        (" → ".join(words(question.words_of(str(value))) for value in one), [c[one] for c in counted], one == was)
        for one in found
        if isinstance(one, tuple)
    ]
    return "<p class='quiet'>The orders that were named most.</p>" + _bars(rows, [len(one.votes) for one in rounds])


def _sketch(question: Question, rounds: Sequence[Round], words: Callable[[str], str], was: Said | None) -> str:
    wide, high, left, names = 280, 150, 44, [option.words for option in question.options]
    across = [left + 8 + (wide - left - 16) * k / max(len(names) - 1, 1) for k in range(len(names))]

    def path(kind: str, values: Any) -> str:
        up = 1 - (np.clip(values, question.low, question.high) - question.low) / (question.high - question.low)
        points = " L".join(f"{x:.1f} {high * y:.1f}" for x, y in zip(across, up, strict=True))
        return f"<path class='{kind}' d='M{points}'/>"

    every = [np.array([vote.answer for vote in one.votes.values()], float) for one in rounds]
    lines = [path("one", one) for one in every[-1][:MAX_SKETCHES]]
    lines += [
        path("median before" if k < len(every) - 1 else "median", np.median(one, 0)) for k, one in enumerate(every)
    ]
    lines += [path("was", was)] if was is not None else []
    ends = (question.high, question.low)
    axis = "".join(
        f"<text x={left - 6} y={y + 5} text-anchor=end>{_short(value)}</text>"
        for y, value in zip((0, high), ends, strict=True)
    )
    places = "".join(
        f"<text x='{x:.1f}' y={high + 24} text-anchor=middle>{safe(name, 12)}</text>"
        for x, name in zip(across, names, strict=True)
    )
    medians = "; ".join(f"{safe(name)}: {_short(float(np.median(every[-1][:, k])))}" for k, name in enumerate(names))
    told = "Thick: the median" + (", dashed: what happened." if was is not None else ".")
    return (
        f"<svg class=sketches viewBox='0 -10 {wide} {high + 40}' role=img aria-label='Medians: {medians}'>"
        f"{axis}{places}{''.join(lines)}</svg><p class='quiet'>{told}</p>"
    )


def _text(question: Question, rounds: Sequence[Round], words: Callable[[str], str], was: Said | None) -> str:
    return _listed(str(vote.answer) for vote in rounds[-1].votes.values())


def _notes(one: Round) -> str:
    notes = [vote.note for vote in one.votes.values() if vote.note]
    return f"<details><summary>Why? ({len(notes):,})</summary>{_listed(notes)}</details>" if notes else ""


def _listed(texts: Any) -> str:
    counted = Counter(texts)
    lines = [f"<li>{safe(text)}{f' ({n})' if n > 1 else ''}</li>" for text, n in counted.most_common(MAX_TEXTS)]
    more = f"<p class='quiet'>and {len(counted) - MAX_TEXTS:,} more in the CSV</p>" if len(counted) > MAX_TEXTS else ""
    return f"<ul class=said>{''.join(lines)}</ul>{more}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
