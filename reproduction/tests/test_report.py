"""The report: findings whose figures and headings the tables give, pages a paper, tables that are kept beside them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from reproduction.compare import COLUMNS
from reproduction.finding_lines import EARLIER, SETS, Lines, Means
from reproduction.findings import FINDINGS, Finding, Group, figures_of, figures_table
from reproduction.items import ITEMS, SAMPLE
from reproduction.judge import VERDICTS
from reproduction.limits import limit_row
from reproduction.pairs import Pair, pair_lines
from reproduction.printed_figures import Distances, OtherWays, PrintedFigures, Versus
from reproduction.racers import LOW_ORDERS, RACERS
from reproduction.reasons import reason_of
from reproduction.report import front, items_page, load_kept, write_report
from reproduction.sets import LITTLE_SETS
from reproduction.still_missing import still_missing

ROOT = Path(__file__).parents[2]
RECORD = "9/1/0, p .004, mean ratio 0.5"


def table(*lines):
    blank = dict.fromkeys(COLUMNS, "") | {"sets": 3, "quantity": "error"}
    return pd.DataFrame([blank | line for line in lines], columns=list(COLUMNS))


def sentence(finding, tables):
    """Return what a finding says of the tables, alone on its page."""
    return finding.sentence(figures_of([finding], tables), "page")


def group(finding, tables):
    """Return the heading of a finding that is alone on its page."""
    return finding.group(figures_of([finding], tables))


def kept_sets(measure="error", **methods):
    """Return kept means under the tables' name for them: a set a value, of 100, 200 and so on rows."""
    labels = {"group": "little", "rounds": 2}
    lines = [
        labels | {"set": f"s{k}", "rows": 100 * (k + 1), "method": name, measure: value}
        for name, values in methods.items()
        for k, value in enumerate(values)
    ]
    return {SETS: pd.DataFrame(lines)}


def pages(folder, note="", **tables):
    """Write the report of tables by item ("_" for "-" and ".") over what is there; return its pages, front first."""
    by_item = {name.replace("_", "-").replace("5-1", "5.1"): item_table for name, item_table in tables.items()}
    (folder / "out").mkdir(parents=True, exist_ok=True)
    for name in by_item:
        (folder / "out" / f"{name}.svg").write_text(name)
        (folder / "out" / f"{ITEMS[name].study}.csv").write_text("# alrviz: 1\nset,method\na,b\n")
    items = [ITEMS[name] for name in by_item]
    write_report(items, by_item, folder / "out", folder / "docs" / "page.md", list(ITEMS.values()), note)
    return [(folder / "docs" / "page.md").read_text(), *(p.read_text() for p in sorted(folder.glob("docs/page/*.md")))]


def test_every_item_has_a_line_a_section_a_picture_and_its_table(tmp_path):
    lines = [
        {"set": "all sets", "ours": "2/0/1", "verdict": word, "method": "a|b"} for word in ("agrees", "differs", "")
    ]
    front, claims, dlr, items = pages(tmp_path, c6=table(*lines), dlr_f2=table())
    assert "| [c6](claims.md#c6) | bias falls and variance rises with n | 1 | 0 | 1 | 0 | 0 | 0 | 3 |" in items
    assert "| Claims on data that anyone can repeat | 1 | 0 | 1 | 0 | 0 | 0 |" in items
    assert "| [c6](claims.md#c6) | bias falls and variance rises with n | 1 | not explained |" in items
    assert "differs from its paper**: [1, " in front
    assert "(page/dlr.md); [Claims on data that anyone can repeat](page/claims.md).\n" in front
    assert "(page/alr.md)" not in front, "a page that is not written"
    assert "![Claim 6: bias falls and variance rises with n](../images/page/c6.svg)" in claims
    assert "| all sets | error, a\\|b |  | 2/0/1 | 3 | differs | not explained |" in claims
    assert "| not in the paper |" in claims
    assert "[c6.csv](c6.csv)" in claims
    assert (tmp_path / "docs/images/page/c6.svg").read_text() == "c6"
    assert len(pd.read_csv(tmp_path / "docs/page/c6.csv")) == 3
    assert pd.read_csv(tmp_path / "docs/page/fits/sets.csv").values.tolist() == [["a", "b"]]
    assert "## dlr-f2" in dlr


