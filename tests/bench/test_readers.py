"""The benchmark of readers: what a message says, and how it becomes a delay."""

import json
import time

import pytest

from alrviz.bench.readers import Reader, delays_of


def streamed(*steps):
    """A message as a stream of points is sent."""
    data = {"x": [0.5], "y": [1.0], "step": list(steps)}
    return json.dumps({"events": [{"kind": "ColumnsStreamed", "data": data}]}, separators=(",", ":"))


def test_a_message_is_known_by_its_last_step():
    reader = Reader()
    begun = time.time()
    for message in (streamed(3, 4), '{"kind":"TitleChanged"}', None, streamed(7).encode()):
        reader.read(message)
    assert [step for step, _ in reader.came] == [4, 7]
    assert all(begun <= at <= time.time() for _, at in reader.came)
    assert reader.bytes == len(streamed(3, 4)) + len(streamed(7)) + len('{"kind":"TitleChanged"}')


def test_a_delay_is_from_the_last_racers_step_to_the_first_message_with_it():
    steps = [("lr", 5, 10.0), ("alr", 5, 10.2), ("lr", 6, 11.0), ("alr", 6, 11.1), ("lr", 9, 20.0)]
    reader = Reader(came=[(5, 10.1), (5, 10.5), (6, 11.3), (7, 12.0)])
    assert delays_of(steps, [reader, Reader()]) == pytest.approx([0.3, 0.2])
