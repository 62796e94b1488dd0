"""The frame around every page: rail, header, theme, notices, glossary, what a lost connection says."""
