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
MAX_TROUBLES = 4  # troubles that are told: a link of another program has any number
MAX_CHOICES = 8
_LISTS = ("kinds", "only")  # properties of several parts: a link that was cut short has fewer, or a broken one


def checked(query: str, state: State, choices: Choices) -> tuple[State, list[str]]:
    """Return the state without the values that are no choices, and a clause about each such value.

    Args:
        query: of the link.
        state: what `read_link` made of it.
        choices: what may be given, by the state's attribute; any that is not in it may be any.
    """
    troubles: list[str] = []
    try:
        given = parse_qsl(query[:MAX_LINK_CHARS].lstrip("?"), max_num_fields=50, errors="replace")
    except ValueError:
        return state, ["it has more properties than any link of the explorer"]
    for key, text in dict(given).items():
        if key not in PROPERTIES:
            near = get_close_matches(key, PROPERTIES, n=1, cutoff=0.75)
            if near:
                troubles.append(f"it has no property {_short(key)!r}; did you mean {near[0]!r}?")
            continue
        name, about = PROPERTIES[key].name, PROPERTIES[key].metadata
        parts = text.split(about["parts"]) if about["parts"] else []
        if parts and name in choices:
            troubles += [_none_of(key, part, choices[name]) for part in parts if part not in choices[name]]
        elif parts:
            lost = [part for part in parts if not read_recipes(part, words=True)]
            troubles += [_none_of(key, part.split("_")[0], FAMILIES) for part in lost]
        elif name in choices:
            if text not in choices[name]:
                troubles.append(_none_of(key, text, choices[name]))
                state = state.replace(**{name: getattr(State(), name)})
        else:
            troubles += _unread(key, text, about["read"](text))
    return state, troubles


def _unread(key: str, text: str, value: object) -> Iterable[str]:
    """Report a property that may be anything of its kind, if it cannot be read, or not all of it."""
    if value in ("", None, ()):
        yield f"{key}={_short(text)} cannot be read"
    elif key in _LISTS and isinstance(value, tuple) and len(value) < len(text.split("_")):
        yield f"part of {key}={_short(text)} cannot be read"
    elif isinstance(value, int | float):
        try:
            same = float(text) == value
        except ValueError:
            same = False
        if not same:
            yield f"{key}={_short(text)} is no number that it can have; {value} is taken"


def _none_of(key: str, text: str, choices: Iterable[str]) -> str:
    every = [choice for choice in choices if choice]
    if not every:
        return f"its page has no {key} {_short(text)!r}"
    if near := get_close_matches(text, every, n=3, cutoff=0.5):
        return f"there is no {key} {_short(text)!r} (nearest: {', '.join(near)})"
    more = ", ..." if len(every) > MAX_CHOICES else ""
    return f"there is no {key} {_short(text)!r}; it is one of {', '.join(sorted(every)[:MAX_CHOICES])}{more}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def link_sentence(troubles: list[str]) -> str:
    """Return what a page says of a link with troubles; "" without any."""
    if not troubles:
        return ""
    rest = f"; and {len(troubles) - MAX_TROUBLES} more" if len(troubles) > MAX_TROUBLES else ""
    return f"Part of this link could not be used: {'; '.join(troubles[:MAX_TROUBLES])}{rest}. The rest is shown."
