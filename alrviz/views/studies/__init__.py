"""Views of studies; `study_view` is their base class."""
