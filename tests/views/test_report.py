"""Reports: one file without scripts or a network, whose figures are those of `evaluate` and `interactions`."""

import html
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import alrviz
from alrviz.cli import main
from alrviz.data.splits import split_holdout
from alrviz.estimators.sklearn_models import BoostingClassifier
from alrviz.studies.effects.redundancy import dependence
from alrviz.studies.protocols import report_facts as report_module
from alrviz.studies.protocols.report_facts import report_facts, report_of_run
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import loss_text, row_losses
from alrviz.views.race.texts import number
from alrviz.views.report.effects import column_points, effect_sentences
from alrviz.views.report.groups import hardest_group, most_divided, most_missed
from alrviz.views.report.page import report_html
from alrviz.views.report.quality import calibration_sentence, reference_sentence, worst_calibrated


class Reader(HTMLParser):
    """What a browser would fetch or run, and the text."""

    def __init__(self):
        super().__init__()
        self.fetched, self.tags, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.fetched += [
            v for k, v in attrs if k in ("src", "href", "action") and v and not v.startswith(("#", "data:"))
        ]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader, " ".join(" ".join(reader.text).split())


@pytest.fixture(scope="module")
def data():
    return alrviz.load_demo("tic-tac-toe")


@pytest.fixture(autouse=True)
def without_boosting(monkeypatch):
    """Only `facts` has a model of gradient boosting beside it, which takes longer to fit than everything else."""
    monkeypatch.setattr(report_module, "MAX_REFERENCE_WORK", 0)


@pytest.fixture
def without_drawing(monkeypatch):
    """Pictures are made but not drawn, which takes four fifths of the time of a report."""

    def figure_html(picture, words, caption="", *, note="", **size):
        return f"<figure aria-label='{html.escape(words)}'>{caption}{note}</figure>"

    for section in ("quality", "effects", "groups", "importance"):
        monkeypatch.setattr(f"alrviz.views.report.{section}.figure_html", figure_html)


@pytest.fixture(scope="module")
def facts(data):
    return report_facts(data, alrviz.LRClassifier(order=2, alpha=0.3), holdout=0.3, seed=1)


@pytest.fixture(scope="module")
def shown(facts):
    """The report of `facts`."""
    return report_html(facts)


def test_its_figures_are_those_of_rows_that_were_held_out(data, facts, shown):
    splits = split_holdout(data.y, 0.3, 1)
    train, test = splits.train, splits.test
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X.iloc[train], data.y[train])
    expected = alrviz.evaluate(model, data.X.iloc[test], data.y[test]).summary()
    assert facts.evaluation.summary().log_loss == expected.log_loss
    _, text = read(shown)
    assert f"learned from {len(train):,} of them and was then tried on {len(test):,} test rows" in text
    assert f"{percent(expected.error)} are predicted wrongly" in text
    rarer = data.y[test] == "negative"
    lost = int((model.predict(data.X.iloc[test])[rarer] != "negative").sum())
    assert f"Of the {rarer.sum()} rows that are negative it misses {lost} ({percent(lost / rarer.sum())})" in text
    off = model.predict_proba(data.X.iloc[test]) - (data.y[test][:, None] == model.classes_)
    assert f"summed over the classes, is {(off**2).sum(axis=1).mean():.3f}; of two classes half of it" in text
    assert "Every level of every column, and every combination of levels, has a number" in text
    assert "when their points are left out, the rest unchanged" in text
    assert facts.effects.importance().index[0] in text
    assert data.hash in text
    assert "'positive'" not in text


def test_it_is_one_file_that_fetches_and_runs_nothing(shown):
    page = shown
    reader, _ = read(page)
    assert reader.fetched == []
    assert not {"script", "iframe", "link", "img"} & (reader.tags - {"link"})
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    for one in re.findall(r"<svg .*?</figure>", page):
        ET.fromstring(one[: one.rindex("</svg>") + 6])
    assert page.count("<figure>") >= 9


@pytest.mark.usefixtures("without_drawing")
def test_the_code_makes_the_same_report(facts, tmp_path, monkeypatch, shown):
    _, text = read(shown)
    assert "alrviz.save_report(dataset," in text
    monkeypatch.chdir(tmp_path)
    code = re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)[1]
    facts.dataset.frame.to_csv("FILE.csv", index=False)
    exec(html.unescape(code).replace("FILE", "'FILE.csv'"), {})
    again = (tmp_path / "report.html").read_text()
    assert percent(facts.evaluation.error) in again
    row = re.search(r"log loss \(nats\)</td><td>([\d.]+)", shown)[1]
    assert f"log loss (nats)</td><td>{row}" in again


