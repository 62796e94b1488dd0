"""The natural order of levels: bands (10-19), periods (Q3 2021), numbered answers (1 = Yes), scales (low, high)."""

import re
from collections.abc import Sequence

from alrviz.data.parse_values import MONTHS, PIVOT, WEEKDAYS

MAX_ORDERED_LEVELS = 200  # matching every level with every scale takes time, and longer scales are numbers
RANGE_DASHES = "-\u2013"  # also the typographic one, between the ends of a range
RANGE = re.compile(
    r"^(?P<sign>[<>]=?|≤|≥)?\s*(?P<low>\d+(?:\.\d+)?)\s*"
    rf"(?P<rest>(?:[{RANGE_DASHES}]|to|\.\.)\s*\d+(?:\.\d+)?|\+|(?:and |or )?(?:over|more|above))?$"
)
# Periods and places in a row, with the numbers that order them: "early 1970s", "Q3 2019", "FY2021", "Wave 10", "1st".
NUMBERED_WORDS = "wave|week|grade|year|level|stage|phase|round|tier|quarter|semester|term|visit|day|month|step"
_YEAR = r"'?(?P<year>\d{4}|\d{2})"
DECADES = re.compile(r"^(?P<part>early|mid|late)?[ -]*'?(?P<year>(?:\d\d)?\d0)'?s$")
PERIODS = [
    DECADES,
    *(
        re.compile(f"^{pattern}$")
        for pattern in (
            r"(?P<part>\d+)(?:st|nd|rd|th)",
            rf"{_YEAR}[ /-]?[qh](?P<part>[1-4])",
            rf"[qh](?P<part>[1-4])[ /-]?{_YEAR}",
            rf"(?P<part>[1-4])(?:[qh][ /-]?|(?:st|nd|rd|th) (?:quarter|half)(?:,? | of )){_YEAR}",
            r"(?P<year>\d{4})[ -]?[wm](?P<part>\d\d?)",
            rf"(?P<part>spring|summer|autumn|fall|winter) {_YEAR}",
            rf"[fa]y ?{_YEAR}(?:[/-](?P<next>\d\d|\d{{4}}))?",
            r"(?P<year>\d{4})/(?P<next>\d\d|\d{4})",
            rf"(?P<word>{NUMBERED_WORDS})[ _-]?(?P<part>\d{{1,3}})",
        )
    ),
]
PART_NUMBERS = {"early": 0, "mid": 1, "late": 2, "spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
# Answers of surveys with their numbers: "8 - Don't know", "1 = Yes", "98 Refused", "(2) Often", "Agree (4)".
CODED_ANSWER = re.compile(
    r"^[(\[]?(?P<code>-?\d{1,4})[)\]]?(?: ?[-\u2013=:.)] ?| )(?P<label>[^\W\d].*)$"
    r"|^(?P<text>[^\W\d].*?) ?[(\[](?P<number>-?\d|10|[789][789])[)\]]$"
)
UNMARKED_CODE = re.compile(r"^-?\d+ [^\W\d]")
NO_ANSWER_TEXT = re.compile(
    r"^(dk|d/k|dk/na|dk/nr|nr|na/dk|ref(used)?|don['\u2019]?t know|do not know|unknown|"
    r"not (known|asked|applicable|stated|reported|answered|available)|no (answer|response|data)|"
    r"(prefer|rather) not (to )?(say|answer)|missing|inap|not sure|unsure|wei(ß|ss) nicht|keine (angabe|antwort)|"
    r"k\.? ?a\.?|unbekannt)"
    r"( ?[/(,] ?(dk|na|nr|ref(used)?|no answer|don'?t know)\)?)?$",
    re.IGNORECASE,
)
BAND_UNIT = re.compile(r"(?<=[\d+]) ?(years?|yrs?|months?|weeks?|days?|hours?|minutes?|km|kg|cm|people|employees)\b")
SCALES = [
    scale.split(", ")
    for scale in (
        "very low, vlow, low, med, medium, mid, high, vhigh, very high",
        "very small, tiny, small, medium, med, big, large, very large, huge",
        "very poor, poor, fair, average, good, vgood, very good, excellent",
        "never, rarely, seldom, sometimes, often, usually, always",
        "none, mild, moderate, severe",
        "strongly disagree, disagree, somewhat disagree, slightly disagree, neither agree nor disagree, neutral, "
        "undecided, slightly agree, somewhat agree, agree, strongly agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neither satisfied nor dissatisfied, neutral, "
        "somewhat satisfied, satisfied, very satisfied",
        "very unlikely, unlikely, somewhat unlikely, neither likely nor unlikely, neutral, somewhat likely, "
        "likely, very likely",
        "not at all important, not important, slightly important, somewhat important, moderately important, "
        "important, very important, extremely important",
        "not at all, a little, slightly, somewhat, moderately, quite a bit, very much, a lot, extremely",
        "much worse, worse, somewhat worse, about the same, somewhat better, better, much better",
        "less than high school, some high school, high school, high school graduate, some college, associate degree, "
        "bachelor, bachelor's degree, master, master's degree, professional degree, doctorate, phd",
        "cold, cool, mild, warm, hot",
        "xxs, xs, s, m, l, xl, xxl, xxxl",
        "never, yearly, monthly, weekly, daily, hourly",
        ", ".join(MONTHS).lower(),
        "january, february, march, april, may, june, july, august, september, october, november, december",
        ", ".join(WEEKDAYS).lower(),
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
    )
]


def sort_levels(levels: Sequence[str]) -> list[str] | None:
    """Return text levels in their natural order; None if they have none."""
    if not 3 <= len(levels) <= MAX_ORDERED_LEVELS:
        return None
    bands = plain_bands(levels)
    matches = [RANGE.match(band) for band in bands]
    keys: Sequence[tuple[int | float, int]] | None = None
    if all(matches) and any(match["sign"] or match["rest"] for match in matches if match):
        keys = [_range_key(band) for band in bands]
    elif answers := answer_codes(levels):
        keys = [(answers[level][0], 0) for level in levels]
    else:
        keys = _period_keys(levels)
    if keys is not None:
        return [levels[i] for i in sorted(range(len(levels)), key=keys.__getitem__)]
    for scale in SCALES:
        if {level.lower() for level in levels} <= set(scale):
            return sorted(levels, key=lambda level: scale.index(level.lower()))
    return None


def answer_codes(levels: Sequence[str]) -> dict[str, tuple[int, str]] | None:
    """Return number and label of each level if they are numbered answers, in which each has its own; else None.

    Some may be numbers alone, as between the labelled ends of a scale. Numbers before a blank alone must count from 0
    or 1, except those of missing answers, so that "2 rooms" and "5 mg" are none.
    """
    pairs = map(_answer_code, levels)
    answers = {level: pair for level, pair in zip(levels, pairs, strict=True) if pair is not None}
    labels = [label.lower() for _, label in answers.values() if label]
    if len(answers) < len(levels) or len(labels) < 2 or len(set(labels)) < len(labels):
        return None
    codes = {code for code, label in answers.values() if not NO_ANSWER_TEXT.match(label)}
    are_counted = codes <= {*range(len(codes) + 1)} or not any(map(UNMARKED_CODE.match, levels))
    is_one_to_one = len({code for code, _ in answers.values()}) == len(levels)
    return answers if is_one_to_one and are_counted and not any(map(BAND_UNIT.search, levels)) else None


def _answer_code(level: str) -> tuple[int, str] | None:
    """Return (number, label) of a numbered answer such as "1 = Yes", the label "" for a number alone; None for any
    other text.
    """
    if match := CODED_ANSWER.match(level):
        return int(match["code"] or match["number"]), (match["label"] or match["text"]).strip()
    return (int(level), "") if re.fullmatch(r"-?\d{1,4}", level) else None


def _period_keys(levels: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the year and the part of it of each level; None unless all are `PERIODS` of one form."""
    for form in PERIODS:
        periods = [match.groupdict() for level in levels if (match := form.match(level.lower()))]
        if len(periods) < len(levels) or len({period.get("word") for period in periods}) > 1:
            continue
        years = [int(period.get("year") or 0) for period in periods]
        if any((int(p["next"]) - year) % 100 != 1 for p, year in zip(periods, years, strict=True) if p.get("next")):
            continue  # 2019/20 is a fiscal year, 2019/06 none
        pivot = 0 if form is DECADES else PIVOT
        years = [year if year > 99 else year + (2000 if year < pivot else 1900) for year in years]
        parts = [period.get("part") or "mid" for period in periods]
        numbers = [PART_NUMBERS[part] if part in PART_NUMBERS else int(part) for part in parts]
        return list(zip(years, numbers, strict=True))
    return None


def plain_bands(levels: Sequence[str]) -> list[str]:
    """Return bands in plain form, as "<10000" for "Under £10,000": without currency, thousands mark and unit.

    Units are kept if they differ, as in "6 months" and "1 year".
    """
    bands = [re.sub(r"(?<=\d),(?=\d{3}\b)|[$€£]", "", level.lower()) for level in levels]
    bands = [re.sub(r"(?<=\d)k\b", "000", band) for band in bands]
    if len({unit.rstrip("s") for band in bands for unit in BAND_UNIT.findall(band)}) == 1:
        bands = [BAND_UNIT.sub("", band) for band in bands]
    bands = [re.sub(r"^(under|below|less than|fewer than|up to)\b", "<", band) for band in bands]
    bands = [re.sub(r"^(more than|over|above|at least)\b", ">", band) for band in bands]
    return [re.sub(r"(?<=\d)\s*(or|and) older$", "+", band).strip() for band in bands]


def _range_key(level: str) -> tuple[float, int]:
    """Return the sort key of a range of numbers: its lower end, then "under", closed and open ranges."""
    match = RANGE.match(level)
    assert match is not None
    sign = match["sign"] or ""
    if sign.startswith(("<", "≤")):
        return float(match["low"]), -1
    is_open = bool(sign) or (match["rest"] or "-")[0] not in RANGE_DASHES + "t."
    return float(match["low"]), int(is_open)
