"""Parse texts as numbers in any convention, quantities, dates, times and levels; clean column names.

    70 kg, 1,234.5, (3), 19M     a number: decimal mark, thousands mark, unit
    31/01/2020 19:00             a date: its form, day or month first
    13:45                        a time: hours
    Red, red, RED                a level: one spelling for all

Detection (numbers.py, quantities.py, dates.py, text.py) tests whether all texts of a column fit; a spec (parse_spec.py)
parses each text and counts those that do not fit. Both use this module. Part of score.py in every model file.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.errors import listed, plural

# ---- numbers ---------------------------------------------------------------------------------------------------------

# The marks of numbers in any convention, to distinguish numbers from words before the convention is known.
MARKS = r".,' \x{00a0}\x{202f}\x{2009}\x{2019}"
MINUS = r"\-\x{2212}\x{2013}"  # the typographic ones are in tables copied from documents
_CURRENCY = (
    r"US\$|A\$|C\$|R\$|[$€£¥\x{ffe5}₹₽₩₺฿円元]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN"
)
_CURRENCY += r"|ZAR|Fr\.|Rs\.?|zł|kr"
# Units that may follow a number directly; after a space any word may, if it is the same in all rows.
_UNIT = (
    r"%|‰|°|°C|°F|kg|g|mg|µg|t|lb|lbs|oz|mm|cm|m|km|mi|in|ft|yd|m²|m2|km²|sqft|ha|l|L|ml|mL|cl|h|hrs?|min|mins|s|sec|"
    r"ms|d|yrs?|y|W|kW|kWh|MW|MWh|V|A|mA|Hz|kHz|MHz|GHz|Pa|kPa|hPa|bar|mbar|psi|J|kJ|kcal|cal|B|kB|KB|MB|GB|TB|mph|"
    r"km/h|kmh|kph|m/s|rpm|hp|bhp|PS|cc|CC|px|dB|mmHg|mmol/L|mg/dL|mg/dl|g/dL|kmpl|mpg|x|歳|才|岁|人|名|個|个|回|点|件"
)
_SCALE = r"(?i:thousand|lakh|million|crore|billion|trillion)s?"
# SAP writes the minus behind the number, 1.234,50-; in India amounts end in /-, in Switzerland in .— for no cents.
QUANTITY_PATTERN = (
    rf"^(?P<open>\()?(?P<sign>[+{MINUS}])?(?P<before>{_CURRENCY})? ?(?P<minus>[+{MINUS}])?"
    rf"(?P<number>[0-9.][0-9{MARKS}]*?(?:[eE][+-]?[0-9]{{1,3}})?) ?"
    rf"(?:(?P<factor>[kKMB]|bn|Mio\.?|Mrd\.?)??|(?P<scale>{_SCALE}))"
    rf"(?: ?(?P<after>{_CURRENCY}|{_UNIT})| (?P<word>[a-zA-Zäöüµ°²³/]{{2,14}}\.?))?(?P<close>\)|-|/-|--|\x{{2014}})?$"
)
_FACTORS = {"": "", "k": "e3", "K": "e3", "M": "e6", "Mio": "e6", "Mio.": "e6"}
_FACTORS |= {"B": "e9", "bn": "e9", "Mrd": "e9", "Mrd.": "e9"}
_FACTORS |= {"thousand": "e3", "lakh": "e5", "million": "e6", "crore": "e7", "billion": "e9", "trillion": "e12"}
_IS_MONEY = re.compile(r"[.,][0-9]{1,3}$")
_ENDS_LIKE_A_NUMBER = re.compile(r"[0-9.]$")


def number_pattern(decimal: str, thousands: str) -> str:
    """Return the regular expression of numbers in this convention, including infinities."""
    point = "\\" + decimal
    mark = {"": "", " ": r"[ \x{00a0}\x{202f}\x{2009}]", ".": r"\.", ",": ",", "'": "['\\x{2019}]"}[thousands]
    whole_number = rf"([0-9]{{1,3}}({mark}[0-9]{{3}})+|[0-9]+)" if mark else "[0-9]+"
    if thousands == ",":  # lakhs and crores: 6,48,934
        whole_number = whole_number.replace("|", "|[0-9]{1,2}(,[0-9]{2})+,[0-9]{3}|")
    return (
        rf"^[+{MINUS}]?(({whole_number}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"
        r"|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
    )


# Marks of a number that is a detection limit, an estimate, or has a footnote: <5, 90+, ~30, 19?
LIMIT = (
    r"(?i)^(?:[<>]=?|[≤≥~≈]|(?:about|around|approx\.?|circa|ca\.?|c\.|over|under|up to|(?:more|less) than) ) ?"
    r"| ?(?:[+?]|\*{1,3}|(?:plus|(?:or|and) (?:more|over|older|above|less|under|younger)|"
    r"\(?(?:but )?(?:unclear|unsure|uncertain|approx\.?|approximately|estimated|est\.?)\)?))$"
)


def without_limits(levels: "pa.Array") -> "pa.Array":
    """Return texts without marks of a limit or an estimate: 5 for <5, 90 for 90+, 19 for "19 but unclear"."""
    return pc.replace_substring_regex(levels, LIMIT, "")


def as_floats(levels: "pa.Array", decimal: str, thousands: str) -> "np.ndarray":
    """Return texts (L,) that are numbers in this convention as float64 (L,), infinity if out of range."""
    levels = pc.ascii_ltrim(levels, "+")
    if not pc.all(pc.string_is_ascii(levels)).as_py():
        levels = pc.replace_substring_regex(levels, rf"^[{MINUS}]", "-")
    if thousands:
        thousands_pattern = r"[' \x{00a0}\x{202f}\x{2009}\x{2019}]" if thousands in " '" else "\\" + thousands
        levels = pc.replace_substring_regex(levels, thousands_pattern, "")
    if decimal == ",":
        levels = pc.replace_substring(levels, ",", ".")
    if (numbers := plain_floats(levels)) is not None:
        return numbers
    with np.errstate(over="ignore"):  # Arrow refuses numbers outside the range of floats
        numbers = levels.to_numpy(zero_copy_only=False).astype(object).astype(np.float64)
    return numbers


def plain_floats(levels: "pa.Array") -> "np.ndarray | None":
    """Return texts (L,) as float64 (L,), NaN for null; None if one is no number in the notation of programs."""
    try:
        numbers: np.ndarray = levels.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return numbers


@dataclass(frozen=True)
class Quantities:
    """The bare numbers of texts, None if a text is no quantity, their units, and whether any had more than a number."""

    numbers: list[str | None]
    units: list[str]
    has_marks: bool


# Annotations of a number, whose meaning is unknown: each with an expression, and the text that replaces it. A flag may
# also be a unit (m, b), so annotations are removed only in columns for which the user says so.
FLAG = "a flag"
ANNOTATIONS = {
    "a limit": (LIMIT, ""),
    "a sign of equal places": (r"^= ?", ""),
    "a footnote": (r"([0-9%])(?: ?\[[^\[\]]{1,12}\]|[¹²³†‡§]|[\x{2070}-\x{2079}])+$", r"\1"),
    "a remark in brackets": (r"([0-9%a-zA-Z]) ?\([^()]*\)$", r"\1"),
    FLAG: (r"([0-9]\.?) ?(?:[ABDEGHIJL-Za-z!#]|[A-Za-z!#]{2,3})$", r"\1"),  # C, F and K may be degrees
}
_NUMBER_OR_QUANTITY = rf"{QUANTITY_PATTERN}|{number_pattern('.', '')}"
_FULL_WIDTH = {0xFF00 + sign - 0x20: sign for sign in range(ord("!"), ord("~") + 1)}


def ascii_numbers(levels: "pa.Array") -> "pa.Array":
    """Return texts with the full-width digits and signs of East Asian texts as ASCII, if any has such a digit."""
    if not pc.any(pc.match_substring_regex(levels, r"[\x{ff10}-\x{ff19}]")).as_py():
        return levels
    return pa.array([text and text.translate(_FULL_WIDTH) for text in levels.to_pylist()], pa.string())


def without_annotations(levels: "pa.Array") -> tuple["pa.Array", list[str]]:
    """Return texts without the annotations beside their numbers, and the descriptions of those that occur.

    A text that is a number or a quantity by itself is unchanged, and so is one without a number.

    >>> texts = pa.array(["8.1[1]", "0.2 p", "~5", "5 kg", "10k", "3,720 (46.4%)", "n.d."])
    >>> without_annotations(texts)[0].to_pylist()
    ['8.1', '0.2', '5', '5 kg', '10k', '3,720', 'n.d.']
    """
    bare, annotations = levels, list[str]()
    for annotation, (pattern, replacement) in ANNOTATIONS.items():
        stripped = pc.replace_substring_regex(bare, pattern, replacement)
        stripped = pc.if_else(pc.match_substring_regex(bare, _NUMBER_OR_QUANTITY), bare, stripped)
        if not stripped.equals(bare):
            annotations.append(annotation)
            bare = stripped
    return pc.if_else(pc.match_substring_regex(bare, _NUMBER_OR_QUANTITY), bare, levels), annotations


def bare_numbers(levels: "pa.Array") -> Quantities:
    """Return the numbers of quantities: $1,234, 12.5%, 70 kg, 19M, (1,234)."""
    matches = pc.extract_regex(levels, QUANTITY_PATTERN)
    groups = {f.name: pc.fill_null(matches.field(i), "").to_pylist() for i, f in enumerate(matches.type)}
    is_quantity = matches.is_valid().to_pylist()
    numbers, units, has_marks = list[str | None](), list[str](), False
    for i, is_match in enumerate(is_quantity):
        text_by_group = {name: texts[i] for name, texts in groups.items()} if is_match else {}
        number, unit, is_marked = _bare_number(text_by_group) if is_match else (None, "", False)
        numbers.append(number)
        units.append(unit)
        has_marks |= is_marked
    return Quantities(numbers, units, has_marks)


def _bare_number(text_by_group: dict[str, str]) -> tuple[str | None, str, bool]:
    """Return number, unit and whether there was more than the number, from the groups of QUANTITY_PATTERN."""
    number = text_by_group["number"].strip()
    is_behind = text_by_group["close"] == "-" and bool(_IS_MONEY.search(number))  # not in a grade such as 1-
    if not _ENDS_LIKE_A_NUMBER.search(number) or bool(text_by_group["open"]) != (text_by_group["close"] == ")"):
        return None, "", False
    if (text_by_group["close"] == "-" and not is_behind) or (
        text_by_group["close"] in ("--", "\u2014") and not number.endswith((".", ","))
    ):
        return None, "", False
    if text_by_group["before"] and text_by_group["after"] in ("B", "m"):  # with a currency no bytes and no metres
        text_by_group["factor"], text_by_group["after"] = text_by_group["after"].upper(), ""
    unit = text_by_group["before"] or text_by_group["after"] or text_by_group["word"]
    minuses = sum(text_by_group[name] not in ("", "+") for name in ("sign", "minus", "open")) + is_behind
    if (text_by_group["before"] and (text_by_group["after"] or text_by_group["word"])) or minuses > 1:
        return None, "", False
    factor = text_by_group["factor"] or text_by_group["scale"].lower().rstrip("s")
    if factor and "e" in number.lower():
        return None, "", False
    text = "-" * minuses + number + _FACTORS[factor]
    singular = unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit.rstrip(".")  # 3 rooms and 1 room are alike
    return text, singular, bool(unit or factor or text_by_group["close"])


def number_text(number: Any) -> str:
    """Return a number as the text of a level: 3 for 3.0, else the shortest text that parses as the same number."""
    if isinstance(number, int | np.integer):
        return str(int(number))
    return str(int(number)) if float(number).is_integer() and abs(number) < 2**53 else repr(float(number))


PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # JSON's notation: no "007", no "+1"


def level_text(value: Any) -> str:
    """Return the text of a value as a level, without blanks at its ends: 1, 1.0 and "1" are one level."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return str(value).strip()
    return number_text(value)


