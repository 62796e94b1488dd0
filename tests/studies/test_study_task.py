"""What every study asks of what it is given."""

import pytest

import alrviz
from alrviz.errors import TableError
from alrviz.fitting.recipe import Recipe

LR = [Recipe("lr", order=1, alpha=0.3)]


@pytest.mark.parametrize(
    "study",
    [
        alrviz.choose_order,
        lambda table: alrviz.bias_variance(table, LR),
        lambda table: alrviz.learning_curve(table, [Recipe("anje", order=1)]),
        lambda table: alrviz.alpha_path(table, LR),
        lambda table: alrviz.compare(table, LR),
        lambda table: alrviz.compare([alrviz.load_demo("iris"), table], LR),
        lambda table: alrviz.race(table, LR),
    ],
)
@pytest.mark.parametrize("given", ["DataFrame", "ndarray", "str"])
def test_wrong_type_of_dataset_raises_with_advice(study, given):
    iris = alrviz.load_demo("iris")
    table = {"DataFrame": iris.X, "ndarray": iris.X.to_numpy(), "str": "iris"}[given]
    with pytest.raises(TableError, match=rf"a {given} is no data set; expected what read_table\(.*load_demo\(name\)"):
        study(table)
