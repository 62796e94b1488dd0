"""The public names and where they live: read by type checkers, and at run time by `alrviz/__init__.py`."""

from .data.dataset import Dataset as Dataset
from .data.demos import (
    demo_names as demo_names,
    load_demo as load_demo,
)
from .data.read import (
    ReadOptions as ReadOptions,
    read_table as read_table,
)
from .data.stream.table import (
    Stream as Stream,
    open_table as open_table,
)
from .errors import (
    AlrvizError as AlrvizError,
    DoubtfulTableWarning as DoubtfulTableWarning,
    LostColumnsWarning as LostColumnsWarning,
    MemoryLimitError as MemoryLimitError,
    ModelFileError as ModelFileError,
    RecipeError as RecipeError,
    StoreError as StoreError,
    TableError as TableError,
    UnseenLevelWarning as UnseenLevelWarning,
)
from .estimators import (
    AnDEClassifier as AnDEClassifier,
    AutoClassifier as AutoClassifier,
    DLRClassifier as DLRClassifier,
    ELRClassifier as ELRClassifier,
    KDBClassifier as KDBClassifier,
    MDLDiscretizer as MDLDiscretizer,
    NaiveBayesClassifier as NaiveBayesClassifier,
    TANClassifier as TANClassifier,
    WANBIACClassifier as WANBIACClassifier,
    estimator_of as estimator_of,
    fit as fit,
    make_estimator as make_estimator,
)
from .estimators.cells import (
    ALRClassifier as ALRClassifier,
    AnJEClassifier as AnJEClassifier,
    HALRClassifier as HALRClassifier,
    HLRClassifier as HLRClassifier,
    HierarchicalSelectiveALRClassifier as HierarchicalSelectiveALRClassifier,
    LRClassifier as LRClassifier,
    SelectiveALRClassifier as SelectiveALRClassifier,
)
from .estimators.conformal import ConformalClassifier as ConformalClassifier, conformal as conformal
from .estimators.model_file import (
    load_model as load_model,
    save_model as save_model,
)
from .estimators.model_sql import save_sql as save_sql
from .estimators.predict_table import predict_table as predict_table
from .fitting.recipe import (
    Recipe as Recipe,
    paper_mode as paper_mode,
)
from .fitting.runs.run import Run as Run
from .fitting.solvers.step import Outcome as Outcome, Step as Step
from .fitting.runs.trace import Trace as Trace
from .studies.protocols.bias_variance import bias_variance as bias_variance
from .studies.protocols.choose_order import choose_order as choose_order
from .studies.protocols.choose_tuples import choose_tuples as choose_tuples
from .studies.protocols.compare import compare as compare
from .studies.protocols.effect_bands import effect_bands as effect_bands
from .studies.protocols.evaluate import evaluate as evaluate
from .studies.protocols.learning_curve import learning_curve as learning_curve
from .studies.protocols.alpha_path import alpha_path as alpha_path
from .studies.effects.edits import Edits as Edits, edit as edit
from .studies.effects.interactions import Interactions as Interactions, interactions as interactions
from .studies.effects.row_explanation import RowExplanation as RowExplanation
from .studies.race.race import Race as Race, race as race
from .studies.core.study import Study as Study
from .studies.statistics.evaluation import Evaluation as Evaluation
from .views.density.bandwidths import BandwidthView as BandwidthView
from .views.density.density_film import DensityFilmView as DensityFilmView
from .views.density.density_ratio import DensityRatioView as DensityRatioView
from .views.density.gram_matrix import GramMatrixView as GramMatrixView
from .views.maps.decision_map import DecisionMapView as DecisionMapView
from .views.race.race_view import RaceView as RaceView
from .views.replay.export_html import save_replay as save_replay
from .views.report.save_report import save_report as save_report
from .views.studies.bias_variance import BiasVarianceView as BiasVarianceView
from .views.studies.compare import CompareView as CompareView
from .views.studies.evaluation import EvaluationView as EvaluationView
from .views.studies.interactions import InteractionsView as InteractionsView
from .views.studies.learning_curve import LearningCurveView as LearningCurveView
from .views.studies.order import OrderStudyView as OrderStudyView
from .views.studies.path import PathView as PathView
from .views.studies.row import RowView as RowView
from .views.studies.selection import SelectionView as SelectionView

__version__: str
