// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration: roles, endpoints, limits, runtime.

pub use zonda_codec::{Endpoint, Locator, Roles, WhatAmI, ZenohId};
pub use zonda_router::config::{
    Config, ConfigError, Effective, Examined, Flag, GossipConfig, Origin, Problem, Retry,
    ScoutingConfig, Settings, Sources, Strategies, TimeLimit, Warning, parse_endpoint,
};
pub use zonda_router::table::scouting::{Autoconnect, Strategy};
pub use zonda_runtime::{AnyRuntime, RuntimeKind, RuntimeOptions, Scheduling};

/// The reference's spelling of [`Endpoint`].
pub type EndPoint = Endpoint;

/// The reference's name of [`Roles`].
pub type WhatAmIMatcher = Roles;
