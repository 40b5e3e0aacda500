# SPDX-License-Identifier: MIT OR Apache-2.0
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, final, overload
from . import ext as ext
from . import handlers as handlers
from . import shm as shm
from .handlers import Handler as Handler

_T = TypeVar("_T")
_H = TypeVar("_H")
_RustHandler = handlers.DefaultHandler[_T] | handlers.FifoChannel[_T] | handlers.RingChannel[_T]
_PythonCallback = Callable[[_T], Any]
_PythonHandler = tuple[_PythonCallback[_T], _H]

@final
class ZError(Exception):
    """Error of an operation; its text names the cause."""

@final
class CancellationToken:
    """A token that ends the gets it is given to."""

    def __new__(cls) -> Self: ...
    def cancel(self):
        """Ends the gets, and waits until their callbacks and functions for the end have returned. Gets that are given the token later
        raise ZError."""

    @property
    def is_cancelled(self) -> bool: ...

@final
class Config:
    """Configuration of a session: the keys of the reference's `DEFAULT_CONFIG.json5`."""

    def __new__(cls) -> Self: ...
    @classmethod
    def from_env(cls) -> Self:
        """Reads the file that the variable ZENOH_CONFIG names. Raises ZError."""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Reads a file. Raises ZError."""

    @classmethod
    def from_json5(cls, json: str) -> Self:
        """Reads a text. Raises ZError."""

    def get_json(self, key: str) -> Any:
        """Returns the value of a key, such as `connect/endpoints`, as JSON. Raises ZError."""

    def insert_json5(self, key: str, value: Any):
        """Sets the value of a key to a JSON5 text. Raises ZError."""

    def __str__(self) -> str: ...
    DEFAULT_CONFIG_PATH_ENV: str

@final
class CongestionControl(Enum):
    """Treatment of a message that finds a full queue: dropped (the default), or waiting."""

    DROP = auto()
    BLOCK = auto()
    BLOCK_FIRST = auto()
    DEFAULT = DROP

@final
class ConsolidationMode(Enum):
    """Merging of replies with the same key."""

    AUTO = auto()
    NONE = auto()
    MONOTONIC = auto()
    LATEST = auto()
    DEFAULT = AUTO

@final
class Encoding:
    """The format of a payload: one of the well-known ones, a text, each with a schema or without."""

    def __new__(cls, encoding: str | None = None) -> Self: ...
    def with_schema(self, schema: str) -> Self:
        """Returns this encoding with a schema, which is a text of the application."""

    def __eq__(self, other: _IntoEncoding) -> bool: ...
    def __hash__(self) -> int: ...
    def __str__(self) -> str: ...
    ZENOH_BYTES: Self
    ZENOH_STRING: Self
    ZENOH_SERIALIZED: Self
    APPLICATION_OCTET_STREAM: Self
    TEXT_PLAIN: Self
    APPLICATION_JSON: Self
    TEXT_JSON: Self
    APPLICATION_CDR: Self
    APPLICATION_CBOR: Self
    APPLICATION_YAML: Self
    TEXT_YAML: Self
    TEXT_JSON5: Self
    APPLICATION_PYTHON_SERIALIZED_OBJECT: Self
    APPLICATION_PROTOBUF: Self
    APPLICATION_JAVA_SERIALIZED_OBJECT: Self
    APPLICATION_OPENMETRICS_TEXT: Self
    IMAGE_PNG: Self
    IMAGE_JPEG: Self
    IMAGE_GIF: Self
    IMAGE_BMP: Self
    IMAGE_WEBP: Self
    APPLICATION_XML: Self
    APPLICATION_X_WWW_FORM_URLENCODED: Self
    TEXT_HTML: Self
    TEXT_XML: Self
    TEXT_CSS: Self
    TEXT_JAVASCRIPT: Self
    TEXT_MARKDOWN: Self
    TEXT_CSV: Self
    APPLICATION_SQL: Self
    APPLICATION_COAP_PAYLOAD: Self
    APPLICATION_JSON_PATCH_JSON: Self
    APPLICATION_JSON_SEQ: Self
    APPLICATION_JSONPATH: Self
    APPLICATION_JWT: Self
    APPLICATION_MP4: Self
    APPLICATION_SOAP_XML: Self
    APPLICATION_YANG: Self
    AUDIO_AAC: Self
    AUDIO_FLAC: Self
    AUDIO_MP4: Self
    AUDIO_OGG: Self
    AUDIO_VORBIS: Self
    VIDEO_H261: Self
    VIDEO_H263: Self
    VIDEO_H264: Self
    VIDEO_H265: Self
    VIDEO_H266: Self
    VIDEO_MP4: Self
    VIDEO_OGG: Self
    VIDEO_RAW: Self
    VIDEO_VP8: Self
    VIDEO_VP9: Self

_IntoEncoding = Encoding | str
EntityId = int

@final
class EntityGlobalId:
    """Id of an entity: that of its node, and a number."""

    @property
    def zid(self) -> ZenohId: ...
    @property
    def eid(self) -> EntityId: ...

@final
class Hello:
    """An answer of a node."""

    @property
    def whatami(self) -> WhatAmI: ...
    @property
    def zid(self) -> ZenohId: ...
    @property
    def locators(self) -> list[str]: ...
    def __str__(self) -> str: ...

@final
class KeyExpr:
    """A key, or an expression for several keys: `*` stands for one chunk, `**` for any number."""

    def __new__(cls, key_expr: str) -> Self: ...
    @classmethod
    def autocanonize(cls, key_expr: str) -> Self:
        """Makes a key expression of a text that need not be canonical. Raises ZError."""

    def intersects(self, other: _IntoKeyExpr) -> bool:
        """Returns whether some key belongs to both."""

    def includes(self, other: _IntoKeyExpr) -> bool:
        """Returns whether every key of the other belongs to this one."""

    def relation_to(self, other: _IntoKeyExpr) -> SetIntersectionLevel:
        """Returns the relation to the other."""

    def join(self, other: str) -> KeyExpr:
        """Returns this, a slash, and the other. Raises ZError."""

    def concat(self, other: str) -> KeyExpr:
        """Returns this and the other without a slash between. Raises ZError."""

    def __str__(self) -> str: ...

_IntoKeyExpr = KeyExpr | str

@final
class Liveliness:
    """Liveliness of a session: tokens, and who has them."""

    def declare_token(self, key_expr: _IntoKeyExpr) -> LivelinessToken:
        """Declares a token, which is alive as long as its object and its session. Raises ZError."""

    @overload
    def get(
        self,
        key_expr: _IntoKeyExpr,
        handler: _RustHandler[Reply] | None = None,
        *,
        timeout: float | int | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> Handler[Reply]:
        """Asks for the tokens that are alive. `timeout` is in seconds. Raises ZError."""

    @overload
    def get(
        self,
        key_expr: _IntoKeyExpr,
        handler: _PythonHandler[Reply, _H],
        *,
        timeout: float | int | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> _H: ...
    @overload
    def get(
        self,
        key_expr: _IntoKeyExpr,
        handler: _PythonCallback[Reply],
        *,
        timeout: float | int | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> None: ...
    @overload
    def declare_subscriber(
        self, key_expr: _IntoKeyExpr, handler: _RustHandler[Sample] | None = None, *, history: bool | None = None
    ) -> Subscriber[Handler[Sample]]:
        """Subscribes to tokens that come (PUT) and go (DELETE); with `history` also to those that are alive. Raises ZError."""

    @overload
    def declare_subscriber(
        self, key_expr: _IntoKeyExpr, handler: _PythonHandler[Sample, _H], *, history: bool | None = None
    ) -> Subscriber[_H]: ...
    @overload
    def declare_subscriber(
        self, key_expr: _IntoKeyExpr, handler: _PythonCallback[Sample], *, history: bool | None = None
    ) -> Subscriber[None]: ...

@final
class LivelinessToken:
    """A token of liveliness."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    def undeclare(self):
        """Ends the token."""

