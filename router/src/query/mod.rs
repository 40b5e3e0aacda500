// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries: those of this node's own session, which an [`OpenQuery`] follows from the first attempt to send them until their
//! end, those that its queryables answer ([`IncomingQuery`]), and those that pass through from one neighbour to another.

mod answering;
mod ask;
mod checked;
mod copied;
mod errors;
mod heads;
mod held;
mod inbound;
mod incoming;
mod node;
mod open;
mod outgoing;
mod owned;
mod querier;
mod queries;
mod queryables;
mod reply;
mod settle;

pub use errors::{AnswerError, GetError};
pub use incoming::{IncomingQuery, OpenedQueryable, QuerySink, QueryableId, SharedQuerySink};
pub use open::OpenQuery;
pub use outgoing::{IncomingReply, OutgoingQuery, QueryEnd, ReplyBody, ReplySink};
pub use querier::QuerierFace;

pub(crate) use queries::Queries;
pub(crate) use settle::{After, Call};
