"""The objective of DLR: weights w and bandwidths h together, in four modes.

    mode          training rows          w minimises                h
    "silverman"   vote for themselves    F(w, h)                    Silverman's, fixed
    "paper"       vote for themselves    F(w, h), h held fixed      descends E_val(w, h), w held fixed    [DLR] Alg. 1
    "validation"  leave themselves out   F(w, h)                    minimises E_val(w*(h), h)
    "loo"         leave themselves out   F(w, h)                    minimises F(w, h) too: one objective

    F = NLL of the training rows + alpha ||w - center||^2,          E_val = NLL of the validation rows

Slopes are by log h (dphi = dphi / dlog h, r the residuals of the rows that E is a sum over):
    partial   dE/dlog h_d = sum_i sum_k r_ik w_dk dphi_dki          "paper"; "loo", whose w is at its optimum
    total     partial - v . d(grad_w F)/dlog h_d,  H_w v = grad_w E_val                       "validation"
              = partial - sum_i sum_k dphi_dki (w_dk q_ik + v_dk r_ik),  q = the change of r that v makes

A point's weights are one flat vector (w, log h), which snapshots store and replay.
"""

from dataclasses import dataclass

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.density.weights import WeightsObjective, all_weights, minimise, solve
from alrviz.fitting.objectives.ridge import FitObjective, Point
from alrviz.models.density import DensityFeatures
from alrviz.models.density_model import DensityModel
from alrviz.models.density_votes import VoteFeatures
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.features import FeatureRows
from alrviz.passes.rows import Rows, Sums
from alrviz.stop import NEVER, StopToken

LEAVES_OUT = ("loo", "validation")
VALIDATES = ("validation", "paper")


class DensityRows(Rows):
    """Rows other than the training rows, with their numbers (a_num, N) and codes (a_cat, N)."""

    def __init__(self, rows: Rows, numbers: Floats, codes: np.ndarray):
        super().__init__(rows.y, rows.weights, rows.n_classes, n_jobs=rows.n_jobs)
        self.numbers, self.codes = numbers, codes


@dataclass(frozen=True, eq=False)
class DensityPoint(Point):
    """A point (w, log h) with the value and slopes of both levels.

    Attributes:
        inner: the point of the weights at these features.
        weights_objective: the objective of the weights at these features.
        features: of the training rows.
        validation_features: of the validation rows; None without any.
        e: E, which the bandwidths minimise.
        validation: sums over the validation rows; None without any.
        slopes: (D_num,) dE/dlog h; 0 where h is fixed.
    """

    inner: Point
    weights_objective: WeightsObjective
    features: VoteFeatures
    validation_features: VoteFeatures | None
    e: float
    validation: Sums | None
    slopes: Floats


