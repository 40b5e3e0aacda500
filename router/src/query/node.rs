// SPDX-License-Identifier: MIT OR Apache-2.0

//! Functions with which a session sends queries and declares queryables and queriers.

use std::{sync::Arc, time::Duration};

use zonda_codec::KeyExpr;

use crate::{
    flow::backpressure,
    model::{DeclareError, Wait},
    node::handle::Node,
    query::{
        GetError, OpenQuery, OutgoingQuery, QuerierFace, QueryableId, SharedQuerySink,
        ask::{self, Failed, Full},
        queryables,
    },
    send_error::SendError,
    table::Locality,
};

impl Node {
    /// Sends `query` to matching queryables. Replies go to the sink of `open`, possibly before this
    /// function returns.
    ///
    /// A client without a gateway holds the query until it has one. Any other node holds a query
    /// without a known queryable while a lost connection that it opened is being restored, for at
    /// most ten seconds. For five seconds after a gateway has come back, a query without a known
    /// queryable is held until one is declared, because the queryables may be reconnecting, too.
    /// The timeout runs while the query is held.
    ///
    /// ```
    /// use std::sync::mpsc::{Sender, channel};
    /// use zonda_codec::{Consolidation, KeyExpr, Qos, Target};
    /// use zonda_router::config::Config;
    /// use zonda_router::table::Locality;
    /// use zonda_router::node::{
    ///     IncomingReply, Node, OpenQuery, OutgoingQuery, QueryEnd, ReplySink, Wait,
    /// };
    ///
    /// struct Ends(Sender<QueryEnd>);
    ///
    /// impl ReplySink for Ends {
    ///     fn reply(&mut self, reply: &IncomingReply<'_>) {
    ///         println!("{}: {:?}", reply.key, reply.body);
    ///     }
    ///     fn end(self: Box<Self>, how: QueryEnd) {
    ///         self.0.send(how).unwrap();
    ///     }
    /// }
    ///
    /// let config = Config::peer().listen([] as [&str; 0]);
    /// let node = zonda_runtime::block_on(Node::open(config)).unwrap();
    /// let key = KeyExpr::new("demo/*").unwrap();
    /// let query = OutgoingQuery {
    ///     key: &key,
    ///     parameters: "",
    ///     body: None,
    ///     attachment: None,
    ///     target: Target::BestMatching,
    ///     consolidation: Consolidation::None,
    ///     timeout: node.query_timeout(),
    ///     qos: Qos::REQUEST,
    ///     source_info: None,
    ///     destination: Locality::Any,
    ///     stack: None,
    /// };
    /// let (sender, ends) = channel();
    /// let open = OpenQuery::new(&query, Box::new(Ends(sender)));
    /// node.query(&query, None, &open, Wait::Never).unwrap();
    /// // No queryable is known.
    /// assert_eq!(ends.recv(), Ok(QueryEnd::Complete));
    /// ```
    ///
    /// # Errors
    /// [`GetError`] is the reason why the query was not sent; the sink is not called then.
    ///
    /// # Blocking
    /// Under congestion control `Block`, waits at most as long as `wait` allows for neighbours
    /// whose queue is full; else never blocks.
    pub fn query(
        &self,
        query: &OutgoingQuery<'_>,
        querier: Option<&QuerierFace>,
        open: &Arc<OpenQuery>,
        wait: Wait,
    ) -> Result<(), GetError> {
        let mut deadline = None;
        loop {
            let Full { outbox, error } =
                match ask::try_query(&self.shared, &self.session, query, querier, open) {
                    Ok(()) => return Ok(()),
                    Err(Failed::Error(error)) => return Err(error),
                    Err(Failed::Full(full)) => full,
                };
            let (GetError::WouldBlock { peer }, Wait::AtMost(after)) = (&error, wait) else {
                return Err(error);
            };
            let deadline = *deadline.get_or_insert_with(|| zonda_runtime::after(after));
            let priority = query.qos.priority();
            if !backpressure::wait_for_room(&self.shared, &outbox, priority, deadline) {
                return Err(SendError::Timeout { peer: *peer, after }.into());
            }
        }
    }

    /// Sends like [`Node::query`], but waits by waker for neighbours whose queue is full, at most
    /// for the query's own timeout.
    ///
    /// # Errors
    /// See [`Node::query`].
    ///
    /// # Cancel safety
    /// A future that is dropped has not sent the query.
    pub async fn query_async(
        &self,
        query: &OutgoingQuery<'_>,
        querier: Option<&QuerierFace>,
        open: &Arc<OpenQuery>,
    ) -> Result<(), GetError> {
        let (shared, after) = (&self.shared, query.timeout);
        let deadline = zonda_runtime::after(after);
        loop {
            let Full { outbox, error } =
                match ask::try_query(&self.shared, &self.session, query, querier, open) {
                    Ok(()) => return Ok(()),
                    Err(Failed::Error(error)) => return Err(error),
                    Err(Failed::Full(full)) => full,
                };
            let GetError::WouldBlock { peer } = error else {
                return Err(error);
            };
            let priority = query.qos.priority();
            if !backpressure::room_by(shared, &outbox, priority, deadline).await {
                return Err(SendError::Timeout { peer, after }.into());
            }
        }
    }

    /// Ends a query, with [`QueryEnd::Cancelled`](super::QueryEnd::Cancelled) if it had not ended:
    /// at once, or when a running call of its sink on another thread has returned. A query that was
    /// not sent yet is never sent.
    pub fn cancel(&self, query: &OpenQuery) {
        ask::cancel_query(&self.shared, query);
    }

    /// Default time that a query waits for its replies (`queries_default_timeout`).
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        self.shared.settings.query_timeout
    }

    /// Calls `sink` with each query on a key that intersects `key`, until the queryable is
    /// undeclared. `complete` declares that the queryable has all values under the key.
    ///
    /// # Errors
    /// The node is closed, or the key is not acceptable.
    pub fn declare_queryable(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        sink: SharedQuerySink,
    ) -> Result<QueryableId, DeclareError> {
        self.declare_queryable_from(key, complete, Locality::Any, sink)
    }

    /// Declares a queryable like [`Node::declare_queryable`], for queries from `origin` only. A
    /// queryable for queries of the node's own session is not announced to neighbours.
    ///
    /// # Errors
    /// See [`Node::declare_queryable`].
    pub fn declare_queryable_from(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        sink: SharedQuerySink,
    ) -> Result<QueryableId, DeclareError> {
        queryables::declare_queryable(self, key, complete, origin, sink)
    }

    /// Ends a queryable. A running call of its sink on another thread may still finish, and the
    /// queries that the sink holds may still be replied to.
    pub fn undeclare_queryable(&self, id: QueryableId) {
        queryables::undeclare_queryable(&self.shared, id);
    }

    /// Declares a querier of `key`: the node keeps track of matching queryables, and a query
    /// without one ends without being sent.
    ///
    /// # Errors
    /// The node is closed, or the key is not acceptable.
    pub fn declare_querier(&self, key: &KeyExpr<'_>) -> Result<QuerierFace, DeclareError> {
        self.declare_querier_to(key, Locality::Any)
    }

    /// Declares a querier like [`Node::declare_querier`] whose queries go to `destination` only;
    /// each of them must have the same [`OutgoingQuery::destination`].
    ///
    /// # Errors
    /// See [`Node::declare_querier`].
    pub fn declare_querier_to(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<QuerierFace, DeclareError> {
        QuerierFace::declare(&self.shared, &self.session, key, destination)
    }
}