def test_the_check_of_the_sample_finds_a_line_that_differs(tmp_path):
    """By the words that CI searches its page for."""
    checks = (ROOT / ".ci" / "run").read_text()
    words = re.search(r"! grep '(.*)' .*sample\.md", checks)[1]
    for verdict, is_found in (("differs", True), ("agrees", False)):
        line = {"set": "all sets", "ours": "2/0/1", "verdict": verdict, "method": "a"}
        assert (words in pages(tmp_path / verdict, c6=table(line))[0]) is is_found


def test_sets_without_figures_are_named_with_their_seconds(tmp_path):
    labels = {"group": "little", "rounds": 2, "classify_seconds": 0.0, "alrviz": "1.0, numbers 1"}
    names = [entry.name for entry in LITTLE_SETS]
    lines = [
        labels | {"set": name, "rows": 100, "method": racer, "work": k + 1.0, "train_seconds": k + 1.0, "error": 0.1}
        for racer in LOW_ORDERS
        for k, name in enumerate(names)
    ]
    lines[3] |= {"error": float("nan"), "alrviz": None}
    lines[5] |= {"work": float("nan")}  # has figures all the same
    (tmp_path / "fits").mkdir()
    pd.DataFrame(lines).to_csv(tmp_path / "fits" / "sets.csv")
    page = items_page([], tmp_path, "page.md")
    assert f"\nOrders 1 and 2 on little sets, not fitted or not all of it (1): {names[3]} (16 s)." in page
    assert "within a factor of 1.0" in page
    assert "skin-segmentation (?)" in page
    assert f"{len(lines) - 1} rows by 1.0, numbers 1." in page
    sample = items_page([], tmp_path, "page.md", sample=True)
    assert "not fitted" not in sample, "seconds differ from run to run, the sample's page does not"


