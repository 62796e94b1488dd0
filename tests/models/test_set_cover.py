"""Super-tables say what tables of single tuples say, and what the definition says: scores, sums by cell, counts, F.

Rows with missing levels, constant columns, one column and hundreds, weights of zero and of fractions; test rows
with levels and cells that training rows lack; covers as planned and covers drawn at random.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.data.encoded import Encoded
from alrviz.errors import Stopped
from alrviz.fitting.families.build_fit import assemble
from alrviz.fitting.recipe import Recipe
from alrviz.models.cell_space import CellSpace
from alrviz.models.index import Unseen
from alrviz.models.plan import Block, Plan, one_block_per_tuple, plan_cover
from alrviz.models.set_cover import cover_rows
from alrviz.models.tables import count_tables
from alrviz.passes import aligned_buffers
from alrviz.passes.losses import NLL
from alrviz.passes.stochastic import SingleRows
from alrviz.stop import StopToken
from tests.fitting.tables import covered, kernel_codes, row_weights, table
from tests.oracles.rows import naive_count, naive_forward, naive_scatter

RECIPES = [
    Recipe("lr", alpha=0.3, penalty="phi"),
    Recipe("alr", alpha=0.3, penalty="w", center="anje"),
    Recipe("alr", alpha=0.1, scale="theta-gamma"),
    Recipe("lr", alpha=0.3, scale="diagonal"),
    *[Recipe("alr", alpha=0.2, share=share) for share in ("cell", "tuple", "all")],
]


def plain(codes, space):
    """The cover of single tuples."""
    return one_block_per_tuple(space, 0.0)


def drawn(seed):
    """A plan at random: some sets of columns take what tuples they hold, each tuple left over is alone; so do some of
    the columns of each inside it.
    """

    def taken(rng, columns, space, left):
        """Some of the columns, and the tuples of `left` inside them, which go from there."""
        some = rng.permutation(columns)[: rng.integers(space.order, len(columns) + 1)].astype(np.int32)
        inside = [t for t in sorted(left) if set(space.tuples[t].tolist()) <= set(some.tolist())]
        left -= set(inside)
        return some, rng.permutation(np.array(inside, np.int64))

    def plan(codes, space):
        rng, left, blocks = np.random.default_rng(seed), set(range(space.n_tuples)), []
        for _ in range(rng.integers(1, 4)):
            columns, inside = taken(rng, np.arange(len(space.levels)), space, left)
            direct = set(inside.tolist())
            inner = [Block(*taken(rng, columns, space, direct)) for _ in range(rng.integers(0, 3))]
            if len(inside):
                blocks.append(Block(columns, inside, tuple(block for block in inner if len(block.tuples))))
        return Plan((*blocks, *(Block(space.tuples[t], np.array([t])) for t in sorted(left))), 0.0, 0.0)

    return plan


@st.composite
def tables(draw):
    """Training and test rows of the same columns, and an order."""
    levels = np.array(draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 7]), min_size=1, max_size=6)))
    order = draw(st.integers(1, min(5, len(levels))))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dtype, C = draw(st.sampled_from([np.uint8, np.uint16, np.uint32])), draw(st.sampled_from([2, 3, 5]))
    gaps, kind = draw(st.sampled_from([0.0, 0.1, 0.6])), draw(st.sampled_from([None, "fractions"]))

    def part(rows):
        codes = rng.integers(0, levels[:, None], (len(levels), rows))
        # "no level" is told by any code from the number of levels on
        codes = np.where(rng.random(codes.shape) < gaps, levels[:, None] + rng.integers(0, 3, codes.shape), codes)
        weights = row_weights(kind, rows, rng) * (rng.random(rows) < draw(st.sampled_from([1.0, 0.7])))
        weights[0] = 1.0
        names = tuple(map(str, range(len(levels))))
        return Encoded(codes.astype(dtype), rng.integers(0, C, rows), weights, levels, np.arange(C), names)

    return part(draw(st.integers(1, 40))), part(draw(st.integers(1, 20))), order


def close(found, expected):
    """Equal to 1e-12 of the largest."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= 1e-12 * np.abs(expected).max(initial=1.0)


