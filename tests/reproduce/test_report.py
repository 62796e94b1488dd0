"""The report: an overview, a section an item, its lines, hostile text."""

import pandas as pd

from alrviz.reproduce.compare import COLUMNS
from alrviz.reproduce.items import ITEMS
from alrviz.reproduce.judge import VERDICTS
from alrviz.reproduce.report import Reproduced, report


def found(name, *lines):
    blank = dict.fromkeys(COLUMNS, "") | {"sets": 3, "quantity": "error"}
    return Reproduced(ITEMS[name], pd.DataFrame([blank | line for line in lines], columns=list(COLUMNS)))


def test_every_item_has_a_line_a_section_and_a_picture():
    lines = [
        {"set": "all sets", "ours": "2/0/1", "verdict": word, "method": "a|b"} for word in ("agrees", "differs", "")
    ]
    page = report([found("c6", *lines), found("dlr-f2")], "images/x", quick=False)
    assert "| [c6](#c6) | bias falls and variance rises with n | 1 | 0 | 1 | 0 | 0 | 3 |" in page
    assert page.count("\n## ") == 2
    assert "![Claim 6: bias falls and variance rises with n](images/x/c6.svg)" in page
    assert "| all sets | error, a\\|b |  | 2/0/1 | 3 | differs |  |" in page
    assert "| not in the paper |" in page
    assert "# Claims on data that anyone can repeat" in page
    assert "quick report" not in page
    nothing = [{"set": "all sets", "verdict": "undecided", "method": "a", "sets": 0}]
    assert "| RMSE along alpha on satellite | 0 | 0 | 0 | 1 | 0 | 0 |" in report(
        [found("wanbia-f7", *nothing)], "x", quick=False
    )
    assert "quick report" in report([], "images/x", quick=True)
    assert "earlier sittings" in report([], "images/x", kept=True)
    assert "earlier sittings" not in page


def test_of_long_tables_the_papers_own_methods_are_shown():
    lines = [
        {"set": f"set {k}", "method": name, "verdict": "agrees", "splits": 100}
        for k in range(9)
        for name in ("lr", "dlr", "svm-rbf")
    ]
    page = report([found("dlr-t1", *lines)], "images/x", quick=False)
    assert page.count(", svm-rbf |") == 24 - 18
    assert page.count("| set ") == 24
    assert "| set 0 | error, lr |  |  | 3, 100 splits | agrees |  |" in page
    assert "27 lines in all (27 agree): `dlr-t1.csv`" in page


def test_every_line_that_differs_is_shown_however_long_the_table():
    lines = [{"set": f"set {k}", "method": "svm-rbf", "verdict": "differs" if k > 30 else "agrees"} for k in range(90)]
    page = report([found("dlr-t1", *lines)], "images/x", quick=False)
    assert page.count("| differs |") == 59 + 1, "and the name of a column"
    assert "90 lines in all (31 agree, 59 differ)" in page


def test_a_page_keeps_the_items_that_are_not_drawn_anew():
    line = {"set": "all sets", "ours": "2/0/1", "verdict": "agrees", "method": "a"}
    names = ["wanbia-t2", "c6", "c10"]
    page = report([found(name, line) for name in names], "images/x", order=list(ITEMS))
    assert report([], "images/x", before=page, order=list(ITEMS)) == page
    anew = report([found("c6", line | {"ours": "9/9/9"})], "images/x", before=page, order=list(ITEMS))
    assert anew.replace("9/9/9", "2/0/1") == page
    assert 3 * anew.count("9/9/9") == page.count("2/0/1")
    more = report([found("salr-f3", line)], "images/x", before=page, order=list(ITEMS))
    assert [text.split()[0] for text in more.split("\n## ")[1:]] == ["wanbia-t2", "salr-f3", "c6", "c10"]
    assert "# [sALR]" in more


def test_every_verdict_is_counted():
    lines = [{"verdict": word, "method": "a"} for word in ("agrees", "undecided", "undecided")]
    assert found("c12", *lines).counts == dict.fromkeys(VERDICTS, 0) | {"agrees": 1, "undecided": 2}