@final
class NTP64:
    """Time since 1970 in units of 2^-32 s."""

    def __new__(cls, seconds: int, nanos: int) -> Self: ...
    def as_secs_f64(self) -> float:
        """Returns the seconds."""

    def as_secs(self) -> int:
        """Returns the whole seconds."""

    def as_nanos(self) -> int:
        """Returns the nanoseconds."""

    def subsec_nanos(self) -> int:
        """Returns the nanoseconds beyond the whole seconds."""

    def to_datetime(self) -> datetime:
        """Returns the time in UTC, in whole microseconds."""

    def to_string_rfc3339_lossy(self) -> str:
        """Returns a text such as `2026-11-28T10:00:00.000000000Z`."""

    @classmethod
    def parse_rfc3339(cls, s: str) -> Self:
        """Reads such a text. Raises ZError."""

    def __eq__(self, other: Any) -> bool: ...
    def __ge__(self, other) -> bool: ...
    def __hash__(self) -> int: ...
    def __str__(self) -> str: ...

@final
class Parameters:
    """Parameters of a selector: names with values, as in `a=1;b=2`."""

    def __new__(cls, parameters: dict[str, str] | str | None = None): ...
    def is_empty(self) -> bool:
        """Returns whether there is no parameter."""

    def get(self, key: str, default: str | None = None) -> str | None:
        """Returns the value of a name, or `default`."""

    def values(self, key: str) -> list[str]:
        """Returns the values of a name, which are separated by `|`."""

    def insert(self, key: str, value: str):
        """Sets the value of a name."""

    def remove(self, key: str):
        """Removes a name."""

    def extend(self, parameters: _IntoParameters):
        """Sets the values of all names of the other."""

    def is_ordered(self) -> bool:
        """Returns whether the names are in order."""

    def __bool__(self) -> bool: ...
    def __contains__(self, item: str) -> bool: ...
    def __getitem__(self, item: str) -> str | None: ...
    def __iter__(self) -> list[tuple[str, str]]: ...
    def __str__(self) -> str: ...