@pytest.mark.usefixtures("without_drawing")
def test_no_name_begins_a_line_of_the_code(facts):
    name = "a.csv" + "".join(f"{end}import antigravity" for end in ("\n", "\r", "\u2028", "\u2029", "\x85", "\x0b"))
    hostile = replace(facts, dataset=replace(facts.dataset, name=name))
    code = html.unescape(re.search(r"<pre>(.*?)</pre>", report_html(hostile), re.DOTALL)[1])
    assert "import antigravity" in code, "the name is in the code, in a comment"
    assert not any(line.strip().startswith("import antigravity") for line in code.splitlines())
    compile(code, "report", "exec")


@pytest.mark.usefixtures("without_drawing")
def test_what_a_model_card_says_is_shown_and_what_is_none_is_refused(data, facts, tmp_path):
    _, text = read(report_html(facts, {"intended_use": "a lesson & <b>no</b> more"}))
    assert "a lesson & <b>no</b> more" in text
    assert text.count("not stated") == 6
    with pytest.raises(alrviz.TableError, match=r"'licens'.*'licence'"):
        alrviz.save_report(data, tmp_path / "r.html", card={"licens": "MIT"})
    with pytest.raises(alrviz.TableError, match="expected training and test rows"):
        alrviz.save_report(data, tmp_path / "r.html", holdout=0)
    with pytest.raises(alrviz.AlrvizError, match="a folder that is there"):
        alrviz.save_report(data, tmp_path / "no" / "r.html")


def test_what_matters_most_stands_first_in_its_tables(facts, shown):
    page = shown
    tables = re.findall(r"<th[^>]*>(?:group|row)</th>.*?</tr>", page.split("<section id='fails'>")[1])
    groups, losses, worst = tables[0], tables[1], tables[-1]
    assert re.findall(r"<th[^>]*>([^<]+)</th>", groups)[:4] == ["group", "rows", "sensitivity", "false alarms"]
    assert "log loss" not in groups
    assert "log loss" in losses, "which is folded"
    shown = facts.effects.importance().sort_values("loss", ascending=False, kind="stable")
    singles = list(shown.index[shown.order == 1])
    assert re.findall(r"<th[^>]*>([^<]+)</th>", worst)[5:] == singles
    assert singles != list(facts.evaluation.X.columns)
    line = re.search(r"<td>(\d+)</td>.*?</tr>", page.split("The rows that it got most wrong")[1])
    row = facts.evaluation.X.loc[int(line[1]), singles]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", line[0])[5:] == list(row)
    text = read(page)[1]
    assert "Row 0 is the first row below the header (rows without a class are not counted)" in text
    assert "a row is a class, a column what it is predicted as" in text
    assert "the chance that a random row of a class gets a higher probability of that class" in text
    assert "Choosing another threshold for negative" in text
    assert "NPV, of the rows not predicted negative, the share that are not" in text
    assert "cases that these columns cannot explain" in text


def test_what_every_value_says_can_be_read_and_added_up():
    data = alrviz.load_demo("tic-tac-toe")
    made = report_facts(data, alrviz.LRClassifier(order=1, alpha=0.3), holdout=0.3, seed=1)
    page = report_html(made)
    for name in data.X:
        assert page.count(f"aria-label='Effect of {name}'") + page.count(f'aria-label="Effect of {name}"') == 1
    folded = re.search(r"<details><summary>How (\d+) more columns act</summary>(.*?)<h3>One row", page)
    assert int(folded[1]) == folded[2].count("<figure>") == data.X.shape[1] - 6
    k = list(made.effects.classes).index("negative")
    for figure in page.split("<figure>")[1:]:
        if name := re.search("aria-label=.Effect of (\\w+)", figure):
            points = made.effects.effects(name[1])
            own = points[points["class"] == "negative"].set_index("levels")
            lines = re.findall(r"<tr><td>(\w)</td><td>(\d+)</td><td>([-+.\d]+)", figure)
            assert [float(x) for *_, x in lines] == sorted((float(x) for *_, x in lines), reverse=True), "as drawn"
            assert {level: (float(n), float(x)) for level, n, x in lines} == {
                level: (n, pytest.approx(2 * x, abs=0.006)) for level, n, x in own[["rows", "pure"]].itertuples()
            }
    table = re.search(r"One row, added up</h3>(.*?)</table>", page)[1]
    points = [float(one) for one in re.findall(r"<td>(?:<b>)?([-+][\d.]+)", table)]
    assert sum(points[:-1]) == pytest.approx(points[-1], abs=1e-9), "as they are shown"
    told = re.search(r"Row (\d+), one of the test rows, is (a close call|the closest there is): the", table)
    at = int(told[1])
    assert (told[2] == "a close call") == (abs(points[-1]) <= 1)
    gap = made.model.predict_log_proba(made.evaluation.X) @ np.where(np.arange(2) == k, 1, -1)
    assert abs(gap[list(made.evaluation.X.index).index(at)] - 0.4) == np.abs(gap - 0.4).min(), "toward the rarer class"
    assert points[-1] == pytest.approx(gap[np.abs(gap - 0.4).argmin()], abs=0.011)
    assert f"Its class is <b>{data.y[at]}</b>" in table
    assert "Those toward positive are the same with the sign changed" in page
    assert "added up" not in report_html(made, rows=False).split("<h3>How columns act")[1]


