# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Callable
from typing import Any, Generic, Literal, Never, Self, TypeVar, final, overload
from zonda import (
    CongestionControl,
    Encoding,
    EntityGlobalId,
    Handler,
    KeyExpr,
    Locality,
    Priority,
    Reliability,
    Sample,
    Session,
    Subscriber,
    Timestamp,
    TimestampInstrumentation,
    ZBytes,
    handlers,
)

_T = TypeVar("_T")
_H = TypeVar("_H")
_RustHandler = handlers.DefaultHandler[_T] | handlers.FifoChannel[_T] | handlers.RingChannel[_T]
_PythonCallback = Callable[[_T], Any]
_PythonHandler = tuple[_PythonCallback[_T], _H]
_IntoEncoding = Encoding | str
_IntoKeyExpr = KeyExpr | str
_IntoZBytes = Any

class Int8(int):
    """An integer that is serialized in 8 bits."""

class Int16(int):
    """An integer that is serialized in 16 bits."""

class Int32(int):
    """An integer that is serialized in 32 bits, as `int` is."""

class Int64(int):
    """An integer that is serialized in 64 bits."""

class Int128(int):
    """An integer that is serialized in 128 bits."""

class UInt8(int):
    """An integer without sign that is serialized in 8 bits."""

class UInt16(int):
    """An integer without sign that is serialized in 16 bits."""

class UInt32(int):
    """An integer without sign that is serialized in 32 bits."""

class UInt64(int):
    """An integer without sign that is serialized in 64 bits."""

class UInt128(int):
    """An integer without sign that is serialized in 128 bits."""

class Float32(float):
    """A number that is serialized in 32 bits."""

class Float64(float):
    """A number that is serialized in 64 bits, as `float` is."""

class ZDeserializeError(Exception):
    """The bytes are no value of the type."""

    pass

def z_serialize(obj: Any) -> ZBytes:
    """Serializes a number, bool, str, bytes, bytearray, ZBytes, or a list, tuple, dict, set or frozenset of them.

    Raises TypeError for other types, ValueError for a collection of several types, OverflowError for a number out of range.

    >>> bytes(z_serialize([1, 2]))
    b'\\x02\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'"""
    pass

def z_deserialize(tp: type[_T], zbytes: ZBytes) -> _T:
    """Reads a value of type `tp`, such as `int` or `dict[str, list[float]]`.

    Raises ZDeserializeError if the bytes are no such value, TypeError for a type that is not supported.

    >>> z_deserialize(list[int], z_serialize([1, 2]))
    [1, 2]"""
    pass

@final
class AdvancedPublisher:
    """A publisher with a cache, numbers and a token, for advanced subscribers."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def id(self) -> EntityGlobalId: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def encoding(self) -> Encoding: ...
    @property
    def congestion_control(self) -> CongestionControl: ...
    @property
    def priority(self) -> Priority: ...
    def put(
        self,
        payload: _IntoZBytes,
        *,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None
    ):
        """Publishes a value. Raises ZError."""

    def delete(
        self,
        *,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None
    ):
        """Publishes that the key has no value any more. Raises ZError."""

    def undeclare(self):
        """Ends the publisher."""

@final
class AdvancedSubscriber(Generic[_H]):
    """A subscriber that asks for history and for missed samples."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def id(self) -> EntityGlobalId: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    @overload
    def sample_miss_listener(self, handler: _RustHandler[Miss] | None = None) -> SampleMissListener[Handler[Miss]]:
        """Listens to samples that did not arrive and cannot be had any more."""

    @overload
    def sample_miss_listener(self, handler: _PythonHandler[Miss, _H]) -> SampleMissListener[_H]: ...
    @overload
    def sample_miss_listener(self, handler: _PythonCallback[Miss]) -> SampleMissListener[None]: ...
    @overload
    def detect_publishers(
        self, handler: _RustHandler[Sample] | None = None, *, history: bool | None = None
    ) -> Subscriber[Handler[Sample]]:
        """Subscribes to matching advanced publishers that come and go."""

    @overload
    def detect_publishers(
        self, handler: _PythonHandler[Sample, _H], *, history: bool | None = None
    ) -> Subscriber[_H]: ...
    @overload
    def detect_publishers(
        self, handler: _PythonCallback[Sample], *, history: bool | None = None
    ) -> Subscriber[None]: ...
    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: AdvancedSubscriber[Handler[Sample]]) -> Sample | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: AdvancedSubscriber[Handler[Sample]]) -> Sample:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: AdvancedSubscriber[Handler[Sample]]) -> Handler[Sample]: ...
    def __aiter__(self: AdvancedSubscriber[Handler[Sample]]) -> Handler[Sample]: ...

