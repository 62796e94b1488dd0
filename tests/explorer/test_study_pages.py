"""What every page of a study keeps to, whichever study it is of: run for each of them, tabs included."""

import contextlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from alrviz.explorer.pages.bias.page import BiasPage
from alrviz.explorer.pages.compare.page import ComparePage
from alrviz.explorer.pages.interactions.page import InteractionsPage
from alrviz.explorer.pages.order.page import OrderPage
from alrviz.explorer.pages.path.page import PathPage
from alrviz.explorer.pages.selection.page import SelectionPage
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.link import view_text
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import PROPERTIES
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.widgets import run_history
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from alrviz.studies.protocols.compare import table
from tests.explorer.fakes import Clock
from tests.explorer.pages import OWNER, opened, session_of, until
from tests.views.studied import slowed

pytestmark = pytest.mark.usefixtures("home")


@dataclass(frozen=True)
class Case:
    """A page, and how the contract is tried on it.

    link: of a small study. other: a menu and a value that make another study of it. shown: parameters of the view, not
    the first ones. noun: what the history calls it. shows: whether what a script printed, and the study it made, are
    those of the page.
    """

    page: Any
    link: str
    other: tuple[str, Any]
    shown: Mapping[str, Any]
    noun: str
    shows: Callable[[str, Any, Any], bool]
    old: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def summary_shown(said: str, mine: Any, made: Any) -> bool:
    return mine.summary().to_string() in said


def losses_shown(said: str, mine: Any, made: Any) -> bool:
    frame = mine.frame()
    other = frame.label.map(lambda label: "boosting" if label == "hgb" else "AutoClassifier")
    names = frame.order.map("{:.0f}".format).where(frame.order.notna(), other)
    fits = zip(names, frame.repeat, frame.fold, frame.log_loss, strict=True)
    lines = [f"{name} {repeat} {fold} {loss:.6f}" for name, repeat, fold, loss in fits]
    return len(lines) > 4 and set(lines) <= set(said.splitlines()) and str(mine.verdict()) in said


def kept_shown(said: str, mine: Any, made: Any) -> bool:
    fits = mine.frame()[["racer", "repeat", "fold", "log_loss"]].itertuples(index=False)
    lines = {f"{racer} {repeat} {fold} {loss:.6f}" for racer, repeat, fold, loss in fits}
    return len(lines) > 4 and lines <= set(said.splitlines()) and str(mine.verdict()) in said


def effects_shown(said: str, mine: Any, made: Any) -> bool:
    return str(mine.interactions.verdict()) in said and mine.importance().index[0] in said


def path_shown(said: str, mine: Any, made: Any) -> bool:
    lines = [line.split() for line in said.splitlines() if line.startswith("0 ")]
    frame = mine.frame().query("racer == 0")
    return [(float(a), x) for _, a, x, *_ in lines] == [
        (a, f"{x:.6f}") for a, x in zip(frame.alpha, frame.log_loss, strict=True)
    ]


def table_shown(said: str, mine: Any, made: Any) -> bool:
    np.testing.assert_array_equal(table(mine, "log_loss"), table(made, "log_loss"))
    return str(table(mine, "log_loss")) in said


