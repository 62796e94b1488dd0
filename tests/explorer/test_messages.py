"""What a websocket message may hold, and what becomes of one that cannot be applied."""

import asyncio
import base64
import gzip
import json
import logging
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from bokeh.models import Div, Plot, Slider
from bokeh.protocol import Protocol
from bokeh.server.session import ServerSession
from tornado.ioloop import IOLoop

from alrviz.explorer.web import messages
from alrviz.explorer.web.connections import parse_networks
from alrviz.explorer.web.messages import BoundedReceiver, MessageHandler, MessageRefused

HEADER = {"msgid": "1", "msgtype": "PATCH-DOC"}


def fragments(content, *buffers, **header):
    """A message as it comes over a websocket."""
    if buffers:
        header["num_buffers"] = len(buffers)
    pairs = [part for buffer in buffers for part in (json.dumps({"id": "b"}), buffer)]
    return [json.dumps(HEADER | header), "{}", content if isinstance(content, str) else json.dumps(content), *pairs]


def change(value, attr="text", model="p1", **event):
    return {"events": [{"kind": "ModelChanged", "model": {"id": model}, "attr": attr, "new": value} | event]}


async def receive(parts, receiver=None):
    receiver = receiver or BoundedReceiver()
    return [await receiver.consume(part) for part in parts][-1]


def bomb(n_bytes):
    return base64.b64encode(gzip.compress(bytes(n_bytes))).decode()


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_messages_of_a_page_are_accepted():
    async def look():
        binary = {"type": "bytes", "data": {"id": "b"}}
        piece = {"type": "event", "name": "data_event", "values": {"type": "map", "entries": [["data", binary]]}}
        upload = {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": piece}]}
        assert await receive(fragments(upload, bytes(1_000_000)))
        array = {"type": "ndarray", "array": binary, "dtype": "float64", "order": "little", "shape": [2]}
        assert await receive(fragments(change(array), bytes(16)))
        receiver = BoundedReceiver()
        for _ in range(3):  # each message has the whole limit
            assert await receive(fragments(change("x" * 900_000)), receiver)
            assert not receiver.pending

    asyncio.run(look())


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(fragments(change({"type": "bytes", "data": bomb(1_000_000)})), id="packed bytes"),
        pytest.param(
            fragments(change({"type": "map", "entries": [["a", {"type": "bytes", "data": ""}]]})), id="inside"
        ),
        pytest.param(fragments(change([{"type": "object", "name": "Div", "id": "x"}] * 17)), id="new models"),
        pytest.param(
            fragments(change({"type": "ndarray", "array": ["a"], "dtype": "S900000000", "order": "", "shape": [1]})),
            id="wide array",
        ),
        pytest.param(fragments(change(nested(messages.MAX_DEPTH))), id="depth"),
        pytest.param(fragments(change([1] * messages.MAX_VALUES)), id="values"),
        pytest.param(fragments('{"events":' + "[" * 400_000), id="depth of the JSON"),
        pytest.param(fragments(change("x" * messages.MAX_JSON_BYTES)), id="JSON"),
        pytest.param(fragments(change(1), *[bytes(700_000)] * 4), id="bytes"),
        pytest.param(fragments(change(1), *[b""] * (messages.MAX_BUFFERS + 1)), id="buffers"),
        pytest.param(
            [json.dumps(HEADER | {"num_buffers": 10**9}), "{}", "{}", *['{"id": "b"}', b"1"] * 40], id="10**9"
        ),
        pytest.param(fragments({}, msgtype="PUSH-DOC"), id="another document"),
        pytest.param(fragments({}, msgtype="unknown"), id="type"),
        pytest.param(fragments({"events": [{"kind": "RootAdded", "model": {"id": "p1"}}]}), id="root"),
        pytest.param(fragments({"events": 5}), id="no events"),
        pytest.param(fragments(change(1, kind=["ModelChanged"])), id="a list as an event's kind"),
        pytest.param(fragments(change({"type": "ndarray", "dtype": {}})), id="a mapping as a dtype"),
        pytest.param(fragments([]), id="a list"),
        pytest.param(["5", "5", "5"], id="no header"),
        pytest.param([b"\x00"], id="binary"),
    ],
)
def test_message_that_no_page_sends_is_refused_before_decoding(parts):
    with pytest.raises(MessageRefused) as refused:
        asyncio.run(receive(parts))
    assert len(str(refused.value)) < messages.MAX_REASON_CHARS


