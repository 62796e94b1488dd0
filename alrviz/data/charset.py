"""Detect the encoding of a text, and convert it to UTF-8.

    a byte order mark                        UTF-8 or UTF-16
    decodes as UTF-8                         UTF-8, which is strict enough for that to be no chance
    nearly all lines decode as UTF-8         UTF-8; stray bytes are read as cp1252
    sure for charset-normalizer              Cyrillic, Greek, Japanese, Chinese, Korean, by the frequency of letters
    else                                     cp1252, unless Mac Roman or cp1250 makes better words (no capital or sign
                                             within a word); Latin-1 if a byte is undefined in all three

charset-normalizer gets only the lines beyond ASCII, and only one code page for Western letters: without these limits it
takes French in cp1252 for cp1250, and a large German table for cp775.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unicodedata import name

from alrviz.data.doubts import DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.options import MIXED
from alrviz.data.text import Buffer
from alrviz.errors import Sentence, TableError
from alrviz.stop import StopToken

DECODED_BYTES = 1 << 21  # decoded between two checks of the stop token: a few milliseconds
SCRIPTS = {
    "cp1251": "Cyrillic", "koi8_r": "Cyrillic", "cp1253": "Greek", "shift_jis": "Japanese", "euc_jp": "Japanese",
    "gb18030": "Chinese", "big5": "Chinese", "euc_kr": "Korean",
}  # fmt: skip
WESTERN = "cp1252"
EUROPEAN = {WESTERN: "Western European", "mac_roman": "old Macintosh", "cp1250": "Central European"}
SPACING = set("ºª\u00a0\u00ad\u2018\u2019\u201c\u201d\u2013\u2014\u2026€°£§«»©®™")  # signs that are usual in texts
MIN_COHERENCE = 0.1  # of 1, charset-normalizer's measure of a language; below, a column of Ä and Ö may be "Japanese"
GOOD_PER_BAD = 1  # lines beyond ASCII that decode as UTF-8 for each that does not, in a text that is UTF-8
SAMPLE_BYTES = 1 << 15  # lines beyond ASCII that are examined: 1 to 4 ms
MAX_BAD_LINES = 1000  # stop counting after so many lines that are no UTF-8, if they prevail
HEAD_BYTES = 1 << 18  # examined for control characters
CONTROLS = bytes(set(range(1, 32)) - {9, 10, 12, 13, 26, 27})  # control characters that texts do not contain, but NUL


def to_utf8(data: Buffer, encoding: str | None, stop: StopToken) -> tuple[Buffer, str, list[str]]:
    """Return the text as UTF-8 without a byte order mark, its encoding (detected if None), and notes.

    Raises `TableError` if `data` are no text, or not in the given encoding.
    """
    notes: list[str] = []
    if encoding is None:
        encoding = _detect_encoding(data, stop)
        if encoding in ("latin-1", *EUROPEAN, *SCRIPTS):
            script = SCRIPTS.get(encoding) or EUROPEAN.get(encoding, "Western European")
            doubtful_signs = "words" if encoding in SCRIPTS else "accents"
            other_encodings = " or ".join(candidate for candidate in EUROPEAN if candidate != encoding)
            advice = "" if encoding in SCRIPTS else f" (if they look wrong, try {other_encodings})"
            note = (
                f"the text is not UTF-8, so it was read as {encoding} ({script}); look at its {doubtful_signs}{advice}"
            )
            alternative = "mac_roman" if encoding == WESTERN else WESTERN
            doubt_texts = {"read": f"{encoding} ({script})", "other": f"{alternative} ({EUROPEAN[alternative]})"}
            notes.append(
                DoubtNote.with_doubt(note, DoubtCode.ENCODING, {"encoding": alternative}, (), 0, **doubt_texts)
            )
    if encoding == MIXED:
        _, n_bad_lines, first_bad_line = _count_lines(data, stop)
        verb = "line is" if n_bad_lines == 1 else "lines are"
        note = (
            f"{n_bad_lines:,} {verb} not UTF-8 (first in line {first_bad_line:,}): stray bytes were read as {WESTERN}"
        )
        notes += [Note.with_code(NoteCode.STRAY_BYTES, note)] * (n_bad_lines > 0)
    if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        data = b"".join(text.encode("utf-8", "replace") for text in _decoded(data, encoding, stop))
    else:
        for _ in _decoded(data, "utf-8", stop):
            pass
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    stop.check()
    if n_nulls := data.count(b"\0"):
        if n_nulls > len(data) // 10:
            text = f"{n_nulls:,} of {len(data):,} bytes are NUL: this is not a table, or UTF-16 without its mark; "
            utf16 = text + "saved as UTF-8 it can be read"
            raise TableError(Sentence(text + "for the latter pass ReadOptions(encoding='utf-16-le')", utf16))
        data = data.replace(b"\0", b"")
        notes.append(f"{n_nulls:,} NUL {'byte was' if n_nulls == 1 else 'bytes were'} removed")
    return data, encoding, notes


def _detect_encoding(data: Buffer, stop: StopToken) -> str:
    """Return the encoding of a text: by its byte order mark, else UTF-8 if it decodes, else guessed from its
    letters.
    """
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    first_bytes = data[:HEAD_BYTES]
    n_controls = len(first_bytes) - len(first_bytes.translate(None, CONTROLS))
    if n_controls > len(first_bytes) // 50:
        raise TableError(
            f"this is binary data, not a table ({100 * n_controls // len(first_bytes)} % of its bytes are control "
            "characters); CSV, TSV, JSON, Parquet, Arrow, ARFF or a workbook was expected"
        )
    if _can_decode(data, "utf-8", stop):
        return "utf-8"
    n_good, n_bad, _ = _count_lines(data, stop, max_bad=MAX_BAD_LINES)
    return MIXED if n_good >= GOOD_PER_BAD * n_bad else _encoding_by_letters(data, stop)


def _count_lines(data: Buffer, stop: StopToken, max_bad: float = float("inf")) -> tuple[int, int, int]:
    """Return how many lines beyond ASCII are UTF-8, how many are not, and the number of the first that is not, from 1.

    Counting stops at `max_bad` bad lines, unless good ones prevail.
    """
    n_good = n_bad = first_bad_line = n_lines = start = 0
    while start < len(data) and (n_bad < max_bad or n_good >= GOOD_PER_BAD * n_bad):
        stop.check()
        end = data.find(b"\n", start + DECODED_BYTES) + 1 or len(data)
        chunk_lines = bytes(data[start:end]).splitlines()
        for line_index, line in enumerate(chunk_lines):
            if line.isascii():
                continue
            try:
                line.decode()
                n_good += 1
            except UnicodeDecodeError:
                n_bad += 1
                first_bad_line = first_bad_line or n_lines + line_index + 1
        n_lines += len(chunk_lines)
        start = end
    return n_good, n_bad, first_bad_line


def _encoding_by_letters(data: Buffer, stop: StopToken) -> str:
    """Return the encoding of a text that is not UTF-8, in which lines beyond ASCII make the likeliest words."""
    from_bytes: Any = None  # score.py runs without charset-normalizer
    with suppress(ImportError):
        from charset_normalizer import from_bytes
    for start in range(0, len(data), DECODED_BYTES):
        stop.check()
        if match := re.search(rb"[\x80-\xff]", data[start : start + DECODED_BYTES]):
            start_of_sample = max(start + match.start() - SAMPLE_BYTES, 0)
            break
    lines_beyond_ascii = re.findall(
        rb"[^\r\n]*[\x80-\xff][^\r\n]*", data[start_of_sample : start_of_sample + HEAD_BYTES]
    )
    sample = b"\n".join(lines_beyond_ascii)[:SAMPLE_BYTES]
    guess = from_bytes and from_bytes(sample, cp_isolation=[WESTERN, *SCRIPTS]).best()
    is_known = guess is not None and guess.encoding in SCRIPTS and guess.coherence >= MIN_COHERENCE
    if is_known and _can_decode(data, guess.encoding, stop):
        return str(guess.encoding)
    decodable = [encoding for encoding in EUROPEAN if _can_decode(data, encoding, stop)]
    scores = {encoding: _word_score(sample.decode(encoding, "replace")) for encoding in decodable}
    best_encoding = max(scores, key=scores.__getitem__, default="latin-1")
    return best_encoding if scores.get(best_encoding, -1) >= 0 else WESTERN if WESTERN in scores else "latin-1"


def _can_decode(data: Buffer, encoding: str, stop: StopToken) -> bool:
    """Return whether all of the data are text in this encoding."""
    try:
        for _ in _decoded(data, encoding, stop):
            pass
    except TableError:
        return False
    return True


def _word_score(text: str) -> int:
    """Return the number of letters beyond ASCII that are plausible in words, minus capitals and signs within words."""
    score = 0
    for previous, character, following in zip(" " + text, text, text[1:] + " ", strict=False):
        if character.isascii() or character in SPACING or not (previous.isalpha() or following.isalpha()):
            continue
        letter = character in "¿¡" or (name(character, "").startswith("LATIN") and character not in "ﬁﬂ")
        score += 1 if letter and not (character.isupper() and previous.islower()) else -1
    return score


def _decoded(data: Buffer, encoding: str, stop: StopToken) -> Iterator[str]:
    """Yield the text piece by piece; `TableError` names the first line that is not in this encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(data), DECODED_BYTES):
        stop.check()
        piece = data[start : start + DECODED_BYTES]
        try:
            yield decoder.decode(piece, final=start + DECODED_BYTES >= len(data))
        except UnicodeError as error:
            line_number = data.count(b"\n", 0, start + getattr(error, "start", 0)) + 1
            reason = getattr(error, "reason", error)
            raise TableError(
                f"the text is not {encoding}: {reason} in line {line_number:,}; leave the encoding open to detect it, "
                f"or try {'cp1252' if encoding.startswith('utf') else 'utf-8'}"
            ) from error