NB, SGD = Recipe("anje", order=1), Recipe("lr", order=1, alpha=0.0, solver="sgd")
CASES = {
    "order": Case(
        OrderPage, "?page=order&data=monks-1&of=anje&folds=5&refs=none", ("folds", "10"), {}, "which order on monks-1",
        losses_shown,
        {
            "?page=order&of=alr_a0.1_canje&folds=10": {
                "recipes": (Recipe("alr", alpha=0.1, center="anje"),), "folds": "10",
            },
            "?page=order&of=tan~alr_a1~lr&folds=77": {"recipes": (Recipe("alr", alpha=1.0),), "folds": "2x5"},
        },
    ),
    "path": Case(
        PathPage, "?page=path&data=monks-1&of=alr_o1_a1_canje", ("order", 2),
        {"measure": "rmse", "alpha": 31.6}, "path on monks-1", path_shown,
        {
            "?page=path&of=lr_o1~alr_o1_c1&measure=rmse&alpha=31.6&path=1": {
                "recipes": (Recipe("lr", order=1, alpha=1.0), Recipe("alr", order=1, center=1, alpha=1.0)),
                "measure": "rmse", "alpha": 31.6, "path": 1,
            },
            "?page=path&alpha=-3&measure=brier": {"measure": "log_loss", "alpha": None},
        },
    ),
    "grid": Case(
        BiasPage, "?page=bias&data=monks-1&of=anje_o1~anje&folds=3x2&seed=3", ("sizes", "50-100"),
        {"definition": "Domingos"}, "bias and variance on monks-1", summary_shown,
        {
            "?page=bias&of=anje_o1~lr_acv&folds=30x2&sizes=5-10-25-50-100&view=definition.Domingos": {
                "recipes": (NB, Recipe("lr", alpha="cv")), "folds": "30x2", "shares": (0.05, 0.1, 0.25, 0.5, 1.0),
                "definition": "Domingos",
            },
        },
    ),
    "curve": Case(
        BiasPage, "?page=bias&data=monks-1&tab=learning-curve&of=anje_o1~lr_o1_a0_vsgd&folds=3-100", ("window", 300),
        {"span": "first"}, "learning curve on monks-1", summary_shown,
        {
            "?page=bias&tab=learning-curve&of=lr_o1_a0_vsgd~anje_o1&folds=20-300&theta=two-pass&view=span.first": {
                "recipes": (SGD, NB), "repeats": 20, "window": 300, "theta": "two-pass", "span": "first",
            },
            "?page=bias&tab=learning-curve&measure=rmse": {"measure": "rmse"},
            "?page=bias&tab=learning-curve&view=measure.rmse": {"measure": "rmse"},
        },
    ),
    "selection": Case(
        SelectionPage, "?page=selection&data=monks-1&of=hsalr_o1", ("order", 3), {"keep": 35},
        "how many tuples on monks-1", kept_shown,
        {
            "?page=selection&of=salr_o3_k0.4~lr&folds=10&keep=20": {
                "recipes": (Recipe("salr", order=3, alpha=1.0),), "folds": "10", "keep": 20,
            },
            "?page=selection&of=lr&keep=700": {"recipes": (Recipe("hsalr", alpha=1.0),), "keep": 100},
        },
    ),
    "interactions": Case(
        InteractionsPage, "?page=interactions&data=monks-1&of=anje", ("refits", "10"),
        {"quantity": "rows", "row": 3, "muted": [0, 2], "labels": "dots"},
        "interactions on monks-1", effects_shown,
        {
            "?page=interactions&of=lr_o2_a1&refits=10&view=subset.3~row.7": {
                "recipes": (Recipe("lr", order=2, alpha=1.0),), "refits": "10", "subset": 3, "row": 7,
            },
            "?page=interactions&of=tan~salr&refits=7": {
                "recipes": (Recipe("salr", alpha=1.0, keep=0.6),), "refits": "30",
            },
        },
    ),
    "compare": Case(
        ComparePage, "?page=compare&sets=monks-1_xor&of=anje_o1~tan&folds=5", ("folds", "2x5"),
        {"measure": "brier"}, "comparison on monks-1, xor", table_shown,
        {
            "?page=compare&of=anje_o1~tan~hgb&folds=10x10&sets=iris_wine&measure=brier&view=across.1~up.0": {
                "recipes": (NB, Recipe("tan", smoothing=1.0), Recipe("hgb")), "folds": "10x10",
                "measure": "brier", "across": 1,
            },
        },
    ),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=["order", "interactions", "compare"])
def varied(request):
    """A page of the common code, and the two that change how a request for an estimate is handled.

    The others say and recommend other things; how a study is requested, marked, found again and stored they inherit.
    """
    return CASES[request.param]


@pytest.fixture(params=[name for name, case in CASES.items() if case.shown])
def pictured(request):
    return CASES[request.param]


@pytest.fixture(params=["order", "curve"])
def running(request):
    """A page of one study and a tab of a page: while a study computes, all these pages are the same code."""
    case = CASES[request.param]
    return replace(case, link=case.link + "&refs=none") if request.param == "order" else case