@pytest.mark.usefixtures("without_drawing")
def test_columns_that_say_the_same_are_told_and_what_is_lost_without_both(facts, shown):
    rng = np.random.default_rng(0)
    a = rng.choice(list("pqrs"), 800)
    frame = pd.DataFrame({"a": a, "code": pd.Series(a).map(dict(zip("pqrs", "1234", strict=True)))})
    frame["side"] = np.where(np.isin(a, ["p", "q"]), "left", "right")
    frame["b"], frame["one"] = rng.choice(["x", "y"], 800), "same"
    frame["class"] = np.where((a == "p") | (rng.random(800) < 0.2), "yes", "no")
    made = report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=1, alpha=0.3))
    text = read(report_html(made))[1]
    losses = made.effects.mute("a", "code", "side").log_loss
    assert "a and code say the same, so they are ranked and drawn as one" in text
    assert "side is known from a , side is known from code : without all 3, log loss rises by " in text
    assert f"without all 3, log loss rises by {loss_text(losses['muted'] - losses['all'])}" in text
    assert "What matters most: a + code (which say the same) (a, code and side overlap: part of what" in text
    importance = made.effects.importance()
    both = made.ranking.loc["a + code"]
    assert both.share == pytest.approx(importance.share[["a", "code"]].sum())
    assert both.loss == pytest.approx(made.effects.mute("a", "code").log_loss.diff().iloc[1])
    assert both.loss > importance.loss[["a", "code"]].sum(), "each alone seems to matter less"
    assert made.ranking.loc["b", "loss":"loss_error"].tolist() == pytest.approx(
        made.effects.cost_without("b"), abs=1e-9
    )
    points = column_points(made, made.effects.columns.index("a"), ["a", "code"], "yes").set_index("levels")
    one, two = (made.effects.effects(name).query("`class` == 'yes'").set_index("levels").pure for name in ("a", "code"))
    assert points.effect["p"] == pytest.approx(2 * (one["p"] + two["1"]))
    assert "columns overlap. What" not in read(shown)[1]


def test_a_pair_of_columns_that_say_the_same_is_drawn_as_their_sum():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(["p", "q"], (1500, 2)), columns=["a", "c"])
    frame["a2"], frame["c2"] = frame.a.str.upper(), frame.c.str.upper()
    frame["class"] = np.where((frame.a == frame.c) ^ (rng.random(1500) < 0.1), "yes", "no")
    made = report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=2, alpha=0.3))
    effects = made.effects
    drawn = re.search(r'<svg[^>]*aria-label="Effect of \(a[^"]*\) &amp; \(c[^"]*\)".*?</svg>', report_html(made))[0]
    tuples = next(own for own in made.ranking[made.ranking.order == 2].tuples if len(own) == 4)
    parts = effects.pure.row_effects(effects.encoded.codes, [effects.number_of(name) for name in tuples]).sum(axis=1)
    k = list(effects.classes).index(made.evaluation.class_of_interest)
    assert f"{2 * parts[:, k].max():.2f}" in drawn


@pytest.mark.usefixtures("without_drawing")
def test_how_far_a_column_is_known_from_another_is_a_share_of_what_is_not_known():
    codes = np.array([[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 0, 1], [0] * 4]).repeat(600, axis=1)
    known = dependence(codes, range(4)).set_index(["column", "other"]).known
    expected = {(0, 1): 1, (1, 0): 0.5, (0, 2): 0, (2, 0): 0, (1, 2): 0.5, (2, 1): 1}
    assert known.to_dict() == pytest.approx(expected, abs=0.001)
    noise = np.random.default_rng(0).integers(0, 40, (2, 200))
    assert (dependence(noise, range(2)).known < 0.1).all(), "of five rows a level chance tells much"
    assert dependence(np.array([np.arange(24), np.arange(24) % 2]), range(2)).empty, "each value has a row: by chance"
    assert dependence(np.array([np.arange(24)] * 2), range(2)).known.tolist() == [1, 1], "the same codes: no chance"
    weights = np.random.default_rng(1).integers(0, 3, 200)
    twice = dependence(noise.repeat(weights, axis=1), range(2)).known
    assert dependence(noise, range(2), weights.astype(float)).known.tolist() == pytest.approx(twice.tolist())


