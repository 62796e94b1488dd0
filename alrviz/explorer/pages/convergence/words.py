"""The words of the Convergence page: what one looks at, and what a family's scale has to do with its speed."""

ABOUT = r"""
Several solvers look for the weights of a classifier at once. One iteration of one racer is mostly one [[pass]] over the
training rows (tron needs several, the adaptive scale one and a half); the racers take turns, and a racer's clock runs
during its own steps only.

$$s_k(x) = b_k + \sum_t \phi_{t(x),k}$$

is the score of class $k$: one number [[phi]] for each [[cell]] that the row falls into, one cell for each [[tuple]] of
[[order|n]] columns; $p(k \mid x) = \softmax(s(x))_k$. A racer minimises

$$F = - \sum_i \log p(y_i \mid x_i) + \alpha \| \phi - \phi_0 \|^2$$

the [[NLL]] plus an L2 penalty of strength [[alpha]] that shrinks toward a [[center]] $\phi_0$; its settings may take
squared error or the squared hinge instead of NLL, and let the penalty act on $w$. Racers differ in what they move:
[[LR|lr]] moves $\phi = w$, [[ALR|alr]] moves $\phi = w \cdot \log \theta$ with [[theta]] counted beforehand,
[[diagonal]] moves $\phi = w \cdot d^{-1/2}$ with $d = N_{\text{cell}} \pi_k (1 - \pi_k) + 2 \alpha$ (without
$2 \alpha$ where the penalty acts on $w$), adaptive the same with $d$ recomputed at every step from the rows'
probabilities, ALRJ moves $\phi = w \cdot \gamma \log \theta$, $\gamma$ being [[AnJE]]'s factor. Where each cell and
class has a weight of its own, free of bounds, and the penalty, if any, acts on [[phi]]: same functions, same best
fit, other paths.

*Solid lines* are training rows, *dashed* ones [[test rows]], both per row in [[nats]]. Grey lines are the
[[class prior]] (a model without columns) and [[AnJE]]. The *suboptimality* (gap) is F minus the lowest value any
racer has reached, on a log scale: a straight line means linear convergence, the same factor gained with every
iteration. *Milestones* are the first iterations within 1 % and 0.1 % of that value. Where the rows are
[[separable]], and often elsewhere, unregularised log loss has no finite optimum: the lines fall for ever, and the
race only tells how fast."""

WHY = """
Each family scales [[phi]], and that scale is a diagonal *preconditioner* for its solver. The usual (Jacobi) one is
$H_{ii}^{-1/2}$, one over the root of the diagonal of the Hessian at the class prior: the orange line. lr has no
preconditioner: its line is flat. log [[theta]] grows as a cell gets rarer, so alr bends the same way as the orange
line. Each scale is divided by its median: a common factor makes no difference to the line search.

*The picture alone does not say who is faster.* The orange line balances cells one by one, for the first step. It does
not see that cells overlap, nor how the Hessian changes on the way. A family that is farther from it may need fewer
iterations, and a penalty on phi may turn the order around. The race tells."""
# Measured: L-BFGS from zero, test share 0.3, seed 0, the demo sets in their own size.
WHY_HEADS = ("iterations to 0.1 %", "lr", "diagonal", "alr")
WHY_ROWS = (
    ("led, n = 2", "222", "124", "63"),
    ("waveform, n = 1", "38", "32", "13"),
    ("mixed-types, n = 2", "51", "14", "20"),
    ("poker-hand, n = 1", "159", "19", "83"),
    ("waveform, n = 1, alpha 0.1", "28", "25", "52"),
)
