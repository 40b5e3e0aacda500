// SPDX-License-Identifier: MIT OR Apache-2.0

//! The package `zonda` for Python: the names and signatures of the reference's package, over the library `zonda`.

mod awaiting;
mod bytes;
mod config;
mod encoding;
mod entity;
mod enums;
mod error;
mod ext;
mod gate;
mod handlers;
mod info;
mod keys;
mod liveliness;
mod pubsub;
mod query;
mod querying;
mod queue;
mod sample;
mod scouting;
mod session;
mod stack;
mod time;
mod wakes;

use pyo3::prelude::*;

/// The extension module, which `zonda/__init__.py` spreads over its modules.
#[pymodule]
mod _zonda {
    #[pymodule_export]
    use crate::bytes::ZBytes;
    #[pymodule_export]
    use crate::config::{Config, WhatAmIMatcher, init_log_from_env_or, try_init_log_from_env};
    #[pymodule_export]
    use crate::encoding::Encoding;
    #[pymodule_export]
    use crate::enums::{
        CongestionControl, ConsolidationMode, InterceptionPoint, Locality, Priority,
        QueryConsolidation, QueryTarget, Reliability, ReplyKeyExpr, SampleKind,
        SetIntersectionLevel, WhatAmI,
    };
    #[pymodule_export]
    use crate::error::ZError;
    #[pymodule_export]
    use crate::ext::{
        AdvancedPublisher, AdvancedSubscriber, CacheConfig, HistoryConfig, Miss,
        MissDetectionConfig, RecoveryConfig, RepliesConfig, SampleMissListener,
        declare_advanced_publisher, declare_advanced_subscriber,
    };
    #[pymodule_export]
    use crate::handlers::{Callback, DefaultHandler, FifoChannel, Handler, RingChannel};
    #[pymodule_export]
    use crate::info::{
        Link, LinkEvent, LinkEventsListener, SessionInfo, Transport, TransportEvent,
        TransportEventsListener,
    };
    #[pymodule_export]
    use crate::keys::{KeyExpr, Parameters, Selector};
    #[pymodule_export]
    use crate::liveliness::{Liveliness, LivelinessToken};
    #[pymodule_export]
    use crate::pubsub::{MatchingListener, MatchingStatus, Publisher, Subscriber};
    #[pymodule_export]
    use crate::query::{CancellationToken, Query};
    #[pymodule_export]
    use crate::querying::{Querier, Queryable};
    #[pymodule_export]
    use crate::sample::{Reply, ReplyError, Sample};
    #[pymodule_export]
    use crate::scouting::{Hello, Scout, scout};
    #[pymodule_export]
    use crate::session::{_at_exit, Session, open};
    #[pymodule_export]
    use crate::stack::{
        TimestampContext, TimestampInstrumentation, TimestampInstrumentationBuilder,
        TimestampStack, TimestampStackRecord,
    };
    #[pymodule_export]
    use crate::time::{EntityGlobalId, NTP64, SourceInfo, Timestamp, TimestampId, ZenohId};
    #[pymodule_export]
    use crate::wakes::_wakes;
}
