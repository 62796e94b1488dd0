"""Ignore invalid link parameters and report each with the closest valid value.

Links are typed, shortened by mail programs, or of another version. `read_link` uses what it can of each; this module
reports the rest.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from urllib.parse import parse_qsl

from alrviz.explorer.recipes.recipe_url import read_recipes
from alrviz.explorer.session.state import MAX_LINK_CHARS, PROPERTIES, State
from alrviz.fitting.families import FAMILIES

Choices = Mapping[str, Collection[str]]
MAX_PROBLEMS = 4  # in a message: a link of another program may have any number
MAX_CHOICES = 8
_LIST_KEYS = ("kinds", "only")  # lists in which a link that was cut short has fewer parts, or a broken one


def check_link(query: str, state: State, choices: Choices) -> tuple[State, list[str]]:
    """Return the state with invalid choices at their defaults, and one clause about each invalid property.

    Args:
        query: the link's query string.
        state: the result of `read_link(query)`.
        choices: valid values by attribute of the state; other properties are checked by reading them.
    """
    problems: list[str] = []
    try:
        property_texts = parse_qsl(query[:MAX_LINK_CHARS].lstrip("?"), max_num_fields=50, errors="replace")
    except ValueError:
        return state, ["it has more properties than any link of the explorer"]
    for key, text in dict(property_texts).items():
        if key not in PROPERTIES:
            close_keys = get_close_matches(key, PROPERTIES, n=1, cutoff=0.75)
            if close_keys:
                problems.append(f"it has no property {_shorten(key)!r}; did you mean {close_keys[0]!r}?")
            continue
        name, metadata = PROPERTIES[key].name, PROPERTIES[key].metadata
        entries = text.split(metadata["separator"]) if metadata["separator"] else []
        if entries and name in choices:
            problems += [_invalid_choice(key, entry, choices[name]) for entry in entries if entry not in choices[name]]
        elif entries:
            unknown_entries = [entry for entry in entries if not read_recipes(entry, words=True)]
            problems += [_invalid_choice(key, entry.split("_")[0], FAMILIES) for entry in unknown_entries]
        elif name in choices:
            if text not in choices[name]:
                problems.append(_invalid_choice(key, text, choices[name]))
                state = state.replace(**{name: getattr(State(), name)})
        else:
            problems += _unreadable(key, text, metadata["read"](text))
    return state, problems


def _unreadable(key: str, text: str, value: object) -> Iterable[str]:
    """Yield a clause about a property without a list of choices if all or part of it cannot be read."""
    if value in ("", None, ()):
        yield f"{key}={_shorten(text)} cannot be read"
    elif key in _LIST_KEYS and isinstance(value, tuple) and len(value) < len(text.split("_")):
        yield f"part of {key}={_shorten(text)} cannot be read"
    elif isinstance(value, int | float):
        try:
            is_exact = float(text) == value
        except ValueError:
            is_exact = False
        if not is_exact:
            yield f"{key}={_shorten(text)} is not a valid number; {value} is used instead"


def _invalid_choice(key: str, text: str, choices: Iterable[str]) -> str:
    """Return a clause about an invalid value (`text`) of a link's property, with the nearest valid ones."""
    valid_choices = [choice for choice in choices if choice]
    if not valid_choices:
        return f"its page has no {key} {_shorten(text)!r}"
    if close_choices := get_close_matches(text, valid_choices, n=3, cutoff=0.5):
        return f"there is no {key} {_shorten(text)!r} (nearest: {', '.join(close_choices)})"
    ellipsis = " and others" if len(valid_choices) > MAX_CHOICES else ""
    return (
        f"there is no {key} {_shorten(text)!r}; it is one of {', '.join(sorted(valid_choices)[:MAX_CHOICES])}{ellipsis}"
    )


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def link_message(problems: list[str]) -> str:
    """Return a page's message about the problems of its link; "" if there are none."""
    if not problems:
        return ""
    more_text = f"; and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
    return f"Part of this link could not be used: {'; '.join(problems[:MAX_PROBLEMS])}{more_text}. The rest is shown."
