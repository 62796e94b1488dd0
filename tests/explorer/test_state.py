"""Links: whatever stands in the address bar, reading it does not raise, and what we write comes back."""

import math
from urllib.parse import quote

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.recipe_url import read_recipes, write_recipes
from alrviz.explorer.server.tables import FileLink, safe_name
from alrviz.explorer.session.link_errors import check_link, link_message
from alrviz.explorer.session.state import MAX_SETS, State, read_link, write_link
from alrviz.fitting.families import ENCODING, FAMILIES, RUNS
from alrviz.fitting.recipe import Recipe

KEYS = ("page", "data", "rows", "file", "kinds", "q", "axis", "seed", "racers", "kept", "run", "other")
MAPS = ("axes", "model", "peer", "others", "at", "fit")
PAGES = ("tab", "of", "folds", "sizes", "theta", "measure", "alpha", "path", "sets", "files")
SLUGS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True)
IDS = st.from_regex(r"[0-9a-f]{32}", fullmatch=True)


@st.composite
def recipes(draw, families=tuple(RUNS)):
    family = draw(st.sampled_from(families))
    params = {}
    for name, param in FAMILIES[family].params.items():
        if name == "class_weight" or not draw(st.booleans()):
            continue
        if param.choices:
            params[name] = draw(st.sampled_from(list(param.choices)))
        elif name == "order":
            params[name] = draw(st.integers(1, 5))
        elif param.integer:
            params[name] = draw(st.integers(1, min(100, int(param.high))))
        else:
            params[name] = draw(st.sampled_from((0.0, 0.1, 1e-6, 0.1 + 0.2, 1.0)))
    try:
        return Recipe(family, seed=0, holdout=draw(st.sampled_from((0.0, 0.25, 1 / 3))), **params)
    except RecipeError:  # values that exclude each other
        reject()


def test_link_without_a_setting_means_its_default_in_links():
    assert read_recipes("lr~alr_o3~hlr~hsalr~dlr~kdb") == (
        Recipe("lr", alpha=0.3), Recipe("alr", order=3, alpha=1.0), Recipe("hlr", alpha=0.3),
        Recipe("hsalr", alpha=1.0, keep=0.6), Recipe("dlr", alpha=10.0), Recipe("kdb", selective=False),
    )  # fmt: skip
    defaults = Recipe("lr"), Recipe("halr"), Recipe("dlr"), Recipe("kdb")
    assert write_recipes(defaults) == "lr_aauto~halr_aauto~dlr_a1~kdb_STrue"
    assert read_recipes(write_recipes(defaults)) == defaults


NAMES = st.from_regex(r"[a-z][a-z0-9 _.()-]{0,20}[a-z]", fullmatch=True)
HASHES = st.from_regex(r"[0-9a-f]{16}", fullmatch=True)
files = st.builds(FileLink, NAMES, st.integers(0, 10**9), st.integers(1, 9999), HASHES)
kinds = st.dictionaries(
    st.integers(0, 9999),
    st.sampled_from(("categorical", "ignore", "target", "quartiles", "weight", "group", "time")),
    max_size=5,
)
states = st.builds(
    State,
    page=SLUGS,
    data=SLUGS,
    rows=st.none() | st.integers(1, 10**6),
    kinds=kinds.map(lambda found: tuple(sorted(found.items()))),
    question=st.just("") | SLUGS,
    axis=st.just("") | SLUGS,
    recipes=st.lists(recipes(), max_size=6).map(tuple),
    tab=st.just("") | SLUGS,
    axes=st.just(()) | st.tuples(st.integers(0, 99_999), st.integers(0, 99_999)),
    model=st.lists(recipes(), max_size=1).map(tuple),
    peer=st.just("") | SLUGS,
    others=st.just("") | SLUGS,
    row=st.none() | st.integers(0, 10**9),
    study_recipes=st.lists(recipes(tuple(FAMILIES)), max_size=6).map(tuple),
    folds=st.just("") | SLUGS,
    sizes=st.just("") | SLUGS,
    theta=st.just("") | SLUGS,
    measure=st.sampled_from(["", "rmse", "log_loss"]),
    alpha=st.none() | st.floats(1e-9, 1e9),
    path=st.integers(0, 5),
    sets=st.lists(st.sampled_from(["led", "monks-1", "tic-tac-toe"]), unique=True).map(tuple),
    files=st.lists(files, max_size=3, unique_by=lambda link: link.hash).map(tuple),
    fit=st.just("") | IDS,
    stored_race=st.just("") | IDS,
    run=st.just("") | IDS,
)


