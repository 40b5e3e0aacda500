// SPDX-License-Identifier: MIT OR Apache-2.0

//! Intake of an advanced subscriber: takes samples, heartbeats, tokens and answers, and carries out
//! the steps that its [`Sources`] decide on, one after another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use zonda_codec::{KeyExpr, KeyExprError};
use zonda_runtime::serial::{DrainTurn, Locked, SerialQueue};
use zonda_runtime::{Runtime, with_runtime};

use super::answering::UnsentQuery;
use super::history::HistoryConfig;
use super::keys::{Source, cache_of, caches};
use super::miss::Listeners;
use super::serialization::z_deserialize;
use super::sources::{CacheQuery, QueriedSources, RequestedSamples, SampleOrigin, Sources, Step};
use super::ticker::Ticker;
use crate::callback_group::{CallbackGroup, GroupMembership, InsideCallback};
use crate::cancellation::CancellationToken;
use crate::handle::WeakSession;
use crate::handlers::{Callback, Stored};
use crate::liveliness::LivelinessToken;
use crate::pubsub::Subscriber;
use crate::query::{Parameters, Selector};
use crate::sample::{Sample, SampleKind};

/// Limit of the waiting steps, above which a thread that adds more waits for the thread that
/// carries them out.
const BACKLOG_MAX: usize = 1024;

/// Takes the turn to carry out waiting steps, if there are any and no other thread has it; a thread
/// that has added many waits for it.
pub(super) fn take_turn<Q>(mut waiting: Locked<'_, Q>, backlog: usize) -> Option<DrainTurn> {
    match backlog {
        0 => None,
        1..BACKLOG_MAX => waiting.take_turn(),
        _ => waiting.wait_turn(),
    }
}

/// The declarations of a subscriber in addition to that of its own key.
#[derive(Default)]
pub(super) struct Declared {
    pub _heartbeats: Option<Subscriber<()>>,
    pub _publishers: Option<Subscriber<()>>,
    pub _token: Option<LivelinessToken>,
    pub _periodic: Option<Ticker>,
}

/// The callback of a subscriber, and its membership in groups, which is dropped after it.
pub(super) struct Called {
    pub callback: Callback<Sample>,
    pub _here: GroupMembership,
}

/// The path of all samples, answers, heartbeats and tokens to a subscriber.
pub(super) struct Intake {
    pub session: WeakSession,
    pub key: KeyExpr<'static>,
    pub history: Option<HistoryConfig>,
    pub query_timeout: Duration,
    /// Set if samples outlive the call of the callback.
    pub stores: bool,
    pub sources: SerialQueue<Sources>,
    /// The callback; empty once the subscriber has ended.
    pub callback: ArcSwapOption<Called>,
    /// Completes when the callback is dropped.
    pub gone: CallbackGroup,
    pub misses: Listeners,
    pub questions: CancellationToken,
    /// The declarations of a subscriber that lives as long as its session.
    pub background: Mutex<Declared>,
}

impl Intake {
    /// Handles a sample.
    pub fn take(self: &Arc<Self>, sample: Sample, heard: SampleOrigin) {
        let sample = match self.stores {
            true => sample.before_storing(),
            false => sample,
        };
        self.change(|sources| sources.take(sample, heard, Instant::now()));
    }

    /// Handles a heartbeat.
    pub fn take_heartbeat(self: &Arc<Self>, beat: &Sample) {
        if beat.kind() != SampleKind::Put {
            return;
        }
        if let Ok(newest) = z_deserialize(beat.payload()) {
            self.change(|sources| sources.take_heartbeat(beat.key_expr(), newest, Instant::now()));
        }
    }

    /// Handles the token of a publisher that came to life or went.
    pub fn take_token(self: &Arc<Self>, token: &Sample) {
        let is_alive = token.kind() == SampleKind::Put;
        self.change(|sources| sources.take_token(token.key_expr(), is_alive, Instant::now()));
    }

    /// Applies `change` to the sources and carries out the resulting steps. If another thread
    /// carries out steps already, that thread takes these over, and a thread that adds many waits
    /// for it.
    pub fn change(self: &Arc<Self>, change: impl FnOnce(&mut Sources)) {
        let mut sources = self.sources.lock();
        change(&mut sources);
        let backlog = sources.backlog();
        let Some(turn) = take_turn(sources, backlog) else {
            return;
        };
        self.sources.drain(
            turn,
            |(), step| self.carry_out(step),
            |(), _| {
                let key = &self.key;
                tracing::error!(%key, "an advanced subscriber's callback panicked; this sample is lost to it");
            },
        );
    }

    fn carry_out(self: &Arc<Self>, step: Step) {
        match step {
            Step::Deliver(sample) => {
                if let Some(called) = self.callback.load_full() {
                    let _inside = InsideCallback::enter();
                    called.callback.call(sample);
                }
            }
            Step::Missed(miss) => {
                tracing::info!(key = %self.key, ?miss, "samples are lost");
                self.misses.tell(miss);
            }
            Step::Ask(question) => self.ask(question),
        }
    }

    /// Sends a query on a separate task: no link waits until it is sent.
    fn ask(self: &Arc<Self>, question: CacheQuery) {
        let unasked = UnsentQuery::new(self, question.about);
        let (Some(session), Ok(selector)) = (self.session.upgrade(), self.selector(&question))
        else {
            return;
        };
        tracing::trace!(%selector, "an advanced subscriber asks");
        let runtime = session.node().runtime_handle().clone();
        let ask = move || unasked.ask(session, selector);
        with_runtime!(&runtime, runtime => runtime.spawn_brief("zonda-recovery", ask));
    }

    fn selector(&self, question: &CacheQuery) -> Result<Selector<'static>, KeyExprError> {
        let key = match (&question.key, question.about) {
            (Some(key), _) => key.clone(),
            (None, QueriedSources::One(Source::Numbered(id))) => cache_of(&self.key, id)?,
            (None, _) => caches(&self.key)?,
        };
        let parameters = match question.wanted {
            RequestedSamples::History => match &self.history {
                Some(history) => history.parameters(),
                None => Parameters::empty(),
            },
            RequestedSamples::Numbers { from, to } => {
                let text = |number: Option<u32>| number.map_or(String::new(), |n| n.to_string());
                Parameters::from(format!("_sn={}..{}", text(from), text(to)))
            }
        };
        Ok(Selector::owned(key, parameters))
    }

    /// Ends the subscriber: nothing is delivered any more, and the callback is dropped.
    pub fn end(&self) {
        drop(self.callback.swap(None));
        self.misses.end();
        drop(self.questions.cancel());
        let declared = std::mem::take(&mut *self.background.lock());
        drop(declared);
    }
}
