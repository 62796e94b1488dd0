"""What orders 1 to 5 would cost on this table: parameters, memory, one pass, and what is refused and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import comb
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from alrviz.errors import AlrvizError
from alrviz.explorer.shell.glossary import term_html
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.cost import planned_price, steps_seconds
from alrviz.views.core.style import html_table, safe

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset
    from alrviz.fitting.prepare import Prepared
    from alrviz.fitting.pricing.price import Price

ORDERS = (1, 2, 3, 4, 5)
_COLUMNS = ("order", "tuples", "parameters", "bytes", "seconds_per_pass", "seconds_to_fit", "refused")


@dataclass(frozen=True)
class OrderPrice:
    """The price of one order, or why there is none; about how many seconds a fit takes, where that was asked for."""

    order: int
    tuples: int
    price: "Price | None"
    refused: str
    seconds: float = 0.0


def offers(
    dataset: "Dataset",
    seed: int,
    said: Callable[[OrderPrice], None],
    stop: StopToken = NEVER,
    cuts: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[OrderPrice, ...]:
    """Price every order on the training rows of the default split; `said` is told of each as soon as it is known.

    cuts: discretize and n_bins, where they are not a recipe's defaults.
    """
    from alrviz.fitting.prepare import prepare

    prepared = prepare(dataset, Recipe("alr", order=1, seed=seed, **cuts), stop=stop)
    encoded = prepared.encoded
    varied = int((encoded.levels > 1).sum())
    found = []
    for order in ORDERS:
        stop.check()
        recipe = Recipe("alr", order=order, seed=seed, **cuts)
        offer = offer_of(prepared, recipe, stop)
        if offer.price is not None:
            seconds = steps_seconds(offer.price, recipe, encoded.class_rows, encoded.n_columns, varied)
            offer = replace(offer, seconds=seconds)
        found.append(offer)
        said(offer)
    return tuple(found)


def offer_of(prepared: "Prepared", recipe: Recipe, stop: StopToken, max_memory: int | None = None) -> OrderPrice:
    """Price a recipe that has an order; `max_memory`: bytes allowed, None for half of what is free."""
    order, columns = int(recipe.params["order"]), prepared.encoded.n_columns
    if order > columns:
        return OrderPrice(order, 0, None, f"the table has only {columns} used column{'s' if columns != 1 else ''}")
    tuples = comb(columns, order)
    try:
        price = planned_price(prepared, recipe, max_memory, stop)
    except (AlrvizError, MemoryError) as error:
        if stop.stopped:
            raise
        return OrderPrice(order, tuples, None, str(error) or "too large")
    return OrderPrice(order, tuples, price, price.refused)


def offers_frame(found: tuple[OrderPrice, ...]) -> "pd.DataFrame":
    """Return the offers as numbers: order, tuples, parameters, bytes, seconds a pass, and why one is refused."""
    import pandas as pd

    rows = [
        {
            "order": offer.order,
            "tuples": offer.tuples,
            "parameters": offer.price.parameters if offer.price else None,
            "bytes": offer.price.bytes if offer.price else None,
            "seconds_per_pass": offer.price.seconds_per_pass if offer.price else None,
            "seconds_to_fit": offer.seconds if offer.price else None,
            "refused": offer.refused,
        }
        for offer in found
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def offers_html(found: tuple[OrderPrice, ...], waiting: bool) -> str:
    """Return the table of offers; rows not known yet say so."""
    heads = [
        f"{term_html('order')} n",
        *(_number(text, "th") for text in (term_html("tuple", "tuples"), "parameters", "memory")),
        *(_number(text, "th") for text in (f"one {term_html('pass')}", "one fit, about")),
        "<th style='padding-left:1.5em'>fits in memory?</th>",
    ]
    by_order = {offer.order: offer for offer in found}
    rows = (_cells(by_order[n]) if n in by_order else _waiting(n, waiting) for n in ORDERS)
    return html_table(heads, rows)


def _number(text: str, tag: str = "td") -> str:
    return f"<{tag} class='n'>{text}</{tag}>"


def _waiting(order: int, waiting: bool) -> list[str]:
    text = "being priced …" if waiting else "not priced"
    return [str(order), "<td colspan='5'></td>", f"<td class='quiet' style='padding-left:1.5em'>{text}</td>"]


def _cells(offer: OrderPrice) -> list[str]:
    price, texts = offer.price, ["—"] * 4
    if price is not None:
        seconds = seconds_text(price.seconds_per_pass), seconds_text(float(f"{offer.seconds:.1g}"))
        texts = [count_text(price.parameters), bytes_text(price.bytes), *seconds]
    verdict = f"<span class='bad'>refused</span>: {safe(offer.refused, 300)}"
    answer = verdict if offer.refused else "<span class='good'>yes</span>"
    numbers = map(_number, (count_text(offer.tuples) if offer.tuples else "—", *texts))
    return [str(offer.order), *numbers, f"<td style='padding-left:1.5em'>{answer}</td>"]