@given(states)
def test_a_state_comes_back_from_its_link(state):
    assert read_link(write_link(state)) == state


@given(states, files)
def test_a_state_with_a_file_comes_back(state, file):
    asked = state.replace(data="", rows=None, file=file)
    assert read_link(write_link(asked)) == asked


@given(st.text(max_size=300))
def test_any_text_is_read_as_some_state(text):
    for query in (text, "?" + text, *(f"?{key}={quote(text)}" for key in (*KEYS, *MAPS, *PAGES))):
        state = read_link(query)
        assert 0 <= state.seed < 2**32
        assert state.rows is None or 1 <= state.rows <= 10**6
        assert len(state.recipes) <= 6
        assert len(state.study_recipes) <= 6
        write_link(state)


@given(st.lists(st.tuples(st.sampled_from("oapcskvmxuwitydbhz"), st.text(max_size=12)), max_size=8))
def test_any_racer_is_read_or_left_out(fields):
    text = "~".join("_".join([family, *(letter + value for letter, value in fields)]) for family in ("alr", "lr", "?"))
    for recipe in read_recipes(text):
        assert recipe.params["order"] <= 5


def test_numbers_are_moved_into_their_range():
    state = read_link("?rows=1e99&seed=-5&racers=alr_o99_a-3_i1e300_h7")
    (recipe,) = state.recipes
    assert (state.rows, state.seed) == (10**6, 0)
    assert (recipe.params["order"], recipe.params["alpha"], recipe.params["max_iter"]) == (5, 0.0, 100_000)
    assert recipe.holdout == 0.95


def test_words_that_are_none_take_the_default():
    (recipe,) = read_recipes("lr_sone_csideways_vlbfgs")
    assert (recipe.params["start"], recipe.params["center"], recipe.params["solver"]) == ("zero", 0, "lbfgs")


def test_an_alpha_for_each_order_is_in_the_link():
    recipes = [Recipe("hlr", alpha=alpha, order=len(alpha)) for alpha in ((0.1, 3.0), (1e-05, 20.0, math.inf))]
    assert read_recipes(write_recipes(tuple(recipes))) == tuple(recipes)
    assert read_recipes("hlr_o3_a1-2~hlr_ainf-inf~lr_a1-2") == (Recipe("lr", alpha=0.3),)


def test_racers_share_the_links_seed():
    assert [recipe.seed for recipe in read_link("?seed=7&racers=lr~alr").recipes] == [7, 7]


def test_a_study_s_recipes_are_of_any_family_six_at_most_and_their_seed_is_the_study_s():
    link = "?seed=7&of=rf_T9e9~svm_C1e300~tan~kdb_K99~lr_acv_o99~ande_n1~nb~elr"
    read = read_link(link).study_recipes
    assert [recipe.family for recipe in read] == ["rf", "svm", "tan", "kdb", "lr", "ande"]
    assert (read[0].params["n_estimators"], read[1].params["C"], read[3].params["k"]) == (1000, 1e6, 8)
    assert (read[4].params["order"], read[4].params["alpha"], read[4].seed) == (5, "cv", 0)
    assert read_link(link).model == ()


def test_a_link_of_many_tables_comes_back_whole():
    files = tuple(FileLink("表" * 76 + ".csv", 10**6, 1000, f"{k:016x}") for k in range(MAX_SETS))
    state = State(page="compare", files=files, measure="rmse")
    assert read_link(write_link(state)) == state


def test_the_first_screen_has_the_empty_link():
    assert write_link(State()) == ""


@pytest.mark.parametrize(
    ("query", "attribute"),
    [
        ("?page=../../etc/passwd", "page"),
        ("?data=http://evil", "data"),
        ("?q=%3Cscript%3E", "question"),
        ("?run=42", "run"),
    ],
)
def test_what_is_no_plain_word_is_left_out(query, attribute):
    assert getattr(read_link(query), attribute) == getattr(State(), attribute)


def test_a_link_is_short_and_has_nothing_to_escape():
    racers = (Recipe("alr", order=2, alpha=0), Recipe("lr", order=2, alpha=0, scale="diagonal"))
    link = write_link(State(recipes=racers))
    assert link == "?racers=alr_a0~lr_kdiagonal_a0"
    assert read_link("?racers=alr_a0~lr_a0_kdiagonal").recipes == racers
    assert read_recipes(write_recipes(racers)) == racers