_IntoParameters = Parameters | dict[str, str] | str

@final
class Priority(Enum):
    """Priority of a message; the smaller is sent first."""

    REAL_TIME = auto()
    INTERACTIVE_HIGH = auto()
    INTERACTIVE_LOW = auto()
    DATA_HIGH = auto()
    DATA = auto()
    DATA_LOW = auto()
    BACKGROUND = auto()
    DEFAULT = DATA
    MIN = BACKGROUND
    MAX = REAL_TIME

@final
class Publisher:
    """A declared publisher: the fast way to put many values to one key."""

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
    @property
    def reliability(self) -> Reliability: ...
    @property
    def matching_status(self) -> bool:
        """Whether some subscriber matches."""

    def put(
        self,
        payload: _IntoZBytes,
        *,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
        source_info: SourceInfo | None = None,
    ):
        """Publishes a value."""

    def delete(
        self,
        *,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
        source_info: SourceInfo | None = None,
    ):
        """Publishes that the key has no value any more."""

    def undeclare(self):
        """Ends the publisher."""

    @overload
    def declare_matching_listener(
        self, handler: _RustHandler[MatchingStatus] | None = None
    ) -> MatchingListener[Handler[MatchingStatus]]:
        """Listens to changes between some and no matching subscriber."""

    @overload
    def declare_matching_listener(self, handler: _PythonHandler[MatchingStatus, _H]) -> MatchingListener[_H]: ...
    @overload
    def declare_matching_listener(self, handler: _PythonCallback[MatchingStatus]) -> MatchingListener[None]: ...

@final
class Query:
    """A query. It is over, and the asker knows, once it is dropped: by `drop`, at the end of `with`, or with its object."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def selector(self) -> Selector: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def payload(self) -> ZBytes | None: ...
    @property
    def encoding(self) -> Encoding | None: ...
    @property
    def attachment(self) -> ZBytes | None: ...
    def accepts_replies(self) -> ReplyKeyExpr:
        """Returns the keys that replies may have."""

    def reply(
        self,
        key_expr: _IntoKeyExpr,
        payload: _IntoZBytes,
        *,
        encoding: _IntoEncoding | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
    ):
        """Answers with a value; a query may have several. Raises ZError if the key is none of the query's."""

    def reply_err(self, payload: _IntoZBytes, *, encoding: _IntoEncoding | None = None):
        """Answers with an error."""

    def reply_del(
        self,
        key_expr: _IntoKeyExpr,
        *,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
    ):
        """Answers that a key has no value."""

    @property
    def source_info(self) -> SourceInfo | None: ...
    @property
    def timestamp_stack(self) -> TimestampStack | None: ...
    def drop(self):
        """Ends the query."""

    def __str__(self) -> str: ...

