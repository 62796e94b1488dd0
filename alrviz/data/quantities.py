"""Numbers that carry something: $1,234, 12.5%, 70 kg, 19M, (1,234).

A column is one of quantities when every text is a number with the same sign, unit or word beside it, or with none. What
is beside the number goes, what it means stays: a bracket is a minus, k, M and B are factors. 12.5% is 12.5.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.text import MARKS, NUMBERLIKE, TextColumn

LOOKED_AT = 200  # levels asked first, so that a column of words costs nothing
_CURRENCY = r"US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺฿]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN"
_CURRENCY += r"|ZAR|Fr\.|Rs\.?|zł|kr"
# Units that stand right behind a number; behind a space any word does, if it is the same on all rows.
_UNIT = (
    r"%|‰|°|°C|°F|kg|g|mg|µg|t|lb|lbs|oz|mm|cm|m|km|mi|in|ft|yd|m²|m2|km²|sqft|ha|l|L|ml|mL|cl|h|hrs?|min|mins|s|sec|"
    r"ms|d|yrs?|y|W|kW|kWh|MW|MWh|V|A|mA|Hz|kHz|MHz|GHz|Pa|kPa|hPa|bar|mbar|psi|J|kJ|kcal|cal|B|kB|KB|MB|GB|TB|mph|"
    r"km/h|kmh|kph|m/s|rpm|hp|bhp|PS|cc|CC|px|dB|mmHg|mmol/L|mg/dL|mg/dl|g/dL|kmpl|mpg|x"
)
QUANTITY = (
    rf"^(?P<open>\()?(?P<sign>[+\-\x{{2212}}])?(?P<before>{_CURRENCY})? ?(?P<minus>[+\-\x{{2212}}])?"
    rf"(?P<number>[0-9.][0-9{MARKS}]*?) ?(?P<factor>[kKMB]|bn|Mio\.?|Mrd\.?)??"
    rf"(?: ?(?P<after>{_CURRENCY}|{_UNIT})| (?P<word>[a-zA-Zäöüµ°²³/]{{2,14}}\.?))?(?P<close>\))?$"
)
_FACTORS = {"": "", "k": "e3", "K": "e3", "M": "e6", "Mio": "e6", "Mio.": "e6"}
_FACTORS |= {"B": "e9", "bn": "e9", "Mrd": "e9", "Mrd.": "e9"}
_ENDS_LIKE_A_NUMBER = re.compile(r"[0-9.]$")


def plain_numbers(column: TextColumn) -> tuple[TextColumn, str] | None:
    """Return the column with bare numbers in the marks it has, and what stood beside them; None where it is of others.

    A column of numbers alone is None as well: there is nothing to take away.
    """
    levels = column.levels
    if len(levels) < 2 or not _all_match(levels[:LOOKED_AT], QUANTITY) or _all_match(levels, NUMBERLIKE):
        return None
    if not _all_match(levels, QUANTITY):
        return None
    found = pc.extract_regex(levels, QUANTITY)
    rows = zip(*(found.field(i).to_pylist() for i in range(len(found.type))), strict=True)
    names = [field.name for field in found.type]
    numbers, beside, changed = [], set(), False
    for row in rows:
        part = dict(zip(names, row, strict=True))
        number = part["number"].strip()
        if not _ENDS_LIKE_A_NUMBER.search(number) or bool(part["open"]) != bool(part["close"]):
            return None
        if part["before"] and part["after"] == "B":  # of money it is a factor, not bytes
            part["factor"], part["after"] = "B", ""
        unit = part["before"] or part["after"] or part["word"]
        if part["before"] and (part["after"] or part["word"]):
            return None
        if unit:
            beside.add(_singular(unit))
        minuses = sum(part[name] not in ("", "+") for name in ("sign", "minus", "open"))
        if minuses > 1:
            return None
        changed |= bool(unit or part["factor"] or part["open"])
        numbers.append("-" * minuses + number + _FACTORS[part["factor"]])
    if not changed or len(beside) > 1:
        return None
    said = next(iter(beside), "")
    return TextColumn.of(column.name, column.codes, pa.array(numbers, type=pa.string())), said


def _all_match(levels: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(levels, pattern)).as_py())


def _singular(unit: str) -> str:
    """A unit as it is said of one: "3 rooms" and "1 room" have the same."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit.rstrip(".")
