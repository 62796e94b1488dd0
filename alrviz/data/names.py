"""Names of columns that can be worked with: trimmed, not empty, distinct, not endless."""

from alrviz.data.numbers import short

LONGEST_NAME = 200


def clean_names(names: list[str], *, numbered: bool = False) -> tuple[list[str], list[str]]:
    """Return names that are trimmed, not empty, distinct and not endless, and a note for each sort of change."""
    result: list[str] = []
    seen: set[str] = set()
    wanted = {name.strip() for name in names}
    changed: dict[str, list[str]] = {"empty": [], "double": [], "long": []}
    for position, raw in enumerate(names, start=1):
        name = raw.strip()
        if len(name) > LONGEST_NAME:
            name = name[: LONGEST_NAME - 1] + "…"
            changed["long"].append(name)
        if not name:
            name = f"column {position}"
            changed["empty"].append(name)
        base, count = name, 2
        while name in seen or (name != base and name in wanted):
            name, count = f"{base} ({count})", count + 1
        if name != base:
            changed["double"].append(name)
        seen.add(name)
        result.append(name)
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
