"""Model files, made, read and changed."""

import io
import json
import zipfile

from alrviz import save_model


def file_of(model, **kwargs):
    file = io.BytesIO()
    save_model(model, file, **kwargs)
    return file


def rewritten(file, **changes):
    """The zip with some files replaced (None: left out)."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        parts = {name: old.read(name) for name in old.namelist()} | changes
        for name, data in parts.items():
            if data is not None:
                new.writestr(name, data)
    return out


def about_of(file):
    with zipfile.ZipFile(file) as zipped:
        return json.loads(zipped.read("model.json"))