def test_seconds_of_what_is_missing_are_means_and_not_known_where_a_racer_has_no_law():
    """Every other set takes nine times as long as its neighbour: the law goes between them, the mean lies above."""
    labels = {"method": "lr2", "classify_seconds": 0.0, "error": 0.1}
    known_rows = [
        labels | {"set": f"s{k}", "work": 10.0 ** (k // 2), "train_seconds": 9.0 ** (k % 2)} for k in range(20)
    ]
    new = [labels | {"set": "new", "method": name, "work": 10.0, "error": float("nan")} for name in ("lr2", "rf")]
    missing = still_missing(pd.DataFrame([*known_rows, *new]), ["s1", "new"], ["lr2"], 1)
    mean = pytest.approx(2 * 5.0, rel=0.05)
    assert missing.seconds["new"] == (mean, mean), "the mean of 1 and 9, not the 3 between them"
    for racers in (["lr2", "rf"], ["rf", "lr2"]):
        assert missing.factor > 2
        missing = still_missing(pd.DataFrame([*known_rows, *new]), ["new"], racers, 1)
        assert missing.seconds == {"new": None}, "of rf nothing is known: seconds of lr2 alone would be told as all"


def test_seconds_of_what_is_missing_are_of_few_passes_and_of_as_many_as_a_fit_may_make():
    """A second a pass whatever the set, 20 passes on half of them; order 3 by the law of order 2, counting once."""
    passes = {"lr2 paper": 20.0, "a1de": 1.0}
    labels = {"classify_seconds": 0.0, "error": 0.1}
    known_rows = [
        labels | {"set": f"s{k}", "method": name, "work": 10.0**k, "evaluations": n, "train_seconds": n}
        for k in range(6)
        for name, n in passes.items()
    ]
    new = [{"set": "new", "method": name, "work": 50.0} for name in ("lr3 paper", "a2de")]
    max_steps = RACERS["lr3 paper"].params["max_iter"]
    for name, low, high in (("lr3 paper", 20, max_steps), ("a2de", 1, 1)):
        missing = still_missing(pd.DataFrame([*known_rows, *new]), ["new"], [name], 2)
        assert missing.seconds["new"] == (pytest.approx(4 * low), pytest.approx(4 * high))


def test_what_was_run_is_told_by_the_rows(tmp_path):
    racers = {"rows": 100, "method": "alr2 paper", "error": 0.1}
    (tmp_path / "fits").mkdir()

    def page_of(**big):
        little = [
            racers | {"set": "a", "group": "little", "rounds": 2},
            racers | {"set": "b", "group": "little", "rounds": 5},
        ]
        rows = [*little, *(racers | {"set": name, "group": "big", "rounds": rounds} for name, rounds in big.items())]
        pd.DataFrame(rows).to_csv(tmp_path / "fits" / "sets.csv")
        return front([], tmp_path)

    assert ", 2 or 5 x 2-fold (the papers" in page_of()
    assert "Of the 5 big sets none has been fitted at order 2**: " in page_of()
    assert "There are 2 sets at n = 1, 0 of them big, at n = 2 4; " in page_of(x=1, y=2)
    assert "**Not run:** order 3 on 69 little sets and all big ones; no line." in page_of()
    assert "Of the 5 big sets x has been fitted at order 2** (3 x 2-fold): " in page_of(x=3)
    assert "Of the 5 big sets x, y and z have been fitted at order 2** (1 or 2 x 2-fold): " in page_of(x=1, y=2, z=1)


def test_a_page_of_the_sample_tells_no_seconds(tmp_path):
    """They differ from run to run, and by Holm's correction so would every p."""
    (tmp_path / "fits").mkdir()

    def page_of(seconds, note):
        seconds_of = {"lr1 paper": 1.0, "alr1 paper": seconds, "lr2 paper": 1.0, "alr2 paper": seconds}
        labels = {"group": "little", "rows": 100, "rounds": 2, "error": 0.1}
        iterations = {"n_iter": 5.0}
        rows = [
            labels | {"set": f"s{k}", "method": name, "train_seconds": 1.0 + k % 3 * (x - 1.0)} | iterations
            for name, x in seconds_of.items()
            for k in range(9)
        ]
        for row in rows:
            row["n_iter"] -= 4 * (row["method"] == "alr2 paper" and row["set"] != "s0")
        pd.DataFrame(rows).to_csv(tmp_path / "fits" / "sets.csv")
        return front([], tmp_path, note)

    assert "ALR trains in less time" in page_of(0.5, "")
    assert "seconds" not in page_of(0.5, "a sample")
    assert page_of(0.5, "a sample") == page_of(0.9, "a sample") == page_of(2.0, "a sample")
    assert "on 9 tables that come with the package" in page_of(0.5, "a sample")
    assert "big sets" not in page_of(0.5, "a sample")


def test_a_saving_that_does_not_grow_beyond_chance_is_undecided():
    finding = next(finding for finding in FINDINGS if "saving in iterations grows" in finding.says)
    lr = {"lr1_paper": [100.0] * 9, "lr2_paper": [100.0] * 9, "alr1_paper": [50.0] * 9}
    for alr2, heading in (([60.0] * 6 + [40.0] * 3, Group.NULL), ([40.0] * 9, Group.STANDS), ([60.0] * 9, Group.FALLS)):
        tables = kept_sets("n_iter", **{name.replace("_", " "): x for name, x in {**lr, "alr2_paper": alr2}.items()})
        tables["c5"] = table({"quantity": finding.lines[1].quantity, "method": finding.lines[1].method, "ours": "1.7"})
        assert group(finding, tables) is heading


def test_what_is_not_measured_anew_stays_and_a_page_is_made_of_what_is_kept(tmp_path):
    line = {"set": "all sets", "ours": "2/0/1", "verdict": "agrees", "method": "a"}
    whole = pages(tmp_path, wanbia_t2=table(line), c6=table(line), c10=table(line))
    assert pages(tmp_path) == whole
    anew = pages(tmp_path, c6=table(line | {"ours": "9/9/9"}))
    assert [page.replace("9/9/9", "2/0/1") for page in anew] == whole
    assert pages(tmp_path, "told")[0].replace("told\n\n", "") == anew[0]
    results = load_kept(tmp_path / "docs" / "page", list(ITEMS.values()))
    assert [result.item.name for result in results] == ["wanbia-t2", "c6", "c10"]
    assert results[0].counts == dict.fromkeys(VERDICTS, 0) | {"agrees": 1}


def test_of_long_tables_the_papers_own_methods_are_shown_and_every_line_that_differs(tmp_path):
    methods = ("lr", "dlr", "svm-rbf")
    lines = [{"set": f"set {k}", "method": m, "verdict": "agrees", "splits": 100} for k in range(9) for m in methods]
    _, page, _ = pages(tmp_path, dlr_t1=table(*lines))
    assert page.count(", svm-rbf |") == 24 - 18
    assert page.count("| set ") == 24
    assert "| set 0 | error, lr |  |  | 3, 100 splits | agrees |  |" in page
    assert "27 lines in all (27 agree): [dlr-t1.csv](dlr-t1.csv)" in page
    lines = [{"set": f"set {k}", "method": "svm-rbf", "verdict": "differs" if k > 30 else "agrees"} for k in range(90)]
    _, page, _ = pages(tmp_path, dlr_t1=table(*lines))
    assert page.count("| differs |") == 59


@pytest.mark.parametrize(
    ("verdict", "heading"),
    [
        ("agrees", Group.STANDS), ("compatible", Group.FITS), ("differs", Group.FALLS), ("undecided", Group.OPEN),
        ("not comparable", Group.OPEN),
    ],
)  # fmt: skip
def test_a_finding_takes_its_figures_from_the_tables_and_stands_where_the_verdict_puts_it(verdict, heading):
    finding = Finding("on {0.wins} of {0.sets} ({0.ratio}, p {0.p})", (Lines("c6", "error", "a vs b"),))
    line = {"method": "a vs b", "ours": RECORD, "verdict": verdict}
    tables = {"c6": table({"method": "b vs a", "ours": "1/1/1, p 1, mean ratio 1"}, line)}
    assert sentence(finding, tables) == "on 9 of 10 (0.50, p .004) ([c6](page/claims.md#c6))"
    assert group(finding, tables) is heading
    assert sentence(finding, {}) == sentence(finding, {"c6": table(line | {"ours": ""})}) == ""
    assert sentence(finding, {"c6": table(line | {"reason": f"{EARLIER}, whose fits are lost"})}) == ""


@pytest.mark.parametrize(
    ("record", "heading"),
    [("9/1/0", Group.NEW), ("5/1/4", Group.NULL), ("0/1/9", Group.FALLS), ("4/1/5", Group.NULL), ("2/0/0", Group.OPEN)],
)
def test_a_line_without_a_verdict_is_decided_by_its_own_record(record, heading):
    finding = Finding("it is less", (Lines("c6", "error", "a vs b"),), Group.NEW)
    assert group(finding, {"c6": table({"method": "a vs b", "ours": f"{record}, p .5, mean ratio 1"})}) is heading


def test_a_finding_of_two_sets_stands_where_both_say_so():
    lines = (Lines("c15", "error", "a"), Lines("c15", "error", "b"))
    for second, heading in (("agrees", Group.STANDS), ("compatible", Group.FITS), ("differs", Group.OPEN)):
        rows = [{"method": m, "verdict": v, "ours": "1"} for m, v in (("a", "agrees"), ("b", second))]
        assert group(Finding("", lines, deciding=2), {"c15": table(*rows)}) is heading
        assert group(Finding("", lines), {"c15": table(*rows)}) is Group.STANDS
    falls = {"differs": Group.FALLS, "undecided": Group.FALLS, "compatible": Group.OPEN, "agrees": Group.OPEN}
    for first, heading in falls.items():
        rows = [{"method": m, "verdict": v, "ours": "1"} for m, v in (("a", first), ("b", "differs"))]
        assert group(Finding("", lines, deciding=2), {"c15": table(*rows)}) is heading


def test_a_claim_of_an_amount_goes_by_its_items_verdict_where_one_of_a_difference_waits_for_holm():
    """Among three tests p .021 is not enough: of a test that stays undecided, of an item's own verdict it falls."""
    contrary = {"ours": "1/0/9, p .021, mean ratio 2", "verdict": "differs"}
    tables = {"c6": table(*({"method": m} | contrary for m in "abc"))}
    for by_item, heading in ((False, Group.OPEN), (True, Group.FALLS)):
        finding = Finding("", (Lines("c6", "error", "a", by_item=by_item),))
        figures = figures_of([finding, *(Finding("", (Lines("c6", "error", m),)) for m in "bc")], tables)
        assert finding.group(figures) is heading
        assert sum(result.raw is not None for result in figures.values()) == 3 - by_item


def test_a_claim_among_many_stands_where_it_would_after_holm():
    tables = {"c6": table(*({"method": m, "ours": "9/0/1, p .021, mean ratio 0.5", "verdict": "agrees"} for m in "ab"))}
    findings = [Finding("p {0.p}", (Lines("c6", "error", m),)) for m in "ab"] + [
        Finding("", (Lines("c6", "error", "c"),))
    ]
    one_test, two_tests = figures_of(findings[:1], tables), figures_of(findings, tables)
    assert (findings[0].sentence(one_test, "")[:6], findings[0].group(one_test)) == ("p .021", Group.STANDS)
    assert (findings[0].sentence(two_tests, "")[:6], findings[0].group(two_tests)) == ("p .043", Group.STANDS)
    three = figures_of(
        [*findings, Finding("", (Means("c6", "error", "x", "y"),))], tables | kept_sets(x=[1] * 9, y=[2] * 9)
    )
    assert three[findings[0].lines[0]].p == ".043", "the smallest p is corrected by all, the others by those above it"
    assert three[Means("c6", "error", "x", "y")].p == ".012"
    third = Finding("", (Lines("c6", "error", "b", "all sets"),))
    tables["c6"] = tables["c6"].assign(set="all sets")
    three_tests = figures_of([*findings, third], tables)
    assert (three_tests[findings[0].lines[0]].p, findings[0].group(three_tests)) == (
        ".064, .021 before correction",
        Group.FITS,
    )


def test_the_family_is_of_tests_that_are_told_or_decide_and_could_come_out():
    """Four sets cannot be beyond chance; of draws there are as many as one likes; two are in the table alone."""
    lines = [{"method": m, "ours": "9/0/1, p .5, mean ratio 1"} for m in "abcde"]
    lines[1] |= {"ours": "4/0/0, p .125, mean ratio 1", "verdict": "undecided"}
    a, b, c, d = (Lines("c6", "error", m) for m in "abcd")
    draws = Lines("c6", "error", "e", by_item=True)
    findings = [Finding("p {1.p}", (a, c, d)), Finding("", (b,)), Finding("p {0.p}", (draws,))]
    figures = figures_of(findings, {"c6": table(*lines)})
    assert [line for line, result in figures.items() if result.raw is not None] == [a, c]
    assert (figures[a].p, figures[d].p, figures[d].alone) == (".043", "untested", figures[a].alone)
    assert (findings[1].group(figures), figures[draws].p) == (Group.OPEN, "untested")
    rows = figures_table(figures).set_index("methods")
    assert rows["p_holm"].notna().tolist() == [True, True, False, False, False]


def test_what_could_not_be_told_from_chance_even_before_correction_is_null():
    tables = {"c6": table({"method": "a", "ours": "7/0/3, p .3, mean ratio 1", "verdict": "compatible"})}
    finding = Finding("", (Lines("c6", "error", "a"),))
    assert group(finding, tables) is Group.NULL
    tables["c6"] = tables["c6"].assign(ours="2/0/9, p .07, mean ratio 1", verdict="undecided")
    assert group(finding, tables) is Group.NULL
    tables["c6"] = tables["c6"].assign(ours="9/0/1, p .02, mean ratio 1", verdict="agrees")
    family = [Finding("", (Means("c6", "error", f"m{k}", "one"),)) for k in range(9)]
    other_means = kept_sets(one=[1.0] * 8, **{f"m{k}": [0.5, 1.5] * 4 for k in range(9)})
    assert finding.group(figures_of([finding, *family], tables | other_means)) is Group.FITS


def test_of_kept_sets_a_finding_tells_parts_and_the_spread_of_ratios():
    """Six sets have an interval of the median; two have none."""
    tables = kept_sets("train_seconds", a=[*[1.0] * 5, 300.0], b=[*[2.0] * 5, 3.0])
    finding = Finding(
        "{0.record} {0.spread}; {1.record} {1.spread}",
        (Means("c6", "train_seconds", "a", "b"), Means("c6", "train_seconds", "a", "b", min_rows=150, max_rows=400)),
    )
    assert sentence(finding, tables).startswith("5/0/1 median 0.50, 95 % interval 0.50 to 100.00; 2/0/0 median 0.50 (")
    compared = figures_table(figures_of([finding], tables))
    assert list(figures_table({})) == list(compared), "a page without findings has the names of the columns"
    all_sets, middle_sets = compared.to_dict("records")
    assert (all_sets["sets"], middle_sets["sets"]) == ("all sets", "150 rows and more and under 400 rows")
    assert (all_sets["lower"], all_sets["p"], all_sets["p_holm"]) == (5, pytest.approx(14 / 64), pytest.approx(14 / 64))
    assert pd.isna(middle_sets["p_holm"]), "two sets have no test"


@pytest.mark.parametrize(
    ("verdict", "says"),
    [("agrees", "Yes"), ("differs", "No"), ("undecided", "Undecided"), ("compatible", "It seems so")],
)
def test_the_page_opens_with_questions_that_findings_answer(verdict, says):
    finding = Finding("", (Lines("c6", "error", "a vs b"),), asks="Is it so?", short="on {0.ours}")
    figures = figures_of([finding], {"c6": table({"method": "a vs b", "ours": "7 draws", "verdict": verdict})})
    assert finding.answer(figures).startswith(f"Is it so? **{says}")
    assert finding.answer(figures).endswith("**: on 7 draws.")
    assert finding.answer({}) == ""


@pytest.mark.parametrize(
    ("a", "heading"),
    [([1.0] * 10, Group.STANDS), ([1.0] * 7 + [2.0] * 3, Group.OPEN), ([0.5] * 5 + [2.0] * 5, Group.FALLS)],
)
def test_two_are_alike_where_they_are_near_on_nearly_all_sets(a, heading):
    """The last: as often lower as higher, which no sign test tells from the same."""
    assert group(Finding("", (Means("c6", "error", "a", "b", "like"),)), kept_sets(a=a, b=[1.0] * 10)) is heading


def test_what_size_decides_is_told_by_the_rank_correlation_of_rows_and_ratio():
    tables = kept_sets(falls=[2.0 - 0.1 * k for k in range(20)], one=[1.0] * 20, neither=[1.0, 2.0] * 10)
    for first, second, heading in (
        ("falls", "one", Group.STANDS), ("one", "falls", Group.FALLS), ("neither", "one", Group.NULL),
    ):  # fmt: skip
        assert group(Finding("", (Means("c6", "error", first, second, "falls"),)), tables) is heading


def test_a_printed_figure_of_two_candidates_counts_once():
    """wdbc and breast-cancer-wisconsin may both be the printed set: one that agrees is enough, the nearer stands."""
    labels = {"quantity": "accuracy"}
    lines = [
        labels | {"set": "wdbc", "method": "dlr", "paper": 90.0, "ours": 70.0, "verdict": "differs"},
        labels | {"set": "wdbc", "method": "lr", "paper": 80.0, "ours": 60.0, "verdict": "differs"},
        labels | {"set": "breast-cancer-wisconsin", "method": "dlr", "paper": 90.0, "ours": 89.0, "verdict": "agrees"},
        labels | {"set": "breast-cancer-wisconsin", "method": "lr", "paper": 80.0, "ours": 95.0, "verdict": "differs"},
        labels | {"set": "pima", "method": "dlr", "paper": 90.0, "ours": 80.0, "verdict": "differs"},
        labels | {"set": "pima", "method": "lr", "paper": 70.0, "ours": 79.0, "verdict": "differs"},
        labels | {"set": "pima", "method": "svm", "paper": "", "ours": 99.0, "verdict": ""},
    ]
    tables = {"dlr-t1": table(*lines)}
    printed_lines = (PrintedFigures(("dlr-t1",)), PrintedFigures(("dlr-t1",), "differs"))
    once = Finding("{0.differs} of {0.decided}, {0.ours}, {0.near}; {1.ours}, {1.near}", printed_lines)
    assert sentence(once, tables).startswith("3 of 4, 9.5, 1; 10.0, 0 "), "of those that differ none is near"
    assert group(once, tables) is Group.FALLS
    agree = [line | {"verdict": "agrees"} if line["set"] == "wdbc" else line for line in lines]
    assert group(once, {"dlr-t1": table(*agree)}) is Group.STANDS, "two of four"
    distance = Finding(
        "{0.wins} of {0.sets}, {0.ours}, {0.median}; {1.ours}",
        (Distances(("dlr-t1",), "dlr"), Distances(("dlr-t1",), "lr")),
    )
    assert sentence(distance, tables).startswith("2 of 2, -5.5, -5.5; +12.0 ")
    versus = Finding("{0.ours}, {0.record}", (Versus(("dlr-t1",), "lr", "dlr"),))
    assert sentence(versus, tables).startswith("2/0/0, 1/0/1 ")
    assert sentence(Finding("", (Distances(("dlr-t1",), "svm"),)), tables) == sentence(once, {}) == ""


def test_a_printed_figure_that_differs_is_brought_by_a_way_that_was_tried(tmp_path):
    """Of two ways that would agree with 10 splits one would not with the 100 of the line."""
    differs = [
        {"set": s, "method": m, "quantity": "accuracy", "verdict": "differs", "splits": 100}
        for s in ("a", "b")
        for m in ("dlr", "lr")
    ]
    labels = {"quantity": "accuracy", "reason": "would agree", "paper": 90.0, "sd": 2.0, "splits": 10}
    ways = [
        labels | {"set": "a", "method": "dlr, with alpha 1", "ours": 91.0},
        labels | {"set": "a", "method": "dlr, with alpha 9", "ours": 91.0},
        labels | {"set": "a", "method": "lr, with alpha 9", "ours": 90.1},
        labels | {"set": "b", "method": "dlr, with alpha 1", "ours": 99.0, "reason": ""},
        labels | {"set": "b", "method": "lr, with alpha 3", "quantity": "auc", "ours": 0.5},
    ]
    agrees = {"set": "a", "method": "dlr", "verdict": "agrees", "quantity": "auc"}
    tables = {"dlr-t1": table(*differs, agrees), "dlr-5.1": table(*ways)}
    finding = Finding("{0.wins} of {0.sets} in {0.ours}, sure {0.near}", (OtherWays(("dlr-t1",)),))
    assert sentence(finding, tables).startswith("2 of 4 in 1 to 2 of 3, sure 1 ")
    candidates = [
        line | {"set": {"a": "wdbc", "b": "breast-cancer-wisconsin"}[line["set"]]} for line in (*differs, *ways)
    ]
    n = len(differs)
    twice = {"dlr-t1": table(*candidates[:n]), "dlr-5.1": table(*candidates[n:])}
    assert sentence(finding, twice).startswith("2 of 2 in 1 to 2 of 3, sure 1 "), "two candidates of one printed set"
    agrees_once = {
        "dlr-t1": table(*candidates[: n - 1], candidates[n - 1] | {"verdict": "agrees"}),
        "dlr-5.1": twice["dlr-5.1"],
    }
    assert sentence(finding, agrees_once).startswith("1 of 1 ")
    assert sentence(finding, {"dlr-t1": table(*differs)}) == ""
    _, page, _ = pages(tmp_path, dlr_t1=table(*differs), dlr_5_1=tables["dlr-5.1"])
    assert "| differs | 2 of 2 other ways would agree on 10 splits (dlr-5.1): with alpha 1 / with alpha 9 |" in page
    assert "| differs | none of 1 other ways would agree on 10 splits (dlr-5.1) |" in page
    assert page.count("| differs | not explained |") == 1, "lr on b, which was tried with another quantity alone"


def test_a_reason_that_was_put_to_a_run_stands_beside_the_lines_that_differ(tmp_path):
    """As the run came out: beside the item's lines, above its picture and on the first page."""
    rows = [limit_row("c13, salr-t2", "of many columns", "ratio", ratio, 0.5) for ratio in (0.2, 0.9)]
    line = {"set": "all sets", "ours": "0/0/9", "verdict": "differs", "method": "a", "quantity": "parameters"}
    for row, word in zip(rows, ("holds", "refuted"), strict=True):
        trial_table = ITEMS["c21"].table(pd.DataFrame([row]))
        assert trial_table["verdict"].tolist() == [""]
        _, claims, items = pages(tmp_path / word, c13=table(line), c21=trial_table)
        reason = f"{word}: columns are few"
        assert f"salr at a like error, n >= 3 | 1 | {reason}" in items
        assert f"*Test of the reason:* {reason}" in claims
        assert f"| differs | {reason}" in claims
        assert f"ratio {row['ours']:g}, the reason needs <= 0.5" in claims


def test_of_methods_that_are_alike_a_finding_tells_where_something_is_left_of_the_training_loss():
    tables = kept_sets("rmse", a=[1.0, 1.0, 1.0, 1.0], b=[1.0, 1.2, 1.0, 1.2])
    train_loss = {"s0": 0.5, "s1": 0.0009, "s2": 0.0, "s3": 0.001}
    tables[SETS] = tables[SETS].assign(train_log_loss=tables[SETS]["set"].map(train_loss))
    finding = Finding("{0.near} of {0.sets}, {0.left.near} of {0.left.sets}", (Means("c6", "rmse", "a", "b", "like"),))
    assert sentence(finding, tables).startswith("2 of 4, 1 of 2 ")
    (row,) = figures_table(figures_of([finding], tables)).to_dict("records")
    assert (row["training_loss_left"], row["within_a_twentieth_of_those"]) == (2, 1)
    lower = Finding("{0.record} {0.left.record} {0.left.ratio}", (Means("c6", "rmse", "a", "b"),))
    assert sentence(lower, tables).startswith("2/2/0 1/1/0 0.91 ")


def test_pages_say_what_is_beside_what_two_readings_are_and_which_lines_are_lost(tmp_path):
    lines = [{"set": f"set {k}", "method": "lr", "verdict": "agrees" if k < 20 else "", "ours": "1"} for k in range(30)]
    dlr, items = pages(tmp_path, dlr_t1=table(*lines))[1:]
    assert "30 lines in all (20 agree, 10 without a verdict): " in dlr
    assert "both Wisconsin ones" in dlr
    assert "Items with \N{DAGGER}" not in items
    _, claims, _, items = pages(tmp_path, c6=table(lines[0] | {"reason": f"{EARLIER}, whose fits are lost"}))
    assert "both Wisconsin ones" not in claims
    assert "c6)\N{DAGGER} |" in items
    assert "Items with \N{DAGGER} have lines of an" in items


def test_a_reason_that_no_run_was_made_for_is_told_on_the_page_of_items(tmp_path):
    labels = {"set": "little sets", "ours": "8/0/35", "verdict": "differs", "method": "a", "quantity": "rmse"}
    for reason, is_told in ((reason_of("alr-t2", Pair("rmse", "a", "b")), True), ("half have under 9 rows", False)):
        _, _, items = pages(tmp_path / str(is_told), alr_t2=table(labels | {"reason": f"{reason}; 6/0/15"}))
        assert ("| 1 | may be few rows" in items, "| 1 | not explained |" in items) == (is_told, not is_told)


def test_a_page_leaves_out_what_stands_beside_without_a_figure(tmp_path):
    unjudged = [{"set": "all sets", "method": m, "ours": x, "verdict": ""} for m, x in (("a", "1/0/0"), ("b", ""))]
    _, claims, _ = pages(tmp_path, c6=table(*unjudged, {"set": "all sets", "method": "c", "verdict": "not run"}))
    assert ("error, a |" in claims, "error, b |" in claims, "error, c |" in claims) == (True, False, True)


def test_a_finding_tells_a_number_beside_the_printed_one():
    finding = Finding("{0.value} ({0.printed}), sd {0.sd}", (Lines("alr-7.3", "0-1 loss", "lr3 paper", "nettalk"),))
    labels = {"quantity": "0-1 loss", "method": "lr3 paper", "verdict": "agrees", "sd": "0.00251"}
    lines = [labels | {"set": s, "ours": x, "paper": "0.2347"} for s, x in (("promoters", ""), ("nettalk", "0.234737"))]
    assert sentence(finding, {"alr-7.3": table(*lines)}).startswith("0.2347 (0.2347), sd 0.0025 ")
    assert group(finding, {"alr-7.3": table(*lines)}) is Group.STANDS
    assert sentence(finding, {"alr-7.3": table(lines[0])}) == ""


def test_findings_are_about_lines_that_the_items_have():
    figures = pd.DataFrame({"set": [], "method": []})
    lines = [line for finding in FINDINGS for line in finding.lines]
    measured_items = ("alr-7.3", "c5", "c15", "c21", "dlr-t4", "dlr-5.1")  # whose lines are of what was fitted
    for line in (entry for entry in lines if isinstance(entry, Lines) and entry.item not in measured_items):
        assert len(line.first_line({line.item: ITEMS[line.item].table(figures)})) == 1, line
    assert {line.item for line in lines} <= set(ITEMS)


def test_figures_of_a_record_are_read_as_they_are_written():
    rows = [{"set": k, "method": m, "error": v} for k in range(8) for m, v in (("a", 0.1), ("b", 0.4))]
    finding = Finding("{0.wins} {0.sets} {0.ratio} {0.p}", (Lines("c6", "error", "a vs b"),))
    lines = pair_lines("c6", [Pair("error", "a", "b")], pd.DataFrame(rows))
    assert sentence(finding, {"c6": lines}).startswith("8 8 0.25 .008 ")


def test_the_sample_is_of_items_that_tell_no_seconds():
    figures = pd.DataFrame({"set": [], "method": []})
    for name in SAMPLE:
        assert not any("seconds" in quantity for quantity in ITEMS[name].table(figures)["quantity"]), name


@pytest.mark.slow(reason="three processes that fit; CI writes the whole sample")
def test_a_sample_that_was_killed_goes_on_and_writes_the_same_page(tmp_path):
    def begin(home, folder):
        command = [sys.executable, "-um", "reproduction", "--sample", "c2", "c3"]
        command += ["--out", str(folder), "--report", str(folder / "page.md")]
        env = os.environ | {"ALRVIZ_HOME": str(home)}
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)

    killed = begin(tmp_path / "home", tmp_path / "killed")
    first = killed.stdout.readline()
    killed.kill()
    killed.communicate()
    assert not (tmp_path / "killed" / "page.md").exists(), "killed after its first table"
    output = begin(tmp_path / "home", tmp_path / "resumed").communicate(timeout=300)[0]
    assert output.startswith(first)
    begin(tmp_path / "other", tmp_path / "whole").communicate(timeout=300)
    files = sorted(p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").rglob("*") if p.is_file())
    assert len(files) > 8
    for file in files:
        assert (tmp_path / "resumed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