TRUTH_TEXTS = (("True", "true", "TRUE", "1"), ("False", "false", "FALSE", "0"))  # in databases and workbooks


class LevelCodes:
    """Look up the code of a value of a categorical column. All predictions use it, or the same rules (SQL).

        None, NaN, ""                 missing
        the text of a level           that level
        true, TRUE, 1                 the level True, and vice versa, unless they are levels themselves
        a sign such as "NA"           missing
        a number, or the text of one  the level with the text of that number: "1.0" is the level 1
        else                          no level

    Args:
        levels: the column's values with the codes 0, 1, 2 ...
        missing: the code of a missing value.
        unseen: the code of a value that is no level.
        signs: texts that stand for a missing value, except those that are levels.
    """

    def __init__(self, levels: Sequence[Any], missing: int, unseen: int, signs: Collection[str]):
        self.missing, self.unseen, self.signs = missing, unseen, frozenset(signs)
        coded = list(enumerate(levels))
        by_level = {level_text(level): code for code, level in reversed(coded)}
        by_truth_value = {
            text: code
            for code, level in reversed(coded)
            if not isinstance(level, str)
            for texts in TRUTH_TEXTS
            if level_text(level) in texts
            for text in texts
        }
        self.by_text: dict[str, int] = dict.fromkeys(signs, missing) | by_truth_value | by_level | {"": missing}

    def code(self, value: Any) -> int:
        """Return the code of a value."""
        if value is None or value != value:
            return self.missing
        text = level_text(value)
        code = self.by_text.get(text)
        if code is None and PLAIN_NUMBER.fullmatch(text):
            code = self.by_text.get(number_text(float(text)))
        return self.unseen if code is None else code

    def is_missing(self, value: Any) -> bool:
        """Return whether a value is missing."""
        if value is None or value != value:
            return True
        text = level_text(value)
        return text == "" or (text in self.signs and self.by_text[text] == self.missing)


