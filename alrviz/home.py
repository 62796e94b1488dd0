"""Where alrviz keeps what outlives a process: one folder of the user's, or `ALRVIZ_HOME`."""

import os
from pathlib import Path

import platformdirs

HOME = "ALRVIZ_HOME"


def home() -> Path:
    """Return the folder, which need not exist yet: `ALRVIZ_HOME` where it is set, else the user's data folder."""
    said = os.environ.get(HOME)
    return Path(said) if said else platformdirs.user_data_path("alrviz", appauthor=False)
