"""The report: a page of findings, one of all items, one a paper, and every line of every table as CSV beside them.

`write_report` keeps the tables of what was asked for in the folder beside the page and makes the pages of all that is
kept there: the page is what its tables say, whichever sitting measured them.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from reproduction.finding_lines import EARLIER, PRECONDITIONERS, SETS, Figures
from reproduction.findings import FINDINGS, Finding, Group, Line, figures_of, figures_table, link_of, page_of
from reproduction.item import Item, verdicts
from reproduction.judge import DIFFERS, NOT_RUN, VERDICTS
from reproduction.printed_figures import OtherWays, ways_told
from reproduction.racers import LOW_ORDERS, RACERS, THIRD_ORDER
from reproduction.reasons import reasons_among
from reproduction.sets import BIG_SETS, LITTLE_SETS
from reproduction.still_missing import FOLDS, Seconds, still_missing
from reproduction.trials import TRIALS, Outcome, outcomes

MAX_LINES = 24  # lines of a table that a page shows, beside those that differ
UNEXPLAINED = "not explained"
SUMMARIES = "seen.csv"
FITS = "fits"  # folder of the studies' rows
ITEMS = "items.md"  # the page of all items, in the papers' folder
FIGURES = "findings.csv"  # what the findings compare over sets
DIFFERING = "Items of which a line differs"
LOST_MARK = "\N{DAGGER}"  # behind an item some of whose lines are of an earlier run
LARGEST_FILE = 400_000  # bytes of a study's rows that are kept beside the page
# Of tables with many methods these are shown first; the CSV has all.
_FIRST_METHODS = ("lr", "dlr", "dlr-h")
_SOURCES = {
    "alr": "[ALR] ALR^n: accelerated higher-order logistic regression (Machine Learning 104, 2016)",
    "wanbia": "[WANBIA-C] Naive-Bayes inspired effective pre-conditioner for logistic regression (ICDM 2014)",
    "salr": "[sALR] Efficient and effective accelerated hierarchical higher-order logistic regression (SDM 2018)",
    "dlr": "[DLR] Density based logistic regression (KDD 2013)",
    "elr": "[ELR] Structural extension to logistic regression (Machine Learning 59, 2005)",
    "claims": "Claims on data that anyone can repeat",
}


_NOTES = {
    "dlr": "Where a printed set may be either of two tables of ours (both Wisconsin ones; monks-3 with and without the "
    "wrong rows) both are listed below. The findings count its printed figures once. Where they count how many "
    "differ and by how much, they take the nearer of the two for each method; where they compare methods over sets, "
    "the table that is nearer in the mean of all methods.",
}


@dataclass(frozen=True)
class Reproduced:
    """An item, its table, and the sentence that sums up our figures."""

    item: Item
    table: pd.DataFrame
    summary: str

    @property
    def counts(self) -> Mapping[str, int]:
        """How many lines have each verdict."""
        return _counts(self.table)

    @property
    def has_lost_lines(self) -> bool:
        """Whether some of its lines are of an earlier run."""
        return bool(len(self.table)) and bool(self.table["reason"].str.contains(EARLIER).any())

    @property
    def name(self) -> str:
        """Its name as a link from the folder of the pages, with LOST_MARK if some lines are of an earlier run."""
        return f"[{self.item.name}]({link_of(self.item.name)}){LOST_MARK if self.has_lost_lines else ''}"

    @property
    def topic(self) -> str:
        """What it shows."""
        return _cell(self.item.title.partition(": ")[2] or self.item.title)


def write_report(
    items: Sequence[Item],
    tables: Mapping[str, pd.DataFrame],
    source: Path,
    file: Path,
    catalog: Sequence[Item],
    note: str = "",
) -> None:
    """Keep tables and pictures that `pictures.save` has written to `source`, and write the pages of all kept.

    file: the page; tables and the papers' pages stand in a folder of its name, pictures in images/ of that name.
    catalog: all items that there are, in their order. note: a sentence under the title.
    """
    pictures, folder = file.parent / "images" / file.stem, file.with_suffix("")
    for place in (pictures, folder / FITS):
        place.mkdir(parents=True, exist_ok=True)
    summaries = _load_summaries(folder)
    sample = bool(note)
    for item in items:
        (pictures / f"{item.name}.svg").write_bytes((source / f"{item.name}.svg").read_bytes())
        tables[item.name].to_csv(folder / f"{item.name}.csv", index=False, lineterminator="\n")
        summaries[item.name] = item.summarize(tables[item.name])
    for study in {item.study for item in items}:
        rows = source / f"{study}.csv"
        if rows.stat().st_size <= LARGEST_FILE:
            _keep_rows(rows, folder / FITS / rows.name)
    summary_table = pd.DataFrame({"item": list(summaries), "seen": list(summaries.values())})
    summary_table.to_csv(folder / SUMMARIES, index=False, lineterminator="\n")
    results = load_kept(folder, catalog)
    file.write_text(front(results, folder, note), encoding="utf-8")
    table = figures_table(_figures(results, folder, sample))
    table.to_csv(folder / FIGURES, index=False, lineterminator="\n", float_format="%.3g")
    (folder / ITEMS).write_text(items_page(results, folder, file.name, sample), encoding="utf-8")
    for paper in _SOURCES:
        if part := [result for result in results if page_of(result.item.name) == paper]:
            text = paper_page(paper, part, f"../images/{file.stem}", file.name, _trial_runs(results))
            (folder / f"{paper}.md").write_text(text, encoding="utf-8")


def _keep_rows(rows: Path, place: Path) -> None:
    """Copy a study's rows; rows of missing sets are left out, since they name a local folder."""
    lines = [line for line in rows.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    fits = pd.read_csv(StringIO("\n".join(lines)), dtype=str, keep_default_na=False)
    if "missing" in fits:
        fits = fits[fits["missing"] == ""].drop(columns="missing")
    fits.to_csv(place, index=False, lineterminator="\n")


def load_kept(folder: Path, catalog: Sequence[Item]) -> list[Reproduced]:
    """Return the items whose tables are in a folder, all cells as text."""
    summaries = _load_summaries(folder)
    return [
        Reproduced(item, _read(folder / f"{item.name}.csv"), summaries[item.name])
        for item in catalog
        if item.name in summaries
    ]


def _load_summaries(folder: Path) -> dict[str, str]:
    if not (folder / SUMMARIES).is_file():
        return {}
    return dict(_read(folder / SUMMARIES).itertuples(index=False))


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def front(results: Sequence[Reproduced], folder: Path, note: str = "") -> str:
    """Return the first page: what was run, how it is judged, the findings; with a note, a sample's: without seconds."""
    sample = bool(note)
    figures = _figures(results, folder, sample)
    by_group: dict[Group, list[str]] = {group: [] for group in Group}
    for finding in _findings(sample):
        if sentence := finding.sentence(figures, folder.name):
            by_group[finding.group(figures)].append(f"- {sentence}")
    by_group[Group.FALLS] += _also_differ(results, folder.name)
    tests = sum(line.raw is not None for line in figures.values())  # of the family
    lines = ["# The papers' tables, figures and claims, reproduced", ""] + ([note, ""] if note else [])
    pages = [paper for paper in _SOURCES if any(page_of(result.item.name) == paper for result in results)]
    links = "; ".join(f"[{_SOURCES[paper]}]({folder.name}/{paper}.md)" for paper in pages)
    lines += [
        *([f"**Pages:** {links}.", ""] if pages else []),
        _WORDS,
        "",
        *_what_was_run(_kept_means(folder), results, sample),
        _TESTS_TEXT.format(tests=tests, items=f"{folder.name}/{ITEMS}", figures=f"{folder.name}/{FIGURES}"),
    ]
    if answers := [f"- {answer}" for finding in _findings(sample) if (answer := finding.answer(figures))]:
        lines += ["", "## Summary", "", *answers]
    for group, sentences in by_group.items():
        if sentences:
            lines += ["", f"## {group.value}", "", *sentences]
    return "\n".join(lines) + "\n"


def _findings(sample: bool) -> list[Finding]:
    """Two runs of a sample are to write the same page; p of seconds would move the others' by Holm's correction."""
    return [finding for finding in FINDINGS if not (sample and finding.timed)]


def _figures(results: Sequence[Reproduced], folder: Path, sample: bool) -> dict[Line, Figures]:
    tables = {result.item.name: result.table for result in results}
    tables |= {study: _kept_means(folder, study) for study in (SETS, PRECONDITIONERS)}
    return figures_of(_findings(sample), tables)


def _kept_means(folder: Path, study: str = SETS) -> pd.DataFrame:
    """The kept means of a study, of every method on every set; without rows where there are none."""
    file = folder / FITS / f"{study}.csv"
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame()
    return rows if {"rows", "rounds", "error"} <= set(rows) else pd.DataFrame()


def _what_was_run(rows: pd.DataFrame, results: Sequence[Reproduced], sample: bool = False) -> Iterator[str]:
    """On which sets the figures of order 2 are, and, but for a sample, what has not been run."""
    if not len(rows):
        return
    (_, at_1), (little, big), (at_3, _) = (
        [fits[fits["group"] == group] for group in ("little", "big")]
        for order in (1, 2, 3)
        for fits in [rows[(rows["method"] == f"alr{order} paper") & rows["error"].notna()]]
    )
    sizes = little["rows"]
    set_words = (
        "tables that come with the package" if sample else f"of {len(LITTLE_SETS)} sets that the papers call little"
    )
    big_words = f"{_join_names(big['set'])} {'has' if len(big) == 1 else 'have'}" if len(big) else "none has"
    so_few = f" ({_rounds(big)})" if len(big) else ""
    big_ones = (
        f"\n\n**Of the {len(BIG_SETS)} big sets {big_words} been fitted at order 2**{so_few}: too few to test what "
        f"[ALR] says about big data. There are {len(little) + len(at_1)} sets at n = 1, {len(at_1)} of them big, at "
        f"n = 2 {len(little) + len(big)}; [ALR]'s records are of 76, 8 of them big.\n\n**Not run:** order 3 on "
        f"{len(LITTLE_SETS) - len(at_3)} little sets and all big ones; {_not_run(results)}."
    )
    yield (
        f"**What was run:** orders 1 and 2 on {len(little)} {set_words}, {sizes.min():,.0f} to {sizes.max():,.0f} "
        f"rows, {(sizes < 1000).sum()} of them under 1,000, {_rounds(little)} (the papers: 5 or 20 x 2)."
        f"{'' if sample else big_ones}"
    )
    yield ""


def _not_run(results: Sequence[Reproduced]) -> str:
    """How many of each paper's lines were not run, of papers of which some were not."""
    parts = []
    for paper, source in _SOURCES.items():
        counts = [result.counts for result in results if page_of(result.item.name) == paper and paper != "claims"]
        if missing := sum(tally[NOT_RUN] for tally in counts):
            parts.append(f"{missing} of {sum(sum(tally.values()) for tally in counts)} of {source.split()[0]}")
    return f"lines: {_join_names(parts)}" if parts else "no line"


def _join_names(names: Iterable[str]) -> str:
    """Names as a sentence lists them: "a", "a and b", "a, b and c"."""
    *first_names, last = names
    return f"{', '.join(first_names)} and {last}" if first_names else last


def _rounds(rows: pd.DataFrame) -> str:
    """Of how many rounds rows are: "2 x 2-fold", "2 or 5 x 2-fold"."""
    return " or ".join(f"{k:.0f}" for k in sorted(rows["rounds"].unique())) + f" x {FOLDS}-fold"


def _also_differ(results: Sequence[Reproduced], folder: str) -> list[str]:
    """Return a line with the number of items with a line that differs, without those of an earlier run; else none."""
    if not (count := len(_differing(results))):
        return []
    link = f"{folder}/{ITEMS}#{DIFFERING.lower().replace(' ', '-')}"
    return [f"- **{DIFFERING} from its paper**: [{count}, with reasons and their tests]({link})"]


def _differing(results: Sequence[Reproduced]) -> list[str]:
    """The rows of a table of the items of which a line differs."""
    trial_runs, lines = _trial_runs(results), []
    for result in results:
        rows = result.table[~result.table["reason"].str.contains(EARLIER)] if len(result.table) else result.table
        if count := _counts(rows)[DIFFERS]:
            told_of_lines = reasons_among(result.item.name, rows.loc[rows["verdict"] == DIFFERS, "reason"])
            cause = "; ".join(
                dict.fromkeys([*(run.says for run in trial_runs.get(result.item.name, ())), *told_of_lines])
            )
            ways = OtherWays((result.item.name,)).figures({entry.item.name: entry.table for entry in results})
            if ways and ways.wins:
                ways_text = (
                    f"by line; of {ways.sets}, other settings of the methods ({ways.ours} were tried) reproduce "
                    f"{ways.wins}"
                )
                ways_text += f", {ways.near} with standard errors of as many splits ({OtherWays.ways_item})"
                cause = "; ".join(filter(None, (cause, ways_text)))
            link = f"[{result.item.name}]({link_of(result.item.name)})"
            lines.append(f"| {link} | {result.topic} | {count} | {cause or UNEXPLAINED} |")
    return lines


def _trial_runs(results: Sequence[Reproduced]) -> Mapping[str, Sequence[Outcome]]:
    """Outcomes, by item, of the runs that could refute its reason."""
    return outcomes(next((result.table for result in results if result.item.name == TRIALS), pd.DataFrame()))


def items_page(results: Sequence[Reproduced], folder: Path, front_page: str, sample: bool = False) -> str:
    """Return the page of all items: their verdicts, how they are judged, which sets there are and, but for a sample,
    which are missing.
    """
    head = _FIGURES_TEXT.format(lost=_LOST_TEXT if any(result.has_lost_lines for result in results) else "")
    lines = ["# All tables, figures and claims", "", f"Findings: [{front_page}](../{front_page}).", "", head, ""]
    lines += [_VERDICTS_TEXT, "", f"| lines of | {' | '.join(VERDICTS)} |", "|---" * (1 + len(VERDICTS)) + "|"]
    for paper, source in _SOURCES.items():
        if part := [result.table for result in results if page_of(result.item.name) == paper and len(result.table)]:
            counts = _counts(pd.concat(part))
            lines.append(f"| {source} | {' | '.join(map(str, counts.values()))} |")
    lines += ["", f"| item | what | {' | '.join(VERDICTS)} | sets |", "|---" * (3 + len(VERDICTS)) + "|"]
    for result in results:
        cells = " | ".join(str(count) for count in result.counts.values())
        lines.append(f"| {result.name} | {result.topic} | {cells} | {_most_sets(result.table)} |")
    if differing := _differing(results):
        says = _ITS_REASONS.format(trials=f"[{TRIALS}]({link_of(TRIALS)})")
        lines += ["", f"## {DIFFERING}", says, "", "| item | what | lines | reason |", "|---|---|---|---|"]
        lines += differing
    return "\n".join([*lines, *_sets_reached(folder, sample)]) + "\n"


def _counts(table: pd.DataFrame) -> dict[str, int]:
    """How many lines have each verdict."""
    verdict_counts = table["verdict"].value_counts() if len(table) else {}
    return {word: int(verdict_counts.get(word, 0)) for word in VERDICTS}


def _sets_reached(folder: Path, sample: bool) -> Iterator[str]:
    """The sets of [ALR] and [WANBIA-C] by name: of how many rounds their figures are, and those that have none."""
    file = folder / FITS / "sets.csv"
    if not file.is_file():
        return
    yield "\n## Sets"
    yield f"[sets.csv]({FITS}/sets.csv) has the figures of every method on every set. To see them in the explorer, open"
    yield "the page Compare, tab Results, drop the file, and choose a table's methods."
    rows = pd.read_csv(file)
    for words, method in (("order 2", "alr2 paper"), ("order 3", "alr3 paper")):
        method_rows = rows[rows["method"] == method] if "rounds" in rows else rows.iloc[:0]
        for rounds, group in method_rows[method_rows["error"].notna()].groupby("rounds") if len(method_rows) else ():
            names = ", ".join(group["set"])
            yield f"\nSets with figures of {words}, {rounds:.0f} x 2-fold ({len(group)}): {names}."
    if sample:
        return
    factors = []
    for words, sets, racers, rounds in _COVERAGE_GOALS:
        missing = still_missing(rows, [entry.name for entry in sets], racers, rounds)
        factors.append(missing.factor)
        if missing.seconds:
            estimates = (f"{name} ({_range_of(s)})" for name, s in missing.seconds.items())
            yield f"\n{words}, not fitted or not all of it ({len(missing.seconds)}): {', '.join(estimates)}."
    if known_factors := [factor for factor in factors if factor > 0]:
        max_steps = int(RACERS[LOW_ORDERS[0]].params["max_iter"])
        slow_sets = sorted(set(rows.loc[rows["n_iter"] >= max_steps, "set"])) if "n_iter" in rows else []
        because = (
            f" (reached by every fit of a method on {_join_names(slow_sets)}, without an optimum)" if slow_sets else ""
        )
        yield f"\n{_EXPECTED_TEXT.format(factor=max(known_factors), most=max_steps, made=because)}"
    yield f"\n{_NOT_RUN}"
    yield from _versions_text(rows)


def _range_of(seconds: Seconds | None) -> str:
    """Two figures of seconds in words, to two digits: they are within a factor at best."""
    if seconds is None:
        return "?"
    low, high = (f"{float(f'{x:.2g}'):,.0f}" for x in seconds)
    return f"{low} s" if low == high else f"{low} to {high} s"


def _versions_text(rows: pd.DataFrame) -> Iterator[str]:
    """Which alrviz measured how many of the rows with figures, as far as they say."""
    figures = rows[rows["error"].notna()] if "error" in rows else rows.iloc[:0]
    if len(figures):
        versions = figures["alrviz"] if "alrviz" in figures else pd.Series(index=figures.index, dtype=object)
        counts = versions.fillna("a version that was not noted, before this column was").value_counts()
        yield (
            '\nMeasured by (column alrviz; "numbers" counts up when the same fit gives other figures): '
            + "; ".join(f"{n:,} rows by {version}" for version, n in counts.items())
            + "."
        )


def paper_page(
    paper: str,
    results: Sequence[Reproduced],
    pictures: str,
    front_page: str,
    trial_runs: Mapping[str, Sequence[Outcome]] = MappingProxyType({}),
) -> str:
    """Return the page of a paper: what was said, what we see and the picture of each item, and lines of its table.

    trial_runs: by item what runs have shown that were made to refute a reason (`trials.outcomes`).
    """
    head = f"Findings: [{front_page}](../{front_page}). Meaning of the verdicts: [{ITEMS}]({ITEMS}#verdicts)."
    lines = [f"# {_SOURCES[paper]}", "", head, *(["", _NOTES[paper]] if paper in _NOTES else [])]
    ways = ways_told(
        next((result.table for result in results if result.item.name == OtherWays.ways_item), pd.DataFrame())
    )
    for result in results:
        lines += ["", *_section(result, pictures, trial_runs.get(result.item.name, ()), ways)]
    return "\n".join(lines) + "\n"


_COVERAGE_GOALS = (
    ("Orders 1 and 2 on little sets", LITTLE_SETS, LOW_ORDERS, 2),
    ("Orders 1 and 2 on big sets", BIG_SETS, LOW_ORDERS, 1),
    ("Order 3 on little sets", LITTLE_SETS, THIRD_ORDER, 2),
)
_EXPECTED_TEXT = """Seconds of the missing fits are estimated for one thread. The time of a pass follows a power law of
rows x tuples x classes through the sets that have been fitted (two of three of those are
within a factor of {factor:.1f}); order 3 uses the law of order 2. The number of passes does not follow from the size
of a set: the first figure uses the median of the known fits, the second the maximum of {most:,} steps{made}. ? means
that no fit of the kind exists, or that the set was not available."""

# Seconds: those of sets.csv times the fits that are missing.
_NOT_RUN = """## Also not run
- [ALR] 7.3: alpha chosen by validation on nettalk, 16 fits. On promoters and lung-cancer such a fit takes 7 to 16
  times as long as one without, which takes 6 to 54 s on nettalk.
- [ALR] figures 19, 25, 26 and 32 (order 3, conjugate gradients) on the large sets of figures 18 and 31. At order 2
  adult, connect-4, census-income and poker-hand are among the eleven; localization and covtype have no curve.
- [WANBIA-C] 20 x 2-fold on the ten little sets where its three methods need more than two minutes, 11,000 s in all;
  wanbia-t2.1 has the other 59. Figure 7 (satellite) in as many rounds: 92 fits, 1,800 s if a penalty saves no
  iteration; its panels of bias and variance use the same fits.
- [WANBIA-C] figures 3 and 4: the dearest sets. One thread needs 1 hour for figure 4 on the 5 sets left at n = 1, 3
  hours for those left at n = 2, a quarter of an hour for figure 3.
- [ALR] tables 2 to 4 with alpha 1 on all little sets at n = 1 and 2: at most 1.4 hours. With alpha="auto": not known.
- [ALR] figures 23, 24 and 27 to 30, at n = 2 on all little sets: 1 hour by conjugate gradients if they need no more
  iterations, 0.8 hours for alrj and the start at AnJE; at n = 3 as long as order 3 above, three times over.
- [sALR] figures 6 and 7 on Covertype, once 2-fold: 20 fits of about half a minute at n = 3. At n = 4 counting the
  parameters alone takes over 8 GB and over 7 minutes on a busy machine; figure 3 has 13 more fits of each order, of
  which CVscore's score 220 or 495 tuples each. Lines of SUSY, HIGGS, Activity and Avazu wait for the sets."""

_WORDS = """**The methods**, without a penalty:

- *LR* of order n: logistic regression, a weight for each combination of levels of n columns and each class; numbers
  are cut into intervals. *ALR* multiplies each weight by the logarithm of that combination's share within the class;
  at n = 1 it is *WANBIA-C*.
- *AnJE*: those logarithms alone, naive Bayes at n = 1. *A1DE*: the mean of models in which one column in turn is the
  parent of all others. Both only count.
- *sALR* keeps the combinations of columns that are most informative about the class; *hsALR* grows them from smaller
  ones.
- *DLR*: logistic regression on log-ratios of kernel densities, one per column; *DLR-h* also fits the bandwidths.
- *ELR*: a Bayesian network trained discriminatively. Cross-tuning stops at an iteration chosen by cross-validation.

LR and ALR start at 0. L-BFGS-B stops when a step lowers the loss by less than 2.2e-9 of its value, when the loss is
0 to six digits and all training rows are classified correctly, or after 10,000 iterations."""

_TESTS_TEXT = """**Tests.** p is of the exact two-tailed sign test over sets (for Spearman's correlation: of t), with
Holm's correction for the {tests} tests that decide a finding or are printed in one and could be significant.
Findings were chosen after the figures were seen, and sets share sources: p is descriptive and bounds no rate of
errors, and a heading may depend on a p near .05.

| heading | claims of a difference |
|---|---|
| Confirmed | each deciding p is at most .05 |
| Not confirmed | each is at most .05 in the opposite direction |
| Undecided | significant only before correction, or too few sets |
| No significant difference | not significant even before correction |

Claims about an amount, about printed numbers or about random draws follow their items' verdicts, uncorrected. They
are not confirmed if a line differs and none agrees or is *compatible* (in the claimed direction but not significant,
or not significantly different from print). Ratios and their means are geometric. W-D-L counts the sets on which the
first method is lower, equal to four decimals, higher. [All items, and what was not run]({items}); [all comparisons
of the findings]({figures})."""

_FIGURES_TEXT = """Every figure comes from the CSV tables beside the pages. `python -m reproduction --data DIR --report
docs/reproduction.md` measures them; `--list` names the items, `NAME ...` measures some of them, `--sample` is a
small version in ten minutes. After an interruption the same command resumes. Sets and methods with figures in
`fits/sets.csv` are taken from there, unless `--anew` measures them again.{lost}

The counts mix lines of different kinds (claims include identities and limits of this package), so no sum says how
much of a paper is reproduced."""

_LOST_TEXT = """ Items with \N{DAGGER} have lines of an
earlier run on the 37 cheapest sets, whose fits are lost ("of an earlier run"): they are in no finding and cannot be
computed again."""

_ITS_REASONS = """Each line has its own test, without a correction for their number, so a few may differ by chance.
For each reason a run was made that could refute it ({trials} has the runs and their figures): the
reason holds so far, or is refuted. It is undecided if the run could only refute it, and did not."""

_VERDICTS_TEXT = """## Verdicts

| verdict | of | rule |
|---|---|---|
| agrees | win-draw-loss | here and in the paper p <= .05 (exact two-tailed sign test), in the same direction |
| differs | win-draw-loss | p <= .05 in opposite directions, or p <= .05 of Fisher's exact test of the two records |
| compatible | win-draw-loss | one of them is not significant, and the records do not differ significantly |
| undecided | win-draw-loss | as compatible, but no record over so few sets could have differed |
| agrees, differs | claim in words | true on significantly more, or fewer, sets than by chance |
| compatible | claim in words | not significant, but in the claimed direction; at least six sets |
| undecided | claim in words | not significant, and not in the claimed direction, or fewer than six sets |
| agrees | claim in words, few sets | over the rows of each set: true on all |
| differs | claim in words, few sets | over the rows of each set: false on some, true on none |
| compatible | claim in words, few sets | over the rows of each set: true on some, false on none |
| agrees | printed mean | within two standard errors of ours and a rounding |
| compatible | printed mean | within two standard errors of the difference |
| agrees, differs | limit | kept, or not |
| not comparable | milliseconds | of another machine; the order of methods is compared instead (Kendall's tau) |
| not run | | there are no figures yet |
| not in the paper | | there are only figures of ours |

A claim that two methods are alike counts the sets on which each is within a twentieth of the other (at most 1.05
times it), and gives the p of that count. (Where the fits are lost, the sets above and those below were counted
separately, which is less strict.) All claims are judged by one rule, the papers' and ours: the exact sign test over
sets. A mean ratio stands beside it and is not tested. Where a claim is about one to five sets, no sign test could
decide; a mean loss is then compared within each set, over its rows, with the trained models as they are (normal
approximation, the two losses taken as independent, .05 divided by the number of sets). Iterations and seconds on so
few sets remain undecided. No other p on this page is corrected. Variances come from two predictions a row where
rounds are two: tests of them have little power. A set counts when every fit on it has finished; its methods are
compared over the same folds. Bias and variance are the unbiased estimates, which the papers print.

**Methods.** "paper" after a method's name is paper mode (unseen cells by the m-estimate). Without it the penalty is
fixed, alpha 1 for alr and 0.3 for lr; the classes' default, alpha="auto", which chooses it from the rows, is not here.
salr, hsalr and adagrad are fitted as in [sALR], in five passes of AdaGrad.

**Sets.** Little sets (under 90,000 rows) are planned with 5 x 2-fold cross-validation (2 x 2-fold for variants, for
[sALR] and until five are done), big sets with one 2-fold. The order is random, with tables of every size in turn, so
that finished sets are no smaller than the others. **Order 3 is an exception**: the cheapest sets came first, so its
results are about tables smaller than the papers'. The rounds of each set are listed below. covertype, kddcup99,
poker-hand and localization are samples. Seconds were measured on two busy cores."""


def _section(
    result: Reproduced, pictures: str, runs: Sequence[Outcome], ways: Mapping[tuple[str, ...], str]
) -> list[str]:
    item, table, name = result.item, result.table, result.item.name
    lines = [f"## {name}", f"**{item.title}**", ""]
    lines += [f"*The paper:* {item.text}. *Here:* {result.summary}."]
    for one_run in runs:
        lines += ["", f"*Test of the reason:* {one_run.says} ({one_run.run}; [{TRIALS}]({link_of(TRIALS)}))."]
    lines += ["", f"![{item.title}]({pictures}/{name}.svg)"]
    rows_shown = _worth_showing(table)
    if not len(rows_shown):
        return lines
    lines += ["", "| data | quantity | paper | ours | sets | verdict | reason |", "|---|---|---|---|---|---|---|"]
    for row in rows_shown.to_dict("records"):
        cells = [row["set"], f"{row['quantity']}, {row['method']}", _number(row["paper"]), _number(row["ours"])]
        causes = [row["reason"]]
        if row["verdict"] == DIFFERS:
            of_line = [run.says for run in runs if run.methods in row["method"] or not _names(table, run.methods)]
            causes += [ways.get((row["set"], row["method"], row["quantity"]), "")]
            causes = [*dict.fromkeys(of_line), *filter(None, causes)] or [UNEXPLAINED]
        cells += [_sets(row), row["verdict"] or "not in the paper", "; ".join(causes)]
        lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    n_unjudged = int((table["verdict"] == "").sum())
    counts = verdicts(table) + (f", {n_unjudged} without a verdict" if n_unjudged else "")
    lead = f"{len(table)} lines in all ({counts}): " if len(rows_shown) < len(table) else "The table: "
    return [*lines, "", f"{lead}[{name}.csv]({name}.csv)."]


def _names(table: pd.DataFrame, word: str) -> bool:
    """Whether a word occurs in the methods of some lines, and so distinguishes them from the others."""
    return bool(table["method"].str.contains(word, regex=False).any())


def _worth_showing(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of a table that the page has: every one that differs, and of the others the first up to MAX_LINES in
    all, verdicts before figures of ours alone; what stands beside and has no figure is left out.
    """
    table = table[(table["verdict"] != "") | (table["ours"] != "")] if "verdict" in table else table
    if len(table) <= MAX_LINES or "verdict" not in table:
        return table
    rank = table["verdict"].map({DIFFERS: 0, "": 3}).fillna(1) + table["method"].isin(_FIRST_METHODS).map(
        {True: 0, False: 0.5}
    )
    first = rank.sort_values(kind="stable").index[: max(MAX_LINES, int((table["verdict"] == DIFFERS).sum()))]
    return table.loc[sorted(first)]


def _sets(row: Mapping[Hashable, Any]) -> str:
    """How many sets a line is of; of one of several splits also how many of those."""
    several = pd.to_numeric(row["splits"], errors="coerce") > 1
    return f"{row['sets']}, {row['splits']} splits" if several else str(row["sets"])


def _most_sets(table: pd.DataFrame) -> str:
    if not len(table):
        return ""
    counts = pd.to_numeric(table["sets"], errors="coerce")
    return str(int(max(counts.max(), table["set"][counts > 0].nunique() if (counts <= 1).all() else 0)))


def _number(text: str) -> str:
    """A number to four digits; other text as it is."""
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
