"""Points that are drawn: values that are never changed, and a table that can be read again."""

import io

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.explorer.session.sketch import MAX_POINTS, Sketch


def test_points_are_added_moved_and_removed_in_new_values():
    blank = Sketch.blank()
    assert (len(blank), blank.classes_with_points) == (4, ("a", "b"))
    more = blank.add(0.123456, 2.0, "c")
    assert (len(blank), len(more), more.classes_with_points) == (4, 5, ("a", "b", "c"))
    assert more.x[-1].tolist() == [0.1235, 2.0]
    moved = more.move(0, -1.0, 5.0)
    assert moved.x[0].tolist() == [-1.0, 5.0]
    assert more.x[0].tolist() == [0.3, 0.5]
    assert moved.y is more.y
    assert moved.remove(4).classes_with_points == ("a", "b")
    fewer = more.remove(1)
    assert fewer.remove(1) is fewer  # a point's name is its own
    assert fewer.move(4, 7.0, 7.0).x[3].tolist() == [7.0, 7.0]
    assert fewer.add(0.0, 0.0, "a").X.index.tolist() == [0, 2, 3, 4, 5]
    assert more.add(0, 0, "none of them") is more
    assert more.move(99, 0, 0) is more
    assert more.remove(-1) is more


def test_two_classes_are_always_left():
    sketch = Sketch.blank().remove(0)
    assert len(sketch) == 3
    assert sketch.remove(int(sketch.point_ids[list(sketch.y).index("a")])) is sketch


def test_a_sketch_of_a_table_keeps_its_rows_without_gaps():
    dataset = alrviz.load_demo("mixed-types", rows=300)
    sketch = Sketch.from_dataset(dataset, ("temperature", "pressure"))
    kept = dataset.X["pressure"].notna().to_numpy()
    assert len(sketch) == kept.sum() < 300
    assert np.array_equal(sketch.y, dataset.y[kept])
    assert np.array_equal(sketch.x, dataset.X[["temperature", "pressure"]].to_numpy()[kept])
    assert sketch.classes == ("healthy", "ill", "new")
    assert (sketch.origin, sketch.add(0.5, 0.5, "ill").origin, Sketch.blank().origin) == (
        "mixed-types",
        "mixed-types",
        "",
    )
    read = pd.read_csv(io.StringIO(sketch.csv()))
    assert list(read.columns) == ["temperature", "pressure", "class"]
    assert np.array_equal(read[["temperature", "pressure"]].to_numpy(), sketch.x)


def test_a_sketch_of_a_large_table_is_some_of_its_rows_and_full():
    dataset = alrviz.load_demo("age-curve", rows=MAX_POINTS + 500)
    sketch = Sketch.from_dataset(dataset, ("age", "pressure"), seed=3)
    assert len(sketch) == MAX_POINTS
    assert sketch.full
    assert sketch.add(1, 1, "ill") is sketch
    assert np.array_equal(sketch.x, Sketch.from_dataset(dataset, ("age", "pressure"), seed=3).x)
    assert not np.array_equal(sketch.x, Sketch.from_dataset(dataset, ("age", "pressure"), seed=4).x)


def test_a_sketch_of_a_large_table_keeps_a_rare_class():
    u, v = np.random.default_rng(0).normal(size=(2, 3 * MAX_POINTS))
    frame = pd.DataFrame({"u": u, "v": v, "class": "often"})
    frame.loc[5, "class"] = "rare"
    dataset = alrviz.read_table(frame, target="class")
    for seed in range(6):
        sketch = Sketch.from_dataset(dataset, ("u", "v"), seed)
        assert len(sketch) == len(set(sketch.x[:, 0])) == MAX_POINTS
        assert sketch.classes_with_points == ("often", "rare")


@pytest.mark.parametrize("name", ["iris", "three-classes"])
def test_tables_of_three_classes_get_no_more(name):
    dataset = alrviz.load_demo(name)
    assert Sketch.from_dataset(dataset, tuple(dataset.X.columns[:2])).classes == tuple(map(str, dataset.classes))