def check_scores(of, parts, order, rng, ways=(None, "all", "known only")):
    """Scores of training and test rows, and the sums by cell of residuals, against the definition."""
    index, blocks, C = of.cover.index, of.cover.blocks, of.rows.n_classes
    levels, T, n_cells = index.space.levels.tolist(), index.space.n_tuples, index.space.n_cells
    phi, bias = rng.normal(size=(len(index.seen_cells), C)), rng.normal(size=C)
    unseen, tuple_of = rng.normal(size=(T, C)), index.space.tuple_of(np.arange(n_cells))
    for way in ways:
        more, known_only = None if way is None else unseen, way == "known only"
        dense = np.zeros((n_cells + T, C))
        if more is not None:
            dense[:n_cells] = more[tuple_of]
            dense[n_cells:] = 0.0 if known_only else more
        dense[index.seen_cells] = phi
        for rows, encoded in zip((of.rows, of.heldout), parts, strict=True):
            z = of.cover.scores(rows, phi, bias, None if more is None else Unseen(more, known_only))
            close(z[:, :C], naive_forward(encoded.codes, levels, order, dense, bias))
    encoded, residual = parts[0], of.rows.scores()
    residual[:] = 0.0
    residual[:, :C] = rng.normal(size=(len(residual), C))
    grad = of.rows.scatter(blocks, residual, aligned_buffers.empty(blocks.n_joint, of.rows.padded_width))
    sums = blocks.scatter_to_cells(grad, aligned_buffers.zeros(blocks.n_cells, of.rows.padded_width))[
        : index.n_rows, :C
    ]
    # rows of no weight have cells that nobody has seen: what they add goes to those
    expected = naive_scatter(encoded.codes, levels, order, residual[:, :C])
    others = np.zeros((T, C))
    np.add.at(others, np.delete(tuple_of, index.seen_cells), np.delete(expected[:n_cells], index.seen_cells, axis=0))
    close(sums, np.concatenate([others, expected[n_cells:], expected[index.seen_cells]]))


def check_counts(of, encoded, order):
    counted = count_tables(of.rows, of.cover, 1.0)
    levels, T = encoded.levels.tolist(), of.cover.index.space.n_tuples
    naive = naive_count(encoded.codes, levels, order, encoded.y, encoded.weights, encoded.n_classes)
    live = naive_scatter(encoded.codes, levels, order, (encoded.weights > 0)[:, None].astype(float))[:-T, 0] > 0
    assert counted.seen_cells.tolist() == np.flatnonzero(live).tolist()
    close(counted.counts, naive[:-T][live])
    close(counted.tuple_counts, counted.class_counts - naive[-T:])
    return counted


@given(tables(), st.integers(0, 10**6))
def test_any_cover_is_the_definition(given_tables, seed):
    train, held, order = given_tables
    found = []
    for plan in (plain, plan_cover, drawn(seed)):
        of = covered(train, order, held, plan=plan)
        check_scores(of, (train, held), order, np.random.default_rng(seed))
        found.append(check_counts(of, train, order))
    for other in found[1:]:
        assert np.array_equal(other.seen_cells, found[0].seen_cells)
        assert np.array_equal(other.cards, found[0].cards)


@given(tables(), st.integers(0, 10**6), st.sampled_from(RECIPES))
def test_any_cover_has_the_same_objective_gradient_and_curvature(given_tables, seed, recipe):
    train, held, order = given_tables
    points = []
    for plan in (plain, plan_cover, drawn(seed)):
        of, rng = covered(train, order, held, plan=plan), np.random.default_rng(seed)
        counted = count_tables(of.rows, of.cover, 1.0)
        fit = assemble(of.rows, of.cover, counted, recipe.params, train.classes)
        objective, w = fit.objective, fit.w0 + rng.normal(size=fit.w0.shape)
        point, direction = objective.value_grad(w), rng.normal(size=w.shape)
        heldout = objective.scores(w, of.heldout)[:, : train.n_classes]
        numbers = np.array([point.objective, point.sums.wrong, objective.criterion(point)])
        points.append(
            [numbers, point.gradient, point.z[:, : train.n_classes], heldout, objective.hvp(point, direction)]
        )
        points[-1].append(objective.curvature(point))
    for other in points[1:]:
        for one, more in zip(points[0], other, strict=True):
            close(more, one)


@pytest.mark.parametrize(("plan", "order"), [(plain, 1), (plan_cover, 1), (drawn(1), 1), (plan_cover, 2)])
def test_more_columns_than_a_byte_counts(plan, order):
    rng = np.random.default_rng(0)
    columns = 260 if order == 1 else 100  # naive sums over all pairs of 260 columns take a minute
    encoded = table(30, rng.integers(1, 3, columns), 3, gaps=0.02, weights="fractions")
    train, held = encoded.take(np.arange(8)), encoded.take(np.arange(10, 11))
    of = covered(train, order, held, plan=plan)
    if plan is plan_cover:
        assert len(of.cover.plan.blocks) < of.cover.index.space.n_tuples
    check_scores(of, (train, held), order, rng, ["known only"])
    counts = naive_count(train.codes, train.levels.tolist(), order, train.y, train.weights, 3)
    counted = count_tables(of.rows, of.cover, 1.0)
    assert counted.seen_cells.tolist() == np.flatnonzero(counts[: of.cover.index.space.n_cells].any(axis=1)).tolist()
    close(counted.counts, counts[counted.seen_cells])