def test_what_no_column_would_give_stands_beside_every_figure(facts, shown):
    found = facts.evaluation
    shares = np.broadcast_to(np.log(found.shares), found.log_p.shape)
    alone = Evaluation(found.classes, shares, found.y, found.X).summary()
    table = shown.split("class shares alone</th>")[1].split("</table>")[0]
    said = re.findall(r"<td>([^<]*)</td></tr>", table)
    assert said[:3] == [percent(alone.error), number(alone.log_loss), percent(alone.balanced_error)]
    ece = percent(alone.ece).removesuffix(" %")
    assert said[3:] == [number(alone.brier), ece, "0.5", number(alone.average_precision, 3)]


@pytest.mark.usefixtures("without_drawing")
def test_groups_are_compared_by_every_column_of_few_values_and_by_the_most_important_others():
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame({f"few{k}": rng.choice(list("abc"), n) for k in range(2)})
    frame["side"] = np.where(rng.random(n) < 0.2, "left", "right")
    frame["x"], frame["id"] = rng.normal(size=n), [f"r{k}" for k in range(n)]
    frame["grade"], frame["letter"] = (rng.choice(values, n) for values in (range(20), list("abcdefghijklmnop")))
    hard = (frame.side == "left").to_numpy()
    toward = np.where(hard, 0.3, np.where(frame.few0 == "a", 0.95, 0.02)) * (1 - 0.5 * (frame.few1 == "c"))
    frame["class"] = np.where(rng.random(n) < toward, "yes", "no")
    data = alrviz.read_table(frame, target="class").with_kinds(id="categorical")
    made = report_facts(data, alrviz.LRClassifier(order=2, alpha=0.3))
    assert set(made.groups) == {"few0", "few1", "side", "x", "grade", "letter"}, "of ids no group has rows"
    found = made.evaluation
    spread = [float((t.rows * (t.error - found.error) ** 2).sum()) for t in made.groups.values()]
    assert spread == sorted(spread, reverse=True)
    page = report_html(made)
    short = read(page.split("<section id='table'>")[0])[1]
    lines = [(name, line) for name, t in made.groups.items() for line in t.to_dict("records")]
    gains = [one for one in lines if one[1]["rows"] * one[1]["shares_error"] >= 30]
    name, line = max(gains, key=lambda one: one[1]["error"] / one[1]["shares_error"])
    assert (name, line["group"]) == ("side", "left")
    assert (
        f"It gains least where side is left: {percent(line['error'])} of {line['rows']:,} rows are predicted wrongly"
        in short
    )
    of = found.as_predicted()
    known = [one for one in lines if one[1]["rows"] * one[1]["share"] >= 30]
    name, line = min(known, key=lambda one: one[1]["sensitivity"])
    missed = f"{percent(1 - line['sensitivity'])} of {line['rows'] * line['share']:,.0f} such rows"
    assert f"It misses yes most where {name} is {line['group']}: {missed}" in short
    assert f"(of all: {percent(1 - of.sensitivity)})" in short
    side = made.groups["side"].set_index("group")
    low, high = sorted([1 - side.specificity["left"], 1 - side.specificity["right"]])
    table = re.search(r"<td>side</td><td>2</td><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>", page)
    sensitivity, alarms = (re.findall(r"[\d.]+&nbsp;%", cell) for cell in table.groups())
    assert alarms == [percent(rate).replace(" ", "&nbsp;") for rate in (low, high)]
    assert sensitivity == [percent(rate).replace(" ", "&nbsp;") for rate in sorted(side.sensitivity)]
    found = side.loc[["left", "right"]].sort_values("sensitivity")
    ends = [f"{percent(x.sensitivity)} of the {x['share'] * x.rows:,.0f} where it is {g}" for g, x in found.iterrows()]
    assert ("groups differ most by side : of the rows that are yes it finds " + ", and ".join(ends) in short) == (
        found.sensitivity_high.iloc[0] < found.sensitivity_low.iloc[1]
    )