@final
class Queryable(Generic[_H]):
    """A queryable: it receives queries and replies to them."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def id(self) -> EntityGlobalId: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: Queryable[handlers.Handler[Query]]) -> Query | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: Queryable[handlers.Handler[Query]]) -> Query:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: Queryable[Handler[Query]]) -> Handler[Query]: ...
    def __aiter__(self: Queryable[Handler[Query]]) -> Handler[Query]: ...

@final
class Querier:
    """A declared querier: it asks the same key again and again."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def id(self) -> EntityGlobalId: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def accept_replies(self) -> ReplyKeyExpr: ...
    @property
    def matching_status(self) -> bool:
        """Whether some queryable matches."""

    @overload
    def get(
        self,
        handler: _RustHandler[Reply] | None = None,
        *,
        parameters: _IntoParameters | None = None,
        payload: _IntoZBytes | None = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> Handler[Reply]:
        """Asks. Returns the handler of the replies: `for reply in querier.get()`, `async for reply in await querier.get()`."""

    @overload
    def get(
        self,
        handler: _PythonHandler[Reply, _H],
        *,
        parameters: _IntoParameters | None = None,
        payload: _IntoZBytes | None = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> _H: ...
    @overload
    def get(
        self,
        handler: _PythonCallback[Reply],
        *,
        parameters: _IntoParameters | None = None,
        payload: _IntoZBytes | None = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> None: ...
    def undeclare(self):
        """Ends the querier."""

    @overload
    def declare_matching_listener(
        self, handler: _RustHandler[MatchingStatus] | None = None
    ) -> MatchingListener[Handler[MatchingStatus]]:
        """Listens to changes between some and no matching queryable."""

    @overload
    def declare_matching_listener(self, handler: _PythonHandler[MatchingStatus, _H]) -> MatchingListener[_H]: ...
    @overload
    def declare_matching_listener(self, handler: _PythonCallback[MatchingStatus]) -> MatchingListener[None]: ...

@final
class QueryConsolidation:
    """Consolidation of a query."""

    AUTO: Self
    DEFAULT: Self

    def __new__(cls, mode: ConsolidationMode, /) -> Self: ...
    @property
    def mode(self) -> ConsolidationMode: ...

_IntoQueryConsolidation = ConsolidationMode

@final
class QueryTarget(Enum):
    """Queryables that a query is for."""

    BEST_MATCHING = auto()
    ALL = auto()
    ALL_COMPLETE = auto()
    DEFAULT = BEST_MATCHING

@final
class ReplyKeyExpr(Enum):
    """Keys that replies may have."""

    ANY = auto()
    MATCHING_QUERY = auto()
    DEFAULT = MATCHING_QUERY

@final
class Reliability(Enum):
    """Permission to lose a message on the way."""

    BEST_EFFORT = auto()
    RELIABLE = auto()

@final
class Locality(Enum):
    """Sessions that a message may reach or come from."""

    SESSION_LOCAL = auto()
    REMOTE = auto()
    ANY = auto()
    DEFAULT = ANY

@final
class Reply:
    """A reply to a query: a sample, or an error."""

    @property
    def result(self) -> Sample | ReplyError: ...
    @property
    def ok(self) -> Sample | None: ...
    @property
    def err(self) -> ReplyError | None: ...
    @property
    def replier_id(self) -> EntityGlobalId | None: ...

@final
class ReplyError:
    """An error that answers a query."""

    @property
    def payload(self) -> ZBytes: ...
    @property
    def encoding(self) -> Encoding: ...
    @property
    def timestamp_stack(self) -> TimestampStack | None: ...

@final
class SampleKind(Enum):
    """Kind of a sample: a value, or its deletion."""

    PUT = auto()
    DELETE = auto()

@final
class Sample:
    """A value for a key, or the deletion of its value."""

    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def payload(self) -> ZBytes: ...
    @property
    def kind(self) -> SampleKind: ...
    @property
    def encoding(self) -> Encoding: ...
    @property
    def timestamp(self) -> Timestamp | None: ...
    @property
    def congestion_control(self) -> CongestionControl: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def express(self) -> bool: ...
    @property
    def attachment(self) -> ZBytes | None: ...
    @property
    def source_info(self) -> SourceInfo | None: ...
    @property
    def timestamp_stack(self) -> TimestampStack | None: ...

@final
class Scout(Generic[_H]):
    """A running search for nodes."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def stop(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: Scout[Handler[Hello]]) -> Hello | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: Scout[Handler[Hello]]) -> Hello:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: Scout[Handler[Hello]]) -> Handler[Hello]: ...
    def __aiter__(self: Scout[Handler[Hello]]) -> Handler[Hello]: ...

@final
class Selector:
    """A key expression with parameters: the argument of a query."""

    def __new__(cls, arg: _IntoKeyExpr | str, /, parameters: _IntoParameters | None = None): ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @key_expr.setter
    def key_expr(self, key_expr: _IntoKeyExpr): ...
    @property
    def parameters(self) -> Parameters: ...
    @parameters.setter
    def parameters(self, parameters: _IntoParameters): ...
    def __str__(self) -> str: ...

_IntoSelector = Selector | _IntoKeyExpr

@final
class Session:
    """A session: a node of the network."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def info(self) -> SessionInfo: ...
    @property
    def id(self) -> EntityGlobalId: ...
    def zid(self) -> ZenohId:
        """Returns the id of the node."""

    def close(self):
        """Closes the session, with all that it declared. Raises ZError."""

    def is_closed(self) -> bool:
        """Returns whether the session is closed."""

    def undeclare(self, obj: KeyExpr):
        """Undeclares a key expression. Raises ZError if the session did not declare it."""

    def new_timestamp(self) -> Timestamp:
        """Returns a new time of the session's clock."""

    def declare_keyexpr(self, key_expr: _IntoKeyExpr):
        """Declares a key expression, which then takes fewer bytes in messages. Raises ZError."""

    def put(
        self,
        key_expr: _IntoKeyExpr,
        payload: _IntoZBytes,
        *,
        encoding: _IntoEncoding | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
        allowed_destination: Locality | None = None,
        source_info: SourceInfo | None = None,
    ):
        """Publishes a value. Raises ZError."""

    def delete(
        self,
        key_expr: _IntoKeyExpr,
        *,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        attachment: _IntoZBytes | None = None,
        timestamp: Timestamp | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
        allowed_destination: Locality | None = None,
        source_info: SourceInfo | None = None,
    ):
        """Publishes that a key has no value any more. Raises ZError."""

    @overload
    def get(
        self,
        selector: _IntoSelector,
        handler: _RustHandler[Reply] | None = None,
        *,
        target: QueryTarget | None = None,
        consolidation: _IntoQueryConsolidation | None = None,
        accept_replies: ReplyKeyExpr | None = None,
        timeout: float | int | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        payload: _IntoZBytes = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        allowed_destination: Locality | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> Handler[Reply]:
        """Asks all queryables that match. Returns the handler of the replies: `for reply in session.get("demo/**")`,
        `async for reply in await session.get("demo/**")`. `timeout` is in seconds (default 10). Raises ZError."""

    @overload
    def get(
        self,
        selector: _IntoSelector,
        handler: _PythonHandler[Reply, _H],
        *,
        target: QueryTarget | None = None,
        consolidation: _IntoQueryConsolidation | None = None,
        accept_replies: ReplyKeyExpr | None = None,
        timeout: float | int | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        payload: _IntoZBytes = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        allowed_destination: Locality | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> _H: ...
    @overload
    def get(
        self,
        selector: _IntoSelector,
        handler: _PythonCallback[Reply],
        *,
        target: QueryTarget | None = None,
        consolidation: _IntoQueryConsolidation | None = None,
        accept_replies: ReplyKeyExpr | None = None,
        timeout: float | int | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        payload: _IntoZBytes = None,
        encoding: _IntoEncoding | None = None,
        attachment: _IntoZBytes | None = None,
        allowed_destination: Locality | None = None,
        source_info: SourceInfo | None = None,
        cancellation_token: CancellationToken | None = None,
        timestamp_instrumentation: TimestampInstrumentation | None = None,
    ) -> None: ...
    @overload
    def declare_subscriber(
        self,
        key_expr: _IntoKeyExpr,
        handler: _RustHandler[Sample] | None = None,
        *,
        allowed_origin: Locality | None = None,
    ) -> Subscriber[Handler[Sample]]:
        """Subscribes. `handler` is None, a channel of `zonda.handlers`, a function, or a tuple of a function and a handler.
        Raises ZError."""

    @overload
    def declare_subscriber(
        self, key_expr: _IntoKeyExpr, handler: _PythonHandler[Sample, _H], *, allowed_origin: Locality | None = None
    ) -> Subscriber[_H]: ...
    @overload
    def declare_subscriber(
        self, key_expr: _IntoKeyExpr, handler: _PythonCallback[Sample], *, allowed_origin: Locality | None = None
    ) -> Subscriber[None]: ...
    @overload
    def declare_queryable(
        self,
        key_expr: _IntoKeyExpr,
        handler: _RustHandler[Query] | None = None,
        *,
        complete: bool | None = None,
        allowed_origin: Locality | None = None,
    ) -> Queryable[Handler[Query]]:
        """Declares a queryable. Raises ZError."""

    @overload
    def declare_queryable(
        self,
        key_expr: _IntoKeyExpr,
        handler: _PythonHandler[Query, _H],
        *,
        complete: bool | None = None,
        allowed_origin: Locality | None = None,
    ) -> Queryable[_H]: ...
    @overload
    def declare_queryable(
        self,
        key_expr: _IntoKeyExpr,
        handler: _PythonCallback[Query],
        *,
        complete: bool | None = None,
        allowed_origin: Locality | None = None,
    ) -> Queryable[None]: ...
    def declare_publisher(
        self,
        key_expr: _IntoKeyExpr,
        *,
        encoding: _IntoEncoding | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        reliability: Reliability | None = None,
        allowed_destination: Locality | None = None,
    ) -> Publisher:
        """Declares a publisher. Raises ZError."""

    def declare_querier(
        self,
        key_expr: _IntoKeyExpr,
        *,
        target: QueryTarget | None = None,
        consolidation: _IntoQueryConsolidation | None = None,
        accept_replies: ReplyKeyExpr | None = None,
        timeout: float | int | None = None,
        congestion_control: CongestionControl | None = None,
        priority: Priority | None = None,
        express: bool | None = None,
        allowed_destination: Locality | None = None,
    ) -> Querier:
        """Declares a querier. `timeout` is in seconds. Raises ZError."""

    def liveliness(self) -> Liveliness:
        """Returns the liveliness of the session."""

@final
class SessionInfo:
    """What a session knows of itself and its neighbours."""

    def zid(self) -> ZenohId:
        """Returns the id of the session's node."""

    def routers_zid(self) -> list[ZenohId]:
        """Returns the ids of the routers it is connected to."""

    def peers_zid(self) -> list[ZenohId]:
        """Returns the ids of the peers it is connected to."""

    def transports(self) -> list[Transport]:
        """Returns the connections."""

    def links(self) -> list[Link]:
        """Returns the links of all connections."""

    @overload
    def declare_transport_events_listener(
        self, handler: _RustHandler[TransportEvent] | None = None, *, history: bool | None = None
    ) -> TransportEventsListener[Handler[TransportEvent]]:
        """Listens to connections that open and close; with `history` also to those that are open."""

    @overload
    def declare_transport_events_listener(
        self, handler: _PythonHandler[TransportEvent, _H], *, history: bool | None = None
    ) -> TransportEventsListener[_H]: ...
    @overload
    def declare_transport_events_listener(
        self, handler: _PythonCallback[TransportEvent], *, history: bool | None = None
    ) -> TransportEventsListener[None]: ...
    @overload
    def declare_link_events_listener(
        self, handler: _RustHandler[LinkEvent] | None = None, *, history: bool | None = None
    ) -> LinkEventsListener[Handler[LinkEvent]]:
        """Listens to links that open and close; with `history` also to those that are open."""

    @overload
    def declare_link_events_listener(
        self, handler: _PythonHandler[LinkEvent, _H], *, history: bool | None = None
    ) -> LinkEventsListener[_H]: ...
    @overload
    def declare_link_events_listener(
        self, handler: _PythonCallback[LinkEvent], *, history: bool | None = None
    ) -> LinkEventsListener[None]: ...
    def locators(self) -> list[str]:
        """Returns the addresses it listens on."""

@final
class Transport:
    """A connection to a neighbour."""

    @property
    def zid(self) -> ZenohId: ...
    @property
    def whatami(self) -> WhatAmI: ...
    @property
    def is_qos(self) -> bool: ...
    @property
    def is_multicast(self) -> bool: ...
    def __eq__(self, other: Transport) -> bool: ...
    def __repr__(self) -> str: ...

@final
class Link:
    """A link of a connection."""

    @property
    def zid(self) -> ZenohId: ...
    @property
    def src(self) -> str: ...
    @property
    def dst(self) -> str: ...
    @property
    def group(self) -> str | None: ...
    @property
    def mtu(self) -> int: ...
    @property
    def is_streamed(self) -> bool: ...
    @property
    def interfaces(self) -> list[str]: ...
    @property
    def auth_identifier(self) -> str | None: ...
    @property
    def priorities(self) -> tuple[int, int] | None: ...
    @property
    def reliability(self) -> Reliability | None: ...
    def __eq__(self, other: Link) -> bool: ...
    def __repr__(self) -> str: ...

@final
class TransportEvent:
    """A connection that opens (PUT) or closes (DELETE)."""

    @property
    def kind(self) -> SampleKind: ...
    @property
    def transport(self) -> Transport: ...
    def __repr__(self) -> str: ...

@final
class TransportEventsListener(Generic[_H]):
    """A listener to connections."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: TransportEventsListener[Handler[TransportEvent]]) -> TransportEvent | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: TransportEventsListener[Handler[TransportEvent]]) -> TransportEvent:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: TransportEventsListener[Handler[TransportEvent]]) -> Handler[TransportEvent]: ...
    def __aiter__(self: TransportEventsListener[Handler[TransportEvent]]) -> Handler[TransportEvent]: ...

@final
class LinkEvent:
    """A link that opens (PUT) or closes (DELETE)."""

    @property
    def kind(self) -> SampleKind: ...
    @property
    def link(self) -> Link: ...
    def __repr__(self) -> str: ...

@final
class LinkEventsListener(Generic[_H]):
    """A listener to links."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: LinkEventsListener[Handler[LinkEvent]]) -> LinkEvent | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: LinkEventsListener[Handler[LinkEvent]]) -> LinkEvent:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: LinkEventsListener[Handler[LinkEvent]]) -> Handler[LinkEvent]: ...
    def __aiter__(self: LinkEventsListener[Handler[LinkEvent]]) -> Handler[LinkEvent]: ...

@final
class SetIntersectionLevel(Enum):
    """Relation of two key expressions."""

    DISJOINT = auto()
    INTERSECTS = auto()
    INCLUDES = auto()
    EQUALS = auto()

@final
class MatchingStatus:
    """Whether something matches; true or false as itself."""

    @property
    def matching(self) -> bool: ...

@final
class MatchingListener(Generic[_H]):
    """A listener to changes of matching."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: MatchingListener[Handler[MatchingStatus]]) -> MatchingStatus | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: MatchingListener[Handler[MatchingStatus]]) -> MatchingStatus:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: MatchingListener[Handler[MatchingStatus]]) -> Handler[MatchingStatus]: ...
    def __aiter__(self: MatchingListener[Handler[MatchingStatus]]) -> Handler[MatchingStatus]: ...

@final
class SourceInfo:
    """Source of a message: the entity, and the message's number there."""

    def __new__(cls, source_id: EntityGlobalId, source_sn: SourceSn) -> Self: ...
    @property
    def source_id(self) -> EntityGlobalId: ...
    @property
    def source_sn(self) -> SourceSn: ...

SourceSn = int

@final
class Subscriber(Generic[_H]):
    """A subscriber: `for sample in subscriber`, `async for sample in subscriber`, or a callback."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_args, **_kwargs): ...
    @property
    def id(self) -> EntityGlobalId: ...
    @property
    def key_expr(self) -> KeyExpr: ...
    @property
    def handler(self) -> _H:
        """What the declaration was given or made as handler; None for a callback."""

    def undeclare(self):
        """Ends it: no value comes any more. Values that wait can still be taken."""

    def try_recv(self: Subscriber[Handler[Sample]]) -> Sample | None:
        """Takes the next value if there is one now, else returns None. Raises ZError at the end."""

    def recv(self: Subscriber[Handler[Sample]]) -> Sample:
        """Takes the next value; waits for it. Raises ZError at the end."""

    def __iter__(self: Subscriber[Handler[Sample]]) -> Handler[Sample]: ...
    def __aiter__(self: Subscriber[Handler[Sample]]) -> Handler[Sample]: ...

@final
class Timestamp:
    """A time with the id of the clock that gave it."""

    def __new__(cls, time: datetime | NTP64, id: _IntoTimestampId) -> Self: ...
    def get_time(self) -> datetime:
        """Returns the time in UTC, in whole microseconds."""

    def get_time_as_ntp64(self) -> NTP64:
        """Returns the time as it was sent."""

    def get_id(self) -> TimestampId:
        """Returns the id of the clock."""

    def get_diff_duration(self, other: Timestamp) -> timedelta:
        """Returns the time since an earlier one."""

    def to_string_rfc3339_lossy(self) -> str:
        """Returns a text such as `2026-11-28T10:00:00.000000000Z/33`."""

    @classmethod
    def parse_rfc3339(cls, s: str) -> Self:
        """Reads such a text. Raises ZError."""

    def __eq__(self, other: Any) -> bool: ...
    def __ge__(self, other) -> bool: ...
    def __hash__(self) -> int: ...
    def __str__(self) -> str: ...

@final
class TimestampId:
    """Id of a clock, of at most 16 bytes."""

    def __new__(cls, bytes: bytearray | bytes) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: Any) -> bool: ...
    def __ge__(self, other) -> bool: ...
    def __hash__(self) -> int: ...

_IntoTimestampId = bytearray | bytes | TimestampId

@final
class InterceptionPoint(Enum):
    """Point at which a time is recorded."""

    SEND = auto()
    ROUTE = auto()
    RECEIVE = auto()

@final
class TimestampContext:
    """The node that a record is of."""

    @property
    def zid(self) -> ZenohId: ...
    @property
    def whatami(self) -> WhatAmI: ...
    def __repr__(self) -> str: ...

@final
class TimestampInstrumentationBuilder:
    """Choice of points at which times are recorded, under construction."""

    def __new__(cls) -> Self: ...
    def set_send(self, enabled: bool) -> Self:
        """Returns the choice with the point where the message leaves its application, or without."""

    def set_route(self, enabled: bool) -> Self:
        """Returns the choice with each node on the way, or without."""

    def set_receive(self, enabled: bool) -> Self:
        """Returns the choice with the point where the message reaches an application, or without."""

    def build(self) -> TimestampInstrumentation:
        """Returns the choice. Raises ZError if there is no point."""

@final
class TimestampInstrumentation:
    """Choice of points at which times are recorded."""

    def is_instrumented(self, point: InterceptionPoint) -> bool:
        """Returns whether times are recorded at a point."""

    def __repr__(self) -> str: ...

@final
class TimestampStackRecord:
    """One recorded time."""

    @property
    def point(self) -> InterceptionPoint: ...
    @property
    def is_custom(self) -> bool: ...
    def timestamp(self) -> Timestamp | bytes:
        """Returns the time, or the bytes that an application's function gave."""

    def __repr__(self) -> str: ...

@final
class TimestampStack:
    """The times of a message."""

    @property
    def instrumentation(self) -> TimestampInstrumentation: ...
    @property
    def records(self) -> list[TimestampStackRecord]: ...
    def __repr__(self) -> str: ...

@final
class WhatAmI(Enum):
    """Role of a node."""

    ROUTER = auto()
    PEER = auto()
    CLIENT = auto()

    def __str__(self) -> str: ...

@final
class WhatAmIMatcher:
    """A set of roles."""

    def __new__(cls, matcher: str | None = None) -> Self: ...
    @classmethod
    def empty(cls) -> Self:
        """Returns the set without a role."""

    def router(self) -> Self:
        """Returns this set with routers."""

    def peer(self) -> Self:
        """Returns this set with peers."""

    def client(self) -> Self:
        """Returns this set with clients."""

    def is_empty(self) -> bool:
        """Returns whether there is no role."""

    def matches(self, whatami: WhatAmI) -> bool:
        """Returns whether a role is in the set."""

    def __str__(self) -> str: ...

_IntoWhatAmIMatcher = WhatAmIMatcher | str

@final
class ZBytes:
    """A payload or an attachment. It has the buffer protocol, read-only: `memoryview(z)` and `numpy.frombuffer(z, dtype)` copy nothing."""

    def __new__(cls, bytes: _IntoZBytes = None) -> Self: ...
    def to_bytes(self) -> bytes:
        """Returns a copy of the content."""

    def to_string(self) -> str:
        """Returns the content as text. Raises ValueError if it is no UTF-8."""

    def as_shm(self) -> None:
        """Returns None: the payload is not in shared memory."""

    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __str__(self) -> str: ...
    def __eq__(self, other: Any) -> bool: ...
    def __hash__(self) -> int: ...

_IntoZBytes = Any

@final
class ZenohId:
    """Id of a node."""

    def __str__(self) -> str: ...

def try_init_log_from_env():
    """Writes the log to standard error, as the variable RUST_LOG says; without it there is none."""

def init_log_from_env_or(level: str):
    """Writes the log to standard error, as the variable RUST_LOG or else `level` says."""

def open(config: Config, *, timestamp_callback: Callable[[TimestampContext], bytes] | None = None) -> Session:
    """Opens a session. `timestamp_callback` gives the times of time-stamp stacks. Raises ZError."""

@overload
def scout(
    handler: _RustHandler[Hello] | None = None, what: _IntoWhatAmIMatcher | None = None, config: Config | None = None
) -> Scout[Handler[Hello]]:
    """Searches for nodes until the result is stopped or dropped. `what` names roles, such as `router|peer` (default: all). Raises
    ZError."""

@overload
def scout(
    handler: _PythonHandler[Hello, _H], what: _IntoWhatAmIMatcher | None = None, config: Config | None = None
) -> Scout[_H]: ...
@overload
def scout(
    handler: _PythonCallback[Hello], what: _IntoWhatAmIMatcher | None = None, config: Config | None = None
) -> Scout[None]: ...
