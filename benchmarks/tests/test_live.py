"""The benchmark of the page: how its notes become figures, and what it says where there is no browser."""

from contextlib import contextmanager

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import live
from benchmarks._server import Notes
from benchmarks._sets import made_dataset


def test_without_a_browser_it_says_what_is_missing(capsys, monkeypatch):
    @contextmanager
    def no_browser():
        yield None

    monkeypatch.setattr(live, "browser", no_browser)
    assert bench.main(["live"]) == 0
    assert "Playwright or Chromium is missing" in capsys.readouterr().out


def test_a_delay_is_from_a_step_to_its_own_point():
    notes = Notes(steps=[("lr", 1, 100.0), ("alr", 1, 100.1), ("lr", 2, 100.5)])
    drawn_points = [["lr", 1, 100_050.0], ["alr", 1, 100_300.0], ["lr", 2, 100_600.0], ["alr", 9, 101_000.0]]
    assert live.delays_of(notes, drawn_points) == pytest.approx([0.05, 0.2, 0.1])


def test_steps_a_second_are_those_of_each_racer():
    notes = Notes(steps=[("lr", k, 0.1 * k) for k in range(11)] + [("alr", k, 0.1 * k) for k in range(11)])
    assert live.rate_of(notes) == pytest.approx(10.5)
    assert live.rate_of(Notes()) == 0.0


def test_a_figure_is_the_median_of_what_was_seen(capsys):
    findings = live.Findings()
    findings.add("stop", [0.1, np.nan, 0.3, 0.2], 0.25)
    findings.show()
    assert findings.rows[0]["median"] == 0.2
    assert findings.rows[0]["repeats"] == 3
    assert "250 ms: yes" in capsys.readouterr().out


def test_made_rows_are_a_table_too():
    dataset = made_dataset(50, 3, 4, 2)
    assert (dataset.n_rows, dataset.X.shape[1], dataset.n_classes) == (50, 3, 2)