@pytest.fixture
def fake(monkeypatch):
    """Studies that finish at once: every task fails, which page, store and history treat as any other result."""
    monkeypatch.setattr(workers, "compute", lambda task, *rest: failure("fake"))


@pytest.fixture
def visit():
    """A function that opens a link, and returns what of the page is of the study; `priced`: once that is done."""
    pages = []

    def make(case, link=None, *, priced=True, **who):
        page = opened(case.page, case.link if link is None else link, **who)
        pages.append(page)
        part = getattr(page, "tab", page)
        if priced:
            wait(part, lambda: part.runner.costs is not None)
        return part

    yield make
    for page in pages:
        for part in getattr(page, "_built", {"": page}).values():
            if getattr(part, "study_view", None) is not None and part.study_view.study is not None:
                part.study_view.press_stop()
        page.close()


def wait(part, condition):
    until(part, condition, said=lambda part: part.study_view.sentence.object)


def finish(part):
    part.study_view.press_run()
    wait(part, lambda: part.study_view.study.phase == "done")
    part.pump()


def run(part):
    finish(part)
    assert part.study_view.study.progress.failed == 0


def choose(part, name, value):
    """Choose from a menu, and wait until it is priced."""
    part.menus[name].value = value
    wait(part, lambda: part.session.table.loading is None and part.runner.costs is not None)


def at(part, name):
    """A setting, or what is shown of the picture."""
    return getattr(part.spec, name) if hasattr(part.spec, name) else getattr(part.study_view, name)


def test_it_is_priced_before_anything_runs(case, visit):
    part = visit(case)
    assert "at least" in part.layout.time.object
    assert "parameters" in part.layout.cost_table.object
    assert all(one.cost.bytes > 0 and one.cost.seconds > 0 for one in part.runner.costs.fits)
    assert "Press Run: " in part.study_view.sentence.object
    assert not part.study_view.bar.run.disabled
    assert part.study_view.study.progress.n_done == 0
    assert part.session.runs.studies == {}
    assert part.session.registry.entries(OWNER) == []
    assert run_history.noun_and_icon(part.study_view.study.kind) == (part.spec.noun, part.spec.icon)


def test_what_cannot_be_paid_for_is_left_out_with_the_reason(case, visit, monkeypatch):
    monkeypatch.setattr("alrviz.studies.core.workers.fair_memory", lambda: 1000)
    part = visit(case)
    assert all(one.refusal for one in part.runner.costs.fits)
    assert "left out" in part.layout.cost_table.object or "refused" in part.layout.cost_table.object
    assert "Nothing to run" in part.study_view.sentence.object
    assert "memory" in part.study_view.sentence.object, "the reason"
    assert part.study_view.bar.run.disabled
    assert part.runner.start() is None


@pytest.mark.usefixtures("fake")
def test_what_a_lesson_asks_is_not_shown_before_it_is_answered(visit):
    """Somebody who has run the study of the step before, or in another sitting, is asked all the same."""
    case = CASES["order"]
    part = visit(case)
    finish(part)
    again = visit(case, registry=part.session.registry, priced=False)
    again.session.runs.asking = True
    wait(again, lambda: again.runner.costs is not None)
    assert again.study_view.study is None
    assert "when the question is answered" in again.study_view.sentence.object
    assert again.result() is None
    again.session.runs.asking = False
    assert again.study_view.study.phase == "done"
    assert again.result() is not None


def test_every_setting_is_in_the_link_and_comes_back(case, visit):
    part = visit(case, priced=False)
    for name in part.spec.menus:
        menu, links = part.menus[name], {part.session.link.query}
        for value in list(menu.options.values()):
            if value not in menu.options.values():  # recipes that were none of the menu's
                continue
            menu.value = value
            links.add(part.session.link.query)
            page = case.page(session_of(part.session.link.query))
            again = page if hasattr(page, "spec") else type(part)(page.session, page)  # or the tab of the page
            assert again.spec == part.spec, f"{name} {value}"
            assert page.session.link.query == part.session.link.query, f"{name} {value}"
        assert len(links) > 1 or not menu.visible, f"{name} has no effect"
    again = visit(case, part.session.link.query, priced=False)
    assert again.spec == part.spec
    assert again.session.link.query == part.session.link.query
    for name in part.spec.menus:
        assert not part.menus[name].visible or again.menus[name].value == part.menus[name].value


