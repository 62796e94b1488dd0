"""The benchmark of spectators: what a message says, and how it becomes a delay."""

import json
import time

import pytest

from benchmarks.spectators import ALL_STEPS, Owner, Spectator, delays_of


def streamed(*steps):
    """A message as a stream of points is sent."""
    data = {"x": [0.5], "y": [1.0], "step": list(steps)}
    return json.dumps({"events": [{"kind": "ColumnsStreamed", "data": data}]}, separators=(",", ":"))


def test_a_message_is_known_by_its_last_step():
    spectator = Spectator()
    start = time.time()
    lines = (b'data: {"from":3,"steps":[3,4]}\n\n', b":\n\n", b'data: {"from":5,"steps":[]}\n\n', b'data: {"x":1}\n\n')
    for line in lines:
        spectator.read(line)
    assert [step for step, _ in spectator.came] == [4]
    assert start <= spectator.came[0][1] <= time.time()
    assert spectator.size == sum(map(len, lines))


def test_a_message_of_the_owners_page_too():
    owner = Owner()
    packed = '{"kind":"ModelChanged","data":{"entries":[["step",{"type":"ndarray"}]]}}'
    for message in (streamed(3, 4), '{"kind":"TitleChanged"}', None, streamed(7).encode(), packed):
        owner.read(message)
    assert [step for step, _ in owner.came] == [4, 7, ALL_STEPS]


def test_a_delay_is_from_the_last_racers_step_to_the_first_message_with_it():
    steps = [("lr", 5, 10.0), ("alr", 5, 10.2), ("lr", 6, 11.0), ("alr", 6, 11.1), ("lr", 9, 20.0)]
    spectator = Spectator(came=[(5, 10.1), (5, 10.5), (6, 11.3), (7, 12.0)])
    assert delays_of(steps, [spectator, Spectator()]) == pytest.approx([0.3, 0.2])
