"""Which solver fits which objective: what the one needs and the other offers.

    value_grad        F and its gradient at any weights
    along             F along a line, for a softmax pass a trial
    hvp               Hessian-vector products, and the Hessian's diagonal (Gauss-Newton's where F is not convex)

Nothing is imported here that computes, so that a recipe can ask.
"""

from collections.abc import Mapping

NEEDS: Mapping[str, frozenset[str]] = {
    "lbfgs": frozenset({"value_grad", "along"}),
    "cg": frozenset({"value_grad", "along"}),
    "gd": frozenset({"value_grad", "along"}),
}
