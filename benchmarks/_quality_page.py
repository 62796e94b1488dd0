"""The documentation's page on how good probabilities are, written from the means that are saved beside it.

    python -m benchmarks._quality_page DOCS [FILE ...]

Rows that `quality --csv` saved in FILEs become means in DOCS/quality.csv, in place of those of the same set and method,
and of those of the set that learned from another number of rows, with which they cannot be compared; then
DOCS/quality.md and the picture of mean ranks are written from that file alone.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from alrviz.studies.statistics.significance import geometric_mean_ratio, win_draw_loss
from benchmarks._picture import ranks_svg
from benchmarks._rivals import RIVAL, RIVALS, TUNED_RIVALS
from benchmarks.quality import (
    KINDS,
    LEAST_LOSS,
    MOST_ROWS,
    RARE,
    critical_difference,
    is_ours,
    limited_means,
    means_of,
    ranking,
    summary,
)
from reproduction.judge import holm

MISSING = "\N{EN DASH}"
PLAIN = ("nb", "lr n=1", "lr n=2", "alr n=1", "alr n=2", "a1de", "auto", *RIVALS)  # what is ranked
LISTED_METHODS = ("auto", RIVAL, "catboost", "lightgbm", "ebm", "splines", "forest", "lr n=1", "lr n=2", "alr n=2")
# Sets whose losses were looked at, on these or other splits, while AutoClassifier's ways to choose were made.
USED_SETS = (
    "german", "car", "tic-tac-toe", "pima", "vowel", "magic", "adult", "vehicle", "segment", "nursery", "pendigits",
    "satellite", "letter-recognition", "balance-scale", "page-blocks", "kr-vs-kp", "sick-euthyroid",
    "hypothyroid",
)  # fmt: skip
NAMES = {
    "auto": "**AutoClassifier**", RIVAL: "scikit-learn's boosting", "ebm": "EBM", "catboost": "CatBoost",
    "lightgbm": "LightGBM", "nb": "naive Bayes", "a1de": "A1DE",
}  # fmt: skip
SIZES = {"under 1,000 training rows": (0, 1000), "1,000 to 4,999": (1000, 5000), "5,000 or more": (5000, 10**9)}
NEW = {  # name: what is told
    "penguins": "species (palmerpenguins)", "cars": "origin, without the name (vega_datasets)",
    "seattle-weather": "weather, the date as its month (vega_datasets)", "fair": "an affair or none (statsmodels)",
    "anes96": "vote (statsmodels)",
}  # fmt: skip
MARGIN = 1.1  # a loss so many times the lowest is told
P_LEVEL = 0.05
MEASURES = {"error": "error", "AUC": "area under the curve", "Brier": "Brier score", "ECE": "calibration error (ECE)"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def bullets(*items: str) -> str:
    """Return a list in Markdown, its lines at most 120 characters long."""
    return "\n".join(
        fill(item, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) for item in items
    )


def comparable(means: pd.DataFrame) -> pd.DataFrame:
    """Return the means of each set that learned from as many rows as its last one did, and what was not fitted."""
    last = means.groupby("set").rows.transform("last")
    return means[means.rows.isna() | np.isclose(means.rows, last)]


def name_of(method: str) -> str:
    """Return a method's name in words."""
    first, _, rest = method.partition(" ")
    return f"{NAMES[first]}{', tuned' if rest else ''}" if first in NAMES else method.replace(" tuned", ", tuned")