@pytest.mark.usefixtures("without_drawing")
def test_gradient_boosting_stands_beside_the_model_on_the_same_rows(facts, data, monkeypatch, shown):
    monkeypatch.undo()
    splits = split_holdout(data.y, 0.3, 1)
    train, test = splits.train, splits.test
    other = BoostingClassifier(random_state=0, n_jobs=1).fit(data.X.iloc[train], data.y[train])
    beside = alrviz.evaluate(other, data.X.iloc[test], data.y[test]).summary()
    page = shown
    assert f"Gradient boosting, which nobody can read, is wrong for {percent(beside.error)} of the same" in page
    cells = r"<td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>[^<]*</td></tr>"
    lines = re.findall(cells, page.split("gradient boosting</th>")[1])
    of = facts.evaluation.summary()
    assert lines[0][1] == f"{percent(of.error)} ({percent(of.error_low)} to {percent(of.error_high)})"
    assert lines[0][2] == percent(beside.error)
    assert lines[1][1:] == (f"{number(of.log_loss)} &plusmn; {number(of.log_loss_error)}", number(beside.log_loss))
    assert lines[5][1] == f"{of.auc:.3f} ({of.auc_low:.3f} to {of.auc_high:.3f})"
    run = alrviz.Run(data, alrviz.Recipe("lr", order=1, holdout=0.3, seed=1, max_iter=3, alpha=0.3))
    run.start()
    run.join()
    assert report_of_run(run).reference.summary().log_loss == beside.log_loss
    monkeypatch.setattr(report_module, "MAX_REFERENCE_WORK", 10)
    none = report_facts(data, alrviz.LRClassifier(alpha=0.3))
    assert none.reference is None
    text = read(report_html(none))[1]
    assert "No gradient boosting stands beside it: 718 rows of 2 classes would take minutes to fit." in text
    assert "nobody can read" not in text
    found, reference = facts.evaluation, facts.reference
    over = row_losses(found.log_p, found.y) - row_losses(reference.log_p, reference.y)
    error = over.std() / np.sqrt(len(over))
    chance = "no more" if abs(over.mean()) <= 2 * error else "more"
    verdict = f"{loss_text(abs(over.mean()))} &plusmn; {loss_text(error)} nats, {chance} than chance gives"
    assert f"the log loss of this model is {'higher' if over.mean() > 0 else 'lower'} by {verdict}" in page
    same = reference_sentence(replace(facts, evaluation=reference))
    assert "by 0.000 &plusmn; 0.000 nats, no more than chance" in same


@pytest.mark.usefixtures("without_drawing")
def test_a_model_without_errors_is_said_to_fail_nowhere():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["p", "q"], 600), "year": rng.choice([1952.0, 1957.0, 2007.0], 600)})
    frame["class"] = np.where(frame.a == "p", "x", "y")
    text = read(
        report_html(report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=1, alpha=0.3)))
    )[1]
    assert "It gains least" not in text
    assert "most where" not in text
    assert "It got none wrong; of these it was least sure" in text
    line = r" 1952 \d+ 100\.0 % 0\.0 % 0\.0 % \(0\.0 % to "
    assert re.search(line, text), "whole numbers in their order, and exact intervals"
    assert text.rindex(" 1952 ") < text.rindex(" 2007 ")
    assert "are worse than the class shares" not in text


@pytest.mark.usefixtures("without_drawing")
def test_what_is_worse_than_saying_nothing_is_said_first():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 5, (200, 6)), columns=list("abcdef")).astype(str)
    frame["class"] = rng.choice(["x", "y"], 200)
    made = report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=2, alpha=0.01))
    of = made.evaluation.summary()
    text = read(report_html(made))[1]
    assert of.log_loss > of.shares_log_loss
    assert "Its probabilities are worse than the class shares , given to every row: log loss " in text
    assert f"and {loss_text(of.shares_log_loss)} by the shares alone" in text
    assert "No column matters by more than chance gives." in text


def test_a_line_of_many_points_says_in_words_what_it_comes_to():
    rng = np.random.default_rng(0)
    x = np.append(np.zeros(2000), np.repeat(np.arange(1, 41), [*[90] * 39, 9]))
    x[rng.random(len(x)) < 0.02] = np.nan
    toward = np.where(np.isnan(x), 0.5, x / 45 + 0.05)
    frame = pd.DataFrame({"x": x, "class": np.where(rng.random(len(x)) < toward, "a", "b")})
    made = report_facts(
        alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=1, discretize=None, alpha=0.3)
    )
    page = report_html(made)
    text = read(page)[1]
    points = column_points(made, 0, ["x"], "a").set_index("levels")
    top = points[points.rows >= 50].effect.idxmax()
    assert "The higher, the more toward a. Of values with 50 rows or more, most toward a: " in text
    assert f"most toward a: {top} ({points.effect[top]:+.2f}, {points.rows[top]:,.0f} rows)" in text
    share = percent(points.rows["0"] / points.rows.sum())
    assert f">0 ({share} of rows)<" in page
    assert f">missing ({percent(points.rows['missing'] / points.rows.sum())})<" in page
    few = int((points.rows < 50).sum())
    assert f"{few} of {len(points)} values have fewer than 50 rows (pale): less certain" in text
    assert f"All {len(points)} points" in text
    assert "The higher" not in report_html(report_facts(alrviz.load_demo("monks-1"), alrviz.LRClassifier(alpha=0.3)))


def test_values_that_jump_up_and_down_are_not_called_an_effect():
    rows, effect = np.full(12, 9.0), np.tile([-3.0, 3.0], 6)
    table = pd.DataFrame({"levels": [f"v{k}" for k in range(12)], "rows": rows, "effect": effect, "missing": False})
    said = effect_sentences(table, True, "a")
    assert "It jumps up and down: 10 of 12 values" in said
    assert "half of them have 9 rows or fewer" in said
    assert "12 of 12 values have fewer than 50 rows (pale)" in said, "also where all have"
    assert "jumps" not in effect_sentences(table, False, "a"), "names have no neighbours"
    assert "jumps" not in effect_sentences(table.assign(effect=np.arange(12) * 2.0), True, "a"), (
        "steps of one way are a trend"
    )