# ---- dates and times -------------------------------------------------------------------------------------------------

PIVOT = 69  # two-digit years below it are of this century, as in strptime
# English, German, French, Spanish, Italian, Portuguese, Dutch; names may be abbreviated to three letters or more.
_MONTH_NAMES = (
    "january januar jänner janvier enero gennaio janeiro januari",
    "february februar feber février fevrier febrero febbraio fevereiro februari",
    "march märz maerz mrz mars marzo março marco maart",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august août aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember décembre decembre diciembre dicembre dezembro",
)
MONTH_NAMES = {
    name[:length]: month
    for month, names in enumerate(_MONTH_NAMES, 1)
    for name in names.split()
    for length in range(3, len(name) + 1)
    if name[:length] != "jui"  # juin and juillet
}
_LETTERS = r"[A-Za-z\x{00c0}-\x{00ff}]"
_NAME = rf"(?P<name>{_LETTERS}{{3,10}})\.?"
_WEEKDAY = rf"(?:(?i:mo|tu|we|th|fr|sa|su|di|mi|do|so|lu|ma|me|je|ve|ju|vi){_LETTERS}*\.?,? )?"
_DAY_NAME_MARK = "(?: (?i:de|of) |[ -])"  # 3 de enero de 2020
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]+)?))?"
_CLOCK += r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:(?:T|,? +){_CLOCK}(?: ?(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?[+-][0-9]{{2}}:?[0-9]{{2}}|"
_TIME += "(?:UTC|GMT)[+-][0-9]{1,2}))?)?$"
SPLIT_DATE_FORMS = {
    "y-m-d": r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})" + _TIME,
    "y/m/d": r"^(?P<year>[0-9]{4})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})" + _TIME,
    "y.m.d": r"^(?P<year>[0-9]{4})\.(?P<month>[0-9]{2})\.(?P<day>[0-9]{2})" + _TIME,
    "y-m": r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})$",
    "m/y": r"^(?P<month>0?[1-9]|1[0-2])[/.-](?P<year>(?:18|19|20)[0-9]{2})$",
    "name-y": rf"^{_NAME}(?:[ ./-]?(?P<year>[0-9]{{4}})|[-'](?P<yy>[0-9]{{2}}))$",
    "a/b/y": r"^(?P<first>[0-9]{1,2})/(?P<other>[0-9]{1,2})/(?P<year>[0-9]{4}|[0-9]{2})" + _TIME,
    "a-b-y": r"^(?P<first>[0-9]{1,2})-(?P<other>[0-9]{1,2})-(?P<year>[0-9]{4})" + _TIME,
    "a-b-yy": r"^(?P<first>[0-9]{2})-(?P<other>[0-9]{2})-(?P<year>[0-9]{2})" + _TIME,
    "d.m.y": r"^(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})(?: ?[r\x{0433}]\.)?" + _TIME,
    "d.m.yy": r"^(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{2})" + _TIME,
    "d name y": rf"^{_WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|er|\.)?{_DAY_NAME_MARK}{_NAME}(?:, |{_DAY_NAME_MARK})"
    r"(?P<year>[0-9]{4}|[0-9]{2})" + _TIME,
    "name d y": rf"^{_WEEKDAY}{_NAME} (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,? (?P<year>[0-9]{{4}})" + _TIME,
}
# Years of a Japanese emperor (R3 is 2021) and of the Republic of China, whose date begins with three digits.
ERA_YEARS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民國": 1911, "民国": 1911, "": 1911}
ERA_YEARS |= {"R": 2018, "H": 1988, "S": 1925, "T": 1911, "M": 1867}
MINGUO = "roc y/m/d"
SPLIT_DATE_FORMS |= {
    "era y/m/d": rf"^(?P<era>[RHSTM]|{'|'.join(era for era in ERA_YEARS if len(era) > 1)})\.? ?"
    r"(?P<year>[0-9]{1,3}|元)[年./-](?P<month>[0-9]{1,2})[月./-](?P<day>[0-9]{1,2})日?" + _TIME,
    MINGUO: r"^(?P<era>)(?P<year>1[0-9]{2})/(?P<month>[0-9]{2})/(?P<day>[0-9]{2})" + _TIME,
    "y年m月d日": r"^(?P<year>[0-9]{4})年 ?(?P<month>[0-9]{1,2})月 ?(?P<day>[0-9]{1,2})日" + _TIME,
}
EIGHT_DIGITS = "yyyymmdd"
DATE_FORMS = {
    EIGHT_DIGITS: r"^(?P<year>(?:19|20)[0-9]{2})(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12][0-9]|3[01])$",
    **SPLIT_DATE_FORMS,
}
DAY_FORMS = {form: text for form, text in DATE_FORMS.items() if "<day>" in text or "<first>" in text}
ISO = "y-m-d"  # accepted in every column of dates, as it is unambiguous, and JSON and programs write it
TIME_FORMS = {
    "clock": rf"^{_CLOCK}$",
    "hour am or pm": r"^(?P<hour>[0-9]{1,2})(?P<minute>)(?P<second>) ?(?P<half>[AaPp])\.?[Mm]\.?$",
    "09h30": r"^(?P<hour>[0-9]{1,2}) ?h ?(?P<minute>[0-5][0-9])(?P<second>)$",
    "length": r"^(?P<hour>[0-9]{1,3}):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9](?:[.,][0-9]+)?))?$",
}
# Amounts in several units, each with its value in hours, days or inches; and one number of a pair.
_AMOUNT = r"[0-9]+(?:\.[0-9]+)?"
AMOUNT_UNITS: dict[str, dict[str, float]] = {
    "minutes and seconds": {"hour": 1, "minute": 1 / 60, "second": 1 / 3600},
    "hours and minutes": {"day": 24, "hour": 1, "minute": 1 / 60, "second": 1 / 3600},
    "years to days": {"year": 365.25, "month": 30.4375, "week": 7, "day": 1},
    "feet and inches": {"foot": 12, "inch": 1},
    "first of two": {"first": 1},
    "second of two": {"second": 1},
}
_DAYS = rf"(?:(?P<day>{_AMOUNT}) ?(?:d|days?))?"
TIME_FORMS |= {
    "minutes and seconds": r"^\+?(?:(?P<hour>[0-9]{1,3}):)?(?P<minute>[0-9]{1,3}):(?P<second>[0-5][0-9]\.[0-9]{1,3})$",
    "hours and minutes": rf"^{_DAYS},? ?(?:(?P<hour>{_AMOUNT}) ?(?:h|hrs?\.?|hours?|Std\.?))?,? ?(?:and )?"
    rf"(?:(?P<minute>{_AMOUNT}) ?(?:m|mins?\.?|minutes?|Min\.?))?,? ?(?:and )?"
    rf"(?:(?P<second>{_AMOUNT}) ?(?:s|secs?\.?|seconds?))?$",
    "years to days": rf"^(?:(?P<year>{_AMOUNT}) ?(?:y|yrs?\.?|years?))?,? ?(?:and )?"
    rf"(?:(?P<month>{_AMOUNT}) ?(?:mo|mos|mths?|months?))?,? ?(?:and )?"
    rf"(?:(?P<week>{_AMOUNT}) ?(?:w|wks?|weeks?))?,? ?(?:and )?{_DAYS}$",
    "feet and inches": rf"^(?P<foot>[0-9]{{1,2}}) ?(?:['\x{{2019}}\x{{2032}}]|ft\.?,?|feet|foot) ?"
    rf"(?:(?P<inch>{_AMOUNT}) ?(?:[\"\x{{201d}}\x{{2033}}]|''|\x{{2019}}{{2}}|in\.?|inch(?:es)?)?)?$",
    "first of two": r"^(?P<first>[0-9]{2,3}) ?/ ?[0-9]{2,3}$",
    "second of two": r"^[0-9]{2,3} ?/ ?(?P<second>[0-9]{2,3})$",
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DATE_PARTS = {"year": (), "month": MONTHS, "weekday": WEEKDAYS, "hour": ()}  # features of a date; levels, () if numeric
NO_DATE = np.datetime64("NaT", "us")


def dates_of(levels: "pa.Array", form: str, day_first: bool, pivot: int = PIVOT) -> "np.ndarray":
    """Return texts (L,) of one form as datetime64[us] (L,), NaT for other texts and impossible dates.

    Times of day are local ones, as written: a time zone is ignored. Two-digit years below `pivot` are of this century.
    """
    fits, groups = _match_groups(levels, DATE_FORMS[form])
    day, month = (("first", "other") if day_first else ("other", "first")) if "first" in groups else ("day", "month")
    year_texts = np.where(groups["yy"] == "", groups["year"], groups["yy"]) if "yy" in groups else groups["year"]
    years = _whole(year_texts)
    is_short = np.array([len(text) == 2 for text in year_texts], dtype=bool)
    if "era" in groups:
        years += np.array([ERA_YEARS[era] for era in groups["era"]], dtype=np.int64)
    else:
        years = np.where(is_short, years + np.where(years < pivot, 2000, 1900), years)
    if "name" in groups:
        months = np.array([MONTH_NAMES.get(name.lower(), 0) for name in groups["name"]], dtype=np.int64)
    else:
        months = _whole(groups[month])
    days = _whole(groups[day]) if day in groups else np.ones(len(years), dtype=np.int64)
    is_valid = fits & (months >= 1) & (months <= 12) & (days >= 1)
    first_of_month = ((np.where(is_valid, years, 1970) - 1970) * 12 + np.where(is_valid, months, 1) - 1).astype(
        "datetime64[M]"
    )
    days_of_texts = first_of_month.astype("datetime64[D]") + (np.where(is_valid, days, 1) - 1).astype("timedelta64[D]")
    micros, is_valid_time = _microseconds(groups, len(years))
    is_valid &= is_valid_time & (days_of_texts.astype("datetime64[M]") == first_of_month)
    return np.where(is_valid, days_of_texts.astype("datetime64[us]") + micros, NO_DATE)


def hours_of(levels: "pa.Array", form: str) -> "np.ndarray":
    """Return texts (L,) of one form of `TIME_FORMS` as numbers (L,), times in hours; NaN for other texts."""
    fits, groups = _match_groups(levels, TIME_FORMS[form])
    if form in AMOUNT_UNITS:
        numbers = {unit: np.where(texts == "", "0", texts).astype(float) for unit, texts in groups.items()}
        amounts = sum(AMOUNT_UNITS[form][unit] * amounts_of_unit for unit, amounts_of_unit in numbers.items())
        return np.where(fits, amounts, np.nan)
    micros, is_valid_time = _microseconds(groups, len(levels), max_hour=24 if form == "clock" else 1000)
    return np.where(fits & is_valid_time, micros.astype(np.int64) / 3.6e9, np.nan)


def date_part(dates: "np.ndarray", part: str) -> "np.ndarray":
    """Return a part of dates (N,) as numbers (N,), NaN for NaT; months and weekdays count from 0."""
    present = ~np.isnat(dates)
    dates_or_epoch = np.where(present, dates, np.datetime64(0, "us")).astype("datetime64[us]")
    days = dates_or_epoch.astype("datetime64[D]")
    if part == "year":
        numbers = days.astype("datetime64[Y]").astype(np.int64) + 1970
    elif part == "month":
        numbers = days.astype("datetime64[M]").astype(np.int64) % 12
    elif part == "weekday":
        numbers = (days.astype(np.int64) + 3) % 7
    else:
        numbers = (dates_or_epoch - days).astype(np.int64) // 3_600_000_000
    return np.where(present, numbers, np.nan)


def _match_groups(levels: "pa.Array", pattern: str) -> tuple["np.ndarray", dict[str, "np.ndarray"]]:
    """Return which texts match a pattern, and its named groups as arrays of text, "" if a group is absent."""
    matches = pc.extract_regex(levels, pattern)
    fits = matches.is_valid().to_numpy(zero_copy_only=False).astype(bool)
    groups = {}
    for i, group in enumerate(matches.type):
        texts = matches.field(i).to_numpy(zero_copy_only=False)
        groups[group.name] = texts if fits.all() else np.where(fits, texts, "")
    return fits, groups


def _whole(texts: "np.ndarray") -> "np.ndarray":
    numbers: np.ndarray = np.where(texts == "", "0", np.where(texts == "元", "1", texts)).astype(np.int64)
    return numbers


def _microseconds(groups: dict[str, "np.ndarray"], n: int, max_hour: int = 24) -> tuple["np.ndarray", "np.ndarray"]:
    """Return times of day as timedelta64[us], and which of them have valid hours, minutes and seconds."""
    if "hour" not in groups:
        return np.zeros(n, dtype="timedelta64[us]"), np.ones(n, dtype=bool)
    hours, minutes = _whole(groups["hour"]), _whole(groups["minute"])
    seconds = np.char.replace(np.where(groups["second"] == "", "0", groups["second"]).astype(str), ",", ".").astype(
        float
    )
    is_valid = (minutes <= 59) & (seconds < 61)
    if "half" in groups and (halves := np.char.lower(groups["half"].astype(str))).any():
        is_valid &= (halves == "") | ((hours <= 12) & (hours > 0))
        hours = np.where(halves == "", hours, hours % 12 + 12 * (halves == "p"))
    is_valid &= (hours < max_hour) | ((hours == max_hour) & (minutes + seconds == 0))
    micros = hours * 3_600_000_000 + minutes * 60_000_000 + np.round(seconds * 1e6).astype(np.int64)
    return micros.astype("timedelta64[us]"), is_valid


# ---- spellings -------------------------------------------------------------------------------------------------------


def folded(levels: "pa.Array") -> "pa.Array":
    """Return texts in lower case and with single spaces; levels that are equal in this form may be merged."""
    return pc.replace_substring_regex(pc.utf8_lower(levels), r"\s+", " ")


def spelling_lookup(pairs: Mapping[str, str] | Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the level of each text, by the text itself and by its folded form, see `ColumnSpec.rename_levels`."""
    level_by_text = dict(pairs)
    keys = folded(pa.array(level_by_text, type=pa.string())).to_pylist()
    return dict(zip(keys, level_by_text.values(), strict=True)) | level_by_text


def has_usual_capitals(text: str) -> bool:
    """Return whether a text has capitals only at the beginning of words, or everywhere."""
    return text in (text.lower(), text.upper()) or all(word[1:] == word[1:].lower() for word in text.split())


def rows_above(is_empty: "np.ndarray") -> "np.ndarray":
    """Return the index (N,) of each row or, if it is empty, of the last row above that is not; -1 without one."""
    rows: np.ndarray = np.maximum.accumulate(np.where(is_empty, -1, np.arange(len(is_empty))))
    return rows


# ---- names and lines -------------------------------------------------------------------------------------------------

MAX_NAME_CHARACTERS = 200
_BLANKS = re.compile("[\\x00-\\x1f\\x7f\\u00a0\\u2007\\u202f]+")


def distinct_names(names: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return trimmed, non-empty, distinct names of limited length, and the changed ones by reason."""
    result: list[str] = []
    names_so_far: set[str] = set()
    # Concatenated files keep their byte order marks; no-break spaces, line ends and control characters are blanks.
    stripped = [_BLANKS.sub(" ", name.strip().removeprefix("\ufeff")).strip() for name in names]
    originals = set(stripped)
    changes: dict[str, list[str]] = {"empty": [], "double": [], "long": []}
    for position, name in enumerate(stripped, start=1):
        if len(name) > MAX_NAME_CHARACTERS:
            name = name[: MAX_NAME_CHARACTERS - 1] + "…"
            changes["long"].append(name)
        if not name:
            name = f"column {position}"
            changes["empty"].append(name)
        name_without_suffix, suffix = name, 2
        while name in names_so_far or (name != name_without_suffix and name in originals):
            name, suffix = f"{name_without_suffix} ({suffix})", suffix + 1
        if name != name_without_suffix:
            changes["double"].append(name)
        names_so_far.add(name)
        result.append(name)
    return result, changes


def clean_names(names: list[str], *, has_no_names: bool = False) -> tuple[list[str], list[str]]:
    """Return names made distinct and not empty (`distinct_names`), and a note for each reason of changes.

    has_no_names: whether the table has no row of names; that its columns got numbers is then not noted.
    """
    result, changes = distinct_names(names)
    reasons = {
        "empty": "had no name, now called",
        "double": "had a name taken before, now called",
        "long": "had an endless name, now",
    }
    notes = [
        f"{plural(len(changed_names), 'column')} {reasons[cause]} {listed(changed_names, 3)}"
        for cause, changed_names in changes.items()
        if changed_names and not (has_no_names and cause == "empty")
    ]
    return result, notes


def numbers_among(tokens: Sequence[str]) -> list[float]:
    """Return the finite numbers among texts: -999.0 for "-999"."""
    numbers = []
    for token in tokens:
        try:
            number = float(token)
        except ValueError:
            continue
        if np.isfinite(number):
            numbers.append(number)
    return numbers
