"""What a page that lost its connection may ask, and with what it may not."""

import asyncio
import json
from base64 import urlsafe_b64encode

import pytest

from tests.explorer.test_guard import ask, first_message, page_of


@pytest.mark.parametrize("payload", ["5", "null", '"text"', "[1]", "{}", "{", "\xff"])
def test_a_token_that_is_none_is_no_session_and_no_error(served, payload):
    token = urlsafe_b64encode(payload.encode("latin-1")).decode().rstrip("=")

    async def look():
        mine = await page_of(served.url)
        assert await first_message(served.url, mine) == "ACK", "the session is there once a browser has asked for it"
        for forged in (token, f"{token}.{'a' * 43}"):
            answer = await ask(f"{served.url}/session", headers={"Alrviz-Token": forged})
            assert (answer.code, json.loads(answer.body)["here"]) == (200, False)
        answer = await ask(f"{served.url}/session", headers={"Alrviz-Token": mine})
        assert json.loads(answer.body)["here"]

    asyncio.run(look())
