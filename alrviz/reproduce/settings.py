"""How items are reproduced: what every study is told."""

from dataclasses import dataclass
from pathlib import Path

from alrviz.studies.core.checkpoint import Keep

# Whose the kept cells are: not those of the explorer's pages, which list what is theirs.
OWNER = "reproduce"


@dataclass(frozen=True)
class Settings:
    """What every study is told.

    folder: of the sets. quick: fewer splits, smaller tables. jobs: processes. keep: where finished cells are kept, as
    studies have it. kept_only: show what is kept and compute nothing.
    """

    folder: Path
    quick: bool = False
    jobs: int = 1
    keep: Keep = False
    kept_only: bool = False
