// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers: a handler gets the samples on matching keys.

use std::fmt;
use std::sync::Arc;

use zonda_codec::payload::Block;
use zonda_codec::{EntityGlobalId, KeyExpr, KeyExprError};
use zonda_router::node::{DeclareError, Deliveries, Delivery, Opened, Receive, Sink, Take};

use crate::bytes::ZBytes;
use crate::callback_group::{CallbackGroup, Ended, GroupMembership};
use crate::calls::{Calls, Declared, Tally};
use crate::declaration::Declaration;
use crate::handle::Session;
use crate::handlers::{
    Callback, DefaultHandler, FifoChannelHandler, IntoHandler, Stored, handler_setters,
    used_as_handler,
};
use crate::listening::Listening;
use crate::namespace::Namespace;
use crate::own_space;
use crate::sample::{Locality, Model, Sample};
use crate::wait::{Operation, ready_at_once};

/// A subscriber under construction; made by [`Session::declare_subscriber`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct SubscriberBuilder<'a, 'b, H = DefaultHandler> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(crate) origin: Locality,
    pub(crate) handler: H,
}

impl<'a, 'b> SubscriberBuilder<'a, 'b, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every sample, inline: on the receiving task, or on the
        /// publishing thread for a publication of this same session. While it runs its link is not
        /// read, so keep it short; it may call anything of the session, but blocking there blocks
        /// that link.
        SubscriberBuilder('a, 'b) of Sample keeps session, key, origin
    }
}

impl<H> SubscriberBuilder<'_, '_, H> {
    /// Chooses the sessions whose messages it gets: this one, other ones, or both. Other nodes do not learn of one for this
    /// session alone. Default: both.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// use zonda::sample::Locality;
    ///
    /// let subscriber = session
    ///     .declare_subscriber("demo/**")
    ///     .allowed_origin(Locality::Remote)
    ///     .wait()?;
    /// session.put("demo/a", "an echo it does not want").wait()?;
    /// assert!(subscriber.try_recv()?.is_none());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn allowed_origin(mut self, origin: Locality) -> Self {
        self.origin = origin;
        self
    }
}

impl<'a, 'b> SubscriberBuilder<'a, 'b, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundSubscriberBuilder<'a, 'b> {
        BackgroundSubscriberBuilder(self)
    }
}

impl<H: IntoHandler<Sample>> Operation for SubscriberBuilder<'_, '_, H> {
    type Given = Subscriber<H::Handler>;
    type Refusal = DeclareError;

    /// Declares the subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?.into_owned();
        own_space::begin_for(self.session, &key);
        let (callback, handler) = self.handler.into_handler();
        let callback = match self.session.namespace() {
            None => callback,
            Some(namespace) => below(Arc::clone(namespace), callback),
        };
        let calls = calls_of(callback, H::STORES, self.session.listeners().callbacks());
        let sink: Sink = calls.clone();
        let node = self.session.node();
        let outgoing = self.session.outgoing(&key)?;
        let id = node.declare_subscriber_from(&outgoing, self.origin, sink)?;
        let entry = Declaration::enter(self.session, Declared::Subscriber(id), key, calls);
        let entry = SubscriberDeclaration::Data(entry);
        Ok(Subscriber { entry, handler })
    }
}

ready_at_once!([H: IntoHandler<Sample>] SubscriberBuilder<'_, '_, H>);

/// A subscriber under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundSubscriberBuilder<'a, 'b>(SubscriberBuilder<'a, 'b, Callback<Sample>>);

impl Operation for BackgroundSubscriberBuilder<'_, '_> {
    type Given = ();
    type Refusal = DeclareError;

    /// Declares the subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.detach();
        Ok(())
    }
}

ready_at_once!([] BackgroundSubscriberBuilder<'_, '_>);

/// A receiver of the samples of every key that matches its own. Dropping it undeclares it, without
/// blocking.
///
/// The subscriber dereferences to its handler, so that the default one is used like a queue:
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let subscriber = session.declare_subscriber("demo/**").wait()?;
/// session.put("demo/greeting", "hello").wait()?;
///
/// let sample = subscriber.recv()?;
/// assert_eq!(sample.key_expr().as_str(), "demo/greeting");
/// assert_eq!(sample.payload().try_to_string()?, "hello");
/// # Ok::<(), zonda::Error>(())
/// ```
///
/// A subscriber does not keep its session open: samples end when the last clone of the session is gone.
///
/// The compiler warns of a subscriber that is dropped at once, as it would receive nothing:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use zonda::Wait;
/// # let session = zonda::open(zonda::Config::peer()).wait()?;
/// session.declare_subscriber("demo/**").callback(|sample| println!("{sample:?}")).wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct Subscriber<H = FifoChannelHandler<Sample>> {
    entry: SubscriberDeclaration,
    handler: H,
}

/// Declaration behind a subscriber.
enum SubscriberDeclaration {
    /// Subscribes to publications.
    Data(Declaration<Call>),
    /// Subscribes to liveliness tokens.
    Tokens(KeyExpr<'static>, Listening),
}

impl<H> Subscriber<H> {
    /// Creates a subscriber to liveliness tokens.
    pub(crate) fn to_tokens(key: KeyExpr<'static>, listening: Listening, handler: H) -> Self {
        let entry = SubscriberDeclaration::Tokens(key, listening);
        Subscriber { entry, handler }
    }

