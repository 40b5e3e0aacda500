// SPDX-License-Identifier: MIT OR Apache-2.0

//! Typed reading of a [`Config`], resolved for the node's role, and the builder-style setters.

use std::time::Duration;

use zonda_codec::{Endpoint, KeyExpr, Priority, Resolution, WhatAmI, ZenohId};
use zonda_runtime::{AnyRuntime, RuntimeKind, RuntimeOptions};
use zonda_transport::link::SocketBuffers;

use crate::config::{
    Config, Setting, default_of,
    json5::{Located, Value},
    keys, value,
};

/// How long something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// One attempt, no retry.
    Once,
    /// Attempts are repeated for at most this long.
    For(Duration),
    /// Attempts are repeated for ever.
    Forever,
}

impl TimeLimit {
    /// Whether another attempt may be made when so much time has gone by.
    pub(crate) fn allows(self, elapsed: Duration) -> bool {
        match self {
            TimeLimit::Once => false,
            TimeLimit::For(limit) => elapsed < limit,
            TimeLimit::Forever => true,
        }
    }
}

/// The pauses between attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// Before the second attempt.
    pub period_init: Duration,
    /// No pause is longer.
    pub period_max: Duration,
    /// Each pause is so many times the one before, at least 1.
    pub increase_factor: f64,
}

/// Building.
impl Config {
    /// A client of the routers (or peers) at these endpoints: it connects to the first that answers.
    ///
    /// ```
    /// let config = zonda_router::Config::client(["tcp/127.0.0.1:7447"]);
    /// assert!(config.validate().is_ok());
    /// ```
    pub fn client<E: AsRef<str>>(connect: impl IntoIterator<Item = E>) -> Config {
        Config::default()
            .with_mode(WhatAmI::Client)
            .connect(connect)
    }

    /// A peer: listens on a free port of every interface unless [`Config::listen`] says otherwise.
    pub fn peer() -> Config {
        Config::default().with_mode(WhatAmI::Peer)
    }

    /// A router: listens on port 7447 of every interface unless [`Config::listen`] says otherwise.
    pub fn router() -> Config {
        Config::default().with_mode(WhatAmI::Router)
    }

    /// Sets the role.
    #[must_use]
    pub fn with_mode(mut self, role: WhatAmI) -> Config {
        self.set_mode(role);
        self
    }

    /// Listens on exactly these endpoints; none at all turns listening off.
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

    /// Sets one key to a JSON5 value: [`Config::insert_json5`] for chains.
    #[must_use]
    pub fn with(mut self, key: &str, json5: &str) -> Config {
        if let Err(error) = self.insert_json5(key, json5) {
            self.refused.get_or_insert(error);
        }
        self
    }

    /// Runs the node on a runtime of its own, of this kind.
    #[must_use]
    pub fn with_runtime(mut self, kind: RuntimeKind) -> Config {
        self.runtime = None;
        self.put("runtime", Value::Text(kind.to_string()));
        self
    }

