// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries: a [get](crate::Session::get) sends one, [queryables](crate::Session::declare_queryable)
//! reply, and the replies come to the get's handler until it ends.
//!
//! ```
//! use zonda::{Config, Wait};
//!
//! let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//! let thermometer = session
//!     .declare_queryable("room/*/temperature")
//!     .callback(|query| {
//!         let unit = query.parameters().get("unit").unwrap_or("celsius");
//!         let reply = query.reply("room/3/temperature", format!("21.5 {unit}")).wait();
//!         reply.expect("the asker waits");
//!     })
//!     .wait()?;
//!
//! for reply in session.get("room/3/**?unit=celsius").wait()?.iter() {
//!     let sample = reply.into_result()?;
//!     assert_eq!(sample.payload().try_to_string()?, "21.5 celsius");
//! }
//! # Ok::<(), zonda::Error>(())
//! ```
//!
//! # How a get ends
//! The handler ends after the last reply, as a subscriber's does when it is undeclared.
//! [`SessionGetBuilder::on_end`] reports the reason: all replies have come, the timeout has passed,
//! a link was lost on which replies were to come, the get was cancelled or the session closed. An
//! error among the replies reports missing ones too: `Timeout` once for each neighbour that has not
//! finished in time, and `the link to <id> was lost`, be it a link of this session or of the router
//! that forwarded the query.
//!
//! A get of a session that is being connected again waits for its router, and for 5 s more if no
//! matching queryable is known: queryables may be reconnecting, too. Its timeout counts all the
//! same.
//!
//! Dropping the handler does not end the get: later replies are discarded. Cancel it with a
//! [`CancellationToken`](crate::cancellation::CancellationToken).
//!
//! # Threads
//! Callbacks of queryables run inline on the task that receives the query, those of gets on the one
//! that receives the reply. A session that answers its own query runs all of them on the querying
//! thread, before the get's `.wait()` returns. No lock is held during a callback, so it may query,
//! reply, declare, undeclare and close. It must not wait for a message that comes on the very link
//! whose task it runs on, such as the end of a get that was sent there.
//!
//! A queue that is full makes the thread that fills it wait for its reader, but never longer than
//! the query lives; a query that found no room is answered with an error. Replies of a session to
//! its own query while it still sends it do not count against the capacity of the get's
//! [`FifoChannel`](crate::handlers::FifoChannel), so one thread may query, reply and read. Channels
//! of your own (flume, mpsc) have no such rule: give them room for the values that come while no
//! thread reads.

mod answering;
mod consolidation;
mod end;
mod get;
mod options;
mod parameters;
mod querier;
mod queryable;
mod reply;
mod reply_builder;
mod rfc3339;
mod selector;
mod sink;
mod time_range;

pub use answering::Query;
pub use consolidation::{ConsolidationMode, QueryConsolidation};
pub use end::{EndReason, GetEnd};
pub use get::SessionGetBuilder;
pub use options::ReplyKeyExpr;
pub use parameters::{Parameters, ZenohParameters};
pub use querier::{Querier, QuerierBuilder, QuerierGetBuilder};
pub use queryable::{BackgroundQueryableBuilder, Queryable, QueryableBuilder};
pub use reply::{Reply, ReplyError};
pub use reply_builder::{
    ReplyBuilder, ReplyBuilderDelete, ReplyBuilderPut, ReplyErrBuilder, ReplySample,
};
pub use selector::Selector;
pub use time_range::{TimeBound, TimeExpr, TimeRange, TimeRangeError};
pub use zonda_codec::Target as QueryTarget;
