"""What the page "Which order?" asks for, and what is known of it before it runs: prices, refusals, what is kept."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from alrviz.explorer.session.managed_studies import kept_where
from alrviz.explorer.widgets.order_prices import Offer, offer_of
from alrviz.explorer.widgets.study_costs import by_cv, fit_seconds, lost_here, processes, remarks_of, whole_seconds
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.protocols.choose_order import OrderStudy

ORDERS = (0, 1, 2, 3)
FAMILIES = ("lr", "alr", "anje")
FOLDS = {"5": (1, 5), "2x5": (2, 5), "10": (1, 10), "5x2": (5, 2), "10x10": (10, 10)}  # repeats and folds by slug
FIRST_FOLDS = "2x5"
FIRST = Recipe("lr", alpha="cv")


@dataclass(frozen=True)
class Asked:
    """Settings of a study of orders."""

    recipe: Recipe
    folds: str

    @property
    def splits(self) -> tuple[int, int]:
        """Repeats and folds."""
        return FOLDS.get(self.folds, FOLDS[FIRST_FOLDS])


@dataclass(frozen=True)
class Known:
    """What is known before a study runs.

    Attributes:
        asked: the settings.
        offers: the price of each order above 0.
        study: the study of the orders that are not refused, with the cells that are kept; None where no order is left.
        seconds: about how long all fits take one after the other.
        n_jobs: processes; 1 is this one.
        remarks: what a reader should know of the table first.
    """

    asked: Asked
    offers: tuple[Offer, ...]
    study: "OrderStudy | None"
    seconds: float
    n_jobs: int
    remarks: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """What all workers take together."""
        return self.n_jobs * max(
            (offer.price.bytes for offer in self.offers if _runs(offer) and offer.price), default=0
        )


def learn(
    dataset: "Dataset", asked: Asked, seed: int, owner: str, most_jobs: int, stop: StopToken,
    tell: Callable[[str], None],
) -> Known:  # fmt: skip
    """Price every order, make the study of those that can be paid for, and take what is kept of it."""
    from alrviz.studies.core.study import fair_memory
    from alrviz.studies.protocols.choose_order import BOOSTING, choose_order

    tell("pricing")
    offers, lost = _offers(dataset, asked, fair_memory(), stop)
    remarks = remarks_of(dataset, [lost])
    repeats, folds = asked.splits
    each = sum(offer.seconds for offer in offers if _runs(offer))
    each += whole_seconds(BOOSTING, round(dataset.n_rows * (1 - 1 / folds)), dataset.X.shape[1], dataset.n_classes)
    seconds = each * repeats * folds
    n_jobs = processes(seconds, most_jobs)
    orders = [0, *(offer.order for offer in offers if _runs(offer))]
    if len(orders) == 1:
        return Known(asked, offers, None, seconds, n_jobs, remarks)
    stop.check()
    tell("looking for what is kept")
    study = choose_order(
        dataset, asked.recipe, orders=orders, repeats=repeats, folds=folds, references=True, seed=seed, n_jobs=n_jobs,
        owner=owner, keep=kept_where(),
    )  # fmt: skip
    study.recall()
    return Known(asked, offers, study, seconds, n_jobs, remarks)


def _offers(dataset: "Dataset", asked: Asked, allowed: int, stop: StopToken) -> tuple[tuple[Offer, ...], str]:
    """The price of each order above 0 on as many rows as a fold learns from, with one thread; columns lost."""
    from alrviz.fitting.prepare import prepare

    plain = asked.recipe.replace(holdout=1 / asked.splits[1], **({"alpha": 1.0} if by_cv(asked.recipe) else {}))
    prepared = prepare(dataset, plain, stop=stop).on(1)
    found = []
    for order in ORDERS[1:]:
        stop.check()
        offer = offer_of(prepared, plain.replace(order=order), stop, allowed)
        if offer.price is not None:
            recipe, rows = asked.recipe.replace(order=order), prepared.encoded.n_rows
            seconds = fit_seconds(offer.price, recipe, dataset.n_classes, rows, offer.tuples)
            offer = replace(offer, seconds=seconds)
        found.append(offer)
    return tuple(found), lost_here(prepared)


def _runs(offer: Offer) -> bool:
    return not offer.refused


def racers_of(study: Any, seed: int) -> tuple[Recipe, ...]:
    """Return the racers of "use this": the verdict's recipe, and lr or alr beside it; none for the class prior.

    An alpha that each fold chose is the middle one of them.
    """
    chosen = study.recipe()
    if chosen is None:
        return ()
    if by_cv(chosen):
        frame = study.frame()
        alphas = frame[(frame.order == chosen.params["order"]) & (frame.outcome != "failed")].alpha_chosen
        chosen = chosen.replace(alpha=float(f"{median(alphas):.3g}"))
    mine = chosen.replace(seed=seed)
    shared = {name: mine.params[name] for name in ("order", "alpha", "penalty") if name in mine.params}
    return mine, Recipe(mine.definition.rival, seed=seed, **shared)