    /// Runs the node on a runtime that exists already.
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

/// Reading.
impl Config {
    /// Whether a key was set (and not put back to its default).
    pub fn is_set(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    /// The role. Default: peer.
    pub fn mode(&self) -> WhatAmI {
        self.text("mode")
            .and_then(|t| t.parse().ok())
            .unwrap_or(WhatAmI::Peer)
    }

    /// The node's id, if one was set.
    pub fn id(&self) -> Option<ZenohId> {
        self.text("id").and_then(|t| t.parse().ok())
    }

    /// The kind of runtime to start. Default: [`RuntimeKind::default`].
    pub fn runtime_kind(&self) -> RuntimeKind {
        self.text("runtime")
            .and_then(|t| t.parse().ok())
            .unwrap_or_default()
    }

    /// How to start the runtime: threads, cpus, scheduling class, busy poll. Not looked at for one that was handed over.
    pub fn runtime_options(&self) -> RuntimeOptions {
        RuntimeOptions {
            threads: self
                .whole("runtime_threads")
                .and_then(|n| n.try_into().ok()),
            cpus: value::cpus(&self.value("runtime_cpus")).unwrap_or_default(),
            scheduling: self
                .text("runtime_scheduling")
                .and_then(|t| t.parse().ok())
                .unwrap_or_default(),
            uring_required: self.flag("runtime_uring_required"),
            spin: Duration::from_micros(self.count("runtime_spin_us") as u64),
            ..RuntimeOptions::default()
        }
    }

    /// The runtime to use, if one was handed over.
    pub fn runtime_handle(&self) -> Option<&AnyRuntime> {
        self.runtime.as_ref()
    }

    /// Endpoints to connect to, for this role. Default: none.
    pub fn connect_endpoints(&self) -> Vec<Endpoint> {
        self.endpoints("connect/endpoints")
    }

    /// Endpoints to listen on, for this role. Default: router `tcp/[::]:7447`, peer `tcp/[::]:0`, client none.
    pub fn listen_endpoints(&self) -> Vec<Endpoint> {
        self.endpoints("listen/endpoints")
    }

    /// How long `open` tries to connect: a client always, others only where [`Config::connect_must_succeed`]; else they
    /// connect in the background, for ever, except that after `0` what failed once is given up. Default: once for a
    /// client, for ever for others.
    pub fn connect_timeout(&self) -> TimeLimit {
        self.time_limit("connect/timeout_ms")
    }

    /// How long `open` tries to listen where [`Config::listen_must_succeed`]; elsewhere anything but `0` means again and
    /// again in the background. Default: once.
    pub fn listen_timeout(&self) -> TimeLimit {
        self.time_limit("listen/timeout_ms")
    }

    /// Whether `open` fails when it could not connect to this endpoint. Its option `exit_on_failure` wins over the key.
    /// Default: yes for a client, where it is asked of the first endpoint; no for others.
    pub fn connect_must_succeed(&self, endpoint: &Endpoint) -> bool {
        value::option_flag(endpoint).unwrap_or_else(|| self.flag("connect/exit_on_failure"))
    }

    /// Whether `open` fails when it could not listen on this endpoint. Its option `exit_on_failure` wins over the key.
    /// Default: yes.
    pub fn listen_must_succeed(&self, endpoint: &Endpoint) -> bool {
        value::option_flag(endpoint).unwrap_or_else(|| self.flag("listen/exit_on_failure"))
    }

    /// Pauses between attempts to connect. Default: 1 s, doubled up to 4 s.
    pub fn connect_retry(&self) -> Retry {
        self.retry("connect")
    }

    /// Pauses between attempts to listen. Default: 1 s, doubled up to 4 s.
    pub fn listen_retry(&self) -> Retry {
        self.retry("listen")
    }

    fn retry(&self, section: &str) -> Retry {
        let factor = match self.value(&format!("{section}/retry/period_increase_factor")) {
            Value::Number(n) => n,
            _ => 2.0,
        };
        Retry {
            period_init: self.millis(&format!("{section}/retry/period_init_ms")),
            period_max: self.millis(&format!("{section}/retry/period_max_ms")),
            increase_factor: factor,
        }
    }

    /// Whether the node stamps publications. Default: only a router.
    pub fn timestamping(&self) -> bool {
        self.flag("timestamping/enabled")
    }

    /// Whether messages from too far in the future are dropped rather than stamped anew. Default: no.
    pub fn drop_future_timestamp(&self) -> bool {
        self.flag("timestamping/drop_future_timestamp")
    }

    /// Limit of one outgoing handshake. Default: 10 s.
    pub fn open_timeout(&self) -> Duration {
        self.millis("transport/unicast/open_timeout")
    }

    /// Limit of one incoming handshake. Default: 10 s.
    pub fn accept_timeout(&self) -> Duration {
        self.millis("transport/unicast/accept_timeout")
    }

    /// How many incoming handshakes may be under way, if it was set; the transport's own default is larger
    /// than the reference's 100, because a flood of silent connections must not shut out an honest one.
    pub fn accept_pending(&self) -> Option<usize> {
        let path = "transport/unicast/accept_pending";
        self.is_set(path).then(|| self.count(path))
    }

    /// How many peers may be connected at once. Default: 1000.
    pub fn max_sessions(&self) -> usize {
        self.count("transport/unicast/max_sessions")
    }

    /// Whether priorities are offered to peers. Default: yes.
    pub fn qos_enabled(&self) -> bool {
        self.flag("transport/unicast/qos/enabled")
    }

    /// The protocols links may use; `None` for all.
    pub fn protocols(&self) -> Option<Vec<String>> {
        match self.value("transport/link/protocols") {
            Value::List(items) => Some(
                items
                    .iter()
                    .filter_map(|i| value::as_text(&i.value))
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => None,
        }
    }

    /// Widths offered for sequence numbers (default: 32 bits) and request ids (as large as they come: 32 bits).
    pub fn resolution(&self) -> Resolution {
        let text = self.text("transport/link/tx/sequence_number_resolution");
        let frame_sn = match text.as_deref() {
            Some("8bit") => 0,
            Some("16bit") => 1,
            Some("64bit") => 3,
            _ => 2,
        };
        let requests = Resolution::default().bits() & 0b1100;
        Resolution::from_bits(requests | frame_sn)
    }

    /// How long a peer may be silent before its link is dead. Default: 10 s.
    pub fn lease(&self) -> Duration {
        self.millis("transport/link/tx/lease")
    }

    /// How many keep-alives are sent per lease when there is nothing else to send. Default: 4.
    pub fn keep_alive_divisor(&self) -> u32 {
        self.count("transport/link/tx/keep_alive")
            .try_into()
            .unwrap_or(4)
    }

    /// Largest batch, in bytes. Default: 65535.
    pub fn batch_size(&self) -> u16 {
        self.count("transport/link/tx/batch_size")
            .try_into()
            .unwrap_or(u16::MAX)
    }

    /// Largest message a peer may send, in bytes. Default: 1 GiB.
    pub fn max_message_size(&self) -> usize {
        self.count("transport/link/rx/max_message_size")
    }

    /// How long a publication with congestion control `Block` waits before the slow link is closed. Default: 5 s.
    pub fn wait_before_close(&self) -> Duration {
        let path = "transport/link/tx/queue/congestion_control/block/wait_before_close";
        Duration::from_micros(self.whole(path).unwrap_or(5_000_000))
    }

    /// How long peers have to take what is queued for them when the node closes, if that was set.
    pub fn close_timeout(&self) -> Option<Duration> {
        let limit = self.whole("close_timeout_ms");
        limit.map(Duration::from_millis)
    }

    /// How many bytes may wait for a peer in this priority, if the number of batches was set.
    pub fn queue_bytes(&self, priority: Priority) -> Option<usize> {
        let path = format!("transport/link/tx/queue/size/{}", queue_name(priority));
        self.is_set(&path)
            .then(|| self.count(&path) * usize::from(self.batch_size()))
    }

    /// Sizes of the buffers of TCP sockets. Default: the system's.
    pub fn tcp_buffers(&self) -> SocketBuffers {
        let bytes = |name: &str| {
            let path = format!("transport/link/tcp/{name}");
            self.whole(&path).and_then(|n| usize::try_from(n).ok())
        };
        SocketBuffers {
            send_bytes: bytes("so_sndbuf"),
            receive_bytes: bytes("so_rcvbuf"),
        }
    }

    /// How long a gateway may take to answer what it was asked to tell. Default: 10 s.
    pub fn interests_timeout(&self) -> Duration {
        self.millis("routing/interests/timeout")
    }

    /// The namespace of the session, if one was set.
    pub fn namespace(&self) -> Option<KeyExpr<'static>> {
        self.text("namespace")
            .and_then(|text| KeyExpr::try_from(text).ok())
    }

    /// What is said about the node, as JSON. Default: `null`.
    pub fn metadata(&self) -> String {
        self.value("metadata").to_string()
    }

    /// How long a query waits for its answers where nothing else is said. Default: 10 s.
    pub fn query_timeout(&self) -> Duration {
        Duration::from_millis(self.whole("queries_default_timeout").unwrap_or(10_000))
    }

    /// Whether the node answers for its admin space. Default: no.
    pub fn adminspace_enabled(&self) -> bool {
        self.flag("adminspace/enabled")
    }

    /// Whether the admin space may be read. Default: yes.
    pub fn adminspace_readable(&self) -> bool {
        self.flag("adminspace/permissions/read")
    }

    /// Endpoints to connect to, in groups: each endpoint is its own, except that of a group `oneOf` one will do. A client
    /// needs one of all.
    pub fn connect_groups(&self) -> Vec<Vec<Endpoint>> {
        let groups = value::groups(&self.value("connect/endpoints")).unwrap_or_default();
        match self.mode() {
            WhatAmI::Client => vec![groups.into_iter().flatten().collect()],
            _ => groups,
        }
    }

    pub(super) fn endpoints(&self, path: &str) -> Vec<Endpoint> {
        value::endpoints(&self.value(path)).unwrap_or_default()
    }

    fn time_limit(&self, path: &str) -> TimeLimit {
        match self.value(path) {
            Value::Number(n) if n < 0.0 => TimeLimit::Forever,
            Value::Number(n) if n > 0.0 => TimeLimit::For(Duration::from_millis(n as u64)),
            _ => TimeLimit::Once,
        }
    }

    pub(super) fn millis(&self, path: &str) -> Duration {
        Duration::from_millis(self.whole(path).unwrap_or(0))
    }

    pub(super) fn count(&self, path: &str) -> usize {
        self.whole(path)
            .unwrap_or(0)
            .try_into()
            .unwrap_or(usize::MAX)
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        self.value(path) == Value::Bool(true)
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path) {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }

    pub(super) fn whole(&self, path: &str) -> Option<u64> {
        match self.value(path) {
            Value::Number(n) if n >= 0.0 => Some(n as u64),
            _ => None,
        }
    }

    /// The value in force for this role: what was set, else the default. A list of endpoints given for other
    /// roles only is empty for this one; any other value is then the default.
    pub(super) fn value(&self, path: &str) -> Value {
        let Some(key) = keys::find(path) else {
            return Value::Null;
        };
        let role = if key.by_role {
            self.mode().to_string()
        } else {
            String::new()
        };
        let for_role = |value: &Value| match value {
            Value::Object(_) if key.by_role => value::per_role(value)
                .and_then(|mut members| members.find(|(name, _)| *name == role))
                .map_or(Value::Null, |(_, v)| v.clone()),
            other => other.clone(),
        };
        match self.settings.get(path) {
            Some(Setting { value, .. }) => match for_role(value) {
                Value::Null if key.kind != value::Kind::Endpoints => for_role(&default_of(key)),
                found => found,
            },
            None => for_role(&default_of(key)),
        }
    }
}

/// The name of a priority in the keys of queues.
fn queue_name(priority: Priority) -> &'static str {
    match priority {
        Priority::Control => "control",
        Priority::RealTime => "real_time",
        Priority::InteractiveHigh => "interactive_high",
        Priority::InteractiveLow => "interactive_low",
        Priority::DataHigh => "data_high",
        Priority::Data => "data",
        Priority::DataLow => "data_low",
        Priority::Background => "background",
    }
}

fn texts<E: AsRef<str>>(items: impl IntoIterator<Item = E>) -> Value {
    let located = |e: E| Located {
        value: Value::Text(e.as_ref().to_owned()),
        line: 1,
    };
    Value::List(items.into_iter().map(located).collect())
}
