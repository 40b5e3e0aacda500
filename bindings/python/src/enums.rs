// SPDX-License-Identifier: MIT OR Apache-2.0

//! Enumerations.

use pyo3::prelude::*;
use zonda::config::WhatAmI as InnerRole;

use crate::error::OrRaise;

/// Defines a class of constants with the conversions to and from the library's values.
macro_rules! constants {
    ($(#[$doc:meta])* $name:ident: $inner:ty { $($variant:ident = $python:literal),+ $(,)? } $($alias:ident = $of:ident),*) => {
        $(#[$doc])*
        #[pyclass(module = "zonda", eq, hash, frozen)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $(
                #[doc = concat!("The constant `", $python, "`.")]
                #[pyo3(name = $python)]
                $variant,
            )+
        }

        impl From<$name> for $inner {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant => <$inner>::$variant,)+
                }
            }
        }

        constants!(@aliases $name $($alias = $of),*);
    };
    (@aliases $name:ident) => {};
    (@aliases $name:ident $($alias:ident = $of:ident),+) => {
        #[pymethods]
        impl $name {
            $(#[classattr]
            #[allow(non_snake_case)]
            fn $alias() -> $name {
                $name::$of
            })+
        }
    };
}

/// Implements the conversion from the library's values, of which only some have a constant.
macro_rules! from_inner {
    ($($name:ident: $inner:ty { $($variant:ident),+ } else $other:ident;)+) => {$(
        impl From<$inner> for $name {
            #[allow(unreachable_patterns)]
            fn from(value: $inner) -> Self {
                match value {
                    $(<$inner>::$variant => $name::$variant,)+
                    _ => $name::$other,
                }
            }
        }
    )+};
}

constants! {
    /// Treatment of a message that finds a full queue: dropped (the default), or waiting.
    CongestionControl: zonda::qos::CongestionControl { Drop = "DROP", Block = "BLOCK", BlockFirst = "BLOCK_FIRST" }
    DEFAULT = Drop
}
constants! {
    /// Priority of a message; the smaller is sent first.
    Priority: zonda::qos::Priority {
        RealTime = "REAL_TIME", InteractiveHigh = "INTERACTIVE_HIGH", InteractiveLow = "INTERACTIVE_LOW",
        DataHigh = "DATA_HIGH", Data = "DATA", DataLow = "DATA_LOW", Background = "BACKGROUND",
    }
    DEFAULT = Data, MIN = Background, MAX = RealTime
}
constants! {
    /// Permission to lose a message on the way.
    Reliability: zonda::qos::Reliability { BestEffort = "BEST_EFFORT", Reliable = "RELIABLE" }
}
constants! {
    /// Sessions that a message may reach or come from.
    Locality: zonda::sample::Locality { SessionLocal = "SESSION_LOCAL", Remote = "REMOTE", Any = "ANY" }
    DEFAULT = Any
}
constants! {
    /// Queryables that a query is for.
    QueryTarget: zonda::query::QueryTarget { BestMatching = "BEST_MATCHING", All = "ALL", AllComplete = "ALL_COMPLETE" }
    DEFAULT = BestMatching
}
constants! {
    /// Merging of replies with the same key.
    ConsolidationMode: zonda::query::ConsolidationMode {
        Auto = "AUTO", None = "NONE", Monotonic = "MONOTONIC", Latest = "LATEST",
    }
    DEFAULT = Auto
}
constants! {
    /// Keys that replies may have.
    ReplyKeyExpr: zonda::query::ReplyKeyExpr { Any = "ANY", MatchingQuery = "MATCHING_QUERY" }
    DEFAULT = MatchingQuery
}
constants! {
    /// Kind of a sample: a value, or its deletion.
    SampleKind: zonda::sample::SampleKind { Put = "PUT", Delete = "DELETE" }
}
constants! {
    /// Relation of two key expressions.
    SetIntersectionLevel: zonda::key_expr::SetIntersectionLevel {
        Disjoint = "DISJOINT", Intersects = "INTERSECTS", Includes = "INCLUDES", Equals = "EQUALS",
    }
}
constants! {
    /// Point at which a time is recorded.
    InterceptionPoint: zonda::timestamp_stack::InterceptionPoint { Send = "SEND", Route = "ROUTE", Receive = "RECEIVE" }
}

from_inner! {
    CongestionControl: zonda::qos::CongestionControl { Drop, Block, BlockFirst } else Drop;
    Priority: zonda::qos::Priority {
        RealTime, InteractiveHigh, InteractiveLow, DataHigh, Data, DataLow, Background
    } else RealTime;
    Reliability: zonda::qos::Reliability { BestEffort, Reliable } else Reliable;
    ReplyKeyExpr: zonda::query::ReplyKeyExpr { Any, MatchingQuery } else Any;
    SampleKind: zonda::sample::SampleKind { Put, Delete } else Put;
    SetIntersectionLevel: zonda::key_expr::SetIntersectionLevel { Disjoint, Intersects, Includes, Equals } else Disjoint;
    InterceptionPoint: zonda::timestamp_stack::InterceptionPoint { Send, Route, Receive } else Send;
}

/// Role of a node.
#[pyclass(module = "zonda", eq, hash, frozen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WhatAmI {
    /// A router.
    #[pyo3(name = "ROUTER")]
    Router = 1,
    /// A peer.
    #[pyo3(name = "PEER")]
    Peer = 2,
    /// A client.
    #[pyo3(name = "CLIENT")]
    Client = 4,
}

from_inner! {
    WhatAmI: InnerRole { Router, Peer, Client } else Client;
}

impl From<WhatAmI> for InnerRole {
    fn from(value: WhatAmI) -> Self {
        match value {
            WhatAmI::Router => InnerRole::Router,
            WhatAmI::Peer => InnerRole::Peer,
            WhatAmI::Client => InnerRole::Client,
        }
    }
}

#[pymethods]
impl WhatAmI {
    fn __str__(&self) -> &'static str {
        InnerRole::from(*self).as_str()
    }

    fn __or__(&self, other: WhatAmI) -> crate::config::WhatAmIMatcher {
        crate::config::WhatAmIMatcher(InnerRole::from(*self) | InnerRole::from(other))
    }
}

/// Consolidation of a query.
#[pyclass(module = "zonda", eq, hash, frozen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueryConsolidation(ConsolidationMode);

#[pymethods]
impl QueryConsolidation {
    #[classattr]
    const AUTO: QueryConsolidation = QueryConsolidation(ConsolidationMode::Auto);
    #[classattr]
    const DEFAULT: QueryConsolidation = QueryConsolidation(ConsolidationMode::Auto);

    #[new]
    #[pyo3(signature = (mode, /))]
    fn new(mode: ConsolidationMode) -> Self {
        QueryConsolidation(mode)
    }

    #[getter]
    fn mode(&self) -> ConsolidationMode {
        self.0
    }
}

/// Argument that chooses a consolidation.
#[derive(FromPyObject)]
pub enum Consolidation {
    /// A mode.
    Mode(ConsolidationMode),
    /// A mode in its class.
    Whole(QueryConsolidation),
}

impl From<Consolidation> for zonda::query::ConsolidationMode {
    fn from(value: Consolidation) -> Self {
        match value {
            Consolidation::Mode(mode) | Consolidation::Whole(QueryConsolidation(mode)) => {
                mode.into()
            }
        }
    }
}

/// Reads the name of a role.
pub fn role(name: &str) -> PyResult<InnerRole> {
    name.parse::<InnerRole>().or_raise()
}
