// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end that answers and counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use zonda::qos::CongestionControl;
use zonda::query::Query;
use zonda::sample::Sample;
use zonda::{Session, Wait};
use zonda_program::{Failure, Interrupt, build};

use super::super::start::Start;
use super::{Bench, Count, Told, path};

/// What came of the last flow. There is one at a time for each measurement; another one begins anew.
#[derive(Default)]
struct Counter {
    run: String,
    count: Count,
    first: Option<Instant>,
}

impl Counter {
    fn add(&mut self, sample: &Sample) {
        let key = sample.key_expr().as_str();
        let run = key.rsplit('/').next().unwrap_or_default();
        if run != self.run {
            *self = Counter {
                run: run.to_owned(),
                ..Counter::default()
            };
        }
        let first = *self.first.get_or_insert_with(Instant::now);
        self.count.messages += 1;
        self.count.bytes += sample.payload().len() as u64;
        self.count.nanos = u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }
}

/// Serves until Ctrl-C.
pub fn serve(bench: &Bench, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
    let place = format!("{}/{}", bench.key, session.zid());
    let counter: Arc<Mutex<Counter>> = Arc::default();
    let echo = session.clone();
    let _ping = session
        .declare_subscriber(format!("{place}/ping/*"))
        .callback(move |sample| pong(&echo, &sample))
        .wait()?;
    let counting = Arc::clone(&counter);
    let _flow = session
        .declare_subscriber(format!("{place}/flow/*"))
        .callback(move |sample| {
            let mut counter = counting.lock().unwrap_or_else(PoisonError::into_inner);
            counter.add(&sample);
        })
        .wait()?;
    let queries = session.declare_queryable(format!("{place}/told")).wait()?;
    let _alive = session
        .liveliness()
        .declare_token(format!("{place}/alive"))
        .wait()?;
    let mut start = Start::new(session, bench.connection.json);
    while !interrupt.happened() {
        start.look();
        if let Some(query) = queries.recv_timeout(super::NOTICE)? {
            tell(session, &query, &counter)?;
        }
    }
    Ok(())
}

/// Sends a message back. One that cannot be sent is missed by the node that asked, which says so.
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

fn tell(session: &Session, query: &Query, counter: &Mutex<Counter>) -> Result<(), Failure> {
    let counter = counter.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = query.parameters().get("run") == Some(counter.run.as_str());
    let told = Told {
        version: build::VERSION.to_owned(),
        links: path::neighbours(session),
        count: if is_it {
            counter.count
        } else {
            Count::default()
        },
    };
    drop(counter);
    // a node that asks and leaves is none of ours
    if let Err(error) = query
        .reply(query.key_expr(), serde_json::to_vec(&told)?)
        .wait()
    {
        tracing::warn!("{query} is not answered: {error}");
    }
    Ok(())
}