def test_the_group_of_a_headline_is_the_worst_of_those_it_counts():
    rng = np.random.default_rng(0)
    many = {"easy": 3000, "large": 2000, "small": 150, "tiny": 40}
    name, place = np.repeat(list(many), list(many.values())), np.concatenate([np.arange(n) / n for n in many.values()])
    y = (np.arange(len(name)) % 3 == 0).astype(int)
    missed = place < pd.Series({"easy": 0.1, "large": 0.66, "small": 0.74, "tiny": 1.0})[name].to_numpy()
    said = np.where((y == 1) & ~missed, 0.9, 0.1)
    X = pd.DataFrame({"job": name, "row": np.arange(len(y))})
    found = Evaluation(("no", "yes"), np.log(np.column_stack([1 - said, said])), y, X)
    facts = SimpleNamespace(evaluation=found, groups={"job": found.groups("job")})
    bounds = facts.groups["job"].set_index("group")
    assert bounds.sensitivity_high["large"] < bounds.sensitivity_high["small"], "by the interval another one is worst"
    assert "where <b>job</b> is small: " in most_missed(facts)
    assert "where <b>job</b> is small: " in hardest_group(facts)
    assert "groups differ most by <b>job</b>" in most_divided(facts)
    assert f"{percent(bounds.sensitivity['easy'])} of the 1,000 where it is easy" in most_divided(facts)
    line = bounds.loc["large"]
    assert f"is large: the mean probability of yes is {percent(line.p)}, and {percent(line['share'])} of 2,000" in (
        worst_calibrated(facts)
    )
    p = rng.uniform(0.1, 0.9, len(y))
    right = replace(found, log_p=np.log(np.column_stack([1 - p, p])), y=(rng.random(len(y)) < p).astype(int))
    assert not worst_calibrated(SimpleNamespace(evaluation=right, groups={"job": right.groups("job")}))


def test_an_interval_that_holds_one_number_is_called_by_it():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(900) < 0.6, 0, rng.integers(500, 900, 900))
    frame = pd.DataFrame({"x": x, "class": np.where((x > 0) ^ (rng.random(900) < 0.1), "a", "b")})
    made = report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=1, alpha=0.3))
    labels = made.effects.labels(0)
    assert labels[0].startswith("<= ")
    points = column_points(made, 0, ["x"], "a")
    assert points.levels[0] == "0"
    assert points.single.tolist() == [True, *[False] * (len(points) - 1)]
    assert points.levels[1:].tolist() == labels[1 : len(points)]


@pytest.mark.usefixtures("without_drawing")
def test_rows_of_the_table_can_be_left_out(facts, shown):
    assert "The rows that it got most wrong" in shown
    assert "The rows that it got most wrong" not in report_html(facts, rows=False)


@pytest.mark.usefixtures("without_drawing")
def test_a_run_is_reported_as_it_was_fitted(data):
    run = alrviz.Run(data, alrviz.Recipe("alr", order=2, max_iter=10, alpha=1.0))
    run.start()
    run.join()
    made = report_of_run(run)
    assert made.evaluation.summary().log_loss == alrviz.evaluate(run).summary().log_loss
    _, text = read(report_html(made))
    assert "test rows, which it had never seen" in text
    unheld = alrviz.Run(data, alrviz.Recipe("alr", order=1, max_iter=5, holdout=0.0, alpha=1.0))
    unheld.start()
    unheld.join()
    assert "There are no test rows" in report_html(report_of_run(unheld))