    /// Detaches the declaration: it lives as long as the session.
    pub(crate) fn detach(mut self) {
        self.set_background(true);
    }

    /// Chooses whether it stays declared when this is dropped, for as long as the session. Default: no.
    pub fn set_background(&mut self, background: bool) {
        match &mut self.entry {
            SubscriberDeclaration::Data(entry) => entry.set_background(background),
            SubscriberDeclaration::Tokens(_, listening) => listening.set_background(background),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> EntityGlobalId {
        match &self.entry {
            SubscriberDeclaration::Data(entry) => entry.id(),
            SubscriberDeclaration::Tokens(_, listening) => listening.id(),
        }
    }

    /// Returns the key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        match &self.entry {
            SubscriberDeclaration::Data(entry) => entry.key(),
            SubscriberDeclaration::Tokens(key, _) => key,
        }
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the handler, mutably.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Returns the number of samples that were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        match &self.entry {
            SubscriberDeclaration::Data(entry) => entry.panics(),
            SubscriberDeclaration::Tokens(_, listening) => listening.panics(),
        }
    }

    /// Returns the number of changes that a [liveliness subscriber](crate::liveliness) did not
    /// deliver because later ones reverted them while the callback was busy with older ones. 0 as
    /// long as no more than 16384 wait for it, and for all other subscribers.
    pub fn cancelled(&self) -> u64 {
        match &self.entry {
            SubscriberDeclaration::Data(_) => 0,
            SubscriberDeclaration::Tokens(_, listening) => listening.cancelled(),
        }
    }

    /// Undeclares it, also if it is in the background: no call of the handler begins afterwards. One
    /// that runs on another thread may still be running; waiting for the returned [`Ended`] waits for
    /// it. Never fails.
    pub fn undeclare(mut self) -> Ended {
        self.set_background(false);
        let ended = match &self.entry {
            SubscriberDeclaration::Data(entry) => entry.ended(),
            SubscriberDeclaration::Tokens(_, listening) => listening.ended(),
        };
        drop(self);
        ended
    }
}

used_as_handler!(Subscriber);

impl<H> fmt::Debug for Subscriber<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("key", self.key_expr())
            .finish_non_exhaustive()
    }
}

/// Wraps the callback: it gets samples with their keys below the namespace.
fn below(namespace: Arc<Namespace>, callback: Callback<Sample>) -> Callback<Sample> {
    Callback::from(move |sample: Sample| {
        if let Some(key) = namespace.incoming(sample.key_expr()) {
            callback.call(sample.renamed(key));
        }
    })
}

type Call = Box<dyn Take>;

fn calls_of(callback: Callback<Sample>, stores: bool, group: &CallbackGroup) -> Arc<Calls<Call>> {
    let (here, tally) = Tally::new(stores, [Some(group), None]);
    let known = tally.clone();
    // Two types, not one with a check for each sample: a sample is then built where the callback
    // reads it.
    let call: Call = match stores {
        true => Box::new(Calling::<true> {
            known,
            callback,
            _here: here,
        }),
        false => Box::new(Calling::<false> {
            known,
            callback,
            _here: here,
        }),
    };
    Calls::new(tally, call)
}

/// Handler of deliveries that calls the callback, with samples prepared for being kept if it
/// `STORES` them.
struct Calling<const STORES: bool> {
    known: Arc<Tally>,
    callback: Callback<Sample>,
    /// Dropped after the callback.
    _here: GroupMembership,
}

impl<const STORES: bool> Take for Calling<STORES> {
    fn take(&self, delivery: &Delivery<'_>) {
        let call = || {
            let sample = Sample::new(delivery);
            self.callback.call(match STORES {
                true => sample.before_storing(),
                false => sample,
            });
        };
        self.known.call(call, || report(delivery.key));
    }

    fn take_run(&self, like: &Delivery<'_>, run: &mut Deliveries<'_, '_>) {
        match like.key.short() {
            Some(short) => self.call_all(like, run, || KeyExpr::from(short)),
            None => self.call_all(like, run, || like.key.clone()),
        }
    }
}

impl<const STORES: bool> Calling<STORES> {
    /// Calls the callback with the samples of a run, all of which have this key.
    #[inline(always)]
    fn call_all(
        &self,
        like: &Delivery<'_>,
        run: &mut Deliveries<'_, '_>,
        key: impl Fn() -> KeyExpr<'static>,
    ) {
        let Some(model) = Model::of(like) else {
            return run.one_by_one(like, |delivery| self.take(delivery));
        };
        let block = Block::new(like.block);
        let callback = self.callback.function();
        let call = || {
            let Some(again) = run.next() else {
                return false;
            };
            let payload = match STORES {
                true => ZBytes::detached_of_run(&block, &again),
                false => ZBytes::of_run(&block, &again),
            };
            callback(model.sample(key(), payload, run.timestamp()));
            true
        };
        self.known.call_all(call, || report(like.key));
    }
}

#[cold]
fn report(key: &KeyExpr<'_>) {
    tracing::error!(%key, "a subscriber's callback panicked; this sample is lost to it");
}

impl Receive for Calls<Call> {
    fn open(&self) -> Option<Opened> {
        self.opened()
    }
}
