// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Publish/subscribe and queries over the Zenoh 1.x protocol, on the runtime you already have.
//!
//! A [`Session`] is a node: it listens, connects to peers and routers (this project's or the
//! reference's), publishes values on keys such as `building/3/temperature`, receives the values of
//! other nodes, queries them and [replies](query).
//!
//! # The smallest program
//! ```
//! use zonda::{Config, Wait};
//!
//! fn main() -> zonda::Result<()> {
//!     // One peer listens, the other connects; `tcp/127.0.0.1:0` takes any free port.
//!     let alice = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//!     let address = alice.info().locators().remove(0);
//!     let bob = zonda::open(Config::client([&address])).wait()?;
//!
//!     let subscriber = bob.declare_subscriber("building/*/temperature").wait()?;
//!     let publisher = alice.declare_publisher("building/3/temperature").wait()?;
//! #   let begin = std::time::Instant::now();
//! #   while !publisher.matching_status().wait()?.matching() {
//! #       assert!(begin.elapsed().as_secs() < 20, "the subscription does not arrive");
//! #       std::thread::yield_now();
//! #   }
//!     publisher.put("21.5").wait()?;
//!
//!     let sample = subscriber.recv()?;
//!     println!("{} is {}", sample.key_expr(), sample.payload().try_to_string()?);
//!     alice.close().wait()?;
//!     Ok(())
//! }
//! ```
//! Every operation is a builder: end it with `.await`, or with `.wait()` of the trait [`Wait`] on a plain thread.
//!
//! # Runtimes
//! Each cargo feature adds a choice; without any, a session cannot be opened.
//!
//! | feature | [`RuntimeKind`](config::RuntimeKind) | what the session runs on |
//! |---|---|---|
//! | `tokio` (default) | `tokio`, `tokio-current` | tokio with several threads or one, or the application's (`AnyRuntime::from_tokio`) |
//! | `smol` | `smol` | smol's executor, or the application's (`AnyRuntime::from_smol`) |
//! | `async-std` | `async-std` | async-std's executor; discontinued upstream, for programs that still use it |
//! | `threads` | `threads` | blocking sockets and plain threads |
//! | `uring` | `uring` | io_uring (Linux) |
//!
//! [`Config::with_runtime`] (key `runtime`) chooses one; else it is the first of the table that is
//! compiled in. [`Config::with_runtime_handle`] hands over a runtime that exists already. The keys
//! `runtime_threads`, `runtime_cpus` (such as `[0, 1]`) and `runtime_scheduling` (`fifo:10`,
//! `round-robin:10`, `nice:-5`) set the number of its threads, their cpus and their urgency.
//! Whatever a session runs on, it can be used from plain threads and from async code of any other
//! runtime.
//!
//! # Threads
//! A session serves its links and **runs the callbacks** of subscribers, listeners, queryables and
//! gets on the threads of its runtime, which the crate `zonda-runtime` lists for each kind
//! (`zonda-net-0` and so on). Dropping the last clone of a session starts one short-lived thread
//! (`zonda-close`) that closes it. Scouting by multicast has a thread, `zonda-scout`, that sleeps
//! until a datagram comes or is due. A listener to connections is called on its own thread
//! (`zonda-events`), which lives while there are events to report. No other thread is started, and
//! dropping anything never blocks.
//!
//! After a `fork` the child has none of these threads. In the child every operation of the session
//! fails at once, with an error that gives this reason, and the parent's session is not disturbed;
//! open a session in the child, or fork before. (smol and async-std cannot be started again in the
//! child: their reactor is the parent's.)
//!
//! # Discovery
//! By default a session scouts for nodes in the multicast group `224.0.0.224:7446` on every
//! interface, answers the scouts of other nodes, and connects to the routers and peers that it
//! finds; peers that are connected to one router or peer find each other by gossip.
//! `scouting/multicast/enabled: false` and `scouting/gossip/enabled: false` turn that off. A client
//! with endpoints does not scout; one without connects to the first that answers, or reports after
//! 3 s where it scouted in vain. [`Session::info`] has the [state of
//! discovery](session::SessionInfo::discovery), and [`scout`] lists the nodes that answer.
//!
//! The environment variable `ZONDA_MULTICAST_SCOUTING=off` changes the default of
//! `scouting/multicast/enabled` to false, for tests and for machines that shall send nothing
//! unasked; the configuration has precedence.
//!
//! # What a put tells
//! A put returns `()`, or with `.outcome()` before its `.wait()` or `.await` an [`Outcome`]: sent,
//! queued, without any subscriber, or dropped for a slow peer; a refusal names the reason and the
//! peer. With congestion control `Drop` (the default) it never waits; with `Block` it waits at most
//! its timeout (5 s) and never drops silently. `docs/concepts/delivery.md` has every case in one table;
//! [`pubsub::Publisher::counters`] and [`session::SessionInfo`] count them.
//!
//! # Coming from `zenoh`
//! Names are the same; most programs need another `use`.
//!
//! | `zenoh` | here |
//! |---|---|
//! | `use zenoh::Wait;`, `.await` | `use zonda::Wait;`, `.await` |
//! | `zenoh::open(zenoh::Config::default())` | `zonda::open(zonda::Config::default())`, with the same [discovery](#discovery) |
//! | `zenoh::scout(..)`, `zenoh::scouting::Hello` | [`scout`], [`scouting::Hello`] |
//! | `config.insert_json5("connect/endpoints", ..)` | the same; unknown keys are errors that name the right one |
//! | `Config::from_file`, `DEFAULT_CONFIG.json5` | the same file works; what is not supported yet is a [warning](Config::warnings) |
//! | `session.put(..).await?` is `()` | the same; `session.put(..).outcome().await?` is an [`Outcome`] |
//! | `session.declare_subscriber(..).callback(..)`, `.with(..)`, `.background()` | the same |
//! | `FifoChannel`, `RingChannel`, `CallbackDrop` | the same in [`handlers`]; plus [`handlers::Overflow`] and counters |
//! | `session.liveliness()`, `publisher.matching_listener()` | the same; [`liveliness`] says what a lost link does |
//! | `publisher.put(..)`, `.delete()`, `.matching_status()` | the same; plus [`pubsub::Publisher::try_put`], [`pubsub::Publisher::counters`] |
//! | `session.info()`: `zid`, `routers_zid`, `peers_zid`, `transports`, `links`, `transport_events_listener`, `link_events_listener` | the same; plus [`endpoints`](session::SessionInfo::endpoints), [`turned_away`](session::SessionInfo::turned_away) and [`events_listener`](session::SessionInfo::events_listener) with typed reasons |
//! | `.timestamp_instrumentation(..)`, `.timestamp_stack()` | the same; [`timestamp_stack`] |
//! | `SourceInfo::new(publisher.id(), sn)`, `.source_info(..)`, `.timestamp(..)` | the same |
//! | config `namespace` | the same |
//! | `session.close()` | the same; plus `.timeout(..)` |
//! | `zenoh::init_log_from_env_or("error")` | the same, with feature `logs` (default) |
//! | `zenoh::Result`, `zenoh::Error` | [`Result`], [`Error`], any error; [`typed`](Operation::typed) gives an operation's own |
//! | `session.get(..)`, `.declare_queryable(..)`, `.declare_querier(..)`, `query.reply(..)` | the same; plus [`on_end`](query::SessionGetBuilder::on_end), and an error reply for a link that is lost |
//! | `.allowed_destination(..)`, `.allowed_origin(..)`, `.callback_mut(..)` | the same; [`sample::Locality`], [`handlers`] |

