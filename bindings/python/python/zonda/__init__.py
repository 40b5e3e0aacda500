# SPDX-License-Identifier: MIT OR Apache-2.0
"""Publish, subscribe and query over the Zenoh 1.x protocol.

`import zonda as zenoh`: the names and signatures are those of the package `eclipse-zenoh` 1.10.
"""

import atexit as _atexit

from . import handlers
from ._zonda import (
    ZError,
    CancellationToken,
    Config,
    CongestionControl,
    ConsolidationMode,
    Encoding,
    EntityGlobalId,
    Hello,
    InterceptionPoint,
    KeyExpr,
    Link,
    LinkEvent,
    LinkEventsListener,
    Liveliness,
    LivelinessToken,
    Locality,
    MatchingListener,
    MatchingStatus,
    NTP64,
    Parameters,
    Priority,
    Publisher,
    Querier,
    Query,
    Queryable,
    QueryConsolidation,
    QueryTarget,
    Reliability,
    Reply,
    ReplyError,
    ReplyKeyExpr,
    Sample,
    SampleKind,
    Scout,
    Selector,
    Session,
    SessionInfo,
    SetIntersectionLevel,
    SourceInfo,
    Subscriber,
    Timestamp,
    TimestampContext,
    TimestampId,
    TimestampInstrumentation,
    TimestampInstrumentationBuilder,
    TimestampStack,
    TimestampStackRecord,
    Transport,
    TransportEvent,
    TransportEventsListener,
    WhatAmI,
    WhatAmIMatcher,
    ZBytes,
    ZenohId,
    init_log_from_env_or,
    open,
    scout,
    try_init_log_from_env,
    _at_exit,
)
from .handlers import Handler

from . import ext, shm

_atexit.register(_at_exit)
