"""Limits on connections and requests of an HTTP server, before any handler runs.

Tornado's defaults suit a server behind a proxy: a connection may idle for an hour, a body of 100 MB is buffered before
a handler sees its request, and when files run out the accept loop logs a traceback for each turn of the event loop.

    limit                      value                                what happens beyond it
    headers of a request       MAX_HEADER_BYTES, HEADER_SECONDS     the connection is closed
    idle keep-alive            HEADER_SECONDS                       the connection is closed
    body of a request          MAX_BODY_BYTES, BODY_SECONDS         400 by its header, or the connection is closed
    connections                the limit of files, less a reserve   the one that has waited longest is closed
    connections of an address  half of them, at most MAX_PER_PEER   the one of the address that has waited longest

A connection waits while it has no complete request: it idles, or its headers are half sent. Half-sent requests and idle
connections therefore displace each other and never a visitor's open page. An address that holds too many open pages
is refused further connections.

A proxy's address is not limited: the proxy is asked to limit its clients. The client's address is read from the one
header X-Forwarded-For, and only where the connection's other end is one of the stated proxies.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

from alrviz.errors import AlrvizError

_log = logging.getLogger(__name__)

HEADER_SECONDS = 30.0
BODY_SECONDS = 30.0
MAX_BODY_BYTES = 65_536  # tables arrive over the websocket, so no request has a larger body
MAX_HEADER_BYTES = 32_768
MAX_OPEN_FILES = 16_384  # asked of the operating system; it may allow fewer
RESERVED_FILES = 256  # for tables, modules, the run store and pipes to processes
MAX_PER_PEER = 2_000  # a class behind one router: 300 students with up to 7 connections each while a page loads
ACCEPTS_PER_TURN = 128
ACCEPT_PAUSE_SECONDS = 1.0  # without files nothing can be accepted; asking again at once would be a busy loop

PROXIES_VARIABLE = "ALRVIZ_PROXIES"
LOOPBACK = ("127.0.0.1", "::1")
_FORWARDED_FOR, _FORWARDED_PROTO = "X-Forwarded-For", "X-Forwarded-Proto"
_FORWARDING_HEADERS = (_FORWARDED_FOR, _FORWARDED_PROTO, "X-Real-Ip", "X-Scheme")

Networks = list[IPv4Network | IPv6Network]


def parse_networks(texts: Iterable[str]) -> Networks:
    """Return addresses and networks ("10.0.0.5", "10.0.0.0/8") as networks.

    Raises:
        AlrvizError: of a text that is neither.
    """
    networks: Networks = []
    for text in texts:
        try:
            networks.append(ip_network(text.strip(), strict=False))
        except ValueError as error:
            raise AlrvizError(
                f"{text.strip()!r} is not a proxy's address; expected an IP address or a network such as 10.0.0.0/8"
            ) from error
    return networks


def stated_proxies(environment: Mapping[str, str] = os.environ) -> Networks:
    """Return the proxies that ALRVIZ_PROXIES names, separated by commas; without it those on this machine."""
    text = environment.get(PROXIES_VARIABLE, "")
    return parse_networks(text.split(",") if text.strip() else LOOPBACK)


def _is_within(address: str, networks: Networks) -> bool:
    """Return whether an IP address is in one of the networks; False for an invalid address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)  # an IPv4 peer of an IPv6 socket
    return any((mapped or parsed) in network for network in networks)