def test_what_is_shown_of_the_picture_is_in_the_link_and_comes_back(pictured, visit):
    part = visit(pictured)
    part.study_view.param.update(**pictured.shown)
    wait(part, lambda: all(view_text(value) in part.session.link.query for value in pictured.shown.values()))
    again = visit(pictured, part.session.link.query)
    assert {name: getattr(again.study_view, name) for name in pictured.shown} == pictured.shown
    assert again.session.link.query == part.session.link.query


def test_the_first_settings_are_the_shortest_link(case, visit):
    short = case.link.split("&of=")[0].split("&sets=")[0]
    part = visit(case, short, priced=False)
    assert part.session.link.query.replace("&data=monks-1", "") == short.replace("&data=monks-1", "")
    part.change(replace(part.spec, recipes=(Recipe("anje", order=1),)))
    assert "&of=anje_o1" in part.session.link.query
    part.change(type(part.spec)())
    assert part.session.link.query.replace("&data=monks-1", "") == short.replace("&data=monks-1", "")


@pytest.mark.parametrize(("name", "link"), [(name, link) for name, of in CASES.items() for link in of.old])
def test_links_of_earlier_versions_open_what_they_did(name, link, visit):
    part = visit(CASES[name], link, priced=False)
    assert {what: at(part, what) for what in CASES[name].old[link]} == CASES[name].old[link]
    part.write()
    assert {key.split("=")[0] for key in part.session.link.query[1:].split("&")} <= PROPERTIES.keys()


def test_the_script_prints_the_screens_numbers(case, visit):
    part = visit(case, case.link.replace("data=monks-1", "data=xor&rows=200"))
    run(part)
    code = part.script().replace(f"seed={part.session.seed},\n)", f"seed={part.session.seed}, n_jobs=1,\n)")
    assert "n_jobs=1,\n)" in code
    made: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "script", "exec"), made)
    assert made["study"].spec == part.study_view.study.spec
    assert made["study"].data_hash == part.study_view.study.data_hash
    assert case.shows(said.getvalue(), part.study_view.study, made["study"])


@pytest.mark.usefixtures("fake")
def test_other_settings_mark_what_is_shown_until_they_are_priced_and_come_back_finished(varied, visit):
    part = visit(varied)
    finish(part)
    name, value = varied.other
    spec, before = part.spec, part.menus[name].value
    part.menus[name].value = value
    assert part.study_view.outdated
    assert part.study_view.ready_soon
    assert not part.layout.open_button.visible
    wait(part, lambda: part.runner.costs is not None)
    assert not part.study_view.outdated, "nothing runs: the study that is set is shown, empty"
    assert part.study_view.study.phase != "done"
    choose(part, name, before)
    assert part.spec == spec
    assert part.study_view.study.phase == "done"
    assert not part.study_view.outdated


def test_what_runs_stays_marked_until_run_puts_another_in_its_place(running, visit, monkeypatch):
    slowed(monkeypatch, 0.2)
    part = visit(running)
    name, value = running.other
    before = part.menus[name].value
    part.study_view.press_run()
    running = part.study_view.study
    choose(part, name, value)
    assert part.study_view.study is running
    assert part.study_view.outdated
    assert part.session.runs.studies[running.kind] is running.entry, "and looked at until then"
    choose(part, name, before)
    assert not part.study_view.outdated, "back at its own settings"
    choose(part, name, value)
    part.study_view.press_run()
    assert not part.study_view.outdated
    assert part.study_view.study.spec == part.runner.costs.study.spec != running.spec
    assert running.phase == "stopped"