def ranked(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sets that every plain method has been tried on, fitted or not."""
    plain = means[means.method.isin(PLAIN)]
    method_counts = plain.groupby("set").method.nunique()
    return plain[plain["set"].isin(method_counts.index[method_counts == len(PLAIN)])]


def losses_of(means: pd.DataFrame, *methods: str) -> pd.DataFrame:
    """Return log losses, a row a set and a column a method."""
    return means.pivot(index="set", columns="method", values="log_loss").reindex(columns=list(methods))


def compared(means: pd.DataFrame, model: str, rival: str) -> tuple[str, str, str]:
    """Return wins-draws-losses in log loss (four decimals), the ratio with its median, and p of the sign test."""
    losses = losses_of(means, model, rival).dropna()
    record = win_draw_loss(losses[model], losses[rival], digits=4)
    mean, middle = ratios(means, model, rival)
    return f"{record.wins}-{record.draws}-{record.losses}", f"{mean:.2f} ({middle:.2f})", f"{record.p:.2g}"


def ratios(means: pd.DataFrame, model: str, rival: str) -> tuple[float, float]:
    """Return geometric mean and median of model over rival in log loss (`limited_means`), where both are fitted."""
    losses = losses_of(limited_means(means), model, rival).dropna()
    return geometric_mean_ratio(losses[model], losses[rival]), float((losses[model] / losses[rival]).median())


def versus(means: pd.DataFrame, model: str, rival: str) -> str:
    """Return how two compare on the sets that both are fitted to."""
    if losses_of(means, model, rival).dropna().empty:
        return MISSING
    return "{}, {}, p {}".format(*compared(means, model, rival))


def unseen(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sets that no choice has seen."""
    return means[~means["set"].isin(USED_SETS)]


def signed_ranks(losses: pd.DataFrame) -> float:
    """Return p of Wilcoxon's signed ranks of the logarithms of two columns' ratios."""
    from scipy.stats import wilcoxon

    auto_losses, rival_losses = (losses[name] for name in losses)
    return float(wilcoxon(np.log(auto_losses / rival_losses)).pvalue)


def corrected(means: pd.DataFrame) -> dict[str, float]:
    """Return p of AutoClassifier beside each rival that has figures, by signed ranks, corrected by Holm for all."""
    pairs = {rival: losses_of(means, "auto", rival).dropna() for rival in RIVALS}
    pairs = {rival: losses for rival, losses in pairs.items() if len(losses)}
    return dict(zip(pairs, holm([signed_ranks(losses) for losses in pairs.values()]), strict=True))


def each_rival(means: pd.DataFrame) -> str:
    """Return AutoClassifier beside each rival where both are fitted, on all sets and on those no choice has seen."""
    failures = means[means.log_loss.isna()].groupby("method")["set"].nunique()
    lines = []
    for rival, p in corrected(means).items():
        losses = losses_of(means, "auto", rival).dropna()
        lines.append((name_of(rival), str(len(losses)), str(failures.get(rival, 0)),
                      *compared(means, "auto", rival)[:2],
                      f"{geometric_mean_ratio(losses['auto'], losses[rival]):.2f}", f"{p:.2g}",
                      *compared(unseen(means), "auto", rival)[:2]))  # fmt: skip
    header = ("AutoClassifier beside", "sets", "not fitted", "W-D-L", "ratio (median)", "ratio without limits", "p",
              "unseen sets: W-D-L", "ratio (median)")  # fmt: skip
    return table(header, lines)


def parts(means: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the sets by kind and by rows."""
    rows = means.groupby("set").rows.transform("max")
    by_kind = {"all sets": means, **{kind: means[means.kind == kind] for kind in KINDS[1:]}}
    return by_kind | {words: means[(rows >= low) & (rows < high)] for words, (low, high) in SIZES.items()}


def family(means: pd.DataFrame) -> str:
    """Return where the family wins beside boosting and EBM, and where not."""
    pairs = [(model, rival) for rival in (RIVAL, "ebm") for model in ("auto", "lr n=2", "alr n=2")]
    header = ("sets", "count", *(f"{name_of(model).strip('*')} : {name_of(rival)}" for model, rival in pairs))
    lines = [
        (words, str(part["set"].nunique()), *(versus(part, *pair) for pair in pairs))
        for words, part in parts(means).items()
    ]
    return table(header, lines)


def overview(means: pd.DataFrame) -> str:
    """Return AutoClassifier against each rival in a table and two sentences, as README has them."""
    of_part = parts(listed_means(means))
    all_sets = of_part["all sets"]
    p_values = corrected(all_sets)

    def wins(method: str, model: str = "auto", part: pd.DataFrame = all_sets) -> str:
        losses = losses_of(part, model, method).dropna()
        return f"{win_draw_loss(losses[model], losses[method], digits=4).wins} of {len(losses)}"

    def line(method: str, label: str, unseen_wins: str, p: float) -> tuple[str, ...]:
        return label, wins(method), f"{ratios(all_sets, 'auto', method)[1]:.2f}", f"{p:.2g}", unseen_wins

    lines = [line(rival, name_of(rival), wins(rival, part=unseen(all_sets)), p_values.get(rival, np.nan))
             for rival in (RIVAL, "lightgbm", "catboost", "ebm")]  # fmt: skip
    for rival in (RIVAL, "lightgbm"):
        method = f"{rival} tuned"
        if (all_sets.method == method).any():
            p = signed_ranks(losses_of(all_sets, "auto", method).dropna())
            lines.append(line(method, name_of(method), "", p))
    seconds = all_sets[all_sets.method == "auto"].fit_seconds
    *smaller, largest = (f"{wins(RIVAL, part=of_part[label])} sets with {label}" for label in SIZES)
    notes = (
        "Wins are counted on the sets that both were fitted to. p is that of Wilcoxon's signed-rank test on these "
        "sets; for rivals at their defaults it is corrected by Holm. Against scikit-learn's boosting AutoClassifier "
        f"wins more often on small tables: {', '.join(smaller)}, {largest}. "
        f"Its fits take {seconds.min():.1f} to {seconds.max():.0f} seconds, in the "
        f"median {seconds.median():.0f}, at up to {all_sets.rows.max():,.0f} training rows. A model of this package "
        f"with fixed settings, ALR of order 2, wins against the same boosting on {wins(RIVAL, 'alr n=2')} sets."
    )
    header = ("rival", "AutoClassifier wins: lower test log loss", "median of its log loss / the rival's", "p",
              "wins on sets unused in development")  # fmt: skip
    return f"{table(header, lines)}\n\n{fill(notes, 120, break_on_hyphens=False)}"


def tuned_rivals(means: pd.DataFrame) -> str:
    """Return a line a tuned rival: itself at its defaults on the same sets, and AutoClassifier beside both."""
    lines = []
    for method in TUNED_RIVALS:
        rival = method.split()[0]
        subset = means[means.method.isin((method, rival, "auto")) & (means["set"] != RARE)]
        losses = losses_of(subset, method, rival, "auto")
        attempts = losses.loc[means["set"][means.method == method]]
        complete = attempts.dropna()
        if complete.empty:
            continue
        common = subset[subset["set"].isin(complete.index)]
        lines.append(
            (
                name_of(rival), str(len(attempts)), str(int(attempts[method].isna().sum())),
                *("{:.2f} ({:.2f})".format(*ratios(common, *pair)) for pair in ((method, rival), ("auto", rival))),
                compared(common, "auto", method)[1], compared(common, "auto", method)[0],
                f"{signed_ranks(complete[['auto', method]]):.2g}",
                f"{subset[subset.method == method].fit_seconds.median():.1f} s", ", ".join(sorted(complete.index)),
            )
        )  # fmt: skip
    header = ("rival", "sets", "not fitted", "tuned / defaults", "AutoClassifier / defaults", "AutoClassifier / tuned",
              "AutoClassifier : tuned", "p", "median fit", "which")  # fmt: skip
    return table(header, lines) if lines else "None has been measured yet."


def weak(means: pd.DataFrame) -> str:
    """Return where AutoClassifier does not do well: its time, the sets on which it loses, and fixed penalties."""
    seconds = means.pivot(index="set", columns="method", values="fit_seconds")
    other_methods = [name for name in PLAIN if name != "auto"]
    losses = losses_of(means, "auto", *other_methods).dropna(subset=other_methods, how="all")
    best, best_methods = losses[other_methods].min(axis=1), losses[other_methods].idxmin(axis=1)
    loss_ratios = (losses["auto"] / best)[best > LEAST_LOSS].sort_values(ascending=False)
    losing = [
        f"{name} ({losses['auto'][name]:.3f} against {best[name]:.3f} of {name_of(best_methods[name])})"
        for name in loss_ratios.index[loss_ratios > MARGIN]
    ]
    worse = means[means.over_shares > means.over_shares_se].groupby("method")["set"].apply(list)
    notes = [f"{name_of(rival)} on {', '.join(worse[rival])}" for rival in RIVALS if rival in worse]
    record, middle, _ = compared(means, "alr n=2", RIVAL)
    return bullets(
        f"**It is not fast.** A fit takes {seconds['auto'].min():.1f} to {seconds['auto'].max():.0f} seconds, in the "
        f"median {seconds['auto'].median():.0f}. That is {(seconds['auto'] / seconds[RIVAL]).median():.0f} times what "
        f"scikit-learn's boosting takes and {(seconds['auto'] / seconds['ebm']).median():.2f} of what EBM does.",
        f"**Where it loses by more than a tenth:** {'; '.join(losing) or 'nowhere'}.",
        f"**Rivals that are worse than the class shares** count as these in ratios: {'; '.join(notes) or 'none'}.",
        "**Choosing settings is what helps.** alr of order 2 with alpha=1 has "
        f"{record} wins, draws and losses against scikit-learn's boosting and the ratio {middle}. It is worse than the "
        f"class shares on {', '.join(worse.get('alr n=2', ['none']))}.",
    )


def by_set(means: pd.DataFrame, whole: Iterable[str]) -> str:
    """Return log losses by set, the lowest bold; a dash where not fitted, an empty cell where not tried."""
    lines = []
    for name, part in listed_means(means[means.method.isin(LISTED_METHODS)]).groupby("set"):
        losses = part.set_index("method").log_loss
        best = round(losses.min(), 4)
        cells = []
        for method in LISTED_METHODS:
            loss = losses.get(method)
            loss_text = "" if loss is None else MISSING if pd.isna(loss) else f"{loss:.4f}"
            cells.append(f"**{loss_text}**" if loss is not None and round(loss, 4) == best else loss_text)
        lines.append((str(name) if name in whole else f"{name} \u2021", f"{part.rows.max() / 0.8:,.0f}", *cells))
    return table(("set", "rows", *(name_of(method).strip("*") for method in LISTED_METHODS)), lines)


def rare(means: pd.DataFrame) -> str:
    """Return the results on the set with a class of one row in 1,000."""
    part = means[(means["set"] == RARE) & means.log_loss.notna()].sort_values("log_loss")
    lines = [
        (name_of(row.method), f"{row.log_loss:.5f}", f"{row.over_shares:+.5f} ± {row.over_shares_se:.5f}",
         f"{row.auc:.3f}", f"{row.brier:.5f}", f"{row.ece:.5f}")
        for row in part.itertuples()
    ]  # fmt: skip
    worse = (part.over_shares > part.over_shares_se) & (part.method == "auto")
    better = ", ".join(name_of(name).strip("*") for name in part.method[part.over_shares < -part.over_shares_se])
    untried = ", ".join(name_of(name) for name in PLAIN if name not in set(part.method))
    finding = f"{better or 'None'} is better than the class shares by more than a standard error. Not tried: {untried}."
    warning = "`AutoClassifier` is worse than the class shares here: 16 rows of a class are too few to choose by.\n\n"
    header = ("method", "log loss", "over the class shares'", "AUC", "Brier", "ECE")
    return (warning if worse.any() else "") + f"{finding}\n\n{table(header, lines)}"


def new(means: pd.DataFrame) -> str:
    """Return the results on tables that were not used in development."""
    part = means[means["set"].isin(NEW)]
    losses, briers = (part.pivot(index="set", columns="method", values=measure) for measure in ("log_loss", "brier"))
    shares = (part.log_loss - part.over_shares).groupby(part["set"]).mean()
    rows = part.groupby("set").rows.max()
    return table(
        ("table", "rows", "class shares", "`alrviz.fit`", "boosting", "Brier, `alrviz.fit`", "boosting"),
        ((f"{name}, {words}", f"{rows[name] / 0.8:,.0f}", f"{shares[name]:.4f}",
          *(f"{values.loc[name, method]:.4f}" for values in (losses, briers) for method in ("auto", RIVAL)))
         for name, words in NEW.items() if name in losses.index),
    )  # fmt: skip


def refusals(means: pd.DataFrame) -> str:
    """Return what was not fitted, and why."""
    part = means[means.log_loss.isna()].assign(why=lambda frame: frame.why.str.split(". ", regex=False).str[0])
    lines = [
        f"- {reason}: " + "; ".join(f"{name_of(method)} on {', '.join(sets)}" for method, sets in method_sets.items())
        for reason, method_sets in (
            (reason, rows.groupby("method")["set"].apply(list)) for reason, rows in part.groupby("why")
        )
    ]
    return "\n".join(lines)


def listed_means(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sets by name, ranked or not."""
    return means[~means["set"].isin([RARE, *NEW])]


def first_two(common: pd.DataFrame) -> str:
    """Return which two methods are best by each measure, of means over the same sets."""
    sentences = []
    for measure, words in MEASURES.items():
        best = common[measure].astype(float).sort_values(ascending=measure != "AUC")[:2]
        best_two = (f"{value:.3f} ({name_of(str(name)).strip('*')})" for name, value in best.items())
        sentences.append(f"{words} {' and '.join(best_two)}")
    return f"On the sets that all are fitted to the best two have {'; '.join(sentences)}."


def page(means: pd.DataFrame) -> str:
    """Return the page."""
    subset = ranked(listed_means(means))
    losses, ranks = ranking(subset)
    difference = critical_difference(len(ranks), len(losses))
    auto_losses = losses["auto"]
    new_mean, new_median = ratios(unseen(subset), "auto", RIVAL)
    mean, median = ratios(subset, "auto", RIVAL)
    whole = losses.dropna()
    complete = subset[subset["set"].isin(whole.index.get_level_values("set"))]
    lines, common = summary(subset), summary(complete)
    common_rank = ranking(complete)[1].round(2)
    lines[[*MEASURES]] = common.reindex(lines.index)[[*MEASURES]].fillna(MISSING)
    lines = lines.rename(columns={"worse than shares": f"worse than shares, of {len(losses)}"})
    close = [name_of(str(name)).strip("*") for name in ranks.index[1:] if ranks[name] - ranks.iloc[0] < difference]
    lowest = int((losses[list(LISTED_METHODS)].round(4).min(axis=1) == auto_losses.round(4)).sum())
    figures = table(
        ("method", "mean rank", "where all are fitted", "log loss, all", *KINDS[1:], *lines.columns[1 + len(KINDS) :]),
        (
            (name_of(str(method)), row[0], f"{common_rank.get(method, np.nan):.2f}", *row[1:])
            for method, row in zip(lines.index, lines.to_numpy(), strict=True)
        ),
    )
    setup = bullets(
        "**Folds.** Each method learns from the same five stratified folds of each set, on one thread. Nothing is "
        f"tuned on test rows. Sets of more than {MOST_ROWS:,} rows are a random sample of them.",
        "**Settings** are the documented defaults, but scikit-learn's boosting stops early on small tables too, and "
        "the forest has 300 trees.",
        "**Sets used in development.** Ways of choosing penalties, cuts and order were compared on these or other "
        f"splits of {', '.join(USED_SETS)}. On the {unseen(subset)['set'].nunique()} ranked sets that were not used, "
        f"AutoClassifier's ratio is {new_mean:.2f}, the median {new_median:.2f}.",
        "**Ratios** are geometric means of test log loss over that of scikit-learn's boosting, on the sets that "
        f"both were fitted to. **A log loss below {LEAST_LOSS:g} counts as {LEAST_LOSS:g}, one above that of the "
        "class shares as that.**",
        "**Kinds of sets.** In categorical ones at most a third of the columns are numbers, in numeric ones all are.",
        f"**Ranks** are over the {len(losses)} sets that all methods have been tried on. A method that failed or was "
        f'too late has the last rank. "Where all are fitted" is the mean rank on the {len(whole)} sets without such '
        "a failure. Error, AUC, Brier score and ECE are means over these.",
        '**"Worse than shares"** is the number of sets on which a method is worse than the class shares by more '
        "than a standard error.",
    )
    findings = bullets(
        f"{name_of(str(ranks.index[0])).strip('*')} has the best mean rank, {ranks.iloc[0]:.2f}. Differences below "
        f"{difference:.2f} are not significant: {', '.join(close) or 'none'} lie within. The test by pairs in [the "
        "next table](#autoclassifier-beside-each-rival) is the sharper one.",
        f"AutoClassifier has the lowest log loss on {lowest} of {len(losses)} sets (to four decimals). Its ratio to "
        f"boosting is {mean:.2f}, the median {median:.2f}.",
        first_two(common),
        "Penalties chosen by folds have a log loss 0.002 to 0.012 nats above that of the best pair of a grid, which "
        "is chosen on the test rows. The choice takes 5 to 13 times as long as one fit ([eight small "
        "sets](defaults.md#alphas-that-are-chosen)).",
        "Above 20,000 training rows one fold of three is used for validation, unless nearly all rows are of one "
        "class. This was measured on three generated tables of 40,000 rows, 40 of them of a second class. Log loss "
        "with three folds: 0.00713, 0.00713, 0.00574; with one fold: 0.00760, 0.00714, 0.00580.",
        "With one fold the last fit of an order is continued further before orders are compared. On all 48,842 rows "
        "of adult that chooses order 2 instead of 1 in two of the five folds. Their log loss is 0.2667 and 0.2702 "
        "instead of 0.2696 and 0.2744, in 22 processor seconds instead of 4. On connect-4, shuttle and 60,000 rows "
        "of skin-segmentation (one fold) it does not change the choice.",
    )
    return f"""# How good the probabilities are

This page compares `AutoClassifier`, which `alrviz.fit` returns, with gradient boosting (scikit-learn's, CatBoost,
LightGBM) and explainable boosting machines (EBM, of interpret). Also measured are a random forest, logistic regression
on splines and one-hot levels, and this package's LR and ALR with fixed penalties (alpha 0.3 and 1).

{overview(means)}

`python -m benchmarks quality --data DIR --csv FILE` measures it, `python -m benchmarks._quality_page docs FILE`
writes this page; its figures are in [quality.csv](quality.csv).

{setup}

{figures}

![Mean ranks of the methods; those within the band do not differ significantly from the best](images/quality.svg)

Mean ranks, this package's models in blue. The band is the critical difference (Nemenyi, p .05): a method within it does
not differ significantly from the best.

## What it says

{findings}
{weak(listed_means(means))}
- **What limits it on sick-euthyroid**: the class depends on sharp thresholds of six hormone values together. Log loss
  on the first fold: scikit-learn's boosting 0.070 with stumps, 0.036 with trees of depth 2, 0.025 at its default.
  `AutoClassifier` has 0.053 (order 2, 24 smooth levels), 0.056 with 48 levels and 0.087 with MDL's cuts. On those six
  numbers alone it has 0.048, and order 3 is no better.

## AutoClassifier beside each rival

On the sets that both were fitted to. W-D-L are wins, draws and losses in log loss (four decimals). The ratio of log
losses is a geometric mean, with and without limits ({LEAST_LOSS:g} and the class shares' loss); its median is in
brackets. p is that of Wilcoxon's signed ranks of the logarithms without limits, corrected by Holm for all rivals.
Rivals choose nothing; `AutoClassifier` chooses on inner folds. The sets that a rival was not fitted to in time are
listed [at the end](#not-fitted).

{each_rival(listed_means(means))}

## Where the family wins, and where not

Each cell has the wins-draws-losses in test log loss (four decimals) on the sets that both were fitted to. It is
followed by the geometric mean ratio (below 1: the first is lower), the median in brackets, and the p of a sign test,
not corrected. Rows are training rows of a fold.

{family(listed_means(means))}

## Rivals with tuned settings

Each rival chooses among its defaults and a small grid of what its documentation says to tune first: learning rate,
size and number of trees, rows of a leaf; EBM: interactions, leaves, smoothing. It chooses by log loss on the three
inner folds that `AutoClassifier` chooses on, and is then fitted to all training rows. Ratios of log loss are geometric
means (in brackets medians) on the sets that all three were fitted to; p is that of signed ranks. The quick sets were
fitted first and not all have been reached; CatBoost, EBM and the forest were tuned on none.

{tuned_rivals(means)}

## One row in 1,000

A generated table of 20,000 rows, six numbers and four categories, with two classes; one of them has one row in 1,000.
The class depends on two categories and four of the numbers, on two of these by their product.

{rare(means)}

## Five tables never used before

Log loss and Brier score of five folds: `alrviz.fit(frame, target)` and, for comparison, HistGradientBoostingClassifier
with early stopping and its categorical columns named. Nothing here was made or chosen with these tables. (`quality
--sets penguins cars ...` takes them from their packages.)

{new(means)}

With the name of each car left in, boosting refuses the table in most folds (more than 255 levels). `alrviz.fit` refuses
dates until they are split into parts, and its error says how to split them.

## Log loss by set

The lowest loss of a row is bold. {MISSING}: the method was not fitted; empty: not tried yet; \u2021: not ranked above,
since not every method has been tried on it.

{by_set(means, set(losses.index.get_level_values("set")))}

### Not fitted

{refusals(means)}

Stopping early, scikit-learn's boosting refuses a class of one row, which it cannot split. Without stopping it is fitted
there, with losses far above the class shares': to count these would flatter whoever stands beside it.

The sets are those of the [reproduction](reproduction.md) with 500 rows or more.
"""


def main() -> None:
    """Write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path)
    parser.add_argument("figures", type=Path, nargs="*")
    options = parser.parse_args()
    write(options.docs, options.figures)


def write(docs: Path, figures: Sequence[Path] = ()) -> None:
    """Write means, page and picture; later figures replace earlier ones of the same set and method."""
    path = docs / "quality.csv"
    saved_means = [pd.read_csv(path)] if path.exists() else []
    means = pd.concat([*saved_means, *(means_of(pd.read_csv(figure_path, comment="#")) for figure_path in figures)])
    means = comparable(means.drop_duplicates(["set", "method"], keep="last"))
    means = means.sort_values(["set", "method"], ignore_index=True)
    means.to_csv(path, index=False, float_format="%.6g")
    means = pd.read_csv(path)  # as the next call reads them
    (docs / "quality.md").write_text(page(means), encoding="utf-8")
    losses, ranks = ranking(ranked(listed_means(means)))
    difference = critical_difference(len(ranks), len(losses))
    rank_by_name = {name_of(method).strip("*"): rank for method, rank in ranks.items()}
    our_names = [name_of(method).strip("*") for method in ranks.index if is_ours(method)]
    picture = ranks_svg(rank_by_name, difference, len(losses), our_names)
    (docs / "images" / "quality.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
