"""Limits on the websocket messages of a page, checked before Bokeh decodes them.

Bokeh assembles a message from as many buffers as its header names, unpacks gzip without a limit, makes any model that a
message names, and logs a message that it cannot apply together with its whole content.

    limit                                  value                 why
    bytes of a message                     MAX_MESSAGE_BYTES     a piece of an uploaded table has 1 MB
    of these, its JSON                     MAX_JSON_BYTES
    buffers, depth, values, new models     MAX_BUFFERS, MAX_DEPTH, MAX_VALUES, MAX_NEW_MODELS
    seconds until a message is complete    MESSAGE_SECONDS
    types, events, values                  MESSAGE_TYPES, EVENTS, and `check_content`
    values stored by a session             MAX_STORED_BYTES      else one could be put into each property of each model
    documents asked for, failed messages   RateLimit of each websocket

What goes beyond closes the websocket with one short line in the log. A message within the limits that cannot be applied
(a value that a property refuses) is answered by the error's kind and the property's name, and so is the log: the value
is in neither.
"""

import logging
import weakref
from traceback import walk_tb
from typing import Any

from bokeh.core.types import ID
from bokeh.document import Document
from bokeh.protocol import Protocol
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Receiver
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession

from alrviz.explorer.server.rate_limit import RateLimit

_log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 2 * 2**20
MAX_JSON_BYTES = 2**20
MAX_BUFFERS = 32
MAX_DEPTH = 40
MAX_VALUES = 20_000  # of lists and mappings; a property that refuses 490,000 of them one by one took 8.6 s of the loop
MAX_NEW_MODELS = 16  # a browser makes a few, such as the selection of a table; 40 bytes of JSON make 20 kB of model
NEW_MODEL_BYTES = 20_000
MAX_STORED_BYTES = 16 * 2**20
MESSAGE_SECONDS = 60.0
MAX_REASON_CHARS = 100
DOCUMENTS_AT_ONCE, SECONDS_PER_DOCUMENT = 4, 10.0
FAILURES_AT_ONCE, SECONDS_PER_FAILURE = 20, 3.0
SMALL_VALUE_BYTES = 256  # not counted as stored: switches, numbers, names

MESSAGE_TYPES = frozenset({"PATCH-DOC", "PULL-DOC-REQ", "SERVER-INFO-REQ"})
# The events that a page's browser sends. It never adds or removes roots, nor sets the title.
EVENTS = frozenset({"ModelChanged", "MessageSent", "ColumnDataChanged", "ColumnsStreamed", "ColumnsPatched"})
# A dtype such as "S100000000" would make an array of any size from a short list.
DTYPES = frozenset({"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64", "object"})


class MessageRefused(Exception):
    """A message beyond the limits; its text is for the log and for the browser."""


class BoundedReceiver(Receiver):
    """Bokeh's receiver, which assembles fragments into messages, within the limits of this module."""

    def __init__(self) -> None:
        super().__init__(Protocol())
        self._reset_counts()

    @property
    def pending(self) -> bool:
        """Whether a message has begun and is not complete."""
        return self._n_fragments > 0

    async def consume(self, fragment: str | bytes) -> Message[Any] | None:
        """Take a fragment; return the message that it completes, checked but not decoded.

        Raises:
            MessageRefused: of a message beyond the limits, or of fragments that are no message.
        """
        self._n_fragments += 1
        n_bytes = len(fragment) if isinstance(fragment, bytes) else len(fragment.encode())
        self._n_bytes += n_bytes
        if self._n_bytes > MAX_MESSAGE_BYTES or (isinstance(fragment, str) and n_bytes > MAX_JSON_BYTES):
            raise MessageRefused("a message is too large")
        if self._n_fragments > 3 + 2 * MAX_BUFFERS:
            raise MessageRefused("a message has too many buffers")
        try:
            message = await super().consume(fragment)
        except Exception as error:  # for malformed fragments Bokeh raises exceptions of any kind
            raise MessageRefused(f"no message ({type(error).__name__})") from None
        if message is not None:
            self._reset_counts()
            check_content(message)
        return message

    def _reset_counts(self) -> None:
        self._n_bytes = self._n_fragments = 0