@pytest.mark.parametrize("order", [2, 3])
def test_a_cover_of_many_rows_has_few_blocks(order):
    """The test above would show nothing if blocks never held more than a tuple."""
    encoded = table(20_000, (2, 3, 2, 4, 2, 3, 2, 2), 3, gaps=0.01)
    few = covered(encoded, order)
    many = covered(encoded, order, plan=plain)
    assert 3 * len(few.cover.plan.blocks) < len(many.cover.plan.blocks)
    a, b = (count_tables(of.rows, of.cover, 1.0) for of in (few, many))
    assert np.array_equal(a.seen_cells, b.seen_cells)
    assert np.array_equal(a.counts, b.counts)  # whole numbers


def test_the_order_of_rows_does_not_matter():
    encoded = table(9000, (3, 4, 2, 5, 3), weights="whole", gaps=0.05)
    turned = np.random.default_rng(0).permutation(9000)
    rng = np.random.default_rng(1)
    one, other = covered(encoded, 3), covered(encoded.take(turned), 3)
    assert np.array_equal(one.cover.index.seen_cells, other.cover.index.seen_cells)
    phi, bias = rng.normal(size=(len(one.cover.index.seen_cells), 3)), np.zeros(3)
    close(other.cover.scores(other.rows, phi, bias), one.cover.scores(one.rows, phi, bias)[turned])


def test_levels_seen_are_those_of_rows_with_weight():
    encoded = table(5, (3, 2, 4))
    encoded.codes[:] = [[0, 1, 2, 1, 1], [2, 2, 2, 2, 2], [0, 0, 1, 9, 3]]
    encoded.weights[:] = [1, 1, 0, 2, 0]
    assert covered(encoded, 1).cover.levels_seen.tolist() == [2, 1, 1]


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_make_the_same_cover(n_jobs):
    encoded = table(3000, (3, 4, 2, 5, 3), gaps=0.05)
    one, other = covered(encoded, 3), covered(encoded, 3, n_jobs=n_jobs)
    assert np.array_equal(one.rows.keys, other.rows.keys)
    assert np.array_equal(one.cover.blocks.links, other.cover.blocks.links)
    assert np.array_equal(one.cover.index.slots, other.cover.index.slots)


class Late(StopToken):
    """Pulls itself when it is asked for the k-th time."""

    def __init__(self, k):
        super().__init__()
        self.left = k

    def check(self):
        self.left -= 1
        if self.left == 0:
            self.stop()
        super().check()


def test_single_rows_find_their_cells_through_inner_blocks():
    encoded = table(200, (2, 3, 2, 4, 3, 2), 3, gaps=0.1)

    def within(codes, space):
        """All tuples in one block; those of its first columns, and of some others, in inner ones."""
        tuples = np.arange(space.n_tuples)
        first = (space.tuples < 4).all(axis=1)
        last = (space.tuples > 1).all(axis=1) & ~first
        inner = (
            Block(np.arange(4, dtype=np.int32), tuples[first]),
            Block(np.arange(2, 6, dtype=np.int32), tuples[last]),
        )
        return Plan((Block(np.arange(6, dtype=np.int32), tuples, inner),), 0.0, 0.0)

    found = []
    for plan in (plain, within):
        of = covered(encoded, 2, plan=plan)
        index, n = of.cover.index, of.rows.n_rows
        cells = len(index.seen_cells) + 1
        scale = np.random.default_rng(0).normal(size=(cells, 3))
        single = SingleRows(of.rows, of.cover.blocks, 2 * index.space.n_tuples, scale, None, NLL)
        order, w = np.arange(n), np.random.default_rng(1).normal(size=3 * cells)
        found.append((single.visits(order, 3 * cells), single.loss(order, w)))
    blocks = of.cover.blocks
    assert blocks.inner is not None
    with pytest.raises(ValueError, match="those of inner blocks too"):
        blocks.expand(aligned_buffers.zeros(index.n_rows, 3), aligned_buffers.zeros(blocks.n_joint, 3))
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-12)


def test_covering_hears_a_stop_in_every_stage():
    encoded = table(300, (3, 4, 2, 5, 3))
    space, codes, live = CellSpace(encoded.levels, 2), kernel_codes(encoded), np.ones(300, bool)
    plan = one_block_per_tuple(space, 0.0)
    asked = Late(10**9)
    cover_rows(plan, space, [codes], live, 1, asked)
    questions = 10**9 - asked.left
    # joining asks once a block and once a column of it, indexing and linking once a block
    assert questions == len(plan.blocks) * (1 + space.order + 1 + 1)
    for k in range(1, questions + 1):
        with pytest.raises(Stopped):
            cover_rows(plan, space, [codes], live, 1, Late(k))
