"""How an item is decided: by pairs over sets, races, curves or pulls toward a center, or by limits."""

from dataclasses import dataclass, replace

import pandas as pd

from reproduction import derived
from reproduction.item import Frames, Item
from reproduction.judge import concludes
from reproduction.limits import drawn_lines, limit_lines, limit_points, limit_seen
from reproduction.pairs import Comparison, Pair, likely, pair_lines, points, summarize_pairs
from reproduction.reasons import reason_of

Shows = tuple[str, Frames]  # kind of picture, from rows to what it shows


@dataclass(frozen=True)
class Claim:
    """An item that pairs decide: name, title, what the paper says of it (`text`), its study, its pairs."""

    name: str
    title: str
    text: str
    study: str
    pairs: tuple[Pair, ...]


def _identity(figures: pd.DataFrame) -> pd.DataFrame:
    return figures


def paired(claim: Claim, derive: Frames = _identity, shows: Shows | None = None) -> Item:
    """Return the item of a claim that pairs decide; `derive` makes what is compared of the study's rows."""

    def find_reason(pair: Pair, result: Comparison) -> str:
        return "; ".join(filter(None, (reason_of(claim.name, pair), likely(pair, result))))

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        return pair_lines(claim.name, claim.pairs, derive(figures), find_reason)

    def scatter(figures: pd.DataFrame) -> pd.DataFrame:
        return points(claim.pairs, derive(figures))

    kind, points_of = shows or ("scatter", scatter)
    return Item(claim.name, claim.title, claim.study, claim.text, table, summarize_pairs, kind, points_of)


def limited(
    name: str, title: str, text: str, study: str, lines: Frames | None = None, shows: Shows = ("limits", limit_points)
) -> Item:
    """Return the item of a claim that limits decide; `lines` makes the table where rows are not limits themselves."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        if lines is not None:
            return lines(figures)
        return limit_lines(name, figures if "limit" in figures else figures.iloc[:0], reason_of(name))

    kind, points_of = shows
    to_table = table if kind == "limits" else _identity
    return Item(name, title, study, text, table, limit_seen, kind, lambda figures: points_of(to_table(figures)))


def chosen_pulls(claim: Claim) -> Item:
    """Return the item of a claim on pulls with alpha chosen on training rows; its sentence names the better center.

    The claim's last pair is of the pull toward one and that toward zero.
    """

    def summarize(table: pd.DataFrame) -> str:
        our_record = str(table["ours"].iloc[-1])
        if not our_record:
            return summarize_pairs(table)
        wins, _, losses = map(int, our_record.partition(",")[0].split("/"))
        word = {1: "is better than", -1: "is worse than", 0: "is not told from"}[concludes(wins, losses)]
        return (
            f"{summarize_pairs(table)}; with alpha so chosen the pull toward one {word} that toward zero ({our_record})"
        )

    return replace(paired(claim, derived.with_distance_from_lr), summarize=summarize)


def with_limits(item: Item) -> Item:
    """Return an item of pairs whose study has rows with limits too; their lines follow the pairs'."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        limits = figures[figures["limit"].notna()] if "limit" in figures else figures.iloc[:0]
        return pd.concat([item.table(figures), limit_lines(item.name, limits)], ignore_index=True)

    return replace(item, table=table)


def by_draws(item: Item) -> Item:
    """Return an item of limits whose rows are draws of a random table, of which most must keep to the limit."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        return drawn_lines(item.name, figures if "limit" in figures else figures.iloc[:0], reason_of(item.name))

    return replace(item, table=table)


_CURVES: Shows = ("curves", derived.curve_points)
_RACES: Shows = ("curves", derived.race_points)


def raced_item(name: str, title: str, text: str, study: str, pairs: tuple[Pair, ...]) -> Item:
    """Return the item of a claim on iterations to a goal (`derived.with_gains`)."""
    return paired(Claim(name, title, text, study, pairs), derived.with_gains, _RACES)


def curved_item(name: str, title: str, text: str, study: str, pairs: tuple[Pair, ...]) -> Item:
    """Return the item of a claim on learning curves (`derived.along_curves`)."""
    return paired(Claim(name, title, text, study, pairs), derived.along_curves, _CURVES)


def pulled_item(name: str, title: str, text: str, pairs: tuple[Pair, ...], sets: tuple[str, ...] | None = None) -> Item:
    """Return the item of a claim on pulls toward a center; with `sets` it is of those, and shows their curves."""

    def select_sets(figures: pd.DataFrame) -> pd.DataFrame:
        return figures if sets is None or not len(figures) else figures[figures["set"].isin(sets)]

    shows: Shows | None = (
        None if sets is None else ("curves", lambda figures: derived.pull_points(select_sets(figures)))
    )
    claim = Claim(name, title, text, "pulls", pairs)
    return paired(
        claim, lambda figures: derived.with_distance_from_lr(derived.along_pulls(select_sets(figures))), shows
    )
