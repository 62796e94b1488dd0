"""Views: pictures that live, each usable alone in a notebook."""

from alrviz.component_files import close_module_imports
from alrviz.views.density.bandwidths import BandwidthView
from alrviz.views.density.density_film import DensityFilmView
from alrviz.views.density.density_ratio import DensityRatioView
from alrviz.views.density.gram_matrix import GramMatrixView
from alrviz.views.maps.decision_map import DecisionMapView
from alrviz.views.race.race_view import RaceView
from alrviz.views.studies.bias_variance import BiasVarianceView
from alrviz.views.studies.compare import CompareView
from alrviz.views.studies.evaluation import EvaluationView
from alrviz.views.studies.interactions import InteractionsView
from alrviz.views.studies.learning_curve import LearningCurveView
from alrviz.views.studies.order import OrderStudyView
from alrviz.views.studies.path import PathView
from alrviz.views.studies.row import RowView
from alrviz.views.studies.selection import SelectionView

close_module_imports()

__all__ = [
    "BandwidthView",
    "BiasVarianceView",
    "CompareView",
    "DecisionMapView",
    "DensityFilmView",
    "DensityRatioView",
    "EvaluationView",
    "GramMatrixView",
    "InteractionsView",
    "LearningCurveView",
    "OrderStudyView",
    "PathView",
    "RaceView",
    "RowView",
    "SelectionView",
]
