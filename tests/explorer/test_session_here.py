"""What a page that lost its connection may ask, and with what it may not."""

import asyncio
import json
from base64 import urlsafe_b64encode

from tests.explorer.test_guard import ask, first_message, page_of

PAYLOADS = ("5", "null", '"text"', "[1]", "{}", "{", "\xff")


def test_a_token_that_is_none_is_no_session_and_no_error(served):
    tokens = [urlsafe_b64encode(payload.encode("latin-1")).decode().rstrip("=") for payload in PAYLOADS]

    async def look():
        mine = await page_of(served.url)
        assert await first_message(served.url, mine) == "ACK", "the session is there once a browser has asked for it"
        for forged in [*tokens, *(f"{token}.{'a' * 43}" for token in tokens)]:
            answer = await ask(f"{served.url}/session", headers={"Alrviz-Token": forged})
            assert (answer.code, json.loads(answer.body)["here"]) == (200, False), forged
        answer = await ask(f"{served.url}/session", headers={"Alrviz-Token": mine})
        assert json.loads(answer.body)["here"]

    asyncio.run(look())