@final
class CacheConfig:
    """Cache of an advanced publisher: the number of samples for each key (default 1)."""

    def __new__(cls, max_samples: int | None = None, *, replies_config: RepliesConfig | None = None) -> Self: ...

@final
class HistoryConfig:
    """History that an advanced subscriber asks for; `max_age` is in seconds."""

    def __new__(
        cls,
        *,
        detect_late_publishers: bool | None = None,
        max_samples: int | None = None,
        max_age: float | int | None = None
    ) -> Self: ...

@final
class Miss:
    """A number of samples that did not arrive."""

    @property
    def source(self) -> EntityGlobalId: ...
    @property
    def nb(self) -> int: ...

@final
class MissDetectionConfig:
    """Numbers by which subscribers notice missed samples; periods are in seconds."""

    def __new__(cls, *, heartbeat: float | int | None, sporadic_heartbeat: float | int | None) -> Self: ...

@final
class RecoveryConfig:
    """Recovery of missed samples: by questions with a period in seconds, or by heartbeats."""

    def __new__(cls, *, periodic_queries: float | int | None, heartbeat: Literal[True] | None) -> Self: ...

@final
class RepliesConfig:
    """Service of an advanced publisher's repeated samples."""

    def __new__(
        cls,
        *,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None
    ) -> Self: ...

@final
class SampleMissListener(Generic[_H]):
    """A listener to missed samples."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: SampleMissListener[Handler[Miss]]) -> Miss | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: SampleMissListener[Handler[Miss]]) -> Miss:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: SampleMissListener[Handler[Miss]]) -> Handler[Miss]: ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    def __aiter__(self: SampleMissListener[Handler[Miss]]) -> Handler[Miss]: ...

def declare_advanced_publisher(
    session: Session,
    key_expr: _IntoKeyExpr,
    *,
    encoding: _IntoEncoding | None = None,
    congestion_control: CongestionControl | None = None,
    priority: Priority | None = None,
    express: bool | None = None,
    reliability: Reliability | None = None,
    allowed_destination: Locality | None = None,
    cache: CacheConfig | None = None,
    sample_miss_detection: MissDetectionConfig | None = None,
    publisher_detection: bool | None = None
) -> AdvancedPublisher:
    """Declares an advanced publisher. Raises ZError."""

@overload
def declare_advanced_subscriber(
    session: Session,
    key_expr: _IntoKeyExpr,
    handler: _RustHandler[Sample] | None = None,
    *,
    allowed_origin: Locality | None = None,
    history: HistoryConfig | None = None,
    recovery: RecoveryConfig | None = None,
    subscriber_detection: bool | None = None
) -> AdvancedSubscriber[Handler[Sample]]:
    """Declares an advanced subscriber. Raises ZError."""

@overload
def declare_advanced_subscriber(
    session: Session,
    key_expr: _IntoKeyExpr,
    handler: _PythonHandler[Sample, _H],
    *,
    allowed_origin: Locality | None = None,
    history: HistoryConfig | None = None,
    recovery: RecoveryConfig | None = None,
    subscriber_detection: bool | None = None
) -> AdvancedSubscriber[_H]: ...
@overload
def declare_advanced_subscriber(
    session: Session,
    key_expr: _IntoKeyExpr,
    handler: _PythonCallback[Sample],
    *,
    allowed_origin: Locality | None = None,
    history: HistoryConfig | None = None,
    recovery: RecoveryConfig | None = None,
    subscriber_detection: bool | None = None
) -> AdvancedSubscriber[None]: ...
