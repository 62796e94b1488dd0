"""Which order? and its section Evaluation as a visitor has them: a study to its sentence, its numbers and its use; the
section unfolded, begun by a press, a threshold moved by a key, numbers saved.
"""

import re

import pandas as pd
import pytest

from tests.browser.steps import Explorer
from tests.browser.test_axe import broken
from tests.browser.test_order import run_to_its_sentence_and_numbers

pytestmark = pytest.mark.browser


def test_the_verdicts_order_is_judged_its_threshold_moved_and_its_model_used(explorer: Explorer):
    run_to_its_sentence_and_numbers(explorer)
    explorer.unfold("Evaluation: how good is this model?")
    explorer.wait_says("takes 5 fits")
    explorer.button("Evaluate").click()
    explorer.wait_says(r"^0\.0 % are predicted wrongly")
    explorer.wait_says(r"^432 left-out rows of monks-1 \(5 folds\): log loss")
    explorer.choose("Predict by", "Threshold")
    explorer.wait_says("at threshold 0.5:")
    slider = explorer.page.get_by_role("slider").last
    slider.focus()
    slider.press("ArrowLeft")
    explorer.wait_says("at threshold 0.495:")
    explorer.choose("Predict by", "Costs")
    explorer.wait_says("A row costs 0 on average")
    explorer.button("more: 0 as 1").click()
    explorer.wait(lambda: explorer.page.get_by_label("0 as 1", exact=True).input_value() == "2.0", "another cost")
    explorer.page.get_by_role("button", name="Numbers", exact=True).last.click()
    with explorer.page.expect_download() as download:
        explorer.button("CSV of classes").click()
    assert pd.read_csv(download.value.path(), comment="#").rows.sum() == 432
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    explorer.js(axe)
    for width, height in ((1280, 720), (390, 844)):
        explorer.page.set_viewport_size({"width": width, "height": height})
        explorer.still("Array.from(probe.all()).length")
        assert not [one for one in explorer.js("probe.sideways()") if not one.startswith("div.scroll")]
        # The rail, folded away on a phone, has the headings of the second level.
        rules = {"rules": {"heading-order": {"enabled": width > 390}}}
        assert broken(explorer, f"{width} px", "light", **rules) == []
    explorer.page.set_viewport_size({"width": 1280, "height": 720})
    explorer.button("Open in Convergence").click()  # AutoClassifier's model is better
    handed = re.compile(r"hlr_a[-.0-9e]+_(?=[^~]*cshares)[^~]*dsmooth[^~]*~lr_a0\.1")  # with its tolerance
    explorer.wait(lambda: handed.fullmatch(explorer.asked().get("racers", [""])[0]), "its racers")
