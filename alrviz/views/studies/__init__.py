"""Studies: one view each, over one frame."""
