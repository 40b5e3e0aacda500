# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Self, TypeVar, final, overload

_T = TypeVar("_T")

@final
class Handler(Generic[_T]):
    """The reading side of a queue. `for`, `async for`, `recv` and `try_recv` take values; `await handler` gives the handler itself."""

    def try_recv(self) -> _T | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    @overload
    def recv(self) -> _T: ...
    @overload
    def recv(self, timeout: float | None) -> _T | None:
        """Takes the next value; waits for it, at most `timeout` seconds, after which it returns None. Raises ZError at the end."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> _T: ...
    def drain(self, limit: int = 1024) -> list[_T]:
        """Takes what waits, without waiting for more, as a list: empty if nothing waits. Raises ZError at the end."""

    def on_ready(self, ready: Callable[[], Any]) -> bool:
        """Has `ready` called once, on a thread of the package, when there is a value or the end; returns False if that is so now."""

    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[_T]: ...
    def __await__(self) -> Generator[Any, Any, Self]: ...

@final
class DefaultHandler(Generic[_T]):
    """Queue of 256 values, the default: a full one makes the sender wait."""

@final
class FifoChannel(Generic[_T]):
    """Queue of `capacity` values: a full one makes the sender wait."""

    def __new__(cls, capacity: int) -> Self: ...

@final
class RingChannel(Generic[_T]):
    """Queue of the latest `capacity` values: a full one drops its oldest."""

    def __new__(cls, capacity: int) -> Self: ...

@final
class Callback(Generic[_T]):
    """A callback with a function for its end.

    With `indirect` (the default) a thread of its own calls it; without, the thread of the network does, which saves a change of
    threads and makes the network wait for the callback."""

    def __new__(
        cls, callback: Callable[[_T], Any], drop: Callable[[], Any] | None = None, *, indirect: bool = True
    ) -> Self: ...
    def __call__(self, arg: _T, /) -> Any: ...
    @property
    def callback(self) -> Callable[[_T], Any]: ...
    @property
    def drop(self) -> Callable[[], Any] | None: ...
    @property
    def indirect(self) -> bool: ...
