"""Claims that a number decides: the lines of a table, and the measurements on small tables."""

import numpy as np
import pandas as pd
import pytest

from alrviz import load_demo
from reproduction import identities, limit_studies, limits
from reproduction.items import ITEMS
from reproduction.tables import overlap


def row(value, limit, is_floor=False):
    return {"set": "mine", "method": "m", "quantity": "q", "ours": value, "limit": limit, "above": is_floor}


def test_a_line_agrees_on_its_side_of_the_limit():
    table = limits.limit_lines("c0", pd.DataFrame([row(1, 2), row(3, 2), row(3, 2, True), row(1, 2, True)]), "why not")
    assert table["verdict"].tolist() == ["agrees", "differs", "agrees", "differs"]
    assert table["paper"].tolist() == ["<= 2", "<= 2", "> 2", "> 2"]
    assert table["reason"].tolist() == ["", "why not", "", "why not"]
    assert limits.limit_seen(table[:2]) == "q: 1 of 2 within <= 2, mean 2, worst 3"
    assert limits.limit_seen(table[:0]) == "no figures"
    two = limits.limit_lines("c0", pd.DataFrame([row(1, 2), row(3, 4)]))
    assert limits.limit_seen(two) == "q: 1 of 1 within <= 2, mean 1, worst 1; q: 1 of 1 within <= 4, mean 3, worst 3"
    points = limits.limit_points(table)
    assert points["paper"].tolist() == [2.0] * 4
    assert not points["log"].any()


def test_a_figure_that_is_not_known_is_no_data():
    table = limits.limit_lines("c0", pd.DataFrame([row(1, 2), row(np.nan, 2), row(np.nan, 2, True)]), "why not")
    assert table["verdict"].tolist() == ["agrees", "not run", "not run"]
    assert table["reason"].tolist() == ["", "not computed yet", "not computed yet"]
    assert limits.limit_seen(table) == "q: 1 of 1 within <= 2, mean 1, worst 1"
    assert limits.limit_seen(table[1:]) == "no figures"


def test_figures_of_zero_have_a_place_on_a_logarithmic_axis():
    points = limits.limit_points(limits.limit_lines("c0", pd.DataFrame([row(0.0, 1e-12)])))
    assert (points["ours"][0], bool(points["log"][0])) == (1e-17, True)


def test_the_same_model_by_other_names():
    for figure in (
        *identities.same_tables(load_demo("monks-1")),
        *identities.no_step(load_demo("mixed-types", 200), 2),
    ):
        assert figure["ours"] <= figure["limit"] == 1e-12, figure


def test_a_polynomial_kernel_reaches_the_crosses_and_a_linear_one_does_not(monkeypatch):
    rows = identities.polynomial(load_demo("monks-1"))
    assert [figure["method"] for figure in rows] == ["order 2", "order 1", "order 0"]
    assert all(figure["ours"] <= figure["limit"] for figure in rows)
    whole = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda gram: whole(np.sqrt(gram) - 1.0))
    assert identities.polynomial(load_demo("monks-1"))[0]["ours"] > 0.1


@pytest.mark.parametrize(("dataset", "order", "alpha"), [(load_demo("led", 200), 1, 1e-3), (overlap().build(), 2, 0.0)])
def test_families_end_at_one_optimum(dataset, order, alpha):
    """Without a penalty too, where the lowest F is reached: every distinct row occurs with every class."""
    rows = identities.one_optimum(dataset, order, alpha)
    assert {figure["set"] for figure in rows} == {f"{dataset.name}, n={order}" + ("" if alpha else ", alpha 0")}
    assert {figure["method"] for figure in rows} >= {"lr", "alr from one", "alrj"}
    assert min(figure["ours"] for figure in rows) == 0.0
    assert max(figure["ours"] for figure in rows) <= 1e-8


@pytest.mark.parametrize(("name", "free"), [("two-moons", 600), ("breast-cancer", 0)])
def test_dlr_with_weights_of_one_is_naive_bayes_by_hand_where_no_phi_is_held(name, free):
    (figure,) = limit_studies.density_bayes(name)
    assert figure["ours"] <= figure["limit"]
    n_rows = int(figure["method"].split("on ")[1].split()[0])
    assert n_rows == free if free else 0 < n_rows < 569, "rows whose phi is held were left out"


def test_dlr_beats_a_line_where_no_line_helps():
    rows = limit_studies.beats_lr("four-gaussians", 0)
    assert all(figure["ours"] > 30 and figure["above"] for figure in rows)


def test_elr_ends_where_lr_does():
    (figure,) = limit_studies.elr_optimum(load_demo("monks-1"))
    assert figure["ours"] <= figure["limit"]


def test_a_hidden_pair_is_missed_from_below_and_found_by_its_gain():
    missed, present, worth = limit_studies.twelve_bits(0)
    assert (missed["method"], missed["ours"]) == ("hsalr2 mi", 0.0)
    assert (present["method"], present["ours"]) == ("salr2 gain", 1.0)
    assert worth["ours"] > 5.0
    lines = limits.limit_lines("salr-4", pd.DataFrame([missed | {"ours": 1.0}, present | {"ours": 0.0}]))
    assert lines["verdict"].tolist() == ["differs", "differs"]


def test_every_claim_of_a_kind_says_what_it_is_about():
    for kind in limit_studies.LIMIT_STUDIES:
        labels = [words for words, _, _ in limit_studies._limit_steps(kind, quick=True)]
        assert labels, kind
        assert len(set(labels)) == len(labels), kind


@pytest.mark.parametrize("mode", ["paper", "loo"])
def test_steps_until_bandwidths_stay(mode):
    (figure,) = limit_studies.settles(mode, "three-classes", 0)
    assert 2 <= figure["ours"] <= figure["limit"] == 4.0


def test_printed_descent_settles_soon_after_the_start():
    (figure,) = limit_studies.descends("three-classes", 5)
    assert 1 <= figure["ours"] <= figure["limit"] == 4.0
    (far,) = limit_studies.descends("three-classes", 2)
    assert far["ours"] > far["limit"]


@pytest.mark.parametrize(("n_kept", "verdict"), [(10, "agrees"), (0, "differs"), (7, "compatible"), (3, "undecided")])
def test_of_random_tables_most_must_keep_to_a_limit(n_kept, verdict):
    rows = [limits.limit_row(f"draw {k}", "dlr paper", "steps", 3.0 if k < n_kept else 30.0, 4.0) for k in range(10)]
    (line,) = ITEMS["c15"].table(pd.DataFrame(rows)).to_dict("records")
    assert (line["verdict"], line["sets"]) == (verdict, 10)
    assert line["ours"].startswith(f"{n_kept} of 10 draws, median ")
    assert f"{n_kept} of 10 draws" in ITEMS["c15"].summarize(pd.DataFrame([line]))
