"""The benchmark of a class: its students are students of a real server, and answer every question."""

import asyncio

import pytest
from tornado.httpclient import HTTPClientError
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from benchmarks.class_ import LINK, _joined
from benchmarks.spectators import open_owner
from tests.explorer.test_class_page import CHOICE, Class
from tests.explorer.test_spectators import SERVERS, in_loop


def test_every_student_answers_and_each_answer_is_timed():
    async def look():
        classroom = Class()
        students = await _joined(classroom.url, classroom.room.secret, 5, answer_seconds=0.05)
        classroom.room.ask(CHOICE)
        while len(classroom.room.round.votes) < 5 or not all(student.took for student in students):
            await asyncio.sleep(0.01)
        await asyncio.gather(*(answer for student in students for answer in student.answers))
        assert {tuple(student.arrival_times) for student in students} == {(1,)}
        assert all(0 < seconds < 60 for student in students for seconds in student.took)
        for student in students:
            student.leave()

    in_loop(look())


def test_a_session_is_of_the_link_that_it_is_opened_by():
    async def look():
        queries = []

        class Page(RequestHandler):
            def get(self):
                self.write('"token":"abc"')

        class Socket(RequestHandler):
            def get(self):
                queries.append(self.request.query)
                self.set_status(403)

        socket, port = bind_unused_port()
        server = HTTPServer(Application([("/explorer", Page), ("/explorer/ws", Socket)]))
        server.add_socket(socket)
        SERVERS.append(server)
        with pytest.raises(HTTPClientError, match="403"):
            await open_owner("0" * 32, f"http://127.0.0.1:{port}/", LINK)
        assert queries == [LINK], "a session is of the link by which the websocket asks for it"

    in_loop(look())