def test_run_pressed_before_its_price_is_known_is_kept_until_then_or_given_up(running, visit):
    part = visit(running, priced=False)
    view = part.study_view
    wait(part, lambda: view.ready_soon)
    assert not view.ready
    assert not view.bar.run.disabled
    view.press_run()
    assert view.study is None or view.study.phase == "waiting"
    assert "as soon as its cost is known" in view.bar.progress.object
    view.press_stop()
    wait(part, lambda: part.runner.costs is not None)
    assert view.study.phase == "waiting"
    part._sought = None
    part.request_estimate()
    view.press_run()
    wait(part, lambda: view.study.phase == "done")
    assert not view.ready_soon


def test_stop_is_said_at_once_nothing_comes_after_it_and_it_goes_on_from_there(running, visit, monkeypatch):
    slowed(monkeypatch, 0.1)
    part = visit(running)
    view = part.study_view
    view.press_run()
    wait(part, lambda: view.study.progress.n_done > 0)
    view.press_stop()
    done = view.study.progress.n_done
    assert "stopped" in view.bar.progress.object
    assert not part.session.registry.entries(OWNER)[0].under_way
    assert view.study.join(30)
    part.pump()
    assert view.study.progress.n_done == done < view.study.progress.total
    assert not part.session.busy
    again = visit(running)  # of another process, as far as the registry knows
    assert again.study_view.study.progress.n_done >= done
    assert again.study_view.bar.run.label == "Resume"
    run(again)


def test_a_reload_finds_the_study_of_the_process_and_a_stranger_does_not(running, visit, monkeypatch):
    slowed(monkeypatch, 0.1)
    part = visit(running)
    part.study_view.press_run()
    registry = part.session.registry
    again = visit(running, part.session.link.query, registry=registry)
    assert again.study_view.study.entry is part.study_view.study.entry
    assert visit(running, owner="b" * 32, registry=registry).study_view.study.progress.n_done == 0


@pytest.mark.usefixtures("fake")
def test_the_history_opens_it_again_with_the_same_settings_and_study(varied, visit):
    part = visit(varied)
    choose(part, *varied.other)
    finish(part)
    part.study_view.study.join(30)
    (item,) = run_history.load_history(OWNER)[0]
    assert item.title == varied.noun
    again = visit(varied, item.link)
    assert again.spec == part.spec
    assert again.study_view.study.phase == "done"
    assert again.study_view.study.spec == part.study_view.study.spec == item.run.spec


def test_it_goes_on_when_its_page_is_closed_if_that_was_ticked(running, visit, monkeypatch):
    slowed(monkeypatch, 0.3)
    clock = Clock()
    part = visit(running, registry=Registry(ServerLimits(), clock, timer=False))
    part.runner.keep.value = True
    part.study_view.press_run()
    study, registry = part.study_view.study, part.session.registry
    part.close()
    clock.now += 3600
    registry.sweep()
    assert study.phase == "running"
    again = visit(running, part.session.link.query, registry=registry)
    assert again.runner.keep.value, "who comes back sees that it was ticked"
    again.runner.keep.value = False
    clock.now += 3600
    registry.sweep()
    assert study.phase == "stopped"
    assert "nobody looked at it for 60 s" in study.entry.note


def test_behind_another_page_it_asks_nothing_and_leaves_that_pages_link_alone(running, visit):
    part = visit(running)
    session, known, spec = part.session, part.runner.costs, part.spec
    session.page = "data"
    session.table.load_demo("xor", rows=200)
    wait(part, lambda: session.table.dataset.name == "xor")
    part.request_estimate()
    assert (part.runner.costs, part.spec) == (known, spec)
    assert session.link.query == "?page=data&data=xor&rows=200" + ("&seed=3" if session.seed else "")
    session.page = running.page.slug
    part.on_shown()
    wait(part, lambda: part.runner.costs is not None)
    assert part.spec == spec


def test_a_visitor_who_never_saw_the_page_can_leave(case):
    case.page(Session(owner=OWNER, registry=Registry(ServerLimits(), timer=False))).close()


def test_what_one_looks_at_is_explained(case, visit):
    about = about_html(visit(case, priced=False).slug)
    assert "[[" not in about
    assert "<abbr" in about


def test_on_a_first_visit_it_says_what_it_waits_for(case, visit):
    part = visit(case, priced=False)
    assert "No study yet" not in part.study_view.sentence.object
    assert "…" in part.study_view.sentence.object
