"""Reports: one file without scripts or a network, whose figures are those of `evaluate` and `interactions`."""

import html
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import alrviz
from alrviz.cli import main
from alrviz.fitting.prepare import split
from alrviz.studies.protocols.report_facts import report_facts, report_of_run
from alrviz.studies.statistics.evaluation import percent
from alrviz.views.report.page import report_html


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


@pytest.fixture(scope="module")
def facts(data):
    return report_facts(data, alrviz.LRClassifier(order=2), holdout=0.3, seed=1)


def test_its_figures_are_those_of_rows_that_were_held_out(data, facts):
    train, test = split(data.y, 0.3, 1)
    model = alrviz.LRClassifier(order=2).fit(data.X.iloc[train], data.y[train])
    expected = alrviz.evaluate(model, data.X.iloc[test], data.y[test]).summary()
    assert facts.evaluation.summary().log_loss == expected.log_loss
    _, text = read(report_html(facts))
    assert f"learned from {len(train):,} of them and was then tried on {len(test):,} others" in text
    assert f"{percent(expected.error)} are predicted wrongly" in text
    assert facts.effects.importance().index[0] in text
    assert data.hash in text
    assert "'positive'" not in text


def test_it_is_one_file_that_fetches_and_runs_nothing(facts):
    page = report_html(facts)
    reader, _ = read(page)
    assert reader.fetched == []
    assert not {"script", "iframe", "link", "img"} & (reader.tags - {"link"})
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    for one in re.findall(r"<svg .*?</figure>", page):
        ET.fromstring(one[: one.rindex("</svg>") + 6])
    assert page.count("<figure>") >= 9


def test_the_code_makes_the_same_report(facts, tmp_path, monkeypatch):
    _, text = read(report_html(facts))
    assert "alrviz.save_report(dataset," in text
    monkeypatch.chdir(tmp_path)
    code = re.search(r"<pre>(.*?)</pre>", report_html(facts), re.DOTALL)[1]
    facts.dataset.frame.to_csv("FILE.csv", index=False)
    exec(html.unescape(code).replace("FILE", "'FILE.csv'"), {})
    again = (tmp_path / "report.html").read_text()
    assert percent(facts.evaluation.error) in again
    row = re.search(r"log loss \(nats\)</td><td>([\d.]+)", report_html(facts))[1]
    assert f"log loss (nats)</td><td>{row}" in again


def test_what_a_model_card_says_is_shown_and_what_is_none_is_refused(data, facts, tmp_path):
    _, text = read(report_html(facts, {"intended_use": "a lesson & <b>no</b> more"}))
    assert "a lesson & <b>no</b> more" in text
    assert text.count("not stated") == 6
    with pytest.raises(alrviz.TableError, match="card has no 'licens'; did you mean 'licence'"):
        alrviz.save_report(data, tmp_path / "r.html", card={"licens": "MIT"})
    with pytest.raises(alrviz.TableError, match="expected rows on both sides"):
        alrviz.save_report(data, tmp_path / "r.html", holdout=0)
    with pytest.raises(alrviz.AlrvizError, match="a folder that is there"):
        alrviz.save_report(data, tmp_path / "no" / "r.html")


def test_rows_of_the_table_can_be_left_out(facts):
    assert "The rows that it got most wrong" in report_html(facts)
    assert "The rows that it got most wrong" not in report_html(facts, rows=False)


def test_a_run_is_reported_as_it_was_fitted(data):
    run = alrviz.Run(data, alrviz.Recipe("alr", order=2, max_iter=10))
    run.start()
    run.join()
    made = report_of_run(run)
    assert made.evaluation.summary().log_loss == alrviz.evaluate(run).summary().log_loss
    _, text = read(report_html(made))
    assert "others, which it had never seen" in text
    unheld = alrviz.Run(data, alrviz.Recipe("alr", order=1, max_iter=5, holdout=0.0))
    unheld.start()
    unheld.join()
    assert "No rows were held out" in report_html(report_of_run(unheld))


def test_the_classifier_that_chooses_says_why(tmp_path):
    data = alrviz.load_demo("monks-1")
    alrviz.save_report(data, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Why this one:" in text
    assert "were chosen by held-out log loss" in text
    given = report_html(report_facts(data, alrviz.LRClassifier(order=2, alpha=1.0)))
    assert "Its settings were given" in given
    assert "Why this one:" not in given


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
    made = report_facts(alrviz.read_table(frame, target="class"), alrviz.LRClassifier(order=2, discretize="quantile"))
    page = report_html(made)
    reader, text = read(page)
    assert "script" not in reader.tags
    assert "Classes most often confused" in text


def test_later_rows_may_have_a_class_of_their_own_and_a_hostile_column_to_be_split_by():
    n, evil = 300, "<img src=x onerror=alert(1)>"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["p", "q"], n), evil: np.arange(n)})
    frame["class"] = np.where(frame.a == "p", "x", "y")
    frame.loc[260:, "class"] = "late"
    dataset = alrviz.read_table(frame, target="class").split_by(time=evil)
    made = report_facts(dataset, alrviz.LRClassifier(order=1), holdout=0.2)
    reader, text = read(report_html(made))
    assert "img" not in reader.tags
    assert "How columns act on" in text
    assert f".split_by(time={evil!r})" in text


def test_the_command_writes_it(tmp_path, capsys):
    alrviz.load_demo("monks-1").frame.to_csv(tmp_path / "monks.csv", index=False)
    out = tmp_path / "report.html"
    said = ["report", str(tmp_path / "monks.csv"), "--target", "class", "-o", str(out), "--order", "2"]
    assert main([*said, "--card", "licence=CC0", "--no-rows"]) == 0
    assert "the report is" in capsys.readouterr().out
    assert "CC0" in out.read_text()
    assert main([*said, "--card", "licens=CC0"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main([*said, "--seed", "-1"])
    assert main(["report", str(tmp_path / "monk.csv"), "-o", str(out)]) == 2
    assert "monks.csv" in capsys.readouterr().err
