// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries: those of this node's session, which an [`OpenQuery`] tracks from the first attempt to
//! send until the end, those that its queryables answer ([`IncomingQuery`]), and those that the
//! node forwards between neighbours.

mod after;
pub(crate) mod answering;
mod ask;
mod checked;
mod copied;
mod errors;
mod heads;
mod held;
pub(crate) mod inbound;
mod incoming;
mod lost_link;
mod node;
mod open;
mod outgoing;
mod owned;
mod querier;
mod queries;
mod queryables;
pub(crate) mod reply;
mod send;
pub(crate) mod settle;

pub use errors::{AnswerError, GetError};
pub use incoming::{IncomingQuery, OpenedQueryable, QuerySink, QueryableId, SharedQuerySink};
pub use lost_link::LostLink;
pub use open::OpenQuery;
pub use outgoing::{IncomingReply, OutgoingQuery, QueryEnd, ReplyBody, ReplySink};
pub use querier::QuerierFace;

pub(crate) use after::{After, Call};
pub(crate) use open::Next;
pub(crate) use queries::{EndedQuery, Queries};
