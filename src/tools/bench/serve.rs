// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end that replies and counts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use zonda::qos::CongestionControl;
use zonda::query::Query;
use zonda::sample::Sample;
use zonda::{Session, Wait};
use zonda_program::{Failure, Interrupt, build};

use super::super::start::Start;
use super::{Bench, Count, Told, path};

/// Limit of the flows that are counted at once; one more evicts the oldest.
const FLOWS: usize = 64;

/// Counts of the last flows, the one that began last at the end.
#[derive(Default)]
struct Counters(VecDeque<Counter>);

impl Counters {
    fn add(&mut self, sample: &Sample) {
        let key = sample.key_expr().as_str();
        let run = key.rsplit('/').next().unwrap_or_default();
        let at = self.0.iter().rposition(|counter| counter.run == run);
        let at = at.unwrap_or_else(|| self.begin(run));
        self.0[at].add(sample);
    }

    /// Inserts a flow, and returns its index.
    fn begin(&mut self, run: &str) -> usize {
        if self.0.len() == FLOWS {
            self.0.pop_front();
        }
        self.0.push_back(Counter {
            run: run.to_owned(),
            count: Count::default(),
            first: Instant::now(),
        });
        self.0.len() - 1
    }

    /// Returns the counts of a flow; the default if it is not known.
    fn of(&self, run: Option<&str>) -> Count {
        let known = self.0.iter().rfind(|counter| Some(&*counter.run) == run);
        known.map(|counter| counter.count).unwrap_or_default()
    }
}

/// Counts of one flow.
struct Counter {
    run: String,
    count: Count,
    first: Instant,
}

impl Counter {
    fn add(&mut self, sample: &Sample) {
        self.count.messages += 1;
        self.count.bytes += sample.payload().len() as u64;
        self.count.nanos = u64::try_from(self.first.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }
}

/// Serves until Ctrl-C.
pub fn serve(bench: &Bench, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
    let place = format!("{}/{}", bench.key, session.zid());
    let counters: Arc<Mutex<Counters>> = Arc::default();
    // Echo of round trips.
    let echo = session.clone();
    let _ping = session
        .declare_subscriber(format!("{place}/ping/*"))
        .callback(move |sample| pong(&echo, &sample))
        .wait()?;
    // Counts of flows.
    let counting = Arc::clone(&counters);
    let _flow = session
        .declare_subscriber(format!("{place}/flow/*"))
        .callback(move |sample| {
            let mut counters = counting.lock().unwrap_or_else(PoisonError::into_inner);
            counters.add(&sample);
        })
        .wait()?;
    // Reports; the token comes last, when everything is declared.
    let queries = session.declare_queryable(format!("{place}/told")).wait()?;
    let _alive = session
        .liveliness()
        .declare_token(format!("{place}/alive"))
        .wait()?;
    // Answer queries until Ctrl-C.
    let mut start = Start::new(session, bench.connection.json);
    while !interrupt.happened() {
        start.look();
        if let Some(query) = queries.recv_timeout(super::NOTICE)? {
            tell(session, &query, &counters)?;
        }
    }
    Ok(())
}

/// Sends a message back. The node that asked misses one that cannot be sent, and reports it.
fn pong(session: &Session, sample: &Sample) {
    let key = sample.key_expr().as_str().replacen("/ping/", "/pong/", 1);
    let answer = session.put(key, sample.payload().clone());
    let answer = answer
        .congestion_control(CongestionControl::Block)
        .express(true);
    if let Err(error) = answer.wait() {
        tracing::warn!("a round trip is not answered: {error}");
    }
}

fn tell(session: &Session, query: &Query, counters: &Mutex<Counters>) -> Result<(), Failure> {
    let count = {
        let counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.of(query.parameters().get("run"))
    };
    let told = Told {
        version: build::VERSION.to_owned(),
        links: path::neighbours(session),
        count,
    };
    // a node that queries and leaves is no failure of this one
    if let Err(error) = query
        .reply(query.key_expr(), serde_json::to_vec(&told)?)
        .wait()
    {
        tracing::warn!("{query} is not answered: {error}");
    }
    Ok(())
}
