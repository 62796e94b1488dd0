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

from reproduction.finding_lines import EARLIER, SETS, Figures
from reproduction.findings import FINDINGS, Finding, Group, Line, figures_of, figures_table, link_of, page_of
from reproduction.item import Item, verdicts
from reproduction.judge import DIFFERS, NOT_RUN, VERDICTS
from reproduction.printed_figures import Brought, ways_told
from reproduction.racers import LOW_ORDERS, RACERS, THIRD_ORDER
from reproduction.reasons import reasons_among
from reproduction.sets import BIG_SETS, LITTLE_SETS
from reproduction.still_missing import FOLDS, Seconds, still_missing
from reproduction.trials import TRIALS, Outcome, outcomes

MOST = 24  # lines of a table that a page shows, beside those that differ
UNEXPLAINED = "not explained"
SEEN = "seen.csv"
FITS = "fits"  # folder of the studies' rows
ITEMS = "items.md"  # the page of all items, in the papers' folder
FIGURES = "findings.csv"  # what the findings compare over sets
DIFFERING = "Items of which a line differs"
LOST = "\N{DAGGER}"  # behind an item some of whose lines are of an earlier run
LARGEST_FILE = 400_000  # bytes of a study's rows that are kept beside the page
# Of tables with many methods these are shown first; the CSV has all.
_SHOWN = ("lr", "dlr", "dlr-h")
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
    """An item, its table, and what we say of it."""

    item: Item
    table: pd.DataFrame
    seen: str

    @property
    def counts(self) -> Mapping[str, int]:
        """How many lines have each verdict."""
        return _counts(self.table)

    @property
    def lost(self) -> bool:
        """Whether some of its lines are of an earlier run."""
        return bool(len(self.table)) and bool(self.table["reason"].str.contains(EARLIER).any())

    @property
    def name(self) -> str:
        """Its name as a link from the folder of the pages, with LOST where some of its lines are of an earlier run."""
        return f"[{self.item.name}]({link_of(self.item.name)}){LOST if self.lost else ''}"

    @property
    def what(self) -> str:
        """What it shows."""
        return _cell(self.item.title.partition(": ")[2] or self.item.title)


def write_report(
    items: Sequence[Item],
    tables: Mapping[str, pd.DataFrame],
    out: Path,
    file: Path,
    every: Sequence[Item],
    note: str = "",
) -> None:
    """Keep the tables and pictures of items that `pictures.save` has written to `out`, and write the pages of all kept.

    file: the page; tables and the papers' pages stand in a folder of its name, pictures in images/ of that name.
    every: all items that there are, in their order. note: a sentence under the title.
    """
    pictures, folder = file.parent / "images" / file.stem, file.with_suffix("")
    for place in (pictures, folder / FITS):
        place.mkdir(parents=True, exist_ok=True)
    seen = _seen(folder)
    sample = bool(note)
    for item in items:
        (pictures / f"{item.name}.svg").write_bytes((out / f"{item.name}.svg").read_bytes())
        tables[item.name].to_csv(folder / f"{item.name}.csv", index=False, lineterminator="\n")
        seen[item.name] = item.seen(tables[item.name])
    for study in {item.study for item in items}:
        rows = out / f"{study}.csv"
        if rows.stat().st_size <= LARGEST_FILE:
            _keep_rows(rows, folder / FITS / rows.name)
    said = pd.DataFrame({"item": list(seen), "seen": list(seen.values())})
    said.to_csv(folder / SEEN, index=False, lineterminator="\n")
    found = kept(folder, every)
    file.write_text(front(found, folder, note), encoding="utf-8")
    table = figures_table(_figures(found, folder, sample))
    table.to_csv(folder / FIGURES, index=False, lineterminator="\n", float_format="%.3g")
    (folder / ITEMS).write_text(items_page(found, folder, file.name, sample), encoding="utf-8")
    for paper in _SOURCES:
        if own := [one for one in found if page_of(one.item.name) == paper]:
            text = paper_page(paper, own, f"../images/{file.stem}", file.name, _tried(found))
            (folder / f"{paper}.md").write_text(text, encoding="utf-8")


