"""State that all visitors of a server share: runs, uploaded tables, limits, classes, and processes that read files."""