pub mod bytes;
mod callback_group;
mod calls;
pub mod cancellation;
pub mod config;
mod connections;
mod declaration;
mod encoding;
mod error;
#[cfg(feature = "ext")]
pub mod ext;
mod format;
mod handle;
pub mod handlers;
mod info;
mod listening;
pub mod liveliness;
mod logging;
pub mod matching;
mod namespace;
mod own_space;
mod publication;
mod publisher;
mod put;
pub mod qos;
pub mod query;
pub mod sample;
pub mod scouting;
mod served_plugin;
pub mod session;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub mod shm;
mod subscriber;
pub mod time;
pub mod timestamp_stack;
mod turns;
mod undeclare;
mod wait;

pub use callback_group::Ended;
pub use config::Config;
pub use error::{
    AnswerError, CloseError, ConfigError, DeclareError, EncodingError, EndpointError, Error,
    GetError, KeyExprError, KeyOverLimit, Lost, OpenError, PublishError, RecvError, ReplyError,
    Result, ScoutError, TimeRangeError, TooFarAhead, UndeclareError,
};
pub use logging::{init_log_from_env_or, try_init_log_from_env};
pub use scouting::scout;
pub use session::{Session, open};
pub use wait::{
    Done, Listed, Locators, Operation, OperationLater, Performing, Resolvable, Resolve, Typed, Wait,
};
pub use zonda_router::node::Outcome;

/// Access control, for services that pass on messages of clients of their own.
pub mod access {
    pub use zonda_router::access::{Message, Neighbour};
    pub use zonda_router::config::{Flow, MessageKind};
    pub use zonda_router::node::ClientRights;
}

/// Keys and key expressions.
pub mod key_expr {
    pub use zonda_codec::key_expr::Canonize;
    pub use zonda_codec::{
        KeyExpr, KeyExprError, OwnedNonWildKeyExpr, SetIntersectionLevel, keyexpr, nonwild_keyexpr,
    };

    /// Trees of keys: values by key expression, found by the keys that meet another one.
    pub mod keyexpr_tree {
        pub use zonda_codec::key_expr::tree::{
            Children, IKeyExprTree, IKeyExprTreeMut, KeBoxTree, KeyedSetProvider, Node, NodeMut,
            NonWild, UnknownWildness,
        };
    }

    /// Formats: keys with named parts, to write and to read such keys by; and keys that are checked
    /// at compile time.
    ///
    /// [`kedefine!`](crate::kedefine) defines a module for a format, and
    /// [`KeFormat`](format::KeFormat) reads one at run time.
    pub mod format {
        pub use crate::{kedefine, keformat, kewrite};
        pub use zonda_codec::ke;
        pub use zonda_codec::key_expr::format::{
            FormatError, FormatSetError, Iter, KeFormat, KeFormatter, Parsed, Segment,
        };
        #[doc(hidden)]
        pub use zonda_macros::define_format;
    }

    /// The reference's name of a key that borrows nothing.
    pub type OwnedKeyExpr = KeyExpr<'static>;
}

/// Publishers and subscribers.
pub mod pubsub {
    pub use crate::matching::MatchingStatus;
    pub use crate::publication::{Given, OutcomeBuilder, Publish, Publishing};
    pub use crate::publisher::{
        Publisher, PublisherBuilder, PublisherDeleteBuilder, PublisherPutBuilder,
    };
    pub use crate::put::{SessionDeleteBuilder, SessionPutBuilder};
    pub use crate::subscriber::{BackgroundSubscriberBuilder, Subscriber, SubscriberBuilder};
    pub use zonda_router::node::PublisherCounts;
}

/// The programs in the README and in the documents compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/guides/migrating-from-zenoh.md")]
struct Readme;
