"""What the documentation has: pages are what their tables say, tables what the kept fits and today's code give."""

import ast
import re
from io import StringIO
from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest

import reproduction
from reproduction.finding_lines import PRECONDITIONERS, SETS, Means
from reproduction.findings import FINDINGS
from reproduction.items import ITEMS
from reproduction.report import FIGURES, write_report

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "reproduction"
PLACE = "[^;]{0,120}?"  # what a place of a string is filled with: numbers, sets


def as_text(table):
    return pd.read_csv(StringIO(table.to_csv(index=False)), dtype=str, keep_default_na=False)


def published(name):
    return pd.read_csv(FOLDER / f"{name}.csv", dtype=str, keep_default_na=False)


def fits(study):
    """The rows of a study that stand beside the pages; None where they do not, or tell of races no goals yet."""
    file = FOLDER / "fits" / f"{study}.csv"
    rows = pd.read_csv(file) if file.is_file() else None
    return None if rows is None or (study.startswith("races-") and "to_goal" not in rows) else rows


def test_the_pages_of_the_documentation_are_what_their_tables_say(tmp_path):
    """As they were written: a figure or a verdict that was changed by hand would show."""
    copytree(FOLDER, tmp_path / "docs" / "reproduction")
    write_report([], {}, tmp_path, tmp_path / "docs" / "reproduction.md", list(ITEMS.values()))
    pages = (*(f"reproduction/{p.name}" for p in FOLDER.glob("*.md")), f"reproduction/{FIGURES}")
    for page in ("reproduction.md", *pages):
        assert (tmp_path / "docs" / page).read_text() == (DOCS / page).read_text(), page


@pytest.mark.parametrize("study", sorted({item.study for item in ITEMS.values() if fits(item.study) is not None}))
def test_tables_are_what_the_code_makes_of_the_kept_fits(study):
    rows = fits(study)
    for item in (candidate for candidate in ITEMS.values() if candidate.study == study):
        pd.testing.assert_frame_equal(as_text(item.table(rows)), published(item.name), obj=item.name)


def test_what_the_findings_compare_stands_in_the_tables_that_they_link():
    """But for what goes with the size of sets and for ratios of ratios, which findings.csv alone has."""
    lines = {line for finding in FINDINGS for line in finding.lines if isinstance(line, Means)}
    compared = [line for line in lines if line.expect in ("less", "like") and " / " not in line.a]
    assert len(compared) > 8
    for line in compared:
        figures = line.figures({study: fits(study) for study in (SETS, PRECONDITIONERS)})
        table = published(line.item)
        group = "all sets" if line.set_label == "all sets" else "little sets"
        lines_of_pair = table[(table["quantity"] == line.measure) & (table["method"] == f"{line.a} vs {line.b}")]
        (record,) = lines_of_pair.loc[lines_of_pair["set"] == group, "ours"].drop_duplicates()
        assert record.startswith(f"{figures.record}, p "), line
        assert line.expect == "less" or f"; within a twentieth on {figures.near}, p " in record, line


def test_records_that_findings_call_printed_are_those_of_the_tables():
    n_records = 0
    for finding in FINDINGS:
        for record in re.findall(r"printed (\d+/\d+/\d+)", finding.says):
            papers = {paper for line in finding.lines for paper in published(line.item)["paper"]}
            assert any(paper.startswith(f"{record}, p ") for paper in papers), record
            n_records += 1
    assert n_records


def pattern(node: ast.expr) -> str:
    """The pattern of a string of the code, with a few words in each of its places; "" of a node that is none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(pattern(part) or PLACE for part in node.values)
    words = node.value if isinstance(node, ast.Constant) else ""
    return re.escape(words).replace(r"\{\}", PLACE) if isinstance(words, str) else ""


def told_by_the_code() -> re.Pattern[str]:
    """What can be put together of the strings of `reproduction`, those of more than six letters."""
    files = Path(reproduction.__path__[0]).glob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    patterns = {pattern(node) for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant)}
    sentence = "|".join(words for words in sorted(patterns) if len(re.findall("[a-z]", words.replace(PLACE, ""))) > 6)
    return re.compile(f"(?:{sentence})(?:[;,] (?:{sentence}))*")


def test_reasons_are_those_that_the_code_tells():
    """Those of tables whose fits are not kept cannot be made anew: a reason that was dropped would stay."""
    known_reasons = told_by_the_code()
    for name in (item.name for item in ITEMS.values() if fits(item.study) is None):
        for reason in set(published(name)["reason"]) - {""}:
            assert known_reasons.fullmatch(reason), (name, reason)
