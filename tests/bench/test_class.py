"""The benchmark of a class: its students are students of a real server, and answer every question."""

import asyncio

from alrviz.bench.class_ import _joined
from tests.explorer.test_class_page import CHOICE, Class
from tests.explorer.test_spectators import in_loop


def test_every_student_answers_and_each_answer_is_timed():
    async def look():
        held = Class()
        students = await _joined(held.url, held.room.secret, 5, within=0.05)
        held.room.ask(CHOICE)
        while len(held.room.round.votes) < 5 or not all(student.took for student in students):
            await asyncio.sleep(0.01)
        assert {tuple(student.asked) for student in students} == {(1,)}
        assert all(0 < seconds < 60 for student in students for seconds in student.took)
        for student in students:
            student.leave()

    in_loop(look())
