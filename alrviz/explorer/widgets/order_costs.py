"""The cost of orders 1 to 5 on a table: parameters, memory, one pass, and the reason where one is refused."""

from collections.abc import Callable, Mapping
from math import comb
from types import MappingProxyType
from typing import Any

import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError
from alrviz.explorer.shell.glossary import term_html
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.cost import RecipeEstimate, estimate_fit
from alrviz.views.core.style import html_table, safe

ORDERS = (1, 2, 3, 4, 5)
_COLUMNS = ("order", "tuples", "parameters", "bytes", "seconds_per_pass", "seconds_to_fit", "refused")


def estimate_orders(
    dataset: Dataset,
    seed: int,
    hear: Callable[[RecipeEstimate], None],
    stop: StopToken = NEVER,
    cuts: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[RecipeEstimate, ...]:
    """Estimate alr of every order on the training rows of the default split; `hear` is called with each.

    cuts: discretize and n_bins, where they are not a recipe's defaults.
    """
    prepared = prepare(dataset, Recipe("alr", order=1, seed=seed, **cuts), stop=stop)
    columns, estimates = prepared.encoded.n_columns, []
    for order in ORDERS:
        stop.check()
        recipe = Recipe("alr", order=order, seed=seed, **cuts)
        try:
            if order > columns:
                raise AlrvizError(f"the table has only {columns} used column{'s' if columns != 1 else ''}")
            one = estimate_fit(f"n = {order}", recipe, lambda _: prepared, stop=stop)
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            one = RecipeEstimate(f"n = {order}", recipe, refused=str(error) or "too large")
        estimates.append(one)
        hear(one)
    return tuple(estimates)


def costs_frame(fits: tuple[RecipeEstimate, ...], n_columns: int) -> pd.DataFrame:
    """Return the estimates as numbers: order, tuples, parameters, bytes, seconds a pass, and why one is refused."""
    rows = [
        {
            "order": one.recipe.params["order"],
            "tuples": comb(n_columns, one.recipe.params["order"]),
            "parameters": one.cost.parameters if one.estimate else None,
            "bytes": one.cost.bytes if one.estimate else None,
            "seconds_per_pass": one.one_pass.seconds if one.one_pass.passes else None,
            "seconds_to_fit": one.cost.seconds if one.one_pass.passes else None,
            "refused": one.refused,
        }
        for one in fits
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def costs_html(fits: tuple[RecipeEstimate, ...], n_columns: int, waiting: bool) -> str:
    """Return the table of orders; rows not known yet say so."""
    heads = [
        f"{term_html('order')} n",
        *(_number(text, "th") for text in (term_html("tuple", "tuples"), "parameters", "memory")),
        *(_number(text, "th") for text in (f"one {term_html('pass')}", "one fit, about")),
        "<th style='padding-left:1.5em'>fits in memory?</th>",
    ]
    by_order = {one.recipe.params["order"]: one for one in fits}
    rows = (_cells(by_order[n], comb(n_columns, n)) if n in by_order else _waiting(n, waiting) for n in ORDERS)
    return html_table(heads, rows)


def _number(text: str, tag: str = "td") -> str:
    return f"<{tag} class='n'>{text}</{tag}>"


def _waiting(order: int, waiting: bool) -> list[str]:
    text = "being estimated …" if waiting else "not estimated"
    return [str(order), "<td colspan='5'></td>", f"<td class='quiet' style='padding-left:1.5em'>{text}</td>"]


def _cells(one: RecipeEstimate, tuples: int) -> list[str]:
    texts = ["—"] * 4
    if one.estimate is not None:
        timed = bool(one.one_pass.passes)
        seconds = (one.one_pass.seconds, float(f"{one.cost.seconds:.1g}")) if timed else (None, None)
        texts = [count_text(one.cost.parameters), bytes_text(one.cost.bytes), *map(seconds_text, seconds)]
    verdict = f"<span class='bad'>refused</span>: {safe(one.refused, 300)}"
    answer = verdict if one.refused else "<span class='good'>yes</span>"
    numbers = map(_number, (count_text(tuples) if tuples else "—", *texts))
    return [str(one.recipe.params["order"]), *numbers, f"<td style='padding-left:1.5em'>{answer}</td>"]
