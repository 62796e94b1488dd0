"""What of the papers stands, what does not, and what they do not say: sentences whose figures the tables give.

A finding's sentence has places for the figures of *lines* ("{0.wins} of {0.sets} sets"): of a line of an item's table,
or of two methods over the sets whose means are kept. It stands under the heading that its deciding lines ask for: no
figure is written by hand, and no heading. All p on the page are one family and are Holm's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import pandas as pd

from alrviz.reproduce.finding_lines import Best, Brought, Drawn, Figures, Line, Lines, Over, Tables
from alrviz.reproduce.judge import AGREES, COMPATIBLE, DIFFERS, SURE, UNDECIDED, judge_claim
from alrviz.reproduce.pairs import LARGE, p_words
from alrviz.studies.statistics.significance import holm


class Group(Enum):
    """The headings, in the page's order."""

    STANDS = "What stands"
    NEW = "What the papers do not say"
    FITS = "What leans the papers' way, not beyond chance once corrected"
    FALLS = "What does not stand"
    OPEN = "What is undecided"


_ANSWERS = {
    Group.STANDS: "Yes",
    Group.NEW: "Yes",
    Group.FITS: "It leans so, not beyond chance once corrected",
    Group.FALLS: "No",
    Group.OPEN: "Undecided",
}


def figures_of(findings: Sequence["Finding"], tables: Tables) -> dict[Line, Figures]:
    """Return the figures of the lines of all findings that can be told, each p Holm's over all of them."""
    told: dict[Line, Figures] = {}
    for one in findings:
        own = {line: figures for line in one.lines if (figures := line.figures(tables)) is not None}
        told |= own if len(own) == len(set(one.lines)) else {}
    tested = {line: figures.raw for line, figures in told.items() if figures.raw is not None}
    corrected = dict(zip(tested, map(float, holm(list(tested.values()))), strict=True))
    return told | {
        line: replace(told[line], alone=tested[line], raw=p, p=_p_of(tested[line], p)) for line, p in corrected.items()
    }


def _p_of(alone: float, corrected: float) -> str:
    """p after correction in words, and before it where that alone would be beyond chance."""
    return p_words(corrected) + (f", {p_words(alone)} before correction" if alone <= SURE < corrected else "")


_COMPARED = [
    "item", "measure", "methods", "sets", "lower", "equal", "higher", "mean_ratio", "median_ratio", "interval",
    "within_a_twentieth", "training_loss_left", "within_a_twentieth_of_those", "rank_correlation", "p", "p_holm",
]  # fmt: skip


def figures_table(figures: Mapping[Line, Figures]) -> pd.DataFrame:
    """Return a row a line that compares two methods over sets: the record, ratios, p before and after Holm's."""
    rows = []
    for line, own in figures.items():
        if isinstance(line, Over):
            about = {"measure": line.measure, "methods": f"{line.a} vs {line.b}", "sets": line.on}
        elif isinstance(line, Lines) and own.sets:
            about = {"measure": line.quantity, "methods": line.method, "sets": line.on or "all sets"}
        else:
            continue
        counts = {"lower": own.wins, "equal": own.draws, "higher": own.losses, "mean_ratio": own.ratio}
        more = {"median_ratio": own.median, "interval": own.interval, "within_a_twentieth": own.near}
        if isinstance(line, Over) and line.expect == "like":
            more |= {"training_loss_left": own.left, "within_a_twentieth_of_those": own.near_left}
        tested = {"rank_correlation": own.correlation, "p": own.alone, "p_holm": own.raw}
        rows.append({"item": line.item} | about | counts | (more if isinstance(line, Over) else {}) | tested)
    return pd.DataFrame(rows, columns=_COMPARED)


