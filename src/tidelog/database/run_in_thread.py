"""Runs a call that takes its time in another thread, for asyncio: the event loop goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_in_thread(call: Callable[[], Result], cancel: Callable[[], Any]) -> Result:
    """Returns the result of `call`. If this task is cancelled, calls `cancel` and waits until the call has ended."""
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancel()
        with suppress(Exception):
            await asyncio.wait([future])
        if future.done():
            future.exception()  # it was cancelled: nobody else looks at it
        raise
