"""README is true: its Python runs, its commands are the project's, its picture and its paths are there."""

import re
from pathlib import Path

import pytest

import alrviz
from alrviz.fitting.solvers.solver_support import solver_matrix

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_python_runs(source, capsys):
    exec(compile(source, "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) > 3, "the loop prints a line a step"


def test_the_picture_comes_before_the_commands():
    picture, *commands = (README.index(text) for text in ("![", "panel serve apps/explorer.py --show", "&& pytest"))
    assert picture < commands[0] < commands[1]


def test_paths_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    path_names = re.findall(r"`((?:alrviz|tests|apps|docs)/[\w/.]+|\.ci/run|[A-Z]+\.(?:md|cff))`", README)
    assert {"docs/images/explorer.png", "tests/oracles"} <= {*targets, *path_names}
    assert [name for name in [*targets, *path_names] if "://" not in name and not (ROOT / name).exists()] == []


def test_classes_are_public():
    assert set(re.findall(r"\b[A-Z]\w+(?:Classifier|View|Discretizer)\b", README)) <= set(alrviz.__all__)


def test_citation_and_changelog_have_the_version():
    assert f"\nversion: {alrviz.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"[{alrviz.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_table_of_solvers_is_the_matrix():
    first, _ = (ROOT / "docs/solvers.md").read_text(encoding="utf-8").split("\n## ", 1)
    head, _, *rows = re.findall(r"^\| (.*) \|$|^\|(-.*)\|$", first, re.M)
    cells = [row.split(" | ") for row, _ in rows]
    matrix = solver_matrix()
    assert head[0].split(" | ") == ["solver", *matrix.columns[:-1], "bounds on w"]
    assert cells == [[solver, *("yes" if fits else "no" for fits in row)] for solver, *row in matrix.itertuples()]


@pytest.mark.parametrize("page", ["export.md", "reading.md"])
def test_python_on_a_page_prints_what_its_comments_say(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    for source in sources:
        exec(compile(source, page, "exec"), names)
    lines = [line for source in sources for line in source.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines() == [line.split("  # ")[1] for line in lines]
