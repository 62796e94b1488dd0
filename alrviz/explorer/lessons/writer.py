"""Write the state of a session as the first step of a lesson, to be edited."""

from urllib.parse import parse_qsl

from alrviz.explorer.session.state import State, write_link

_HEAD = """\
# A lesson for alrviz. Open it with:  alrviz explore --lesson THIS-FILE
# The page reads it again at every reload. What is wrong in it is said with its line.
id: my-lesson
version: 1            # raise it when you change a question: old answers are forgotten
title: My lesson
minutes: 10
audience: Who it is for.
steps:
"""
_STEP = """\
    text: |
      What the reader should know before the question. *Markdown*, and formulas such as $-\\log p$.
"""
_ASK = {
    "convergence": """\
    ask:
      id: first           # a unique name
      kind: number        # or choice, order, sketch
      text: How many iterations will the racer NAME need to come within 0.1 % of the best?
      unit: iterations
      answer: {measure: value, of: [near, "name=NAME"]}   # computed from the race
      explain: |
        Why it is so.
    run: true
    reveal: |
      What to look at now.
""",
    "": """\
    # A question is asked before Run is pressed, and answered by what has run (docs/lessons.md lists the measures):
    # ask:
    #   id: first
    #   kind: choice
    #   text: Which order has the lowest log loss?
    #   options: {1: n = 1, 2: n = 2, 3: n = 3}
    #   answer: {measure: lowest, of: [log_loss, order]}
    #   explain: Why it is so.
    # run: true
    reveal: |
      What to look at now.
""",
}


def lesson_yaml(state: State) -> str:
    """Return the text of a lesson with a state as its first step, without runs and without the table of a file."""
    shareable_state = state.replace(lesson="", step=1, run="", fit="", stored_race="", file=None, files=())
    properties = dict(parse_qsl(write_link(shareable_state).lstrip("?")))
    properties.pop("page", None)
    yaml_lines = [f"  - page: {state.page}\n"]
    if properties:
        yaml_lines += ["    set:\n", *(f"      {key}: {_quoted(value)}\n" for key, value in properties.items())]
    if state.file is not None:
        yaml_lines.append("    # The table was a file of yours: a lesson opens demo sets only, such as `data: led`.\n")
    name = state.recipes[0].label if state.recipes else "lr"
    question_yaml = _ASK.get(state.page, _ASK[""]).replace("NAME", name)
    return _HEAD + "".join(yaml_lines) + _STEP + question_yaml


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
