"""Names of columns that can be worked with: trimmed, not empty, distinct, not endless."""

from alrviz.data.parse_values import distinct_names
from alrviz.errors import short


def clean_names(names: list[str], *, numbered: bool = False) -> tuple[list[str], list[str]]:
    """Return names that are trimmed, not empty, distinct and not endless, and a note for each sort of change."""
    result, changed = distinct_names(names)
    said = {
        "empty": "had no name, now called",
        "double": "had a name taken before, now called",
        "long": "had an endless name, now",
    }
    notes = [
        f"{len(new)} {'column' if len(new) == 1 else 'columns'} {said[sort]} {_some(new)}"
        for sort, new in changed.items()
        if new and not (numbered and sort == "empty")
    ]
    return result, notes


def _some(names: list[str]) -> str:
    return ", ".join(short(name) for name in names[:3]) + (" ..." if len(names) > 3 else "")