class Page:
    """A session with a document of three models, and what a websocket does with a message to it."""

    def __init__(self):
        self.models = [Div(), Slider(start=0, end=1, value=0), Plot()]
        document = Document()
        for model in self.models:
            document.add_root(model)
        self.ids = [model.id for model in self.models]
        self.session = ServerSession("id", document, io_loop=IOLoop.current())
        self.connection = SimpleNamespace(session=self.session, protocol=Protocol())
        self.connection.ok = lambda message: Protocol().create("OK", message.header["msgid"])
        self.handler = MessageHandler()

    async def send(self, content, *buffers, **header):
        return await self.handler.handle(await receive(fragments(content, *buffers, **header)), self.connection)


def test_a_value_that_a_property_refuses_is_answered_shortly_and_not_logged(caplog):
    async def look():
        page = Page()
        with caplog.at_level(logging.INFO):
            answer = await page.send(change(["secret" * 10_000], model=page.ids[0]))
        assert answer.msgtype == "ERROR"
        assert len(answer.content_json) < 500
        assert "(text)" in answer.content_json
        assert "secret" not in answer.content_json
        assert (await page.send(change("words", model=page.ids[0]))).msgtype == "OK"
        assert page.models[0].text == "words"
        for _ in range(messages.FAILURES_AT_ONCE - 1):
            await page.send(change([], model=page.ids[0]))
        with pytest.raises(MessageRefused):
            await page.send(change([], model=page.ids[0]))

    asyncio.run(look())
    written = "".join(logging.Formatter().format(record) for record in caplog.records if "alrviz" in record.name)
    assert 0 < len(written) < 500 * (messages.FAILURES_AT_ONCE + 1)
    assert "secret" not in written


def test_a_fault_of_the_program_keeps_its_traceback(caplog):
    async def look():
        page = Page()
        # Any function of the program that fails when it is told of a change.
        page.models[0].on_change("text", lambda attr, old, new: parse_networks([new]))
        assert (await page.send(change("secret", model=page.ids[0]))).msgtype == "ERROR"

    asyncio.run(look())
    written = logging.Formatter().format(caplog.records[-1])
    assert ("in parse_networks" in written, "secret" in written) == (True, False)


def test_a_session_stores_so_much_and_no_more(monkeypatch):
    monkeypatch.setattr(messages, "MAX_STORED_BYTES", 2_000_000)

    async def look():
        page = Page()
        text, (first, second, third) = "x" * 900_000, page.ids
        for _ in range(5):  # in place of each other
            await page.send(change(text, model=first))
        await page.send(change(text, "name", first))
        with pytest.raises(MessageRefused):
            await page.send(change(text, "name", second))
        await page.session.with_document_locked(page.session.document.remove_root, page.models[0])
        await page.send(change(text, "name", second))  # a model that has gone stores nothing
        rows = {"kind": "ColumnsStreamed", "model": {"id": third}, "attr": "data", "data": {"x": [text]}}
        with pytest.raises(MessageRefused):
            await page.send({"events": [rows, rows]})

    asyncio.run(look())


def test_the_document_is_not_asked_for_again_and_again():
    async def look():
        page = Page()
        for _ in range(messages.DOCUMENTS_AT_ONCE):
            assert (await page.send({}, msgtype="PULL-DOC-REQ")).msgtype == "PULL-DOC-REPLY"
        with pytest.raises(MessageRefused):
            await page.send({}, msgtype="PULL-DOC-REQ")
        assert (await page.send({}, msgtype="SERVER-INFO-REQ")).msgtype == "SERVER-INFO-REPLY"

    asyncio.run(look())
