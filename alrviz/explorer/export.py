"""Tables as CSV that a spreadsheet may open: cells that a spreadsheet would compute are made text.

A cell that begins with =, +, -, @, a tab or a carriage return is a formula to Excel and its relatives; column names and
levels come from strangers. Such text gets an apostrophe in front. Numbers stay numbers.
"""

import io

import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> object:
    """Return the value, with an apostrophe in front where it is text that a spreadsheet would compute."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_text(frame: pd.DataFrame, about: dict[str, object] | None = None) -> str:
    """Return the frame as CSV; `about` (seed, hash, version ...) comes first, as lines that begin with #."""
    safe = frame.copy()
    safe.columns = pd.Index([safe_cell(str(name)) for name in frame.columns])
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name].dtype):
            safe[name] = safe[name].map(safe_cell)
    out = io.StringIO()
    for key, value in (about or {}).items():
        out.write(f"# {key}: {' '.join(str(value).split())}\n")
    safe.to_csv(out, index=False)
    return out.getvalue()
