"""What a reader has chosen to see of a picture, in the link: a copied link opens the same view of the same numbers.

What is computed is the state's (recipes, folds, seed); this is about a view's own parameters: a measure, an axis.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import param

from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State


def link_view(
    session: Session,
    page: str,
    view: param.Parameterized,
    names: Sequence[str],
    keys: Sequence[str] = (),
    own: State | None = None,
) -> Callable[[], None]:
    """Set parameters of a view to what the page's link says, and write its changes into the link from now on.

    Args:
        session: the visitor's.
        page: slug of the page the view is on; while another is shown nothing is written.
        view: a parameterized object; its parameters' defaults are left out of the link.
        names: of the parameters: selectors, whole numbers, and lists of such.
        keys: of parameters that are properties of a link by the same names, and that the view was made with.
        own: what the link says; None: what the session's says of the page.

    Returns:
        What writes them at once: to be called when the view comes to the front of others on its page.
    """
    own = session.own(page) if own is None else own
    given = dict(own.view)
    for name in (*names, *keys):  # a key may stand among the others in an older link
        if name in given:
            with suppress(ValueError):  # of the parameter itself: out of its range, none of its choices
                setattr(view, name, _read(view.param[name], given[name]))
    first = {name: view.param[name].default for name in (*names, *keys)}

    def write(*_: object) -> None:
        if session.page == page:
            shown = {name: getattr(view, name) for name in first}
            changed = {name: value for name, value in shown.items() if value != first[name]}
            session.param.update(
                {key: changed.get(key, getattr(State(), key)) for key in keys},
                view=tuple((name, view_text(value)) for name, value in changed.items() if name in names),
            )

    view.param.watch(write, [*names, *keys])
    return write


def view_text(value: object) -> str:
    """Return a parameter's value as a link has it."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(parameter: param.Parameter, text: str) -> object:
    if isinstance(parameter, param.List):
        return [int(one) for one in text.split("-")]
    if isinstance(parameter, param.Integer):
        return int(text)
    return next((value for value in parameter.objects if str(value) == text), text)
