"""Who builds a page next, and what is left to visitors who are there."""

import asyncio

from alrviz.explorer.server import page_queue
from alrviz.explorer.server.page_queue import PageQueue


async def asked(queue, order, address, known=False):
    if not await queue.enter(address, known):
        order.append(f"refused {address}")
        return
    order.append(address + (" known" if known else ""))
    try:
        await asyncio.sleep(0)
    finally:
        queue.leave()


def ordered(*requests, **limits):
    """The order in which pages of (address, known) are built that are asked for at once."""

    async def run():
        queue, order = PageQueue(), []
        await asyncio.gather(*(asked(queue, order, *request) for request in requests))
        return order

    return asyncio.run(run())


def test_who_asks_for_many_waits_for_oneself():
    order = ordered(*[("flood",)] * 20, ("visitor",), ("another",))
    assert order[0] == "flood"
    assert {order[1], order[2]} == {"visitor", "another"}
    assert order[3:] == ["flood"] * 19


def test_of_one_address_a_known_visitor_goes_first_and_a_class_as_it_came():
    order = ordered(*[("school",)] * 5, ("school", True))
    assert order == ["school", "school known", *["school"] * 4]


def test_too_many_of_one_address_are_told_to_come_again(monkeypatch):
    monkeypatch.setattr(page_queue, "MAX_WAITING_PER_ADDRESS", 3)
    order = ordered(*[("flood",)] * 6, ("visitor",))
    assert order.count("refused flood") == 2
    assert "visitor" in order


def test_whoever_waits_knows_the_place_and_the_turns_come_in_that_order():
    async def run():
        now = [0.0]
        queue, order = PageQueue(lambda: now[0]), []
        assert await queue.enter("first", False, "first")

        async def built(name, address, known):
            await queue.enter(address, known, name)
            order.append(name)
            queue.leave()

        asked = [("a1", "a", False), ("a2", "a", False), ("b1", "b", False), ("a3", "a", True), ("gone", "a", False)]
        tasks = [asyncio.ensure_future(built(*one)) for one in asked]
        await asyncio.sleep(0)
        tasks[-1].cancel()
        await asyncio.sleep(0)
        places = {name: queue.place(name)[0] for name, *_ in asked}
        now[0] = 2.0
        queue.leave()  # the first took 2 s, and as long is left free
        seconds = [queue.place(name)[1] for name in ("a3", "b1")]
        queue._next()
        await asyncio.gather(*tasks, return_exceptions=True)
        return places, order, seconds

    places, order, seconds = asyncio.run(run())
    assert places == {"a3": 1, "b1": 2, "a1": 3, "a2": 4, "gone": 0}
    assert order == ["a3", "b1", "a1", "a2"]
    assert seconds[1] == 2 * seconds[0] > 2.0, "slower than was thought before the first"


def test_a_crowd_leaves_less_time_free(monkeypatch):
    monkeypatch.setattr(page_queue, "CROWD_SIZE", 2)

    async def run():
        now, free = [0.0], []
        queue, loop = PageQueue(lambda: now[0]), asyncio.get_running_loop()
        later = loop.call_later
        loop.call_later = lambda seconds, call: (free.append(seconds), later(0.0, call))[1]

        async def built():
            await queue.enter("a", False)
            await asyncio.sleep(0)
            now[0] += 1.0
            queue.leave()

        await asyncio.gather(*(built() for _ in range(4)))
        return free

    assert asyncio.run(run()) == [page_queue.CROWD_FREE_SHARE, page_queue.CROWD_FREE_SHARE, page_queue.FREE_SHARE, 0.0]


def test_whoever_leaves_while_waiting_costs_nothing_and_holds_up_nobody():
    async def run():
        queue, order = PageQueue(), []
        tasks = [asyncio.ensure_future(asked(queue, order, f"{k}")) for k in range(4)]
        await asyncio.sleep(0)
        for task in (tasks[0], tasks[2]):  # one whose turn it is, and one that waits
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order

    order = asyncio.run(run())
    assert [one for one in order if one != "0"] == ["1", "3"]


def test_whoever_leaves_at_the_moment_of_ones_turn_begins_no_second_queue():
    async def run():
        queue, building, most = PageQueue(), [], []

        async def built(address):
            await queue.enter(address, False)
            building.append(address)
            most.append(len(building))
            for _ in range(4):
                await asyncio.sleep(0)
            building.remove(address)
            queue.leave()

        await queue.enter("first", False)
        tasks = [asyncio.ensure_future(built("flood" if k else "gone")) for k in range(6)]
        await asyncio.sleep(0)
        tasks[0].cancel()  # and in the same pass of the loop it would have been its turn
        queue._next()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, queue._recent_pages

    most, had = asyncio.run(run())
    assert most == [1] * 5
    assert "gone" not in had, "a page that was never built"


def test_between_two_pages_as_much_time_is_free_as_one_took():
    async def run():
        now = [0.0]
        queue, free = PageQueue(lambda: now[0]), []
        loop = asyncio.get_running_loop()
        later = loop.call_later
        loop.call_later = lambda seconds, call: (free.append(seconds), later(0.0, call))[1]

        async def built():
            await queue.enter("a", False)
            await asyncio.sleep(0)
            now[0] += 0.5
            queue.leave()

        await asyncio.gather(built(), built())
        return free

    assert asyncio.run(run()) == [0.5, 0.0]
