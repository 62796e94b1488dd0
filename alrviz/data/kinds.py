"""Guess the kind of a column, by rules that are applied in this order and that a user can check.

    numbers named like a weight of rows (pspwght; wt of fractions near 1)
                                                                        ignore; "weight" is offered
    counts (n, Freq) beside levels of which no combination repeats      ignore; "weight" is offered
    ids of persons, households ... that repeat                          ignore; "group" is offered
    declared by the source (a dtype, an ARFF type)                      that kind
    no values                                                           ignore
    dates                                                               ignore; year, month, weekday (hour) stand for it
    text: different on more than half the rows, or on a fifth of many,
        or many and named like names (surname, address, title ...)      ignore (an id)
    text: levels in a known order (10-19, 20-29; low, medium, high; 1 = Yes)
                                                                        ordinal
    text                                                                categorical
    whole numbers: all different and named or counting like an id,
        or many and named exactly so (customer id)                      ignore (an id)
    whole numbers: all different, of as many digits each, six or more   numeric, and asked whether it is an id
    whole numbers: at most four of them, or named code, type ...        categorical (codes)
    numbers                                                             numeric

The limit of four distinct whole numbers was measured on 68 documented tables of the UCI repository (up to 20,000 rows
of each): 351 of 381 columns of two to four are codes, 696 of 713 columns of five or more are counts and measurements.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

import numpy as np
import pandas as pd

from alrviz.data.dates import PAIR_FORMS, split_pairs
from alrviz.data.level_order import sort_levels
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.parse_spec import FEATURE_KINDS, ColumnSpec
from alrviz.data.parse_values import DATE_PARTS, DAY_FORMS, number_text
from alrviz.data.values import Values, read_column, text_of

# Kinds of columns that describe rows and are no features; at most one column each, and not both a group and a time.
ROLES = ("weight", "group", "time")
KINDS = (*FEATURE_KINDS, "ignore", "target", *ROLES)
MAX_CODE_LEVELS = 4
ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|idx|index|uuid|guid|key|nr|no|row|rownum|row_?names?|record|serial|mrn|ssn|isbn|ean|imei|"
    r"barcode)($|[\W_])"
    r"|^unnamed: 0$|^column 1$"
)
KEY_NAME = re.compile(r"(^|[\W_])(id|ids|uuid|guid|key|nbr)$")
NAMES = re.compile(
    r"(^|[\W_])((sur|last|first|full|middle)?[\W_]?name|title|address|street|email|e-mail|phone|url|link|comments?|notes?|"
    r"description|text|remarks?|ticket|iban|name)($|[\W_])|^(nachname|vorname|adresse|strasse|telefon|bemerkung)$"
)
ID_DIGITS = 6  # fewest digits of numbers that may be ids although their name does not say so
MAX_LIST_ITEMS = 30  # distinct items of all lists in a column's cells
MAX_KIND_LEVELS = 50  # distinct values from which a column may hold ids although some of them repeat
# Names of row weights alone, and names that a person's or a car's weight may have too.
WEIGHT_NAME = re.compile(
    r"^(psp|[pdfs](?=w(eigh|g))|an|per|hh|samp(le|ling)?|survey|case|row|instance|person|household|pop(ulation)?|(post)?strat|design|"
    r"expansion|fnl|asec|rak(ed|ing)|replicate)_*(weights?|wgts?|wghts?|wts?)$|^wtfinl$"
)
MAYBE_WEIGHT_NAME = re.compile(
    r"^(w|wt|wgt|weights?|final_*(weight|wt)|(weight|wt|wgt)_*final|gewichte?|gewichtung|poids|pesos?)$"
)
IN_BRACKETS = re.compile(r"[(\[]([^)\]]+)[)\]]$")  # the abbreviation behind a name: "weight (pspwght)"
UNIT_NAME = re.compile(  # no plurals of those that are often counted, such as sessions and employees
    r"^((person|patient|subject|household|customer|client|user|student|pupil|participant|respondent|animal)s?|pat|hh|"
    r"family|player|session|account|employee|member|driver|donor|proband(in)?|kunde|haushalt|schüler(in)?|teilnehmer)"
    r"[\W_]*(id|no|nr|num|number|code|key|e?mail)?$"
)
UNIT_LABEL = re.compile(r"^([^\W\d]{0,4}[-_ ]?\d+|[\da-f]{4,}(-[\da-f]{4,})*|\S+@\S+\.\w+)$")
MAX_HOUSEHOLD_MEMBERS = 20  # "person" with fewer distinct numbers may count the members of a household; with more, ids
CODE_NAME = re.compile(r"(^|[\W_])(codes?|type|category|zip|zipcode|postcode)$")


class KindCode(Enum):
    """The reason for a guessed kind, if other code depends on it."""

    OTHER = ""
    EMPTY = "empty"
    DATES = "dates"
    ID = "id"
    TEXT_ID = "id or free text"
    LISTS = "lists in cells"
    PAIR = "two numbers"
    MAYBE_ID = "numbers that may be an id, and are used"
    MANY_LEVELS = "too many levels"
    WEIGHT = "weights of rows"
    COUNT = "how many cases a row stands for"
    GROUP = "an id of several rows each"


# The role that pages offer for a column, by the reason for its guessed kind.
OFFERED_ROLES = {KindCode.WEIGHT: "weight", KindCode.COUNT: "weight", KindCode.GROUP: "group", KindCode.DATES: "time"}


class KindGuess(NamedTuple):
    """A guessed kind, with its reason as a short sentence and as a code."""

    kind: str
    why: str
    code: KindCode = KindCode.OTHER


def guess_kind(values: Values, *, n_levels: int, n_present: int, limits: Limits = NO_LIMITS) -> KindGuess:
    """Return the guessed kind of a column of `n_levels` distinct values in `n_present` rows; further rows lack one."""
    if n_present == 0:
        return KindGuess("ignore", "it has no values", KindCode.EMPTY)
    if values.dtype_kind == "M":
        return KindGuess("ignore", "dates; their year, month ... are separate columns", KindCode.DATES)
    if (role := _guess_role(values, n_levels, n_present)) is not None:
        return role
    if values.declared is not None:
        guess = KindGuess(values.declared, values.hint or "its type says so")
    elif values.dtype_kind == "O":
        guess = _guess_text(values, n_levels, n_present)
    else:
        guess = _guess_number(values, n_levels, n_present)
    if guess.kind in ("categorical", "ordinal") and limits.levels is not None and n_levels > limits.levels:
        reason = f"{n_levels:,} levels, more than the {limits.levels:,} allowed here"
        return KindGuess("ignore", reason, KindCode.MANY_LEVELS)
    if n_levels == 1 and guess.kind != "ignore":
        if n_present == len(values.series):
            return guess._replace(why=guess.why + "; always the same, so it tells nothing")
        return KindGuess("categorical", "one value or none: what it tells is where it is missing")
    return guess


def _guess_role(values: Values, n_levels: int, n_present: int) -> KindGuess | None:
    """Return the guess for a column of row weights or of ids of groups; None for other columns."""
    names = [re.sub(r"\W+", "_", name) for name in (values.name.lower(), *IN_BRACKETS.findall(values.name.lower()))]
    patterns = (WEIGHT_NAME, MAYBE_WEIGHT_NAME, UNIT_NAME)
    is_weight_name, is_maybe_weight_name, is_unit_name = (any(map(pattern.match, names)) for pattern in patterns)
    is_unit_name = is_unit_name or (values.dtype_kind == "O" and _is_key(values.name))
    series = values.series
    if not (is_weight_name or is_maybe_weight_name or is_unit_name):
        return None
    has_repeats = 2 * n_levels <= n_present
    if values.dtype_kind == "O":
        is_group_id = is_unit_name and has_repeats and n_levels > MAX_CODE_LEVELS
        is_group_id = is_group_id and all(map(UNIT_LABEL.match, map(str.lower, series.cat.categories)))
        return _group_guess(n_levels, n_present) if is_group_id else None
    numbers = series.to_numpy(dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if is_unit_name:
        is_group_id = has_repeats and n_levels > max(MAX_HOUSEHOLD_MEMBERS, n_present / 20)
        is_group_id = is_group_id and bool((numbers == np.floor(numbers)).all())
        return _group_guess(n_levels, n_present) if is_group_id else None
    lowest, mean = float(numbers.min()), float(numbers.mean())
    # Normalised weights have a mean near 1 and many decimals; the weights of people and cars do not, in any unit.
    near_one = lowest < 1 < numbers.max() and 0.5 <= mean <= 2.5 and (np.round(numbers, 2) != numbers).any()
    if lowest >= 0 and n_levels > 1 and (is_weight_name or near_one):
        return KindGuess("ignore", f"named like a weight of rows, with a mean of {mean:.3g}", KindCode.WEIGHT)
    return None


def _group_guess(n_levels: int, n_present: int) -> KindGuess:
    reason = f"an id? named like one of several rows each, {n_levels:,} different ones on {n_present:,} rows"
    return KindGuess("ignore", reason, KindCode.GROUP)


def _guess_text(values: Values, n_levels: int, n_present: int) -> KindGuess:
    """Return the guess for a column of text by its distinct values (`n_levels`) in so many rows."""
    if split_pairs(text_of(values.series)) is not None:
        return KindGuess("ignore", "two numbers in a cell; each is in a column of its own", KindCode.PAIR)
    hint = f"; {values.hint}" if values.hint else ""
    is_name_like = n_levels > MAX_KIND_LEVELS and (n_levels > n_present / 5 or NAMES.search(values.name.lower()))
    if (n_levels > n_present / 2 and n_levels > MAX_CODE_LEVELS) or is_name_like:
        reason = f"an id? {n_levels:,} different texts on {n_present:,} rows{hint}"
        return KindGuess("ignore", reason, KindCode.TEXT_ID)
    levels = list(values.series.cat.categories)
    if (items := list_items(levels)) is not None:
        return KindGuess(
            "ignore", f"each cell is a list of some of {len(items)} items, such as {items[0]!r}", KindCode.LISTS
        )
    if sort_levels(levels) is not None:
        return KindGuess("ordinal", "its levels have an order")
    return KindGuess("categorical", f"text{hint}")


def list_items(levels: Sequence[str]) -> list[str] | None:
    """Return the items of levels that are lists, such as answers to "tick all that apply"; None if they are no lists.

    They are lists if most levels have several items and each item occurs in several levels.
    """
    for delimiter in ";|,":
        lists = [[item.strip() for item in level.split(delimiter)] for level in levels]
        if 2 * sum(len(items) > 1 for items in lists) < len(lists):
            continue
        counts = Counter(item for items in lists for item in items)
        if 2 < len(counts) <= min(MAX_LIST_ITEMS, len(levels)) and min(counts.values()) > 1:
            return list(counts)
    return None


def _guess_number(values: Values, n_levels: int, n_present: int) -> KindGuess:
    """Return the guess for a column of numbers by its distinct values (`n_levels`) in so many rows."""
    numbers = values.series.to_numpy(dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    whole = bool((numbers == np.floor(numbers)).all())
    if values.name.startswith("__index_level_"):
        return KindGuess("ignore", "an id? the index of a data frame", KindCode.ID)
    is_key = _is_key(values.name)
    if whole and n_levels > max(MAX_KIND_LEVELS, n_present / 20) and is_key:
        if 2 * n_levels <= n_present:
            return _group_guess(n_levels, n_present)
        return KindGuess("ignore", f"an id? named like one, {n_levels:,} different numbers", KindCode.ID)
    if whole and n_levels == n_present and n_present > MAX_CODE_LEVELS:
        has_id_name = is_key or ID_NAME.search(values.name.lower())
        if numbers.max() - numbers.min() == n_present - 1 and (has_id_name or np.all(np.abs(np.diff(numbers)) == 1)):
            return KindGuess("ignore", "an id? it counts the rows", KindCode.ID)
        if has_id_name:
            return KindGuess("ignore", "an id? whole numbers, all different, and named like one", KindCode.ID)
    if whole and n_levels <= MAX_CODE_LEVELS:
        reason = f"only {n_levels} whole numbers, so taken as codes" if n_levels > 1 else "one whole number"
        return KindGuess("categorical", reason)
    if whole and n_levels <= n_present / 2 and CODE_NAME.search(values.name.lower()):
        return KindGuess("categorical", "whole numbers named like codes")
    if whole and n_levels == n_present and n_present > MAX_KIND_LEVELS and (digits := _digits(numbers)) >= ID_DIGITS:
        reason = f"whole numbers, all different, of {digits} digits each: an id?"
        return KindGuess("numeric", reason, KindCode.MAYBE_ID)
    return KindGuess("numeric", "whole numbers" if whole else "numbers")


def _is_key(name: str) -> bool:
    """Return whether a column is named exactly like an id."""
    return bool(re.search(r"[a-z](Id|ID)$", name) or KEY_NAME.search(name.lower()))


def _digits(numbers: np.ndarray) -> int:
    """Return the number of digits that all of these whole numbers have; 0 if it differs or a number is negative."""
    low, high = float(numbers.min()), float(numbers.max())
    return len(str(int(low))) if low > 0 and high < 2**53 and len(str(int(low))) == len(str(int(high))) else 0


def date_parts(values: Values) -> list[Values]:
    """Return the features of a column of dates: year, month, weekday unless all are months, hour if there are times."""
    dates = values.series.to_numpy(dtype="datetime64[us]")
    present = dates[~np.isnat(dates)]
    has_days = values.spec is None or values.spec.form in ("", *DAY_FORMS)  # a form of months has no days
    has_hours = bool((present != present.astype("datetime64[D]")).any())
    spec = values.spec or ColumnSpec(values.name, values.name, "date")
    parts = []
    for part, labels in DATE_PARTS.items():
        if {"weekday": has_days, "hour": has_hours}.get(part, True):
            feature, _ = read_column(values, replace(spec, name=f"{values.name} {part}", part=part))
            kind = "ordinal" if labels else "numeric"
            parts.append(replace(feature, declared=kind, hint=f"the {part} of {values.name!r}"))
    return parts


def pair_parts(values: Values) -> list[Values]:
    """Return the two numeric features of a column of blood pressures; [] for any other column."""
    if values.declared is not None or values.is_derived or values.dtype_kind != "O":
        return []
    text, parts = text_of(values.series), []
    source = values.spec or ColumnSpec(values.name, values.name)
    for form in split_pairs(text) or ():
        name = f"{values.name} {'systolic' if form == PAIR_FORMS[0] else 'diastolic'}"
        spec = replace(source, name=name, type="time", kind="numeric", form=form, spellings={})
        pair, _ = read_column(text, spec)
        parts.append(replace(pair, declared="numeric", hint=f"the {form} numbers of {values.name!r}", is_derived=True))
    return parts


def as_levels(series: pd.Series, *, is_ordinal: bool) -> pd.Series:
    """Return a numeric or categorical column as a categorical of strings, ordered if `is_ordinal`.

    Numbers are sorted, and so are ordinal categories with a natural order; other categories keep their order.
    """
    if not isinstance(series.dtype, pd.CategoricalDtype):
        numbers = series.to_numpy(dtype=np.float64)
        present = ~np.isnan(numbers)
        distinct, inverse = np.unique(numbers[present], return_inverse=True)
        codes = np.full(len(numbers), -1, dtype=np.int64)
        codes[present] = inverse
        labels = [number_text(number) for number in distinct]
        return pd.Series(pd.Categorical.from_codes(codes, categories=labels, ordered=is_ordinal), name=series.name)
    if is_ordinal and (order := sort_levels(list(series.cat.categories))) is not None:
        return series.cat.set_categories(order, ordered=True)
    return series.cat.as_ordered() if is_ordinal else series
