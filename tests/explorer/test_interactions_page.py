"""What is peculiar to the page Interactions: it opens computed, and opens model files."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

import alrviz
from alrviz.explorer.pages.interactions.page import InteractionsPage, InteractionsSpec
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.cost import RecipeEstimate
from tests.explorer.pages import opened, until_study

pytestmark = pytest.mark.usefixtures("home")


def test_it_opens_computed_where_that_is_short_and_takes_the_model_of_a_file():
    page = opened(InteractionsPage, "?page=interactions&data=monks-1&refits=10&view=muted.0-1")
    view = page.study_view
    until_study(page, lambda: len(view.table))
    study, names = view.study, view.effects.names
    assert view.mutes.value == names[:2]
    assert "without" in view.muting.object

    data, file = page.session.table.dataset, io.BytesIO()
    model = alrviz.ALRClassifier(order=1, alpha=1.0).fit(data.X, data.y)
    alrviz.save_model(model, file, dataset=data)
    assert page.session.registry.tables.bytes == 0
    page._open_model("../mine.zip", file.getvalue())
    assert page.session.registry.tables.bytes > 0, "room is taken before anything is unpacked"
    until_study(page, lambda: page.back_button.visible)
    assert page.session.registry.tables.bytes == view.effects.nbytes
    assert view.effects.names == list(data.X)
    assert view.effects.mute()["log_loss"]["all"] == pytest.approx(alrviz.evaluate(model, data).summary()["log_loss"])
    assert "mine.zip" in page.file_text.object
    assert page.recommendation() is None
    page.back_button.clicks += 1
    assert not page.back_button.visible
    assert page.session.registry.tables.bytes == 0
    assert view.study.spec == study.spec
    assert view.effects.names == names

    page._open_model("model.zip", b"no zip")
    until_study(page, lambda: "cannot be analysed" in page.file_text.object)
    file = io.BytesIO()
    alrviz.save_model(alrviz.LRClassifier(alpha=0.3).fit(data.X.iloc[:, 1:].assign(strange="a"), data.y), file)
    page._open_model("model.zip", file.getvalue())
    until_study(page, lambda: "strange" in page.file_text.object)
    assert view.effects.names == names
    assert page.session.registry.tables.bytes == 0
    limits = page.session.registry.tables.limits
    page.session.registry.tables.limits = replace(limits, uploads=10)
    page._open_model("model.zip", file.getvalue())
    assert "no room" in page.file_text.object
    page.session.registry.tables.limits = limits
    view.press_stop()
    page.close()


@pytest.mark.parametrize("seen", [False, True])
def test_it_takes_the_model_that_was_set_to_be_used(seen):
    link = "?page=interactions&data=monks-1&refits=0" + ("&of=alr_o1_a2" if seen else "")
    page = opened(InteractionsPage, link)
    until_study(page, lambda: page.runner.costs is not None)
    mine = Recipe("hlr", order=2, alpha=3.0, center="shares", discretize="smooth")
    page.session.go("convergence", race=True, recipes=(Recipe("anje", order=1), mine))
    page.session.param.update(question=CUSTOM, recipes=(Recipe("hlr", order="auto", alpha=0.3), mine.replace(seed=4)))
    page.session.page = "interactions"
    page.on_shown()
    assert page.spec.recipes == (mine,), "the first that can be taken apart, also where the page has shown another"
    page.choose("order", 1)
    page.on_shown()
    page.session.recipes = (mine.replace(seed=5), Recipe("lr", order=1, alpha=0.3))
    page.on_shown()
    assert page.spec.recipe.params["order"] == 1, "what was chosen here stays, whoever else races"
    until_study(page, lambda: page.runner.costs is not None)
    again = opened(InteractionsPage, page.session.link.query)
    assert again.spec.recipes == page.spec.recipes, "a link's own model comes before its racers"
    again.close()
    page.close()


def test_its_price_has_what_is_taken_apart_beside_the_fits():
    """On letter (20,000 rows, 26 classes) that took half as long as the fits and was in no price."""
    data = SimpleNamespace(n_rows=20_000, n_classes=26, X=pd.DataFrame(index=[0], columns=range(16)))
    fits = [RecipeEstimate("hlr", InteractionsSpec().recipe, cost=Cost(seconds=1.0))]
    seconds = {refits: InteractionsSpec(refits=refits).cost(data, fits).seconds for refits in ("0", "30")}
    testing = 4e-8 * 14_000 * 560 * 26  # the triples of 16 columns
    assert seconds["0"] == pytest.approx(1 + testing + 1.2e-8 * 14_000 * 136 * 30)
    assert seconds["30"] == pytest.approx(31 + testing + 31 * 1.2e-8 * 14_000 * 136 * 30)
    data.X = pd.DataFrame(index=[0], columns=range(60))  # 34,220 triples are not looked at
    assert InteractionsSpec(refits="0").cost(data, fits).seconds == pytest.approx(1 + 1.2e-8 * 14_000 * 1_830 * 30)


def packed(model, data):
    file = io.BytesIO()
    alrviz.save_model(model.fit(data.X, data.y), file, dataset=data)
    return file.getvalue()


def test_of_models_dropped_one_after_the_other_only_what_is_shown_takes_room():
    page = opened(InteractionsPage, "?page=interactions&data=monks-1&refits=0")
    view, tables = page.study_view, page.session.registry.tables
    until_study(page, lambda: len(view.table))
    data = page.session.table.dataset
    first, second = (packed(alrviz.LRClassifier(order=n, alpha=0.3), data) for n in (1, 2))

    page._open_model("first.zip", first)
    until_study(page, lambda: page.back_button.visible)
    shown = tables.bytes
    page._open_model("second.zip", second)  # replaced before it is there
    page._open_model("third.zip", second)
    until_study(
        page, lambda: "third.zip" in page.file_text.object and page.back_button.visible and len(view.effects.names) > 6
    )
    assert tables.bytes == view.effects.nbytes > shown

    page._open_model("fourth.zip", first)
    page.back_button.clicks += 1
    assert not page.back_button.visible
    until_study(page, lambda: page.back_button.visible)
    assert tables.bytes == view.effects.nbytes, "what was coming when another was left has its room still"

    kept, limits = tables.bytes, tables.limits
    page._open_model("fifth.zip", second)
    tables.limits = replace(limits, uploads=10)
    until_study(page, lambda: "no room" in page.file_text.object)
    assert tables.bytes == kept == view.effects.nbytes
    tables.limits = limits

    page._open_model("sixth.zip", second)
    assert tables.bytes > kept
    page.close()
    assert tables.bytes == 0


def test_a_model_that_gives_way_to_a_study_that_is_run_leaves_the_memory():
    page = opened(InteractionsPage, "?page=interactions&data=monks-1&refits=0")
    view = page.study_view
    until_study(page, lambda: len(view.table))
    data = page.session.table.dataset
    page._open_model("mine.zip", packed(alrviz.LRClassifier(alpha=0.3), data))
    until_study(page, lambda: page.back_button.visible)
    view.press_run()
    until_study(page, lambda: not page.back_button.visible)
    assert page.session.registry.tables.bytes == 0
    assert "mine.zip" not in page.file_text.object
    view.press_stop()
    page.close()
