"""A network line between browser and server that a test can cut, silence and mend."""

import socket
import threading
from contextlib import suppress


class Line:
    """Hands on bytes between a port of its own and a server's.

    Args:
        server: the server's port; may be set anew.

    Attributes:
        port: where the browser is to connect to.
    """

    def __init__(self, server: int):
        self.server = server
        self._there, self._flows = True, threading.Event()
        self._flows.set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._run(self._take)

    def cut(self) -> None:
        """Close all connections and refuse new ones."""
        self._there = False
        for pair in list(self._pairs):
            self._end(pair)

    def silence(self) -> None:
        """Hand on nothing, without a word: what is sent waits."""
        self._flows.clear()

    def mend(self) -> None:
        """Be there again."""
        self._there = True
        self._flows.set()

    def close(self) -> None:
        """Be gone."""
        self.mend()
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in list(self._threads):
            thread.join(10)
        self._door.close()

    def _run(self, work, *arguments) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _take(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            if not self._there:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.server))
            except OSError:
                client.close()
                continue
            self._pairs.append((client, server))
            self._run(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        back = threading.Thread(target=self._hand_on, args=(server, client), daemon=True)
        back.start()
        self._hand_on(client, server)
        back.join()
        self._pairs.remove((client, server))
        client.close()
        server.close()

    def _hand_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                target.sendall(data)
        self._end((source, target))

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        for end in pair:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