@pytest.mark.usefixtures("without_drawing")
def test_the_classifier_that_chooses_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 100)
    data = alrviz.load_demo("tic-tac-toe")
    alrviz.save_report(data, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Why this one:" in text
    assert "were chosen by validation log loss" in text.split("<section id='again'>")[1], "in the program's words, last"
    model = re.search("<section id='model'>(.*?)</section>", text)[1]
    one = r"(?:<td[^>]*>)([^<]+)</td>"
    lines = re.findall(rf"<td>(single columns|pairs too \(taken\)|triples too)</td>{one}{one}", model)
    assert [words for words, *_ in lines] == ["single columns", "pairs too (taken)", "triples too"]
    assert float(lines[1][1]) < float(lines[0][1]), "two squares of a line tell more than one"
    assert float(lines[1][2]) < float(lines[0][2])
    assert lines[2][1] == "given up", "no fold but the first has judged it"
    card, again = (text.split(f"<section id='{key}'>")[1] for key in ("card", "again"))
    assert "single columns and pairs of columns, by logistic regression, regularised</td>" in card
    assert "<td>Model</td><td class='t'>hlr n=2 " in again, "as it was settled, not n=auto"
    assert "hlr n=2" not in text.split("<section id='again'>")[0], "the program's words stand last"
    given = report_html(report_facts(data, alrviz.LRClassifier(order=2, alpha=1.0)))
    assert "Its settings were given" in given
    tuned = report_html(report_facts(data, alrviz.LRClassifier(order=1, alpha="cv")))
    assert "chosen by cross-validation; other settings were given" in tuned
    assert "Why this one:" not in given


@pytest.mark.usefixtures("without_drawing")
def test_a_model_that_is_no_sum_of_effects_is_reported_without_them():
    data = alrviz.load_demo("tic-tac-toe")
    forest = make_pipeline(OrdinalEncoder(), RandomForestClassifier(5, random_state=0))
    for model, words in ((alrviz.TANClassifier(), "sum over cells"), (forest, "as it was given")):
        made = report_facts(data, model)
        assert made.effects is None
        assert words in read(report_html(made))[1]


def test_many_classes_numbers_and_names_that_are_hostile():
    rng = np.random.default_rng(0)
    evil = "two\r\nlines</td><script>alert(1)</script>"
    n = 900
    frame = pd.DataFrame({evil: rng.choice(["a", evil, "c"], n), "x": rng.normal(size=n).round(3)})
    frame["class"] = np.where(frame.x > 0.5, evil, rng.choice(["p", "q", "r"], n))
    data = alrviz.read_table(frame.assign(w=rng.integers(1, 4, n)), target="class", w="weight")
    made = report_facts(data, alrviz.LRClassifier(order=2, discretize="quantile", alpha=0.3))
    page = report_html(made)
    reader, text = read(page)
    assert "script" not in reader.tags
    assert "Classes most often confused" in text
    assert "Rows count by their weight, the column w :" in text
    drawings = re.findall(r"<svg .*?</figure>", page, re.DOTALL)
    assert len(drawings) == page.count("<figure>") >= 5
    for drawing in drawings:
        ET.fromstring(drawing[: drawing.rindex("</svg>") + 6])


@pytest.mark.usefixtures("without_drawing")
def test_what_chance_gives_is_not_said_to_be_found():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (400, 4)), columns=list("abcd")).astype(str)
    frame["day"] = pd.date_range("2020-01-01", periods=400).astype(str)
    frame["class"] = np.where(frame.a == "1", "x", np.where(rng.random(400) < 0.1, "rare", "y"))
    data = alrviz.read_table(frame, target="class")
    page = report_html(report_facts(data, alrviz.LRClassifier(order=2, alpha=20.0)))
    _, text = read(page)
    assert "pairs matters" in text
    assert "Effect of a &amp; b" not in page
    assert "It never predicts rare (" in text, "a class that is always less probable"
    assert "Test rows are drawn at random, of all dates of 'day'" in text
    made = report_facts(data.split_by(time="day"), alrviz.LRClassifier(order=1, alpha=0.3))
    assert made.evaluation.summary().ece > 0.03
    page = report_html(made)
    assert "There are too few rows to tell whether its probabilities can be trusted" in page, "100: chance gives that"
    assert "all dates of 'day'" not in page


@pytest.mark.parametrize(("rows", "wrong", "words"), [
    (40, False, "There are too few rows to tell whether its probabilities can be trusted"),
    (40, True, "Its probabilities are not to be trusted"),
    (4000, False, "Its probabilities can be taken at their word on average"),
])  # fmt: skip
@pytest.mark.parametrize("unit", [None, 1e-4])
def test_what_few_rows_cannot_tell_is_not_called_trust(rows, wrong, words, unit):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, rows)
    y, said = (rng.random(rows) < p).astype(int), np.where(p < 0.5, 0.99, 0.01) if wrong else p
    weight = None if unit is None else np.full(rows, unit)
    log_p = np.log(np.column_stack([1 - said, said]))
    sentence = calibration_sentence(Evaluation(("a", "b"), log_p, y, pd.DataFrame(index=range(rows)), weight))
    assert sentence.startswith(words)
    assert ("so on average no fault is visible" in sentence) == (rows == 4000)
    assert re.search(r"off by [\d.]+ percentage points", sentence)
    assert re.search(r"would seem to be off by about [\d.]+ percentage points, by chance alone", sentence)
    assert ("too sure of itself" in sentence) == wrong


@pytest.mark.usefixtures("without_drawing")
def test_a_column_that_tells_the_class_is_told_first():
    frame = alrviz.load_demo("monks-1").frame
    data = alrviz.read_table(frame.assign(told=frame["class"]), target="class")
    page = report_html(report_facts(data, alrviz.LRClassifier(order=1, alpha=0.3)))
    short = re.search("<section id='summary'>(.*?)</section>", page)[1]
    assert "<b>Beware</b>: &#x27;told&#x27; alone almost tells the class (100 % of the rows)" in short


