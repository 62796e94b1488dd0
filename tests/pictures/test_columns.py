"""A column's picture: names from data are drawn as they are."""

import numpy as np
from bokeh.document import Document
from bokeh.models import ColumnDataSource, PlainText

from alrviz.pictures.columns import ColumnPicture, bars, column_figure, cut_lines, frame_axis


def test_names_from_data_are_text_and_not_tex():
    hostile = r"$$\frac{1}{2}$$"
    picture = ColumnPicture(hostile, np.array([[3, 1]]), np.array([0.0, 1.0]), (hostile,), True, np.empty(0), hostile)
    tables = bars(picture, ["a", "b"]), cut_lines(picture)
    plot = column_figure(*(ColumnDataSource(table.to_dict("list")) for table in tables))
    frame_axis(plot, picture)
    label, formatter = plot.xaxis[0].axis_label, plot.xaxis[0].formatter
    assert (type(label), label.text) == (PlainText, hostile)
    assert formatter.args == {"words": [hostile[:13] + "…"]}  # what a formatter returns is drawn as it is
    assert plot.xaxis[0].ticker.ticks == [0.5]
    Document().add_root(plot)
    assert Document.from_json(plot.document.to_json()).roots[0].xaxis[0].axis_label.text == hostile