def _keep_rows(rows: Path, place: Path) -> None:
    """Keep a study's rows; what one lacks says in whose folder it was looked for, and is left out."""
    lines = [line for line in rows.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    told = pd.read_csv(StringIO("\n".join(lines)), dtype=str, keep_default_na=False)
    if "missing" in told:
        told = told[told["missing"] == ""].drop(columns="missing")
    told.to_csv(place, index=False, lineterminator="\n")


def kept(folder: Path, every: Sequence[Item]) -> list[Reproduced]:
    """Return the items whose tables are in a folder, all cells as text."""
    seen = _seen(folder)
    return [
        Reproduced(item, _read(folder / f"{item.name}.csv"), seen[item.name]) for item in every if item.name in seen
    ]


def _seen(folder: Path) -> dict[str, str]:
    if not (folder / SEEN).is_file():
        return {}
    return dict(_read(folder / SEEN).itertuples(index=False))


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def front(found: Sequence[Reproduced], folder: Path, note: str = "") -> str:
    """Return the first page: what was run, how it is judged, the findings; with a note, a sample's: without seconds."""
    sample = bool(note)
    figures = _figures(found, folder, sample)
    told: dict[Group, list[str]] = {group: [] for group in Group}
    for finding in _findings(sample):
        if sentence := finding.told(figures, folder.name):
            told[finding.group(figures)].append(f"- {sentence}")
    told[Group.FALLS] += _also_differ(found, folder.name)
    tests = sum(one.raw is not None for one in figures.values())  # of the family
    lines = ["# The papers' tables, figures and claims, reproduced", ""] + ([note, ""] if note else [])
    pages = [paper for paper in _SOURCES if any(page_of(one.item.name) == paper for one in found)]
    links = "; ".join(f"[{_SOURCES[paper]}]({folder.name}/{paper}.md)" for paper in pages)
    lines += [
        *([f"**Pages:** {links}.", ""] if pages else []),
        _WORDS,
        "",
        *_what_was_run(_sets_kept(folder), found, sample),
        _JUDGED.format(tests=tests, items=f"{folder.name}/{ITEMS}", figures=f"{folder.name}/{FIGURES}"),
    ]
    if answers := [f"- {answer}" for finding in _findings(sample) if (answer := finding.answer(figures))]:
        lines += ["", "## Summary", "", *answers]
    for group, sentences in told.items():
        if sentences:
            lines += ["", f"## {group.value}", "", *sentences]
    return "\n".join(lines) + "\n"


def _findings(sample: bool) -> list[Finding]:
    """Two runs of a sample are to write the same page; p of seconds would move the others' by Holm's correction."""
    return [finding for finding in FINDINGS if not (sample and finding.timed)]


def _figures(found: Sequence[Reproduced], folder: Path, sample: bool) -> dict[Line, Figures]:
    tables = {one.item.name: one.table for one in found} | {SETS: _sets_kept(folder)}
    return figures_of(_findings(sample), tables)


def _sets_kept(folder: Path) -> pd.DataFrame:
    """The kept means of every method on every set; without rows where there are none."""
    file = folder / FITS / "sets.csv"
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame()
    return rows if {"rows", "rounds", "error"} <= set(rows) else pd.DataFrame()


def _what_was_run(rows: pd.DataFrame, found: Sequence[Reproduced], sample: bool = False) -> Iterator[str]:
    """On which sets the figures of order 2 are, and, but for a sample, what has not been run."""
    if not len(rows):
        return
    (_, at_1), (little, big), (at_3, _) = (
        [own[own["group"] == group] for group in ("little", "big")]
        for order in (1, 2, 3)
        for own in [rows[(rows["method"] == f"alr{order} paper") & rows["error"].notna()]]
    )
    sizes = little["rows"]
    which = "tables that come with the package" if sample else f"of {len(LITTLE_SETS)} sets that the papers call little"
    held = f"{_listed(big['set'])} {'has' if len(big) == 1 else 'have'}" if len(big) else "none has"
    so_few = f" ({_rounds(big)})" if len(big) else ""
    big_ones = (
        f"\n\n**Of the {len(BIG_SETS)} big sets {held} been fitted at order 2**{so_few}: too few to test what [ALR] "
        f"says about big data. There are {len(little) + len(at_1)} sets at n = 1, {len(at_1)} of them big, at n = 2 "
        f"{len(little) + len(big)}; [ALR]'s records are of 76, 8 of them big.\n\n**Not run:** order 3 on "
        f"{len(LITTLE_SETS) - len(at_3)} little sets and all big ones; {_not_run(found)}."
    )
    yield (
        f"**What was run:** orders 1 and 2 on {len(little)} {which}, {sizes.min():,.0f} to {sizes.max():,.0f} rows, "
        f"{(sizes < 1000).sum()} of them under 1,000, {_rounds(little)} (the papers: 5 or 20 x 2)."
        f"{'' if sample else big_ones}"
    )
    yield ""


def _not_run(found: Sequence[Reproduced]) -> str:
    """How many of each paper's lines were not run, of papers of which some were not."""
    parts = []
    for paper, source in _SOURCES.items():
        counts = [one.counts for one in found if page_of(one.item.name) == paper and paper != "claims"]
        if missing := sum(one[NOT_RUN] for one in counts):
            parts.append(f"{missing} of {sum(sum(one.values()) for one in counts)} of {source.split()[0]}")
    return f"lines: {_listed(parts)}" if parts else "no line"


def _listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them: "a", "a and b", "a, b and c"."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _rounds(rows: pd.DataFrame) -> str:
    """Of how many rounds rows are: "2 x 2-fold", "2 or 5 x 2-fold"."""
    return " or ".join(f"{k:.0f}" for k in sorted(rows["rounds"].unique())) + f" x {FOLDS}-fold"


def _also_differ(found: Sequence[Reproduced], folder: str) -> list[str]:
    """Return a line with the number of items with a line that differs, without those of an earlier run; else none."""
    if not (count := len(_differing(found))):
        return []
    told = f"{folder}/{ITEMS}#{DIFFERING.lower().replace(' ', '-')}"
    return [f"- **{DIFFERING} from its paper**: [{count}, with reasons and their tests]({told})"]


def _differing(found: Sequence[Reproduced]) -> list[str]:
    """The rows of a table of the items of which a line differs."""
    tried, lines = _tried(found), []
    for one in found:
        own = one.table[~one.table["reason"].str.contains(EARLIER)] if len(one.table) else one.table
        if count := _counts(own)[DIFFERS]:
            told_of_lines = reasons_among(one.item.name, own.loc[own["verdict"] == DIFFERS, "reason"])
            why = "; ".join(dict.fromkeys([*(run.says for run in tried.get(one.item.name, ())), *told_of_lines]))
            ways = Brought((one.item.name,)).figures({other.item.name: other.table for other in found})
            if ways and ways.wins:
                told = (
                    f"by line; of {ways.sets}, other settings of the methods ({ways.ours} were tried) reproduce "
                    f"{ways.wins}"
                )
                told += f", {ways.near} with standard errors of as many splits ({Brought.tried})"
                why = "; ".join(filter(None, (why, told)))
            link = f"[{one.item.name}]({link_of(one.item.name)})"
            lines.append(f"| {link} | {one.what} | {count} | {why or UNEXPLAINED} |")
    return lines


def _tried(found: Sequence[Reproduced]) -> Mapping[str, Sequence[Outcome]]:
    """By item what the runs made to refute its reason have shown."""
    return outcomes(next((one.table for one in found if one.item.name == TRIALS), pd.DataFrame()))


def items_page(found: Sequence[Reproduced], folder: Path, front_page: str, sample: bool = False) -> str:
    """Return the page of all items: their verdicts, how they are judged, which sets there are and, but for a sample,
    which are missing.
    """
    measured = _MEASURED.format(lost=_LOST if any(one.lost for one in found) else "")
    lines = ["# All tables, figures and claims", "", f"Findings: [{front_page}](../{front_page}).", "", measured, ""]
    lines += [_HOW, "", f"| lines of | {' | '.join(VERDICTS)} |", "|---" * (1 + len(VERDICTS)) + "|"]
    for paper, source in _SOURCES.items():
        if own := [one.table for one in found if page_of(one.item.name) == paper and len(one.table)]:
            counts = _counts(pd.concat(own))
            lines.append(f"| {source} | {' | '.join(map(str, counts.values()))} |")
    lines += ["", f"| item | what | {' | '.join(VERDICTS)} | sets |", "|---" * (3 + len(VERDICTS)) + "|"]
    for one in found:
        told = " | ".join(str(count) for count in one.counts.values())
        lines.append(f"| {one.name} | {one.what} | {told} | {_most_sets(one.table)} |")
    if differing := _differing(found):
        says = _ITS_REASONS.format(trials=f"[{TRIALS}]({link_of(TRIALS)})")
        lines += ["", f"## {DIFFERING}", says, "", "| item | what | lines | reason |", "|---|---|---|---|"]
        lines += differing
    return "\n".join([*lines, *_sets_reached(folder, sample)]) + "\n"


def _counts(table: pd.DataFrame) -> dict[str, int]:
    """How many lines have each verdict."""
    found = table["verdict"].value_counts() if len(table) else {}
    return {word: int(found.get(word, 0)) for word in VERDICTS}


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
        own = rows[rows["method"] == method] if "rounds" in rows else rows.iloc[:0]
        for rounds, some in own[own["error"].notna()].groupby("rounds") if len(own) else ():
            names = ", ".join(some["set"])
            yield f"\nSets with figures of {words}, {rounds:.0f} x 2-fold ({len(some)}): {names}."
    if sample:
        return
    factors = []
    for words, sets, racers, rounds in _WANTED:
        needed = still_missing(rows, [one.name for one in sets], racers, rounds)
        factors.append(needed.factor)
        if needed.seconds:
            told = (f"{name} ({_range_of(s)})" for name, s in needed.seconds.items())
            yield f"\n{words}, not fitted or not all of it ({len(needed.seconds)}): {', '.join(told)}."
    if known := [factor for factor in factors if factor > 0]:
        most = int(RACERS[LOW_ORDERS[0]].params["max_iter"])
        made = sorted(set(rows.loc[rows["n_iter"] >= most, "set"])) if "n_iter" in rows else []
        because = f" (reached by every fit of a method on {_listed(made)}, without an optimum)" if made else ""
        yield f"\n{_EXPECTED.format(factor=max(known), most=most, made=because)}"
    yield f"\n{_NOT_RUN}"
    yield from _measured_by(rows)


def _range_of(seconds: Seconds | None) -> str:
    """Two figures of seconds in words, to two digits: they are within a factor at best."""
    if seconds is None:
        return "?"
    few, most = (f"{float(f'{x:.2g}'):,.0f}" for x in seconds)
    return f"{few} s" if few == most else f"{few} to {most} s"


def _measured_by(rows: pd.DataFrame) -> Iterator[str]:
    """Which alrviz measured how many of the rows with figures, as far as they say."""
    told = rows[rows["error"].notna()] if "error" in rows else rows.iloc[:0]
    if len(told):
        by = told["alrviz"] if "alrviz" in told else pd.Series(index=told.index, dtype=object)
        counts = by.fillna("a version that was not noted, before this column was").value_counts()
        yield (
            '\nMeasured by (column alrviz; "numbers" counts up when the same fit gives other figures): '
            + "; ".join(f"{n:,} rows by {who}" for who, n in counts.items())
            + "."
        )


def paper_page(
    paper: str,
    found: Sequence[Reproduced],
    pictures: str,
    front_page: str,
    tried: Mapping[str, Sequence[Outcome]] = MappingProxyType({}),
) -> str:
    """Return the page of a paper: what was said, what we see and the picture of each item, and lines of its table.

    tried: by item what runs have shown that were made to refute a reason (`trials.outcomes`).
    """
    where = f"Findings: [{front_page}](../{front_page}). Meaning of the verdicts: [{ITEMS}]({ITEMS}#verdicts)."
    lines = [f"# {_SOURCES[paper]}", "", where, *(["", _NOTES[paper]] if paper in _NOTES else [])]
    ways = ways_told(next((one.table for one in found if one.item.name == Brought.tried), pd.DataFrame()))
    for one in found:
        lines += ["", *_section(one, pictures, tried.get(one.item.name, ()), ways)]
    return "\n".join(lines) + "\n"


_WANTED = (
    ("Orders 1 and 2 on little sets", LITTLE_SETS, LOW_ORDERS, 2),
    ("Orders 1 and 2 on big sets", BIG_SETS, LOW_ORDERS, 1),
    ("Order 3 on little sets", LITTLE_SETS, THIRD_ORDER, 2),
)
_EXPECTED = """Seconds of the missing fits are estimated for one thread. The time of a pass follows a power law of
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
  iteration; its panels of bias and variance use the same fits."""

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

_JUDGED = """**Tests.** p is of the exact two-tailed sign test over sets (for Spearman's correlation: of t), with
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

_MEASURED = """Every figure comes from the CSV tables beside the pages. `python -m reproduction --data DIR --report
docs/reproduction.md` measures them; `--list` names the items, `NAME ...` measures some of them, `--sample` is a
small version in ten minutes. After an interruption the same command resumes. Sets and methods with figures in
`fits/sets.csv` are taken from there, unless `--anew` measures them again.{lost}

The counts mix lines of different kinds (claims include identities and limits of this package), so no sum says how
much of a paper is reproduced."""

_LOST = """ Items with \N{DAGGER} have lines of an
earlier run on the 37 cheapest sets, whose fits are lost ("of an earlier run"): they are in no finding and cannot be
computed again."""

_ITS_REASONS = """Each line has its own test, without a correction for their number, so a few may differ by chance.
For each reason a run was made that could refute it ({trials} has the runs and their figures): the
reason holds so far, or is refuted. It is undecided if the run could only refute it, and did not."""

_HOW = """## Verdicts

| verdict | of | rule |
|---|---|---|
| agrees | win-draw-loss | here and in the paper p <= .05 (exact two-tailed sign test), in the same direction |
| differs | win-draw-loss | p <= .05 in opposite directions, or p <= .05 of Fisher's exact test of the two records |
| compatible | win-draw-loss | one of them is not significant, and the records do not differ significantly |
| undecided | win-draw-loss | as compatible, but no record over so few sets could have differed |
| agrees, differs | claim in words | true on significantly more, or fewer, sets than by chance |
| compatible | claim in words | not significant, but in the claimed direction; at least six sets |
| undecided | claim in words | not significant, and not in the claimed direction, or fewer than six sets |
| agrees | printed mean | within two standard errors of ours and a rounding |
| compatible | printed mean | within two standard errors of the difference |
| agrees, differs | limit | kept, or not |
| not comparable | milliseconds | of another machine; the order of methods is compared instead (Kendall's tau) |
| not run | | there are no figures yet |
| not in the paper | | there are only figures of ours |

A claim that two methods are alike counts the sets on which each is within a twentieth of the other (at most 1.05
times it), and gives the p of that count. (Where the fits are lost, the sets above and those below were counted
separately, which is less strict.) A claim about means is tested by Wilcoxon's signed ranks of the logarithms of the
ratios. No p on this page is corrected. A set counts when every fit on it has finished; its methods are compared over
the same folds. Bias and variance are the unbiased estimates, which the papers print.

**Methods.** "paper" after a method's name is paper mode (unseen cells by the m-estimate); without it our defaults.
salr, hsalr and adagrad are fitted as in [sALR], in five passes of AdaGrad.

**Sets.** Little sets (under 90,000 rows) are planned with 5 x 2-fold cross-validation (2 x 2-fold for variants, for
[sALR] and until five are done), big sets with one 2-fold. The order is random, with tables of every size in turn, so
that finished sets are no smaller than the others. **Order 3 is an exception**: the cheapest sets came first, so its
results are about tables smaller than the papers'. The rounds of each set are listed below. covertype, kddcup99,
poker-hand and localization are samples. Seconds were measured on two busy cores."""


def _section(
    one: Reproduced, pictures: str, tried: Sequence[Outcome], ways: Mapping[tuple[str, ...], str]
) -> list[str]:
    item, table, name = one.item, one.table, one.item.name
    lines = [f"## {name}", f"**{item.title}**", ""]
    lines += [f"*The paper:* {item.said}. *Here:* {one.seen}."]
    for one_run in tried:
        lines += ["", f"*Test of the reason:* {one_run.says} ({one_run.run}; [{TRIALS}]({link_of(TRIALS)}))."]
    lines += ["", f"![{item.title}]({pictures}/{name}.svg)"]
    shown = _worth_showing(table)
    if not len(shown):
        return lines
    lines += ["", "| data | quantity | paper | ours | sets | verdict | reason |", "|---|---|---|---|---|---|---|"]
    for row in shown.to_dict("records"):
        cells = [row["set"], f"{row['quantity']}, {row['method']}", _number(row["paper"]), _number(row["ours"])]
        why = [row["reason"]]
        if row["verdict"] == DIFFERS:
            of_line = [one.says for one in tried if one.of in row["method"] or not _names(table, one.of)]
            why += [ways.get((row["set"], row["method"], row["quantity"]), "")]
            why = [*dict.fromkeys(of_line), *filter(None, why)] or [UNEXPLAINED]
        cells += [_sets(row), row["verdict"] or "not in the paper", "; ".join(why)]
        lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    beside = int((table["verdict"] == "").sum())
    counts = verdicts(table) + (f", {beside} without a verdict" if beside else "")
    more = f"{len(table)} lines in all ({counts}): " if len(shown) < len(table) else "The table: "
    return [*lines, "", f"{more}[{name}.csv]({name}.csv)."]


def _names(table: pd.DataFrame, word: str) -> bool:
    """Whether the methods of some lines have a word, which then tells them from the others."""
    return bool(table["method"].str.contains(word, regex=False).any())


def _worth_showing(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of a table that the page has: every one that differs, and of the others the first up to MOST in all,
    verdicts before figures of ours alone; what stands beside and has no figure is left out.
    """
    table = table[(table["verdict"] != "") | (table["ours"] != "")] if "verdict" in table else table
    if len(table) <= MOST or "verdict" not in table:
        return table
    rank = table["verdict"].map({DIFFERS: 0, "": 3}).fillna(1) + table["method"].isin(_SHOWN).map({True: 0, False: 0.5})
    first = rank.sort_values(kind="stable").index[: max(MOST, int((table["verdict"] == DIFFERS).sum()))]
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