def test_later_rows_may_have_a_class_of_their_own_and_a_hostile_column_to_be_split_by():
    n, evil = 300, "<img src=x onerror=alert(1)>"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["p", "q"], n), evil: np.arange(n)})
    frame["class"] = np.where(frame.a == "p", "x", "y")
    frame.loc[260:, "class"] = "late"
    dataset = alrviz.read_table(frame, target="class").split_by(time=evil)
    made = report_facts(dataset, alrviz.LRClassifier(order=1, alpha=0.3), holdout=0.2)
    reader, text = read(report_html(made))
    assert "img" not in reader.tags
    assert "How columns act on" in text
    assert f".split_by(time={evil!r})" in text


@pytest.mark.usefixtures("without_drawing")
def test_the_command_writes_it(tmp_path, capsys):
    alrviz.load_demo("monks-1").frame.to_csv(tmp_path / "monks.csv", index=False)
    out = tmp_path / "report.html"
    said = ["report", str(tmp_path / "monks.csv"), "--target", "class", "-o", str(out), "--order", "2"]
    assert main([*said, "--card", "licence=CC0", "--no-rows"]) == 0
    assert "the report is" in capsys.readouterr().out
    assert "CC0" in out.read_text()
    assert main([*said, "--card", "licens=CC0"]) == 2
    column = alrviz.load_demo("monks-1").columns[0].name
    assert main([*said, "--groups", column]) == 0
    assert f".split_by(groups={column!r})" in html.unescape(out.read_text())
    assert main([*said, "--time", "when"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main([*said, "--seed", "-1"])
    assert main(["report", str(tmp_path / "monk.csv"), "-o", str(out)]) == 2
    assert "monks.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (alrviz.LRClassifier(order=2, alpha=0.5), "logistic regression, regularised"),
        (alrviz.LRClassifier(order=1, alpha=0), "logistic regression, without regularisation"),
        (alrviz.HLRClassifier(order=2, alpha=(0, math.inf)), "logistic regression, without regularisation"),
        (alrviz.HLRClassifier(order=2, alpha=(0, 0.5)), "logistic regression, regularised"),
        (alrviz.LRClassifier(objective="mse", alpha=0.5), "minimising the mse loss, regularised"),
        (alrviz.AnJEClassifier(order=1), "counting (nothing is fitted)"),
        (
            alrviz.DLRClassifier(alpha=10.0),
            "logistic regression on the log ratios of the classes' densities, regularised",
        ),
    ],
)
def test_how_points_are_found_is_told_of_each_family(model, words):
    recipe = model.to_recipe()
    assert recipe.definition.training_method(recipe.params) == words


def test_how_points_were_found_is_told_twice(shown):
    words = "logistic regression, regularised"
    _, text = read(shown)
    assert f"Points were found by {words}" in text
    assert re.search(rf"a score table that looks at [a-z0-9 ()]+, by {words} Version", text)


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (alrviz.LRClassifier(alpha=0.3), "is a value of a column; numbers are cut into intervals"),
        (
            alrviz.DLRClassifier(alpha=10.0),
            "is a value of a column; numbers are not cut, each value is used unchanged.",
        ),
        (RandomForestClassifier(5), "is a value of a column."),
    ],
)
def test_what_a_model_makes_of_numbers_is_told(model, words):
    _, text = read(report_html(report_facts(alrviz.load_demo("wine"), model, holdout=0.3)))
    assert words in text


@pytest.mark.usefixtures("without_drawing")
def test_numbers_that_no_cut_divides_are_told_as_left_out():
    rng = np.random.default_rng(0)
    noise = alrviz.Dataset.from_arrays(rng.normal(size=(200, 2)), np.repeat(["p", "q"], 100))
    _, text = read(report_html(report_facts(noise, alrviz.LRClassifier(order=1, alpha=0.3), holdout=0.3)))
    assert "no column of numbers could be cut into intervals that tell of the class: the model leaves them out" in text


@pytest.mark.usefixtures("without_drawing")
def test_rows_held_out_of_a_table_read_in_batches_are_told_as_they_are_drawn(data, facts, shown):
    _, text = read(shown)
    assert "test rows, drawn at random, class by class" in text
    _, text = read(report_html(replace(facts, whole_rows=10_000)))
    assert "test rows, each drawn at random by itself" in text
    assert "class by class" not in text
    run = alrviz.Run(data, alrviz.Recipe("lr", order=1, holdout=0.0, max_iter=3, alpha=0.3))
    run.start()
    run.join()
    _, text = read(report_html(report_of_run(run)))
    assert "training rows, no row was set apart to test it" in text
    assert "probabilities of the training rows get when their points are left out, the rest unchanged" in text
    assert "Every level of every column has a number of points" in text, "single columns have no combinations"
