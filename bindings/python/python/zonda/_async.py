# SPDX-License-Identifier: MIT OR Apache-2.0
"""Waiting for values in asyncio: the loop is woken once for all that arrive until it runs."""

import asyncio
import threading

from ._zonda import ZError, _wakes

_started = threading.Lock()
_thread = None


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


async def wait(handler, others_first):
    """Waits for the next value, and takes it."""
    if others_first:
        await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    _start()
    while True:
        try:
            value = handler.try_recv()
        except ZError:
            raise StopAsyncIteration from None
        if value is not None:
            return value
        future = loop.create_future()
        if handler.on_ready(lambda: loop.call_soon_threadsafe(_done, future)):
            await future
