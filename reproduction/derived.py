"""What is compared of curves and of paths along alpha: from a study's rows to rows of a set, a method and measures."""

import numpy as np
import pandas as pd

from reproduction.compare import COLUMNS
from reproduction.growth import exponent
from reproduction.judge import NOT_RUN, UNDECIDED
from reproduction.limits import limit_lines
from reproduction.racers import PULLED_KINDS, STRENGTHS, pull_name

EARLY = 0.02  # share of the rows after which a curve is looked at early
COSTS = {"error": "0-1 loss", "rmse2": "squared RMSE"}
CHANCE_ROWS = 20  # rows whose mean cost is chance, and would fill a picture
DISTANCE = "log RMSE from lr's"
UNPENALISED = {"lr1 to 0": "lr1 paper", "alr1 to 0": "alr1 paper", "alr1 to 1": "alr1 paper"}


def along_curves(figures: pd.DataFrame) -> pd.DataFrame:
    """Return set, method, first, early, last and mean of a curve's cost; a method learning in one pass says so."""
    lines = []
    for (name, theta, method), curve in _curves(figures):
        words = method if theta == "two-pass" or not method.startswith("alr") else f"{method} {theta}"
        cost = curve["rmse2" if "rmse2" in curve and curve["rmse2"].notna().any() else "error"].to_numpy(float)
        early = int(np.searchsorted(curve["seen"].to_numpy(float), EARLY * curve["seen"].max()))
        labels = {"set": name, "method": words}
        if "rows" in curve:
            labels["rows"] = curve["rows"].max()
        points = {"first": cost[0], "early": cost[min(early, len(cost) - 1)], "last": cost[-1]}
        lines.append(labels | points | {"mean": cost.mean()})
    return pd.DataFrame(lines).drop_duplicates(["set", "method"]) if lines else pd.DataFrame()


def curve_points(figures: pd.DataFrame) -> pd.DataFrame:
    """Return what a picture of learning curves shows: panel, method, x, y."""
    parts = []
    has_many_methods = len(figures) and "method" in figures and figures["method"].nunique() > 6
    for (name, theta, method), curve in _curves(figures):
        cost = curve["rmse2" if "rmse2" in curve and curve["rmse2"].notna().any() else "error"]
        panel = f"{name} ({theta})" if theta == "single-pass" else name
        panel = f"{panel}, {method.rstrip('0123456789')}" if has_many_methods else panel
        labels = {"panel": panel, "method": method, "x_name": "rows learned from", "y_name": COSTS[str(cost.name)]}
        parts.append(pd.DataFrame(labels | {"x": curve["seen"], "y": cost})[curve["seen"] > CHANCE_ROWS])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _curves(figures: pd.DataFrame):  # type: ignore[no-untyped-def]
    if not len(figures) or "seen" not in figures:
        return []
    points = figures[figures["seen"].notna()]
    theta = points["theta"] if "theta" in points else pd.Series("two-pass", index=points.index)
    return points.assign(theta=theta.fillna("two-pass")).groupby(["set", "theta", "method"], sort=False)


def _goals(figures: pd.DataFrame) -> pd.DataFrame:
    """Rows with iterations to a goal; fits whose curves are lost have none."""
    return figures[figures["to_goal"].notna()] if "to_goal" in figures else pd.DataFrame()


