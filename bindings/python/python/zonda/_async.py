# SPDX-License-Identifier: MIT OR Apache-2.0
"""Waiting for values in asyncio: the loop is woken once for all that arrive until it runs."""

import asyncio
import itertools
import threading

from ._zonda import ZError, _wakes

_started = threading.Lock()
_thread = None
# values that a loop takes before other tasks have a turn
_TURN = 256
_turns = itertools.count(1)


def _call():
    while True:
        for wake in _wakes():
            try:
                wake()
            except RuntimeError:  # the loop is closed: none waits any more
                pass
        wake = None


def _start():
    global _thread
    with _started:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_call, name="zonda-asyncio", daemon=True)
            _thread.start()


def _done(future):
    if not future.done():
        future.set_result(None)


class _Here:
    """An awaitable whose value is there."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield


def step(handler):
    """Returns the awaitable of the next value: of a waiting one at once, with no task switched."""
    try:
        value = handler.try_recv()
    except ZError:
        raise StopAsyncIteration from None
    if value is None:
        return _next(handler)
    if next(_turns) % _TURN == 0:
        return _after_others(value)
    return _Here(value)


async def _after_others(value):
    await asyncio.sleep(0)
    return value


async def _next(handler):
    loop = asyncio.get_running_loop()
    _start()
    while True:
        future = loop.create_future()
        if handler.on_ready(lambda: loop.call_soon_threadsafe(_done, future)):
            await future
        try:
            value = handler.try_recv()
        except ZError:
            raise StopAsyncIteration from None
        if value is not None:
            return value


def itself(handler):
    """Makes `await session.get(...)` give the handler of the replies."""
    return _Here(handler).__await__()


async def recv(handler):
    """Takes the next value; raises ZError at the end."""
    try:
        return await step(handler)
    except StopAsyncIteration:
        raise ZError("no more values will arrive: the sender has ended or is closed") from None