def test_the_keys_of_settings_stay_as_they_were_written():
    """Links that were shared before must open the same recipes: a key is never given to another setting."""
    keys = {
        "o": "order", "a": "alpha", "p": "penalty", "c": "center", "s": "start", "k": "scale", "v": "solver",
        "m": "smoothing", "x": "missing", "u": "unseen", "w": "class_weight", "i": "max_iter", "t": "tol",
        "y": "memory", "d": "discretize", "b": "n_bins", "h": "holdout", "f": "share", "j": "objective", "e": "bounds",
        "q": "bandwidth", "r": "validation_fraction", "z": "structure", "g": "cross_tuning", "M": "sum_missing",
        "n": "n", "K": "k", "S": "selective", "T": "n_estimators", "L": "learning_rate", "C": "C", "F": "kernel",
        "B": "selection", "G": "grow", "P": "keep", "U": "unit",
    }  # fmt: skip
    every = (ENCODING, *(family.params for family in FAMILIES.values()))
    written = {param.key: name for params in every for name, param in params.items() if name != "seed"}
    assert {key: written.get(key) for key in keys} == keys
    bounded = Recipe("alr", alpha=0.0, bounds=(0, 1), objective="mse")
    for text in ("alr_a0_jmse_e0-1", write_recipes((bounded,))):
        assert read_recipes(text) == (bounded,)


@given(recipes(tuple(FAMILIES)))
def test_a_recipe_of_any_family_goes_into_text_and_back_and_a_link_races_those_that_run(recipe):
    text = write_recipes((recipe,))
    assert read_recipes(text) == (recipe,)
    assert read_recipes(text, 0, RUNS) == ((recipe,) if recipe.family in RUNS else ())
    assert read_link(f"?racers={text}").recipes == ((recipe,) if recipe.family in RUNS else ())


def test_weights_by_class_stay_out_of_a_link():
    assert write_recipes((Recipe("lr", class_weight={"a": 2.0}, alpha=0.3),)) == "lr"


def test_a_name_has_no_folders_and_no_marks():
    assert safe_name("C:\\secret\\plan.csv") == "plan.csv"
    assert safe_name("../../etc/passwd") == "passwd"
    assert safe_name("a~b<script>.csv") == "a_b_script_.csv"
    assert safe_name("...") == "table"


def test_a_very_long_link_is_read_in_part():
    assert read_link("?seed=3&racers=" + "alr~" * 100_000).seed == 3
    assert read_link("&".join(f"k{i}=1" for i in range(1000))) == State()


def test_what_of_a_link_is_none_of_the_choices_is_said_with_the_nearest_and_left_out():
    choices = {"page": ("convergence", "boundaries"), "data": ("iris", "led"), "sets": ("iris", "xor")}
    choices |= {"peer": ("tan", "random-forest"), "measure": ("gap", "nll")}

    def said(query):
        state, troubles = check_link(query, read_link(query), choices)
        return state, link_message(troubles)

    assert said("?page=boundaries&data=iris&peer=tan&seed=3&axes=0-1&racers=lr_o2~alr") == (
        read_link("?page=boundaries&data=iris&peer=tan&seed=3&axes=0-1&racers=lr_o2~alr"),
        "",
    )
    for query, wrong, nearest, attribute in (
        ("?data=irs", "'irs'", "iris", "data"),
        ("?data=../etc", "'../etc'", "iris", "data"),
        ("?page=boundarys", "'boundarys'", "boundaries", "page"),
        ("?peer=randomforest", "'randomforest'", "random-forest", "peer"),
        ("?peer=zzz", "'zzz'", "random-forest, tan", "peer"),
        ("?measure=gapp", "'gapp'", "gap", "measure"),
        ("?sets=iris_xxor", "'xxor'", "xor", "page"),
        ("?racers=lrr_o2~alr", "'lrr'", "lr", "page"),
        ("?peeer=tan", "'peeer'", "peer", "peer"),
        ("?rows=many", "rows=many", "", "rows"),
        ("?axes=a-b", "axes=a-b", "", "axes"),
        ("?seed=-4", "seed=-4", "; 0 is", "page"),
        ("?run=xyz", "run=xyz", "", "run"),
        ("?only=0v1:2_3", "part of only", "", "page"),
        ("?kinds=0n_1", "part of kinds", "", "page"),
    ):
        state, words = said(query)
        assert wrong in words, query
        assert nearest in words, query
        assert getattr(state, attribute) == getattr(State(), attribute), query
    assert said("?utm_source=mail") == (State(), "")
    choices["measure"] = ()
    assert "its page has no measure 'rmse'" in said("?measure=rmse")[1]
    assert len(said("?" + "&".join(f"data{k}={k}" for k in range(500)))[1]) < 200
