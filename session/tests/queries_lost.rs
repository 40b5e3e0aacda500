// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time to the end of a get when a link is lost on which replies were to come: it ends at once, not
//! with its timeout or a lease.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::asking::{texts, until_answered};
use crate::pair::{LONG, alone, until};
use crate::relay::Relay;
use zonda::query::{ConsolidationMode, EndReason};
use zonda::{Config, Session, Wait};

/// Limit of an end that comes at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Number of rounds of which the fastest counts, as the machine may have other work.
const ROUNDS: usize = 5;

/// Position of the lost link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// The link from peer to peer.
    Only,
    /// The link from the asking session to the router.
    Near,
    /// The link from the router to the answering session.
    Far,
}

fn linked(config: Config, endpoint: &str) -> Session {
    let session = zonda::open(config.connect([endpoint])).wait().unwrap();
    until("it is connected", || !session.info().links().is_empty());
    session
}

/// Loses a link while a get waits for more; returns the time from there to its end.
fn round(lost: Lost) -> Duration {
    let middle = match lost {
        Lost::Only => alone(),
        _ => zonda::open(Config::router().listen(["tcp/127.0.0.1:0"]))
            .wait()
            .unwrap(),
    };
    let place = middle.info().locators().remove(0).to_string();
    let wire = Relay::to(&place);
    let client = || Config::client([] as [&str; 0]);
    let (asking, elsewhere) = match lost {
        Lost::Only => (
            linked(Config::peer().listen([] as [&str; 0]), &wire.endpoint),
            None,
        ),
        Lost::Near => (
            linked(client(), &wire.endpoint),
            Some(linked(client(), &place)),
        ),
        Lost::Far => (
            linked(client(), &place),
            Some(linked(client(), &wire.endpoint)),
        ),
    };
    let answering = elsewhere.as_ref().unwrap_or(&middle);
    let queryable = answering.declare_queryable("slow").wait().unwrap();
    until_answered(&asking, "slow");
    let (tell, told) = channel();
    let get = asking.get("slow").timeout(LONG * 10);
    let get = get.consolidation(ConsolidationMode::None);
    let get = get.on_end(move |end| tell.send((end.reason(), Instant::now())).unwrap());
    let replies = get.wait().unwrap();
    let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
    query.reply("slow", "first").wait().unwrap();
    let first = replies.recv_timeout(LONG).unwrap().expect("a reply");
    assert_eq!(
        first.into_result().unwrap().payload(),
        &"first".into(),
        "{lost:?}"
    );
    let begin = Instant::now();
    wire.cut();
    let (reason, when) = told.recv_timeout(LONG).unwrap();
    let peer = match lost {
        Lost::Only | Lost::Near => middle.zid(),
        Lost::Far => answering.zid(),
    };
    assert_eq!(
        texts(&replies),
        [format!("error: the link to {peer} was lost")]
    );
    let expected = match lost {
        Lost::Only | Lost::Near => EndReason::LinkLost { peer },
        Lost::Far => EndReason::Complete,
    };
    assert_eq!(reason, expected, "{lost:?}");
    when - begin
}

#[test]
fn a_get_ends_within_100_ms_of_the_loss_of_a_link() {
    for lost in [Lost::Only, Lost::Near, Lost::Far] {
        let took: Vec<Duration> = (0..ROUNDS).map(|_| round(lost)).collect();
        let fastest = took.iter().min();
        assert!(fastest <= Some(&AT_ONCE), "{lost:?}: {took:?}");
    }
}