def forward_client(headers: HTTPHeaders, peer: str, proxies: Networks) -> None:
    """Leave in `headers` only what a stated proxy says of the client; remove all of it for any other peer.

    A client may send these headers itself. A proxy appends to X-Forwarded-For, so the last address that is no proxy is
    the one that the outermost stated proxy has seen. X-Real-Ip and X-Scheme are never used: one header, one meaning.
    A request whose headers are removed gets "Forwarded: for=unknown" (RFC 7239), because `visitor_ids.owner_of` must
    still know that it may come through a proxy or tunnel.
    """
    is_forwarded = any(name in headers for name in _FORWARDING_HEADERS)
    forwarded = headers.get(_FORWARDED_FOR, "") if _is_within(peer, proxies) else ""
    protocol = headers.get(_FORWARDED_PROTO, "") if _is_within(peer, proxies) else ""
    for name in _FORWARDING_HEADERS:
        headers.pop(name, None)
    addresses = [address.strip() for address in reversed(forwarded.split(",")) if address.strip()]
    client = next((address for address in addresses if not _is_within(address, proxies)), "")
    if client:
        headers[_FORWARDED_FOR] = client
    elif is_forwarded:
        headers.setdefault("Forwarded", "for=unknown")
    if protocol:
        headers[_FORWARDED_PROTO] = protocol


def raise_file_limit() -> int:
    """Raise the process's limit of open files as far as it may go; return how many connections may be open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit on sockets
        return MAX_OPEN_FILES - RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    target = MAX_OPEN_FILES if hard == unlimited else min(MAX_OPEN_FILES, hard)
    if soft != unlimited and soft < target:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
        except (OSError, ValueError):
            _log.warning("The limit of open files could not be raised from %d to %d", soft, target)
    files = MAX_OPEN_FILES if soft == unlimited else min(soft, MAX_OPEN_FILES)
    return max(files - RESERVED_FILES, 64)


class ConnectionTable:
    """The open connections of a server by the address of their other end, and which of them wait for a request.

    Args:
        limit: connections open at once.
        proxies: whose addresses have no limit of their own.

    Attributes:
        per_peer: connections open at once from one address.
    """

    def __init__(self, limit: int, proxies: Networks):
        self.limit, self.per_peer = limit, max(min(limit // 2, MAX_PER_PEER), 1)
        self._proxies = proxies
        self._open: dict[str, set[IOStream]] = {}
        self._idle: dict[str, dict[IOStream, None]] = {}  # by address; each in the order in which they began to wait

    def count(self) -> int:
        """Return how many are open."""
        return sum(map(len, self._open.values()))

    def admit(self, stream: IOStream, peer: str) -> bool:
        """Admit a connection, closing an idle one if there is no room; return False if no room can be made."""
        streams = self._open.setdefault(peer, set())
        if len(streams) >= self.per_peer and not _is_within(peer, self._proxies):
            streams -= {open_stream for open_stream in streams if open_stream.closed()}
            if len(streams) >= self.per_peer and not self._close_longest_waiting(peer):
                return False
        if self.count() >= self.limit:
            self._forget_closed()
            if self.count() >= self.limit and not self.make_room():
                return False
        self._open.setdefault(peer, set()).add(stream)
        return True

    def make_room(self) -> bool:
        """Close the connection that has been idle longest, of the address with most idle ones."""
        crowded = max(self._idle, key=lambda peer: len(self._idle[peer]), default=None)
        return crowded is not None and self._close_longest_waiting(crowded)

    def wait(self, stream: IOStream, peer: str) -> None:
        """Note that a connection waits for its next request."""
        self._idle.setdefault(peer, {})[stream] = None

    def answer(self, stream: IOStream, peer: str) -> None:
        """Note that a connection's request has come: it waits no more."""
        idle = self._idle.get(peer, {})
        idle.pop(stream, None)
        if not idle:
            self._idle.pop(peer, None)

    def end(self, stream: IOStream, peer: str) -> None:
        """Note that a connection brings no more requests; it stays open where it became a websocket."""
        self.answer(stream, peer)
        streams = self._open.get(peer, set())
        if stream.closed():
            streams.discard(stream)
        if not streams:
            self._open.pop(peer, None)

    def _close_longest_waiting(self, peer: str) -> bool:
        """Close the idle connection of an address that has waited longest; return whether there was one."""
        stream = next(iter(self._idle.get(peer, ())), None)
        if stream is None:
            return False
        self.answer(stream, peer)
        self._open.get(peer, set()).discard(stream)
        stream.close()
        return True

    def _forget_closed(self) -> None:
        # The end of a websocket is reported only to its handler, so closed streams are searched for.
        for peer, streams in list(self._open.items()):
            self._open[peer] = {stream for stream in streams if not stream.closed()}
            if not self._open[peer]:
                del self._open[peer]


