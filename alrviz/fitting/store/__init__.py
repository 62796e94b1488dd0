"""The run store: what is kept of studies when the process ends, in one embedded database."""

from alrviz.fitting.store.database import Database
from alrviz.fitting.store.store import Kept, Store, default_store

__all__ = ["Database", "Kept", "Store", "default_store"]