@dataclass(frozen=True)
class Finding:
    """A sentence with places for the figures of its lines.

    agreed: where it stands if the first lines agree: by their verdicts, or by the sign test of a line without one;
    with a test only where p is still beyond chance after Holm's correction. deciding: how many lines decide. below:
    what stands below the sentence, such as a table. asks, short: the question that it answers and the figures beside
    the answer, of findings that the page opens with.
    """

    says: str
    lines: tuple[Line, ...]
    agreed: Group = Group.STANDS
    deciding: int = 1
    below: str = ""
    asks: str = ""
    short: str = ""

    @property
    def timed(self) -> bool:
        """Whether it tells seconds, which differ from run to run."""
        return "_seconds" in repr(self.lines)

    def told(self, figures: Mapping[Line, Figures], folder: str) -> str:
        """Return the sentence with its figures and a link to each item; "" where a line has no figures yet."""
        if any(line not in figures for line in self.lines):
            return ""
        links = ", ".join(f"[{name}]({folder}/{link_of(name)})" for name in dict.fromkeys(o.item for o in self.lines))
        own = [figures[line] for line in self.lines]
        return f"{self.says.format(*own)} ({links}){self.below.format(*own)}"

    def answer(self, figures: Mapping[Line, Figures]) -> str:
        """Return the question with its answer; "" where it asks none, or a line has no figures yet."""
        if not self.asks or any(line not in figures for line in self.lines):
            return ""
        own = [figures[line] for line in self.lines]
        return f"{self.asks} **{_ANSWERS[self.group(figures)]}**: {self.short.format(*own)}."

    def group(self, figures: Mapping[Line, Figures]) -> Group:
        """Return the heading that the deciding lines ask for: that of the weakest of those that point one way."""
        said = {_said(figures[line]) for line in self.lines[: self.deciding]}
        if said == {AGREES}:
            return self.agreed
        if said <= {AGREES, COMPATIBLE}:
            return Group.FITS
        return Group.FALLS if DIFFERS in said and AGREES not in said else Group.OPEN


def _said(one: Figures) -> str:
    if one.raw is None:
        return one.verdict
    if one.verdict:
        sure = one.raw <= SURE
        return one.verdict if sure else {AGREES: COMPATIBLE, DIFFERS: UNDECIDED}.get(one.verdict, one.verdict)
    leans = COMPATIBLE if judge_claim(one.wins, one.losses) in (AGREES, COMPATIBLE) else UNDECIDED
    return leans if one.raw > SURE else AGREES if one.wins > one.losses else DIFFERS


def page_of(item: str) -> str:
    """Return the page of an item: its paper's, "claims" for claims."""
    paper, _, rest = item.partition("-")
    return paper if rest else "claims"


def link_of(item: str) -> str:
    """Return where an item stands, from the folder of the pages."""
    return f"{page_of(item)}.md#{item.replace('.', '')}"


def _pair(item: str, quantity: str, a: str, b: str, on: str = "") -> Lines:
    return Lines(item, quantity, f"{a} vs {b}", on)


ALR2, LR2, ANJE2, WANBIA, LR1, NB = "alr2 paper", "lr2 paper", "anje2 paper", "alr1 paper", "lr1 paper", "anje1 paper"
_SIZED = (  # item, measure, in words, first, second, in words
    ("wanbia-t2", "error", "0-1 loss, WANBIA-C : naive Bayes", WANBIA, NB),
    ("wanbia-t2", "rmse", "RMSE, WANBIA-C : naive Bayes", WANBIA, NB),
    ("c19", "ece", "calibration error (ECE), WANBIA-C : naive Bayes", WANBIA, NB),
    ("alr-t2", "error", "0-1 loss, ALR : AnJE, n = 2", ALR2, ANJE2),
    ("alr-t2", "rmse", "RMSE, ALR : AnJE, n = 2", ALR2, ANJE2),
    ("c19", "ece", "calibration error, ALR : AnJE, n = 2", ALR2, ANJE2),
)


def _by_size() -> Finding:
    """Parts by rows beside the rank correlation, which knows no cut."""
    lines: list[Line] = [Over(item, measure, a, b, "falls") for item, measure, _, a, b in _SIZED]
    rows = []
    for k, (item, measure, words, a, b) in enumerate(_SIZED):
        at = len(lines)
        lines += [Over(item, measure, a, b, "part", below=LARGE), Over(item, measure, a, b, "part", LARGE)]
        parts = (f"{{{at + part}.record}} ({{{at + part}.ratio}})" for part in (0, 1))
        rows.append(f"  | {words} | {' | '.join(parts)} | {{{k}.correlation}} | {{{k}.p}} |")
    head = (
        f"  | W-D-L (ratio) | sets of under {LARGE} rows | of {LARGE} rows and more | rank correlation of rows "
        "and ratio | p |"
    )
    return Finding(
        "**Size decides**: the larger the set, the better the trained model does beside naive Bayes or AnJE, which "
        f"only count; on small sets it is behind. The cut at {LARGE} rows was not fixed beforehand; Spearman's rank "
        "correlation needs none",
        tuple(lines),
        deciding=len(_SIZED),
        asks="Is ALR further ahead of naive Bayes and AnJE, which only count, on larger sets?",
        short=f"WANBIA-C errs less than naive Bayes on {{6.wins}} sets of under {LARGE} rows and more on {{6.losses}}, "
        "less on {7.wins} larger ones and more on {7.losses}",
        below="\n".join(["\n", head, "  |---|---|---|---|---|", *rows]),
    )


