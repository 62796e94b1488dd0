"""Views: pictures that live, each usable alone in a notebook."""

from alrviz.views.decision_map import DecisionMapView
from alrviz.views.race_view import RaceView

__all__ = ["DecisionMapView", "RaceView"]
