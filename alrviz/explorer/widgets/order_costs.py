"""The cost of orders 1 to 5 on a table: parameters, memory, seconds of a pass, and the reason if one is refused."""

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
    on_estimate: Callable[[RecipeEstimate], None],
    stop: StopToken = NEVER,
    cuts: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[RecipeEstimate, ...]:
    """Estimate alr of every order on the training rows of the default split; `on_estimate` is called with each.

    cuts: discretize and n_bins, if they are not a recipe's defaults.
    """
    prepared = prepare(dataset, Recipe("alr", order=1, seed=seed, **cuts), stop=stop)
    columns, estimates = prepared.encoded.n_columns, []
    for order in ORDERS:
        stop.check()
        recipe = Recipe("alr", order=order, seed=seed, **cuts)
        try:
            if order > columns:
                raise AlrvizError(f"the table has only {columns} used column{'s' if columns != 1 else ''}")
            fit = estimate_fit(f"n = {order}", recipe, lambda _: prepared, stop=stop)
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            fit = RecipeEstimate(f"n = {order}", recipe, refused=str(error) or "too large")
        estimates.append(fit)
        on_estimate(fit)
    return tuple(estimates)


def costs_frame(fits: tuple[RecipeEstimate, ...], n_columns: int) -> pd.DataFrame:
    """Return the estimates as a table: order, tuples, parameters, bytes, seconds of a pass and of a fit, refusal."""
    rows = [
        {
            "order": fit.recipe.params["order"],
            "tuples": comb(n_columns, fit.recipe.params["order"]),
            "parameters": fit.cost.parameters if fit.estimate else None,
            "bytes": fit.cost.bytes if fit.estimate else None,
            "seconds_per_pass": fit.one_pass.seconds if fit.one_pass.passes else None,
            "seconds_to_fit": fit.cost.seconds if fit.one_pass.passes else None,
            "refused": fit.refused,
        }
        for fit in fits
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def costs_html(fits: tuple[RecipeEstimate, ...], n_columns: int, is_estimating: bool) -> str:
    """Return the table of orders as HTML, including rows that are not estimated yet."""
    heads = [
        f"{term_html('order')} n",
        *(_number(text, "th") for text in (term_html("tuple", "tuples"), "parameters", "memory")),
        *(_number(text, "th") for text in (f"one {term_html('pass')}", "one fit, about")),
        "<th style='padding-left:1.5em'>fits in memory?</th>",
    ]
    fit_by_order = {fit.recipe.params["order"]: fit for fit in fits}
    rows = (
        _estimate_cells(fit_by_order[n], comb(n_columns, n)) if n in fit_by_order else _pending_cells(n, is_estimating)
        for n in ORDERS
    )
    return html_table(heads, rows)


def _number(text: str, tag: str = "td") -> str:
    return f"<{tag} class='n'>{text}</{tag}>"


def _pending_cells(order: int, is_estimating: bool) -> list[str]:
    text = "being estimated …" if is_estimating else "not estimated"
    return [str(order), "<td colspan='5'></td>", f"<td class='quiet' style='padding-left:1.5em'>{text}</td>"]


def _estimate_cells(fit: RecipeEstimate, tuples: int) -> list[str]:
    texts = ["—"] * 4
    if fit.estimate is not None:
        timed = bool(fit.one_pass.passes)
        seconds = (fit.one_pass.seconds, float(f"{fit.cost.seconds:.1g}")) if timed else (None, None)
        texts = [count_text(fit.cost.parameters), bytes_text(fit.cost.bytes), *map(seconds_text, seconds)]
    refusal_html = f"<span class='bad'>refused</span>: {safe(fit.refused, 300)}"
    verdict = refusal_html if fit.refused else "<span class='good'>yes</span>"
    numbers = map(_number, (count_text(tuples) if tuples else "—", *texts))
    return [str(fit.recipe.params["order"]), *numbers, f"<td style='padding-left:1.5em'>{verdict}</td>"]
