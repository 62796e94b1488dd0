"""The run store: studies and races that outlive the process, in one embedded database."""

from alrviz.fitting.store.database import Database
from alrviz.fitting.store.store import Store, StoredRun, default_store, owner_digest

__all__ = ["Database", "Store", "StoredRun", "default_store", "owner_digest"]