class _CheckedRequest(HTTPMessageDelegate):
    """Forwards a request to its delegate, after a function has checked and may have changed the headers."""

    def __init__(self, delegate: HTTPMessageDelegate, check_headers: Callable[[HTTPHeaders], None]):
        self._delegate, self._check_headers = delegate, check_headers

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Any:
        self._check_headers(headers)
        return self._delegate.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Any:
        return self._delegate.data_received(chunk)

    def finish(self) -> None:
        self._delegate.finish()

    def on_connection_close(self) -> None:
        self._delegate.on_connection_close()


def limit_connections(server: HTTPServer, loop: IOLoop, proxies: Networks) -> ConnectionTable:
    """Set the limits of this module on a server that listens on `loop`, at best before the loop runs.

    proxies: peers that are trusted to state the client's address; an empty list trusts nobody.
    """
    parameters = server.conn_params
    parameters.header_timeout, parameters.body_timeout = HEADER_SECONDS, BODY_SECONDS
    parameters.max_header_size, parameters.max_body_size = MAX_HEADER_BYTES, MAX_BODY_BYTES
    table = ConnectionTable(raise_file_limit(), proxies)
    handle_stream, start_request, on_close = server.handle_stream, server.start_request, server.on_close

    def admit(stream: IOStream, address: Any) -> None:
        peer = _peer(address)
        if table.admit(stream, peer):
            handle_stream(stream, address)
        else:
            stream.close()
            _log.warning("Connections are refused: %s holds %d", peer, table.per_peer)

    def begin_request(server_connection: Any, request_connection: Any) -> HTTPMessageDelegate:
        stream, peer = server_connection.stream, _peer(request_connection.context.address)
        table.wait(stream, peer)

        def check_headers(headers: HTTPHeaders) -> None:
            table.answer(stream, peer)
            forward_client(headers, peer, proxies)

        return _CheckedRequest(start_request(server_connection, request_connection), check_headers)

    def end(server_connection: Any) -> None:
        table.end(server_connection.stream, _peer(server_connection.context.address))
        on_close(server_connection)

    # Replaced on the instance: a subclass cannot be used, because Bokeh makes the server.
    server.handle_stream = admit  # type: ignore[method-assign]
    server.start_request = begin_request  # type: ignore[method-assign, assignment]
    server.on_close = end  # type: ignore[method-assign, assignment]
    for file_number, listener in server._sockets.items():
        server._handlers[file_number]()
        server._handlers[file_number] = _accept_with_pause(listener, loop, server._handle_connection, table)
    return table


def _peer(address: Any) -> str:
    """Return the IP address of a socket's address; that of this machine for a Unix socket."""
    return str(address[0]) if isinstance(address, tuple) and address else "127.0.0.1"


def _accept_with_pause(
    listener: socket.socket,
    loop: IOLoop,
    handle_connection: Callable[[socket.socket, Any], None],
    table: ConnectionTable,
) -> Callable[[], None]:
    """Accept connections as Tornado does, but pause when files run out; return the function that ends it."""
    is_ended = False

    def accept(_number: Any, _events: int) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if is_ended:
                return
            try:
                connection, address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                _log.warning("No connection can be accepted now: %s", error.strerror)
                table.make_room()
                loop.remove_handler(listener)
                loop.call_later(ACCEPT_PAUSE_SECONDS, resume)
                return
            handle_connection(connection, address)

    def resume() -> None:
        if not is_ended:
            loop.add_handler(listener, accept, IOLoop.READ)

    def end() -> None:
        nonlocal is_ended
        is_ended = True
        loop.remove_handler(listener)

    loop.add_handler(listener, accept, IOLoop.READ)
    return end