def check_content(message: Message[Any]) -> None:
    """Check the type and content of a message before anything of it is decoded.

    Raises:
        MessageRefused: of a type, an event or a value that no page sends.
    """
    if message.msgtype not in MESSAGE_TYPES:
        raise MessageRefused(f"a message of type {message.msgtype}")
    if message.msgtype != "PATCH-DOC":
        return
    events = message.content.get("events") if isinstance(message.content, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MessageRefused("a patch without events")
    for event in events:
        is_unknown_message = event.get("kind") == "MessageSent" and event.get("msg_type") != "bokeh_event"
        if is_unknown_message or not _is_among(event.get("kind"), EVENTS):
            raise MessageRefused("an event that no page sends")
    _check_values(events)


def _check_values(events: list[dict[str, Any]]) -> None:
    """Refuse events with too many values or new models, or too deep nesting."""
    n_models = n_values = 0
    stack: list[tuple[Any, int]] = [(events, 1)]
    while stack:
        value, depth = stack.pop()
        n_values += len(value)
        if depth > MAX_DEPTH:
            raise MessageRefused("a value that is nested too deep")
        if n_values > MAX_VALUES:
            raise MessageRefused("too many values")
        if isinstance(value, dict):
            _check_mapping(value)
            n_models += value.get("type") == "object"
            if n_models > MAX_NEW_MODELS:
                raise MessageRefused("too many new models")
        children = value.values() if isinstance(value, dict) else value
        stack += [(child, depth + 1) for child in children if isinstance(child, dict | list)]


def _check_mapping(value: dict[str, Any]) -> None:
    """Raise `MessageRefused` if a mapping in a message's JSON holds bytes in the JSON itself (browsers send them as
    buffers), or an array of a dtype that is not in `DTYPES`.
    """
    kind = value.get("type")
    if kind == "bytes" and not isinstance(value.get("data"), dict):
        raise MessageRefused("packed bytes")  # a page's browser sends bytes as buffers
    if kind == "ndarray" and not _is_among(value.get("dtype"), DTYPES):
        raise MessageRefused("an array of another dtype")


def _is_among(value: Any, names: frozenset[str]) -> bool:
    """Return whether a value is one of these names; it may be a list or mapping, which have no hash."""
    return isinstance(value, str) and value in names


class _StoredValues:
    """Counts the bytes that browsers have stored in the properties of a session's models."""

    def __init__(self) -> None:
        self._bytes_by_property: dict[tuple[str, str], int] = {}
        self._total = 0

    def store(self, event: dict[str, Any], n_buffer_bytes: int, document: Document) -> None:
        """Count the bytes of an event's value in place of the property's earlier one, or add them if it is streamed.

        Beyond the limit, models that have left `document` are dropped; `MessageRefused` if that does not suffice.
        """
        model = event.get("model")
        key = (str(model.get("id")) if isinstance(model, dict) else "", str(event.get("attr")))
        n_bytes = _json_bytes({name: value for name, value in event.items() if name != "model"}) + n_buffer_bytes
        if event["kind"] in ("ColumnsStreamed", "ColumnsPatched"):  # these add to the stored value
            n_bytes += self._bytes_by_property.get(key, 0)
        self._set_bytes(key, n_bytes if n_bytes > SMALL_VALUE_BYTES else 0)
        if self._total > MAX_STORED_BYTES:
            for stored_key in list(self._bytes_by_property):
                if document.get_model_by_id(ID(stored_key[0])) is None:
                    self._set_bytes(stored_key, 0)
        if self._total > MAX_STORED_BYTES:
            raise MessageRefused("more values than a session may store")

    def _set_bytes(self, key: tuple[str, str], n_bytes: int) -> None:
        """Set the bytes of a property; 0 forgets it. key: id of the model, name of the property."""
        self._total += n_bytes - self._bytes_by_property.pop(key, 0)
        if n_bytes:
            self._bytes_by_property[key] = n_bytes


def _json_bytes(value: Any) -> int:
    """Return about how many bytes a decoded JSON value takes."""
    n_bytes, stack = 0, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            n_bytes += 64 + sum(map(len, item)) + (NEW_MODEL_BYTES if item.get("type") == "object" else 0)
            stack += item.values()
        elif isinstance(item, list):
            n_bytes += 8 * len(item)
            stack += item
        else:
            n_bytes += len(item) if isinstance(item, str) else 8
    return n_bytes


_stored: "weakref.WeakKeyDictionary[ServerSession, _StoredValues]" = weakref.WeakKeyDictionary()


class MessageHandler:
    """Applies the messages of one websocket to its session, in place of Bokeh's `ProtocolHandler`."""

    def __init__(self) -> None:
        self._documents = RateLimit(DOCUMENTS_AT_ONCE, SECONDS_PER_DOCUMENT)
        self._failures = RateLimit(FAILURES_AT_ONCE, SECONDS_PER_FAILURE)

    async def handle(self, message: Message[Any], connection: ServerConnection) -> Message[Any]:
        """Apply a message that was checked; return the answer.

        Raises:
            MessageRefused: where a limit of the session or of the websocket is exceeded.
        """
        id = ID(str(message.header.get("msgid"))[:MAX_REASON_CHARS])
        if message.msgtype == "SERVER-INFO-REQ":
            return connection.protocol.create("SERVER-INFO-REPLY", id)
        if message.msgtype == "PULL-DOC-REQ":
            _count_attempt(self._documents, "the document is asked for too often")
            return await ServerSession.pull(message, connection)
        stored = _stored.setdefault(connection.session, _StoredValues())
        n_buffer_bytes = sum(len(buffer.data) for buffer in message.buffers)
        for event in message.content["events"]:
            if event["kind"] != "MessageSent":
                stored.store(event, n_buffer_bytes, connection.session.document)
                n_buffer_bytes = 0  # which event a buffer belongs to does not matter for the sum
        try:
            return await ServerSession.patch(message, connection)
        except Exception as error:  # from a property that refuses a value, or from a bug in a callback
            _count_attempt(self._failures, "too many messages fail")
            # The error's own text may quote the value, which may be a password or a row of a table.
            error_summary = f"{type(error).__name__} ({_property_names(message, connection.session.document)})"
            error_summary = error_summary[:MAX_REASON_CHARS]
            redacted = RuntimeError("its text is left out").with_traceback(error.__traceback__)
            trace = redacted if _in_our_code(error) else None  # a traceback within Bokeh helps nobody
            _log.warning("A message of a page could not be applied: %s", error_summary, exc_info=trace)
        # Not in the except block: Bokeh would add the traceback.
        return connection.protocol.create("ERROR", id, error_summary)


def _count_attempt(limit: RateLimit, reason: str) -> None:
    """Count an attempt; beyond the rate raise `MessageRefused` with the reason."""
    if limit.seconds_to_wait(""):
        raise MessageRefused(reason)
    limit.count_attempt("")


def _property_names(message: Message[Any], document: Document) -> str:
    """Return the names of the properties that a message sets; names that no model has are left out."""
    names = []
    for event in message.content["events"]:
        id = event["model"].get("id") if isinstance(event.get("model"), dict) else None
        model = document.get_model_by_id(ID(id)) if isinstance(id, str) else None
        if model is not None and isinstance(name := event.get("attr"), str) and name in model.properties():
            names.append(name)
    return ", ".join(dict.fromkeys(names)) or "no known property"


def _in_our_code(error: Exception) -> bool:
    """Return whether the error comes from a callback of this package."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(module.startswith("alrviz.") and module != __name__ for module in modules)
