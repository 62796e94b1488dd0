"""From bytes to UTF-8: the encoding of a text, found by its mark, by trying UTF-8, else by its letters.

UTF-8 is strict enough that text which decodes as it is it. So is text of which a few lines do not: their stray bytes
are read as cp1252. Of the others charset-normalizer tells Cyrillic, Greek and the scripts of East Asia by how often
their letters occur. It is asked of lines beyond ASCII alone, and among one code page for Western letters: left to
itself it takes French in cp1252 for cp1250, and a large German table for cp775. What it does not know for sure is of
Western or Central Europe: cp1252, unless Mac Roman or cp1250 make better words of it
(no capital or sign within a word), or Latin-1 where a byte is undefined in all of them.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unicodedata import name

from alrviz.data.doubts import Doubt, DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.options import MIXED
from alrviz.data.text import Buffer
from alrviz.errors import Sentence, TableError
from alrviz.stop import StopToken

DECODED_BYTES = 1 << 21  # bytes decoded between two looks at the stop token: a few milliseconds
SCRIPTS = {
    "cp1251": "Cyrillic", "koi8_r": "Cyrillic", "cp1253": "Greek", "shift_jis": "Japanese", "euc_jp": "Japanese",
    "gb18030": "Chinese", "big5": "Chinese", "euc_kr": "Korean",
}  # fmt: skip
WESTERN = "cp1252"
EUROPEAN = {WESTERN: "Western European", "mac_roman": "old Macintosh", "cp1250": "Central European"}
SPACING = set("ºª\u00a0\u00ad\u2018\u2019\u201c\u201d\u2013\u2014\u2026€°£§«»©®™")  # signs that texts do hold
SURE = 0.1  # of 1: how much letters must be spread as in a language, lest a column of Ä and Ö be Japanese
GOOD_PER_BAD = 10  # lines beyond ASCII that are UTF-8, for one that is not, until a text is taken for UTF-8
ASKED_BYTES = 1 << 15  # bytes of lines beyond ASCII that are asked: 1 to 4 ms
GIVEN_UP = 1000  # lines that are not UTF-8, after which lines are not counted on where too few are
HEAD = 1 << 18  # bytes asked whether they are text at all
CONTROLS = bytes(set(range(1, 32)) - {9, 10, 12, 13, 26, 27})  # what text does not hold; NUL bytes are counted apart


def to_utf8(data: Buffer, encoding: str | None, stop: StopToken) -> tuple[Buffer, str, list[str]]:
    """Return the text in UTF-8 without mark, the encoding it was in (`encoding`, found where it is None), and notes.

    Raises:
        TableError: `data` are no text, or not in the encoding that was said.
    """
    notes: list[str] = []
    if encoding is None:
        encoding = _detect_encoding(data, stop)
        if encoding in ("latin-1", *EUROPEAN, *SCRIPTS):
            script = SCRIPTS.get(encoding) or EUROPEAN.get(encoding, "Western European")
            what = "words" if encoding in SCRIPTS else "accents"
            others = "" if encoding in SCRIPTS else f" (if they look wrong, try {_others(encoding)})"
            note = f"the text is not UTF-8, so it was read as {encoding} ({script}); look at its {what}{others}"
            other = "mac_roman" if encoding == WESTERN else WESTERN
            words: dict[str, Any] = {"read": f"{encoding} ({script})", "other": f"{other} ({EUROPEAN[other]})"}
            notes.append(
                DoubtNote.with_doubt(note, Doubt.from_change(DoubtCode.ENCODING, {"encoding": other}, **words))
            )
    if encoding == MIXED:
        _, bad, first = _count_lines(data, stop)
        are = "line is" if bad == 1 else "lines are"
        note = f"{bad:,} {are} not UTF-8 (first in line {first:,}): stray bytes were read as {WESTERN}"
        notes += [Note.with_code(NoteCode.STRAY_BYTES, note)] * (bad > 0)
    if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        data = b"".join(text.encode("utf-8", "replace") for text in _decoded(data, encoding, stop))
    else:
        for _ in _decoded(data, "utf-8", stop):
            pass
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    if nulls := _count(data, b"\0", stop):
        if nulls > len(data) // 10:
            text = f"{nulls:,} of {len(data):,} bytes are NUL: this is not a table, or UTF-16 without its mark; "
            utf16 = text + "saved as UTF-8 it can be read"
            raise TableError(Sentence(text + "for the latter pass ReadOptions(encoding='utf-16-le')", utf16))
        data = data.replace(b"\0", b"")
        notes.append(f"{nulls:,} NUL {'byte was' if nulls == 1 else 'bytes were'} removed")
    return data, encoding, notes


def _others(encoding: str) -> str:
    return " or ".join(other for other in EUROPEAN if other != encoding)


def _count(data: Buffer, byte: bytes, stop: StopToken) -> int:
    total = 0
    for start in range(0, len(data), DECODED_BYTES):
        stop.check()
        total += data.count(byte, start, start + DECODED_BYTES)
    return total


def _detect_encoding(data: Buffer, stop: StopToken) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return encoding
    head = data[:HEAD]
    controls = len(head) - len(head.translate(None, CONTROLS))
    if controls > len(head) // 50:
        raise TableError(
            f"this is binary data, not a table ({100 * controls // len(head)} % of its bytes are control characters); "
            "CSV, TSV, JSON, Parquet, Arrow, ARFF or a workbook was expected"
        )
    if _can_decode(data, "utf-8", stop):
        return "utf-8"
    good, bad, _ = _count_lines(data, stop, most=GIVEN_UP)
    return MIXED if good >= GOOD_PER_BAD * bad else _by_letters(data, stop)


def _count_lines(data: Buffer, stop: StopToken, most: float = float("inf")) -> tuple[int, int, int]:
    """Return how many lines beyond ASCII are UTF-8 and how many not, and the number of the first of these, from 1.

    They are counted no further where `most` are not and too few are.
    """
    good = bad = first_bad = n_lines = start = 0
    while start < len(data) and (bad < most or good >= GOOD_PER_BAD * bad):
        stop.check()
        end = data.find(b"\n", start + DECODED_BYTES) + 1 or len(data)
        lines = bytes(data[start:end]).splitlines()
        for place, line in enumerate(lines):
            if line.isascii():
                continue
            try:
                line.decode()
                good += 1
            except UnicodeDecodeError:
                bad += 1
                first_bad = first_bad or n_lines + place + 1
        n_lines += len(lines)
        start = end
    return good, bad, first_bad


def _by_letters(data: Buffer, stop: StopToken) -> str:
    from_bytes: Any = None  # in score.py it may not be there
    with suppress(ImportError):
        from charset_normalizer import from_bytes
    for start in range(0, len(data), DECODED_BYTES):
        stop.check()
        if found := re.search(rb"[\x80-\xff]", data[start : start + DECODED_BYTES]):
            first = max(start + found.start() - ASKED_BYTES, 0)
            break
    lines = re.findall(rb"[^\r\n]*[\x80-\xff][^\r\n]*", data[first : first + HEAD])
    text = b"\n".join(lines)[:ASKED_BYTES]
    guess = from_bytes and from_bytes(text, cp_isolation=[WESTERN, *SCRIPTS]).best()
    known = guess is not None and guess.encoding in SCRIPTS and guess.coherence >= SURE
    if known and _can_decode(data, guess.encoding, stop):
        return str(guess.encoding)
    decodable = [encoding for encoding in EUROPEAN if _can_decode(data, encoding, stop)]
    scores = {encoding: _word_score(text.decode(encoding, "replace")) for encoding in decodable}
    best = max(scores, key=scores.__getitem__, default="latin-1")
    return best if scores.get(best, -1) >= 0 else WESTERN if WESTERN in scores else "latin-1"


def _can_decode(data: Buffer, encoding: str, stop: StopToken) -> bool:
    try:
        for _ in _decoded(data, encoding, stop):
            pass
    except TableError:
        return False
    return True


def _word_score(text: str) -> int:
    """Return how many characters beyond ASCII stand well in words, less those that do not: a capital within, a sign."""
    score = 0
    for before, character, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if character.isascii() or character in SPACING or not (before.isalpha() or after.isalpha()):
            continue
        letter = character in "¿¡" or (name(character, "").startswith("LATIN") and character not in "ﬁﬂ")
        score += 1 if letter and not (character.isupper() and before.islower()) else -1
    return score


def _decoded(data: Buffer, encoding: str, stop: StopToken) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(data), DECODED_BYTES):
        stop.check()
        piece = data[start : start + DECODED_BYTES]
        try:
            yield decoder.decode(piece, final=start + DECODED_BYTES >= len(data))
        except UnicodeError as error:
            line = data.count(b"\n", 0, start + getattr(error, "start", 0)) + 1
            reason = getattr(error, "reason", error)
            raise TableError(
                f"the text is not {encoding}: {reason} in line {line:,}; leave the encoding open to detect it, or try "
                f"{'cp1252' if encoding.startswith('utf') else 'utf-8'}"
            ) from error
