"""The cost of orders 1 to 5 on a table: parameters, memory, seconds of a pass, and the reason if one is refused."""

from collections.abc import Iterator, Mapping, Sequence
from math import comb
from types import MappingProxyType
from typing import Any

import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError, plural
from alrviz.explorer.shell.glossary import term_html
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.cost import RecipeEstimate, estimate_fit
from alrviz.views.core.style import html_table, safe

ORDERS = (1, 2, 3, 4, 5)


def estimate_orders(
    dataset: Dataset, seed: int, stop: StopToken = NEVER, cuts: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[RecipeEstimate]:
    """Yield the estimate of alr of every order on the training rows of the default split.

    cuts: discretize and n_bins, if they are not a recipe's defaults.
    """
    recipes = [Recipe("alr", order=order, alpha=1.0, seed=seed, **cuts) for order in ORDERS]
    prepared = prepare(dataset, recipes[0], stop=stop)
    columns = prepared.encoded.n_columns
    for order, recipe in zip(ORDERS, recipes, strict=True):
        stop.check()
        try:
            if order > columns:
                raise AlrvizError(f"the table has only {plural(columns, 'used column')}")
            yield estimate_fit(f"n = {order}", recipe, lambda _: prepared, stop=stop)
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            yield RecipeEstimate(f"n = {order}", recipe, refusal=str(error) or "too large")


def costs_frame(fits: Sequence[RecipeEstimate], n_columns: int) -> pd.DataFrame:
    """Return the estimates as a table: order, tuples, parameters, bytes, seconds of a pass and of a fit, refusal."""
    orders = [fit.recipe.params["order"] for fit in fits]
    return pd.DataFrame(
        {
            "order": orders,
            "tuples": [comb(n_columns, order) for order in orders],
            "parameters": [fit.cost.parameters if fit.estimate else None for fit in fits],
            "bytes": [fit.cost.bytes if fit.estimate else None for fit in fits],
            "seconds_per_pass": [fit.one_pass.seconds if fit.one_pass.passes else None for fit in fits],
            "seconds_to_fit": [fit.cost.seconds if fit.one_pass.passes else None for fit in fits],
            "refused": [fit.refusal for fit in fits],
        }
    )


def costs_html(fits: Sequence[RecipeEstimate], n_columns: int, is_estimating: bool) -> str:
    """Return the table of orders as HTML, including rows that are not estimated yet."""
    headings = [
        f"{term_html('order')} n",
        *(_number_cell(text, "th") for text in (term_html("tuple", "tuples"), "parameters", "memory")),
        *(_number_cell(text, "th") for text in (f"one {term_html('pass')}", "one fit, about")),
        "<th style='padding-left:1.5em'>fits in memory?</th>",
    ]
    fit_by_order = {fit.recipe.params["order"]: fit for fit in fits}
    rows = [_order_cells(order, comb(n_columns, order), fit_by_order.get(order), is_estimating) for order in ORDERS]
    return html_table(headings, rows)


def _number_cell(text: str, tag: str = "td") -> str:
    return f"<{tag} class='n'>{text}</{tag}>"


def _order_cells(order: int, n_tuples: int, fit: RecipeEstimate | None, is_estimating: bool) -> list[str]:
    """Return the cells of a row; fit=None: the order is not estimated yet."""
    if fit is None:
        state_text = "being estimated …" if is_estimating else "not estimated"
        return [str(order), "<td colspan='5'></td>", f"<td class='quiet' style='padding-left:1.5em'>{state_text}</td>"]
    cost_texts = ["—"] * 4
    if fit.estimate is not None:
        is_timed = bool(fit.one_pass.passes)
        seconds = (fit.one_pass.seconds, float(f"{fit.cost.seconds:.1g}")) if is_timed else (None, None)
        cost_texts = [count_text(fit.cost.parameters), bytes_text(fit.cost.bytes), *map(seconds_text, seconds)]
    refusal_html = f"<span class='bad'>refused</span>: {safe(fit.refusal, 300)}"
    verdict = refusal_html if fit.refusal else "<span class='good'>yes</span>"
    number_cells = map(_number_cell, (count_text(n_tuples) if n_tuples else "—", *cost_texts))
    return [str(order), *number_cells, f"<td style='padding-left:1.5em'>{verdict}</td>"]