FEWEST = 90_000  # rows of a big set, as [ALR] tells them apart
_PRINTED_DLR = ("dlr-t1", "dlr-t2", "dlr-t4", "dlr-t5")
_SETTLED = ("three-classes", "four-gaussians")
FINDINGS = (
    Finding(
        "**Fewer iterations than LR without a penalty**: at n = 1 ALR takes fewer on {0.wins} of {0.sets} sets, in the "
        "mean {0.ratio} times as many ({0.spread}; p {0.p}); at n = 2 on {1.wins} of {1.sets}, {1.ratio} times "
        "({1.spread}; p {1.p})",
        (Over("wanbia-f1", "n_iter", WANBIA, LR1), Over("alr-f14", "n_iter", ALR2, LR2)),
        deciding=2,
        asks="Does ALR train in fewer iterations than LR, both without a penalty?",
        short="{0.ratio} times as many at n = 1, {1.ratio} times at n = 2",
    ),
    Finding(
        "**The saving in iterations grows with n**: that at n = 2 is the larger one on {0.wins} of {0.sets} sets, that "
        "at n = 1 on {0.losses} (p {0.p})",
        (Over("alr-f14", "n_iter", f"{ALR2} / {LR2}", f"{WANBIA} / {LR1}"),),
    ),
    Finding(
        "**ALR trains in less time than LR**: at n = 1 on {0.wins} of {0.sets} sets, {0.ratio} times the seconds "
        "({0.spread}; p {0.p}); at n = 2 on {1.wins} of {1.sets}, {1.ratio} times ({1.spread}; p {1.p}). Seconds were "
        "taken beside other work, "
        "which can hold a fit for minutes: a count of sets is worth more than a mean",
        (Over("wanbia-f1", "train_seconds", WANBIA, LR1), Over("alr-f16", "train_seconds", ALR2, LR2)),
        deciding=2,
    ),
    Finding(
        "**ALR and LR come to the same training loss, and are not the same model**: at n = 2 it is equal to four "
        "decimals on {0.draws} of {0.sets} sets. Held-out 0-1 loss is within a twentieth on {3.near} of them, RMSE on "
        "{2.near}, log loss on {1.near}; of the {0.left} on which training leaves 0.001 or more of its loss, on "
        "{3.near_left}, {2.near_left} and {1.near_left}. Without a penalty a weight need not have a finite best value, "
        "and a few rows decide the log loss",
        (
            Over("alr-f10", "train_log_loss", ALR2, LR2, "like"),
            Over("alr-f10", "log_loss", ALR2, LR2, "like"),
            Over("alr-f12", "rmse", ALR2, LR2, "like"),
            Over("alr-f10", "error", ALR2, LR2, "like"),
        ),
    ),
    Finding(
        "**On nettalk, nearly all of whose training rows can be fitted, ALR errs more than LR**: at n = 2 its 0-1 loss "
        "is {0.value} (printed {0.printed}), LR's {1.value} ({1.printed}); at n = 3 {2.value} ({2.printed}) and "
        "{3.value} ({3.printed}). Of four folds: ALR's at n = 3 have a standard deviation of {2.sd}. It is one set",
        tuple(Lines("alr-7.3", "0-1 loss", name, "nettalk") for name in (ALR2, LR2, "alr3 paper", "lr3 paper")),
        deciding=4,
    ),
    Finding(
        "**ALR has a lower bias than models that count, and LR's bias falls as n grows** (lower/equal/higher): at "
        "n = 2 ALR's beside AnJE's {0.record} (p {0.p}), beside A1DE's {1.record} (p {1.p}); LR's at n = 2 beside "
        "LR's at n = 1 {2.record} (p {2.p})",
        (
            _pair("alr-t2", "bias_unbiased", ALR2, ANJE2),
            _pair("alr-t3", "bias_unbiased", ALR2, "a1de"),
            _pair("alr-f3", "bias_unbiased", LR2, LR1),
        ),
        deciding=3,
    ),
    Finding(
        "**ALR has a higher variance than these** (lower/equal/higher): at n = 2 beside AnJE's {0.record} "
        "({0.ratio} times, p {0.p}), beside A1DE's {1.record} ({1.ratio} times, p {1.p})",
        (
            _pair("alr-t2", "variance_unbiased", ALR2, ANJE2),
            _pair("alr-t3", "variance_unbiased", ALR2, "a1de"),
        ),
        deciding=2,
    ),
    _by_size(),
    Finding(
        "**Random forests err less often** than ALR of order 2: on {0.losses} of {0.sets} sets, more often on {0.wins} "
        "(p {0.p}; printed 26/3/47, of ALR's lower loss first)",
        (_pair("alr-t4", "error", ALR2, "rf", "little sets"),),
        asks="Do random forests err less often than ALR of order 2?",
        short="on {0.losses} of {0.sets} sets, more often on {0.wins}",
    ),
    Finding(
        "**ALR errs less than A1DE on little sets**: at n = 2 its 0-1 loss is lower, equal, higher on {0.record} sets "
        "({0.ratio} times, {0.spread}; p {0.p}; printed 43/3/30), its RMSE on {1.record} ({1.ratio} times, {1.spread}; "
        "p {1.p}; printed 30/0/46)",
        (Over("alr-t3", "error", ALR2, "a1de", below=FEWEST), Over("alr-t3", "rmse", ALR2, "a1de", below=FEWEST)),
    ),
    Finding(
        "**ALR of order 1 takes fewer iterations than LR in units of a diagonal** (of the Hessian, followed as it "
        "changes): it does on {0.wins} of {0.sets} sets, LR on {0.losses} ({0.ratio} times, p {0.p})",
        (_pair("wanbia-f4", "n_iter", WANBIA, "lr1 paper diagonal"),),
    ),
    Finding(
        "**DLR bends where LR cannot**: on {0.wins} of {0.sets} made problems without monotone effects it has the "
        "higher accuracy in every draw ({0.near} each). That is no comparison on real sets",
        (Drawn("c14", "accuracy of dlr less lr, points"),),
    ),
    Finding(
        "**Our accuracies are those that [DLR] prints**: {0.differs} of {0.decided} on numeric sets and {1.differs} of "
        "{1.decided} on the others are not, within two standard errors, its rivals' no more than its own. So it is "
        "undecided whether DLR is ahead of them: of methods that the paper prints, dlr or dlr-h has our highest "
        "accuracy on {2.wins} of {2.sets} sets, in print on {2.ours}. Each accuracy and AUC that is not ours was tried "
        "in {3.ours} other ways (penalties, no constant, columns coded otherwise, no choice of settings), on a tenth "
        "of the splits: one at least brings {3.wins} of {3.sets}, {3.near} with the standard errors of as many splits. "
        "What remains is not explained: the paper's settings and rows are not printed",
        (
            Lines("dlr-t1"),
            Lines("dlr-t4"),
            Best(("dlr-t1", "dlr-t4"), ("dlr", "dlr-h")),
            Brought(_PRINTED_DLR),
        ),
        deciding=2,
        asks="Are the accuracies that [DLR] prints ours?",
        short="{0.differs} of {0.decided} on numeric sets and {1.differs} of {1.decided} on the others are not, its "
        "rivals' neither, so that it is undecided which is ahead",
    ),
    Finding(
        "**On big sets ALR beats the models that count**: at n = 2 its 0-1 loss is below AnJE's on {0.wins} of "
        "{0.sets} ({0.ratio} times) and below A1DE's on {1.wins} of {1.sets} ({1.ratio} times); a sign test needs six",
        (_pair("c9", "error", ALR2, ANJE2, "big sets"), _pair("c9", "error", ALR2, "a1de", "big sets")),
        deciding=2,
        asks="Does ALR of order 2 err less than AnJE and A1DE on big sets?",
        short="less than AnJE on {0.wins} of the {0.sets} that have been fitted, less than A1DE on {1.wins}; a sign "
        "test needs six",
    ),
    Finding(
        "**DLR's search for bandwidths settles in about three steps** (Algorithm 1 of [DLR]): at most four are taken "
        "as printed in {0.ours} (three classes), and in {1.ours} (four Gaussians); with bandwidths judged on "
        'validation rows (`bandwidth="validation"`) in {2.ours} (three classes), and in {3.ours} (four Gaussians)',
        tuple(
            Lines("c15", "outer steps until h stays", f"dlr {way}, {name}")
            for way in ("paper", "validation")
            for name in _SETTLED
        ),
        deciding=2,
    ),
    Finding(
        "**hsALR has far fewer parameters than sALR**: of triples, keeping 0.8 of them, it has under half as many on "
        "{0.wins} of {0.sets} sets ({0.ratio} times in the mean; p {0.p}). Its 0-1 loss is at most a twentieth above "
        "on {1.wins} of {1.sets}. The paper's own sets, of millions of rows, have not been fitted",
        (
            _pair("c13", "parameters", "hsalr3 mi 0.8", "salr3 mi 0.8"),
            _pair("c13", "error", "hsalr3 mi 0.8", "salr3 mi 0.8"),
        ),
    ),
    Finding(
        "**ELR's cross-tuning beats training to the end on small sets**: lower, equal, higher log loss on {0.record} "
        "sets with the structure of TAN, a tree over the columns ({0.ratio} times, p {0.p}), on {1.record} with that "
        "of naive Bayes ({1.ratio} times, p {1.p})",
        tuple(_pair("c16", "log_loss", f"elr {name}", f"elr {name} to the end") for name in ("tan", "nb")),
        deciding=2,
    ),
    Finding(
        "**CVscore, what a model loses without a tuple, chooses better ones than mutual information from n = 3**: it "
        "does on {0.wins} of {0.sets} sets (p {0.p}), at n = 4 on {1.wins} of {1.sets} (p {1.p})",
        (
            _pair("c12", "error", "salr3 cv, mean", "salr3 mi, mean"),
            _pair("c12", "error", "salr4 cv, mean", "salr4 mi, mean"),
        ),
        deciding=2,
    ),
    Finding(
        "**Without a penalty held-out log loss is bad**, which no paper prints: ALR's of order 2 is above AnJE's on "
        "{0.wins} of {0.sets} sets (AnJE's is {0.ratio} times ALR's in the mean, {0.spread}; p {0.p}) and above A1DE's "
        "on {1.wins} of {1.sets} ({1.ratio} times, {1.spread}; p {1.p})",
        (Over("alr-t2", "log_loss", ANJE2, ALR2), Over("alr-t3", "log_loss", "a1de", ALR2)),
        Group.NEW,
        deciding=2,
    ),
    Finding(
        "**Uneven levels make the saving larger, and a diagonal does as well**: to within 0.1 % of the best ALR takes "
        "under half of LR's iterations on {0.wins} of {0.sets} tables of Zipf columns, where few levels are frequent "
        "({0.ratio} times in the mean, p {0.p}), over half on {1.wins} of {1.sets} with even levels ({3.ratio} times, "
        "p {1.p}); LR in units of its Hessian's diagonal takes at most 1.25 times ALR's on {2.wins} of {2.sets} tables "
        "of Zipf columns ({2.ratio} times, p {2.p}). With a penalty on what LR learns the saving is gone there: "
        "{4.ratio} times LR's (p {4.p})",
        (
            _pair("c20", "to_goal", "alr1", "lr1", "zipf sets"),
            _pair("c20", "to_goal", "lr1", "alr1", "even sets"),
            _pair("c20", "to_goal", "diagonal", "alr1", "zipf sets"),
            _pair("c20", "to_goal", "alr1", "lr1", "even sets"),
            _pair("c20", "to_goal", "alr1 penalised", "lr1 penalised", "zipf sets"),
        ),
        Group.NEW,
        deciding=3,
    ),
)