def with_gains(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of races and, for each order, a method "alr2 over lr2" with the ratio of their to_goal."""
    goals = _goals(figures)
    if not len(goals):
        return goals
    wide = goals.pivot_table(index="set", columns="method", values="to_goal", sort=False)
    pairs = [(f"alr{n}", f"lr{n}") for n in (1, 2, 3) if {f"alr{n}", f"lr{n}"} <= set(wide)]
    gains = [
        {"set": name, "method": f"{a} over {b}", "to_goal": ratio}
        for a, b in pairs
        for name, ratio in (wide[a] / wide[b]).dropna().items()
    ]
    return pd.concat([goals, pd.DataFrame(gains)], ignore_index=True) if gains else goals


def race_points(figures: pd.DataFrame) -> pd.DataFrame:
    """Return what a picture of races shows: panel, method, x (iteration), y (NLL a row, less log C)."""
    if not len(figures) or "nll" not in figures:
        return pd.DataFrame()
    points = figures[figures["nll"].notna()]
    nll = points["nll"].round(9) + 0.0  # at zero it is 0, not the rounding of a sum
    names = {"x_name": "iterations + 1", "y_name": "NLL a row less log C, nats"}
    return pd.DataFrame(names | {"panel": points["set"], "method": points["method"], "x": points["seen"] + 1, "y": nll})


def along_pulls(figures: pd.DataFrame) -> pd.DataFrame:
    """Return what is compared of racers pulled toward a center, beside the rows themselves.

    A method more for each of `PULLED_KINDS`: "NAME, best" (alpha of the lowest RMSE, chosen on the test folds as the
    paper did), "NAME, strongest" and "NAME, weakest".
    """
    if not len(figures) or "rmse" not in figures:
        return figures
    lines = []
    for name, of_set in figures[figures["rmse"].notna()].groupby("set", sort=False):
        by_method = of_set.drop_duplicates("method").set_index("method")
        for kind in PULLED_KINDS:
            racers = [pull_name(kind, strength) for strength in STRENGTHS]
            racers = [racer for racer in racers if racer in by_method.index]
            if len(racers) < len(STRENGTHS):
                continue
            best = by_method.loc[racers, "rmse"].idxmin()
            for words, method in (("best", best), ("weakest", racers[0]), ("strongest", racers[-1])):
                values = by_method.loc[method].to_dict()
                lines.append(values | {"set": name, "method": f"{kind}, {words}", "chosen": str(method)})
    return pd.concat([figures, pd.DataFrame(lines)], ignore_index=True)


def with_distance_from_lr(figures: pd.DataFrame) -> pd.DataFrame:
    """Return rows of pulls with `DISTANCE`: |log(RMSE over that of lr toward zero)|, alpha found in the same way.

    The more varied a racer is beside lr, the larger it is on more sets. NaN of an alpha that was not found.
    """
    if not len(figures) or "rmse" not in figures:
        return figures
    way = figures["method"].astype(str).str.partition(", ")[2]
    lr = figures[figures["method"].astype(str).str.startswith("lr1 to 0, ")].assign(way=way)
    of_lr = lr.drop_duplicates(["set", "way"]).set_index(["set", "way"])["rmse"]
    lr_rmse = of_lr.reindex(pd.MultiIndex.from_arrays([figures["set"], way])).to_numpy(float)
    return figures.assign(**{DISTANCE: np.abs(np.log(figures["rmse"].to_numpy(float) / lr_rmse))})


def pull_points(figures: pd.DataFrame) -> pd.DataFrame:
    """Return RMSE along alpha: panel (the set), method, x (alpha), y; naive Bayes and unpenalised fits as levels."""
    if not len(figures) or "rmse" not in figures:
        return pd.DataFrame()
    lines = []
    for row in figures[figures["rmse"].notna()].to_dict("records"):
        kind, mark, strength = str(row["method"]).partition(" alpha ")
        if mark:
            lines.append({"panel": row["set"], "method": kind, "x": float(strength), "y": row["rmse"]})
        else:
            ends = (STRENGTHS[0], STRENGTHS[-1])
            lines += [{"panel": row["set"], "method": kind, "x": end, "y": row["rmse"]} for end in ends]
    return pd.DataFrame(lines).assign(x_name="alpha", y_name="RMSE") if lines else pd.DataFrame()


def zipf_lines(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of claim 5: iterations of alr over lr's on Zipf columns, geometric means over tables.

    Where one of them did not come to the goal on every table, what it had spent is no gain: undecided.
    """
    goals = _goals(figures)
    if not len(goals):
        return pd.DataFrame(columns=list(COLUMNS))
    gains, counts = {}, {}
    for order in (1, 2, 3):
        gains[order], counts[order] = _ratio(goals, f"alr{order}", f"lr{order}", order)
    rows = [
        _limit(
            f"{counts[low]} tables, n={low}; {counts[high]}, n={high}",
            f"alr over lr at n={high}, over the same at n={low}",
            gains[high] / gains[low],
            1.0,
        )
        for low, high in ((1, 2), (2, 3), (1, 3))
    ]
    lines = limit_lines("c5", pd.DataFrame(rows))
    lines["verdict"] = lines["verdict"].replace(NOT_RUN, UNDECIDED)  # raced, and not all came there
    came = ", ".join(filter(None, (_reached(goals, order) for order in (1, 2, 3))))
    lines["reason"] = np.where(lines["verdict"] == UNDECIDED, f"came within 0.1 %: {came}", "")
    return lines


def _reached(goals: pd.DataFrame, order: int) -> str:
    """On how many tables of an order lr and alr came to the goal, in words."""
    order_goals = goals[goals["set"].str.contains(f"n={order},", regex=False)]
    counts = order_goals.groupby("method")["reached"].agg(["sum", "size"])
    parts = [f"{name} on {counts['sum'][name]} of {counts['size'][name]}" for name in (f"lr{order}", f"alr{order}")
            if name in counts.index]  # fmt: skip
    return " and ".join(parts)


def _limit(name: str, method: str, value: float, limit: float) -> dict[str, object]:
    labels = {"set": name, "method": method, "quantity": "iterations to 0.1 %"}
    return labels | {"ours": value, "limit": limit, "above": False}


def _ratio(goals: pd.DataFrame, a: str, b: str, order: int) -> tuple[float, int]:
    """The geometric mean of a's iterations over b's, NaN without a table of that order, and over how many tables."""
    order_goals = goals[goals["set"].str.contains(f"n={order},", regex=False) & goals["method"].isin((a, b))]
    values = order_goals.pivot_table(index="set", columns="method", values="to_goal")
    if a not in values or b not in values or not order_goals["reached"].all():
        return float("nan"), len(values)
    logs = np.log(values[a] / values[b]).dropna()
    return float(np.exp(logs.mean())), len(logs)


def growth_lines(item: str, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of claim 17: p of seconds ~ rows^p over a decade, of every mode of DLR."""
    rows = []
    timed = figures[figures["train_s"].notna()] if "train_s" in figures else figures.iloc[:0]
    for method, fits in timed.groupby("method", sort=False):
        if str(method).startswith("dlr") and len(fits) > 2:
            small, large = fits.iloc[-3], fits.iloc[-1]
            p = exponent(small["rows"], small["train_s"], large["rows"], large["train_s"])
            span = f"{small['rows']:,.0f} to {large['rows']:,.0f} rows"
            labels = {"set": span, "method": method, "quantity": "p of seconds ~ rows^p"}
            rows.append(labels | {"ours": p, "limit": 1.2, "above": False})
    return limit_lines(item, pd.DataFrame(rows)) if rows else pd.DataFrame(columns=list(COLUMNS))
