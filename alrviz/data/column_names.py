"""Names of columns that can be worked with: trimmed, not empty, distinct, not endless."""

from alrviz.data.parse_values import distinct_names
from alrviz.errors import listed, plural


def clean_names(names: list[str], *, numbered: bool = False) -> tuple[list[str], list[str]]:
    """Return names that are trimmed, not empty, distinct and not endless, and a note for each sort of change."""
    result, changed = distinct_names(names)
    reasons = {
        "empty": "had no name, now called",
        "double": "had a name taken before, now called",
        "long": "had an endless name, now",
    }
    notes = [
        f"{plural(len(new), 'column')} {reasons[cause]} {listed(new, 3)}"
        for cause, new in changed.items()
        if new and not (numbered and cause == "empty")
    ]
    return result, notes