class DensityObjective(FitObjective):
    """F, E and their slopes on the rows of a training set, and of a validation set if the mode has one.

    Args:
        features: the votes of the training rows.
        rows: training rows; their weights count rows in NLL (class weights already multiplied in).
        mode: "loo", "silverman", "validation" or "paper".
        alpha, center: of the penalty on w; center 0 or 1.
        validation: the rows of E_val, or None.
        columns: column number of each numeric feature, for reports.
        stop: checked between the parts of every pass.
    """

    alpha: float

    def __init__(
        self,
        features: DensityFeatures,
        rows: Rows,
        mode: str,
        *,
        alpha: float,
        center: int,
        columns: tuple[int, ...],
        validation: DensityRows | None = None,
        stop: StopToken = NEVER,
    ):
        self.features, self.rows, self.mode, self.alpha, self.center = features, rows, mode, alpha, center
        self.validation, self.columns, self.stop = validation, columns, stop
        self.total, self.n_classes = float(rows.weights.sum()), rows.n_classes
        self.monitored_name = "F" if validation is None else "the loss of the validation rows"
        self.e_weight = self.total if validation is None else float(validation.weights.sum())

    @property
    def fits_bandwidths(self) -> bool:
        """Whether bandwidths are fitted."""
        return self.mode != "silverman" and len(self.columns) > 0

    def start(self, value: float) -> Floats:
        """Return the vector v (P,) with all weights equal to `value`, intercepts 0, and Silverman's bandwidths."""
        features = self.features
        w = all_weights(np.empty((features.n_features, features.n_values, 0)), value)
        return np.concatenate([w.ravel(), np.log(features.silverman)])

    def weights_of(self, model: DensityModel) -> Floats:
        """Return the vector v (P,) of a model of the same columns and classes.

        Raises:
            RecipeError: the model has other columns or classes.
        """
        is_compatible = isinstance(model, DensityModel) and model.features.n_features == self.features.n_features
        if not is_compatible or model.n_classes != self.n_classes or len(model.log_h) != len(self.columns):
            raise RecipeError(
                f"start is not a model of these {self.features.n_features} columns and {self.n_classes} classes; "
                "expected one of dlr, fitted to the same rows"
            )
        min_log_h, max_log_h = self.features.bounds
        return np.concatenate([model.w.ravel(), np.clip(model.log_h, min_log_h, max_log_h)])

    def split(self, v: Floats) -> tuple[Floats, Floats]:
        """Return w (D + 1, K) and log h (D_num,) of a vector."""
        features = self.features
        n_weights = (features.n_features + 1) * features.n_values
        return v[:n_weights].reshape(features.n_features + 1, features.n_values), v[n_weights:]

    def training(
        self, log_h: Floats, spacing: np.ndarray | None = None, previous: VoteFeatures | None = None
    ) -> VoteFeatures:
        """Return the features of the training rows, on the grids of log h (D_num,) or those with this `spacing`."""
        leave = self.mode in LEAVES_OUT
        return self.features.training(log_h, leave, self.fits_bandwidths, spacing, previous, self.stop)

    def objective_at(self, features: VoteFeatures) -> WeightsObjective:
        """Return the objective of the weights at these features."""
        return WeightsObjective(FeatureRows(self.rows, features.phi), self.alpha, self.center, self.stop)

    def validate(
        self, features: VoteFeatures, spacing: np.ndarray | None = None, previous: VoteFeatures | None = None
    ) -> VoteFeatures | None:
        """Return the features of the validation rows at the bandwidths of `features`, on grids of `spacing` (D_num,);
        None without such rows.

        spacing: of grids to keep; None for those that suit the bandwidths. previous: features of the validation rows
        from an earlier call, reused where bandwidth and grid are the same.
        """
        rows = self.validation
        if rows is None:
            return None
        return self.features.rows(rows.numbers, rows.codes, features.log_h, True, spacing, previous, self.stop)

    def value_grad(self, v: Floats) -> DensityPoint:
        """Return the point at `v`."""
        w, log_h = self.split(v)
        features = self.training(log_h)
        weights_objective = self.objective_at(features)
        return self.point(weights_objective, weights_objective.value_grad(w.copy()), features, self.validate(features))

    def follow(self, log_h: Floats, w: Floats, previous: VoteFeatures | None = None) -> DensityPoint:
        """Return the point at bandwidths exp(log_h), (D_num,), with the weights optimal there, searched from `w` (D +
        1, K).

        For a page on which a visitor moves a bandwidth; `previous` as in `DensityFeatures.training`.
        """
        min_log_h, max_log_h = self.features.bounds
        features = self.training(np.clip(log_h, min_log_h, max_log_h), previous=previous)
        weights_objective = self.objective_at(features)
        inner_point, _, _ = minimise(weights_objective, np.array(w, np.float64))
        return self.point(weights_objective, inner_point, features, self.validate(features))

    def outer_value(
        self, inner: Point, validation_features: VoteFeatures | None
    ) -> tuple[float, Sums | None, Floats | None]:
        """Return E at a point of the weights, the sums over validation rows and their residuals (N, W); None without
        any.
        """
        if self.validation is None or validation_features is None:
            return inner.objective, None, None
        z = FeatureRows(self.validation, validation_features.phi).scores(inner.w, self.stop)
        residual = self.validation.scores()
        sums = self.validation.loss_and_residual(z, None, 0.0, z, residual, self.stop)
        return sums.nll, sums, residual

    def point(
        self,
        weights_objective: WeightsObjective,
        inner: Point,
        features: VoteFeatures,
        validation_features: VoteFeatures | None,
    ) -> DensityPoint:
        """Return the outer point: the weights of `inner`, a point of `weights_objective`, and the log bandwidths of
        `features`, with the validation loss and, if bandwidths are fitted, their slopes.

        validation_features: None without validation rows.
        """
        e, sums, residual = self.outer_value(inner, validation_features)
        slopes = np.zeros(len(features.log_h))
        if self.fits_bandwidths:
            slopes = self._slopes(weights_objective, inner, features, validation_features, residual)
        v = np.concatenate([inner.w.ravel(), features.log_h])
        gradient = np.concatenate([inner.gradient.ravel(), slopes])
        return DensityPoint(
            v, inner.z, inner.sums, inner.penalty, inner.objective, gradient,
            inner=inner, weights_objective=weights_objective, features=features,
            validation_features=validation_features, e=e, validation=sums, slopes=slopes,
        )  # fmt: skip

    def _slopes(
        self,
        weights_objective: WeightsObjective,
        inner: Point,
        features: VoteFeatures,
        validation_features: VoteFeatures | None,
        residual: Floats | None,
    ) -> Floats:
        """Return dE/dlog h: of a sum over the training rows, or over the validation rows with the given residuals."""
        if self.validation is None or validation_features is None or residual is None:
            return self._sum(weights_objective.feature_rows, inner.w, features, self._residual(inner))
        rows = FeatureRows(self.validation, validation_features.phi)
        partial = self._sum(rows, inner.w, validation_features, residual)
        if self.mode == "paper":
            return partial
        v, _ = solve(weights_objective, inner, rows.sums(validation_features.phi, residual, stop=self.stop))
        residual_change = self.rows.hessian_product(inner.z, weights_objective.change(v), self.stop)
        rows = weights_objective.feature_rows
        by_phi, by_w = (rows, inner.w, features, residual_change), (rows, v, features, self._residual(inner))
        return partial - (self._sum(*by_phi) + self._sum(*by_w))

    def _residual(self, inner: Point) -> Floats:
        residual = self.rows.scores()
        self.rows.loss_and_residual(inner.z, None, 0.0, inner.z, residual, self.stop)
        return residual

    def _sum(self, rows: FeatureRows, w: Floats, features: VoteFeatures, residual: Floats) -> Floats:
        """Return sum_i sum_k residual_ik w_dk dphi_dki, (D_num,)."""
        assert features.dphi is not None
        n_numeric = len(features.log_h)
        return (w[:n_numeric] * rows.sums(features.dphi, residual, stop=self.stop)[:n_numeric]).sum(axis=1)

    def curvature(self, point: DensityPoint) -> Floats:
        """Return Gauss-Newton's d2E/dlog h2 (D_num,) at fixed w, sum_i sum_k p (1 - p) (w dphi)^2."""
        rows, features, z = self.rows, point.features, point.z
        if self.validation is not None and point.validation_features is not None:
            rows, features = self.validation, point.validation_features
            z = FeatureRows(rows, features.phi).scores(point.inner.w, self.stop)
        assert features.dphi is not None
        curvature = rows.diagonal(z, self.stop)
        n_numeric = len(features.log_h)
        sums = FeatureRows(rows, features.phi).sums(features.dphi, curvature, squared=True, stop=self.stop)
        return (point.inner.w[:n_numeric] ** 2 * sums[:n_numeric]).sum(axis=1)

    def release(self, point: Point | None) -> None:
        """Free the buffers of a fit that has ended at `point`, or before it had one."""
        if isinstance(point, DensityPoint):
            point.weights_objective.release(point.inner)

    def monitored_value(self, point: DensityPoint) -> float:
        """Return E, which every step lowers, except in "paper" the inner ones."""
        return point.e

    def criterion(self, point: DensityPoint) -> float:
        """Return the largest of |dF/dw| and |dE/dlog h|, per row."""
        return max(point.weights_objective.criterion(point.inner), self.unrest(point))

    def unrest(self, point: DensityPoint) -> float:
        """Return the largest |dE/dlog h| per row."""
        return float(np.abs(point.slopes).max(initial=0.0)) / self.e_weight

    def phi_norm(self, v: Floats) -> float:
        """Return the length of the weights in the vector v (P,): the features do not depend on them."""
        w, _ = self.split(v)
        return float(np.sqrt((w * w).sum()))

    def scores(self, v: Floats, rows: DensityRows | None = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of other `rows`, recomputed from `v`."""
        w, log_h = self.split(v)
        w = np.ascontiguousarray(w)
        if rows is None:
            phi = self.features.training(log_h, self.mode in LEAVES_OUT, False, stop=self.stop).phi
            return FeatureRows(self.rows, phi).scores(w, self.stop)
        phi = self.features.rows(rows.numbers, rows.codes, log_h, stop=self.stop).phi
        return FeatureRows(rows, phi).scores(w, self.stop)

    def model(self, v: Floats) -> DensityModel:
        """Return the model of a vector (w, log h)."""
        w, log_h = self.split(np.asarray(v, np.float64))
        return DensityModel(self.features, w, log_h)

    def report(self, point: DensityPoint) -> dict[str, float]:
        """Return values to record with a step: "h_j", the bandwidth of numeric column j; and, if there are validation
        rows, "validation_log_loss" and "validation_error", the weighted share of rows whose predicted class is wrong.
        """
        values = {f"h_{j}": h for j, h in zip(self.columns, np.exp(point.features.log_h).tolist(), strict=True)}
        if point.validation is not None:
            values["validation_log_loss"] = point.validation.nll / self.e_weight
            values["validation_error"] = point.validation.wrong / self.e_weight
        return values
