// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a session calls to query, and to declare queryables and queriers.

use std::{sync::Arc, time::Duration};

use zonda_codec::KeyExpr;

use crate::{
    model::{DeclareError, Wait},
    node::handle::Node,
    query::{
        GetError, OpenQuery, OutgoingQuery, QuerierFace, QueryableId, SharedQuerySink,
        ask::{Failed, Full},
    },
    send_error::SendError,
    table::Locality,
};

impl Node {
    /// Sends `query` to those that may answer it. What comes back goes to the sink of `open`, possibly before this returns.
    ///
    /// A client without a gateway holds the query until it has one; other nodes hold one that nobody is known for
    /// while a lost connection that they opened is being restored, for at most ten seconds. For five seconds after a
    /// gateway has come back a query that nobody is known for is held until somebody is: those who would reply may
    /// be on their way back, too. The timeout counts all the same.
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
    /// };
    /// let (sender, ends) = channel();
    /// let open = OpenQuery::new(&query, Box::new(Ends(sender)));
    /// node.query(&query, None, &open, Wait::Never).unwrap();
    /// // There is nobody to ask.
    /// assert_eq!(ends.recv(), Ok(QueryEnd::Complete));
    /// ```
    ///
    /// # Errors
    /// Why the query was not sent; the sink is not called then.
    ///
    /// # Blocking
    /// Under congestion control `Block` at most as long as `wait` says, for neighbours whose queue is full; else never.
    pub fn query(
        &self,
        query: &OutgoingQuery<'_>,
        querier: Option<&QuerierFace>,
        open: &Arc<OpenQuery>,
        wait: Wait,
    ) -> Result<(), GetError> {
        let mut deadline = None;
        loop {
            let Full { outbox, error } = match self.shared.try_query(query, querier, open) {
                Ok(()) => return Ok(()),
                Err(Failed::Error(error)) => return Err(error),
                Err(Failed::Full(full)) => full,
            };
            let (GetError::WouldBlock { peer }, Wait::AtMost(after)) = (&error, wait) else {
                return Err(error);
            };
            let deadline = *deadline.get_or_insert_with(|| zonda_runtime::after(after));
            let priority = query.qos.priority();
            if !self.shared.wait_for_room(&outbox, priority, deadline) {
                return Err(SendError::Timeout { peer: *peer, after }.into());
            }
        }
    }

    /// As [`Node::query`], waiting by waker for neighbours whose queue is full, at most for the query's own timeout.
    ///
    /// # Errors
    /// As [`Node::query`].
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
            let Full { outbox, error } = match shared.try_query(query, querier, open) {
                Ok(()) => return Ok(()),
                Err(Failed::Error(error)) => return Err(error),
                Err(Failed::Full(full)) => full,
            };
            let GetError::WouldBlock { peer } = error else {
                return Err(error);
            };
            let priority = query.qos.priority();
            if !shared.room_by(&outbox, priority, deadline).await {
                return Err(SendError::Timeout { peer, after }.into());
            }
        }
    }

    /// Ends a query, with [`QueryEnd::Cancelled`](super::QueryEnd::Cancelled) if it had not ended: at once, or when a call of its sink that is under way
    /// elsewhere has returned. A query that is not sent yet is not sent any more.
    pub fn cancel(&self, query: &OpenQuery) {
        self.shared.cancel_query(query);
    }

    /// How long a query waits for its replies where nothing else is said (`queries_default_timeout`).
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        self.shared.settings.query_timeout
    }

    /// Calls `sink` with each query on a key that intersects `key`, from now on until it is undeclared. `complete`
    /// promises that it knows everything there is under the key.
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

    /// The same, for queries from there only; of one for those of the node's own session nobody else hears.
    ///
    /// # Errors
    /// As [`Node::declare_queryable`].
    pub fn declare_queryable_from(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        sink: SharedQuerySink,
    ) -> Result<QueryableId, DeclareError> {
        self.shared.declare_queryable(key, complete, origin, sink)
    }

    /// Ends a queryable. A call of its sink that is under way on another thread may still finish; queries that it holds
    /// may still be replied to.
    pub fn undeclare_queryable(&self, id: QueryableId) {
        self.shared.undeclare_queryable(id);
    }

    /// Declares a querier of `key`: from now on this node knows whether anybody would reply, and a query that
    /// nobody would reply to ends without being sent.
    ///
    /// # Errors
    /// The node is closed, or the key is not acceptable.
    pub fn declare_querier(&self, key: &KeyExpr<'_>) -> Result<QuerierFace, DeclareError> {
        self.declare_querier_to(key, Locality::Any)
    }

    /// The same of a querier whose queries go there only, as [`OutgoingQuery::destination`] has to say of each.
    ///
    /// # Errors
    /// As [`Node::declare_querier`].
    pub fn declare_querier_to(
        &self,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<QuerierFace, DeclareError> {
        QuerierFace::declare(&self.shared, key, destination)
    }
}
