"""The documentation: links and files that it names exist, examples on the pages of families run."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FAMILIES = [page for page in PAGES if page.parent.name == "families" and page.stem != "README"]


GUIDES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]


@pytest.mark.parametrize("page", [*GUIDES, *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_targets_of_links_exist(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_files_named_in_a_guide_exist(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = {word for span in re.findall(r"`([^`]+)`", text) for word in span.split()}
    file_names = {word for word in words if re.fullmatch(r"[\w./-]*(/[\w.-]+|\w\.py|\w\.md)", word)}
    file_names -= {"build/site", "score.py"}  # made by a command; in a model's file
    files = {path.name for folder in ("alrviz", "tests", "docs", ".ci", "apps") for path in (ROOT / folder).rglob("*")}

    def exists(name):
        if "/" not in name:
            return name in files or (ROOT / name).exists()
        return any((root / f"{name}{end}").exists() for root in (ROOT, ROOT / "alrviz") for end in ("", ".py"))

    missing = [name for name in file_names if not re.search("NAME|FILE|[.]{3}", name) and not exists(name)]
    assert not missing


@pytest.mark.parametrize("page", FAMILIES, ids=lambda page: page.stem)
def test_example_of_a_family_runs(page, tmp_path):
    (source,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "example.py").write_text(source, encoding="utf-8")
    runpy.run_path(str(tmp_path / "example.py"))


def test_every_family_has_a_page_with_formula_picture_use_and_source():
    assert {page.stem for page in FAMILIES} == {
        *("anje", "lr", "alr", "halr", "salr", "diagonal", "dlr", "elr", "tan", "kdb", "ande"),
    }
    for page in FAMILIES:
        text = page.read_text(encoding="utf-8")
        for part in ("\n    ", "![", "**Use it**", "```bibtex\n@"):  # formula, picture, use, source
            assert part in text
