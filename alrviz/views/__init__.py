"""Views: pictures that live, each usable alone in a notebook."""

from alrviz.views.bandwidths import BandwidthView
from alrviz.views.bias_variance import BiasVarianceView
from alrviz.views.compare import CompareView
from alrviz.views.decision_map import DecisionMapView
from alrviz.views.density_film import DensityFilmView
from alrviz.views.density_ratio import DensityRatioView
from alrviz.views.gram_matrix import GramMatrixView
from alrviz.views.learning_curve import LearningCurveView
from alrviz.views.order_study import OrderStudyView
from alrviz.views.path_study import PathView
from alrviz.views.race_view import RaceView

__all__ = [
    "BandwidthView",
    "BiasVarianceView",
    "CompareView",
    "DecisionMapView",
    "DensityFilmView",
    "DensityRatioView",
    "GramMatrixView",
    "LearningCurveView",
    "OrderStudyView",
    "PathView",
    "RaceView",
]
