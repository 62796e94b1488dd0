"""How items are reproduced: what every study is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alrviz.studies.core.checkpoint import Keep

# Whose the kept cells are: not those of the explorer's pages, which list what is theirs.
OWNER = "reproduce"
Published = Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Settings:
    """Settings of every study.

    folder: of the sets. quick: fewer splits, smaller tables, as the sample has them. jobs: processes. keep: where
    finished cells are kept, as studies have it. kept_only: show what is kept and compute nothing. published: the rows
    of a study over sets that stand beside a page, by set and method (`over_sets.published_rows`): they are taken from
    there.
    """

    folder: Path
    quick: bool = False
    jobs: int = 1
    keep: Keep = False
    kept_only: bool = False
    published: Published = field(default_factory=dict, repr=False)
