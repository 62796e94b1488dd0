"""The session of one visitor: its state and link, its table, its runs and the tasks of its pages."""
