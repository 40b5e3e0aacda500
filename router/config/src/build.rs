// SPDX-License-Identifier: MIT OR Apache-2.0

//! Building a [`Config`] in a program: the roles' defaults, and setters for chains.

use zonda_codec::{WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, RuntimeKind};

use crate::{
    Config,
    value::{Located, Value},
};

impl Config {
    /// Builds a client of these routers (or peers), which connects to the first endpoint that
    /// answers.
    ///
    /// ```
    /// let config = zonda_config::Config::client(["tcp/127.0.0.1:7447"]);
    /// assert!(config.validate().is_ok());
    /// ```
    pub fn client<E: AsRef<str>>(connect: impl IntoIterator<Item = E>) -> Config {
        Config::default()
            .with_mode(WhatAmI::Client)
            .connect(connect)
    }

    /// Builds a peer, which listens on a free port of every interface unless [`Config::listen`]
    /// changes that.
    pub fn peer() -> Config {
        Config::default().with_mode(WhatAmI::Peer)
    }

    /// Builds a router, which listens on port 7447 of every interface unless [`Config::listen`]
    /// changes that.
    pub fn router() -> Config {
        Config::default().with_mode(WhatAmI::Router)
    }

    /// Sets the role.
    #[must_use]
    pub fn with_mode(mut self, role: WhatAmI) -> Config {
        self.set_mode(role);
        self
    }

    /// Listens on exactly these endpoints; an empty list turns listening off.
    #[must_use]
    pub fn listen<E: AsRef<str>>(mut self, endpoints: impl IntoIterator<Item = E>) -> Config {
        self.put("listen/endpoints", texts(endpoints));
        self
    }

    /// Connects to exactly these endpoints.
    #[must_use]
    pub fn connect<E: AsRef<str>>(mut self, endpoints: impl IntoIterator<Item = E>) -> Config {
        self.put("connect/endpoints", texts(endpoints));
        self
    }

    /// Sets one key to a JSON5 value, like [`Config::insert_json5`], for chains.
    #[must_use]
    pub fn with(mut self, key: &str, json5: &str) -> Config {
        if let Err(error) = self.set_json5(key, json5) {
            self.refused.get_or_insert(error);
        }
        self
    }

    /// Runs the node on a runtime of this kind that it creates.
    #[must_use]
    pub fn with_runtime(mut self, kind: RuntimeKind) -> Config {
        self.runtime = None;
        self.put("runtime", Value::Text(kind.to_string()));
        self
    }

    /// Runs the node on an existing runtime.
    #[must_use]
    pub fn with_runtime_handle(mut self, runtime: AnyRuntime) -> Config {
        self.runtime = Some(runtime);
        self
    }

    /// Sets the role in place.
    pub fn set_mode(&mut self, role: WhatAmI) {
        self.put("mode", Value::Text(role.to_string()));
    }

    /// Sets the node's id in place; `None` draws one when the node opens.
    pub fn set_id(&mut self, id: Option<ZenohId>) {
        self.put(
            "id",
            id.map_or(Value::Null, |id| Value::Text(id.to_string())),
        );
    }
}

fn texts<E: AsRef<str>>(items: impl IntoIterator<Item = E>) -> Value {
    let located = |e: E| Located {
        value: Value::Text(e.as_ref().to_owned()),
        line: 1,
    };
    Value::List(items.into_iter().map(located).collect())
}
