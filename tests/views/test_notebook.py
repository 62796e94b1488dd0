"""What a notebook needs beside the view: the font of icons, and that threads take turns."""

import threading
import time

from panel.io import notebook as panel_notebook
from pyviz_comms import Comm

from alrviz.views import notebook


def test_the_font_of_icons_comes_from_this_machine():
    script = notebook.icon_font()
    assert script.startswith("<script>")
    assert "data:font/woff2;base64,d09GMg" in script, "a woff2 file begins with wOF2"


class Parts:
    """What is sent over a comm, part by part, slowly."""

    def __init__(self):
        self.sent = []

    def send(self, part=None, buffers=()):
        self.sent.append(part)
        time.sleep(0.002)


class Message:
    buffers = ()

    def __init__(self, name):
        self.header_json, self.metadata_json, self.content_json = (f"{name}{part}" for part in "abc")


def both(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_parts_of_two_messages_do_not_mix(monkeypatch):
    monkeypatch.setattr(Comm, "_handle_msg", Comm._handle_msg)
    monkeypatch.setattr(panel_notebook, "send", panel_notebook.send)
    notebook.take_turns.__wrapped__()
    comm = Parts()
    both(*(lambda name=name: [panel_notebook.send(comm, Message(name)) for _ in range(5)] for name in "xy"))
    whole = {tuple(comm.sent[at : at + 3]) for at in range(0, 30, 3)}
    assert whole == {("xa", "xb", "xc"), ("ya", "yb", "yc")}


def test_what_a_page_has_sent_is_handled_in_turn(monkeypatch):
    inside, most = [], []

    def handle(comm, message):
        inside.append(message)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()

    monkeypatch.setattr(Comm, "_handle_msg", handle)
    monkeypatch.setattr(panel_notebook, "send", panel_notebook.send)
    notebook.take_turns.__wrapped__()
    both(*(lambda: Comm._handle_msg(None, "pressed") for _ in range(4)))
    assert most == [1, 1, 1, 1]
