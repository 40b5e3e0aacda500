// SPDX-License-Identifier: MIT OR Apache-2.0

//! The delivery contract: every case of the table in `docs/concepts/delivery.md` ends as documented, and the
//! offered messages are the ones that arrived and the ones that were counted as dropped, exactly;
//! also when a link is cut at any moment.

#[path = "delivery/scene.rs"]
mod scene;
#[path = "delivery/table.rs"]
mod table;

use std::thread;
use std::time::{Duration, Instant};

use crate::pair::{LONG, until};
use scene::{Kind, LIMIT, Offer, Published, Scene, call};
use table::{CALLS, CONTROLS, Call, DOES_NOT_WAIT, State, Table, in_words};
use zonda::qos::{CongestionControl, Priority};
use zonda::{Outcome, Wait};

/// Sizes: small, a batch, more than a queue holds, and much more.
const SIZES: [usize; 4] = [8, 64 << 10, 600 << 10, 10 << 20];

/// Returns each call under each congestion control with each size.
fn offers() -> impl Iterator<Item = Offer> {
    let controls = CONTROLS.iter().flat_map(|(control, _)| {
        let calls = CALLS.iter().map(|(call, _)| (*control, *call));
        calls.collect::<Vec<_>>()
    });
    controls.flat_map(|(control, call)| {
        SIZES.map(|size| Offer {
            control,
            call,
            size,
        })
    })
}

/// Makes the offer and compares its result with the table.
fn check(scene: &mut Scene, offer: Offer, state: State) {
    compare(&scene.offer(offer), offer, state);
}

fn compare(result: &Published, offer: Offer, state: State) {
    let said = Table::read();
    let expected = said.says(offer.control, offer.call, state);
    assert_eq!(in_words(result), expected, "{offer:?} {state:?}");
}

#[test]
fn to_a_peer_that_reads() {
    let mut scene = Scene::new();
    for offer in offers() {
        check(&mut scene, offer, State::Free);
        scene.until_all_arrived();
    }
    scene.settle_accounts();
}

#[test]
fn to_a_peer_that_has_just_stopped() {
    for offer in offers() {
        let mut scene = Scene::new();
        scene.proxy.hold();
        check(&mut scene, offer, State::Frozen);
        scene.proxy.release();
        scene.settle_accounts();
    }
}

#[test]
fn to_a_peer_whose_queue_is_full() {
    let mut scene = Scene::new();
    scene.fill();
    for offer in offers().filter(|offer| offer.control != CongestionControl::BlockFirst) {
        // However long it might wait.
        let never = offer.control == CongestionControl::Drop || offer.call == Call::TryPublish;
        scene.patience = if never { LONG } else { LIMIT };
        let begin = Instant::now();
        check(&mut scene, offer, State::Full);
        check(&mut scene, offer, State::FullAgain);
        assert!(!never || begin.elapsed() < LONG, "{offer:?} waits");
    }
    scene.proxy.release();
    scene.settle_accounts();
}

/// Messages that were queued while the peer read nothing are sent once, and counted, on every kind
/// of link.
#[test]
fn over_every_kind_of_link() {
    for kind in Kind::ALL {
        let mut scene = Scene::over(*kind);
        let limit = scene.size_max;
        let offers = || offers().filter(move |offer| offer.size <= limit);
        scene.fill();
        for offer in offers() {
            let _ = scene.offer(offer);
        }
        scene.proxy.release();
        for offer in offers() {
            let _ = scene.offer(offer);
        }
        scene.settle_accounts();
    }
}

#[test]
fn the_first_of_a_burst_waits_in_the_queue() {
    for offer in offers().filter(|offer| offer.control == CongestionControl::BlockFirst) {
        let mut scene = Scene::new();
        scene.fill();
        check(&mut scene, offer, State::Full);
        check(&mut scene, offer, State::FullAgain);
        scene.proxy.release();
        scene.settle_accounts();
    }
}

/// The system may find some room between the moment that a put finds none and the cut. Then the
/// case is repeated.
const ATTEMPTS: usize = 4;

fn cut_while_it_waits(offer: Offer) -> (Scene, Published) {
    let mut scene = Scene::new();
    scene.fill();
    scene.patience = LONG;
    let (proxy, session) = (scene.proxy.clone(), scene.a.clone());
    let full = move || session.info().links()[0].sent.refused_full;
    let before = full();
    let cutting = thread::spawn(move || {
        until("the put finds no room", || full() > before);
        proxy.cut();
    });
    let result = scene.offer(offer);
    cutting.join().unwrap();
    (scene, result)
}

#[test]
fn when_the_link_is_cut_while_a_put_waits() {
    let table = Table::read();
    for offer in offers() {
        let Offer { control, call, .. } = offer;
        if table.says(control, call, State::CutWhileItWaits) == DOES_NOT_WAIT {
            let waits = control == CongestionControl::Block && call != Call::TryPublish;
            assert!(!waits, "{offer:?} may be cut while it waits");
            continue;
        }
        let (mut scene, result) = (0..ATTEMPTS)
            .map(|_| cut_while_it_waits(offer))
            .find(|(_, result)| !matches!(result, Ok(Outcome::Sent | Outcome::Queued)))
            .expect("a put that is cut while it waits");
        compare(&result, offer, State::CutWhileItWaits);
        scene.settle_lost();
    }
}

#[test]
fn after_the_link_was_cut() {
    let mut scene = Scene::new();
    scene.proxy.cut();
    let session = scene.a.clone();
    until("the link is gone", || session.info().links().is_empty());
    for offer in offers() {
        check(&mut scene, offer, State::CutBefore);
    }
    scene.settle_publisher();
}

#[test]
fn on_a_closed_session() {
    let mut scene = Scene::new();
    scene.a.close().wait().unwrap();
    for offer in offers() {
        check(&mut scene, offer, State::Closed);
    }
    scene.settle_publisher();
}

/// A stream is cut off at any point: each message has its outcome, and each accepted one was sent
/// or is counted as lost.
#[test]
fn a_cut_at_any_moment_leaves_no_message_uncounted() {
    for round in 0..40_u32 {
        // Every control is combined with every size and every kind of link.
        let kind = Kind::ALL[round as usize / 12 % Kind::ALL.len()];
        let mut scene = Scene::over(kind);
        let control = CONTROLS[round as usize % 3].0;
        let size = [8, 3000, 70_000, 1 << 20][round as usize % 4].min(scene.size_max);
        let proxy = scene.proxy.clone();
        let arrived = scene.arrived.clone();
        // The cut comes at a moment that the stream itself defines.
        let after = (round as usize * 37) % 200;
        let cutting = thread::spawn(move || {
            until("some have arrived", || {
                arrived.lock().unwrap().len() >= after
            });
            proxy.cut();
        });
        let session = scene.a.clone();
        while !cutting.is_finished() || !session.info().links().is_empty() {
            let call = CALLS[scene.offered() as usize % 3].0;
            scene.patience = Duration::from_secs(1);
            let _ = scene.offer(Offer {
                control,
                call,
                size,
            });
        }
        cutting.join().unwrap();
        scene.settle_lost();
    }
}

/// A message of an abandoned future has no outcome, and is not forgotten either.
#[test]
fn a_put_that_is_given_up_is_undecided() {
    let mut scene = Scene::new();
    scene.fill();
    let publisher = scene.publisher(CongestionControl::Block);
    let before = publisher.counters();
    {
        let mut put = std::pin::pin!(call::future(publisher, 8));
        let waker = std::task::Waker::noop();
        let mut context = std::task::Context::from_waker(waker);
        assert!(put.as_mut().poll(&mut context).is_pending());
    }
    let counts = publisher.counters();
    assert_eq!(counts.offered, before.offered + 1);
    assert_eq!((before.undecided(), counts.undecided()), (0, 1));
}

/// Other priorities have their own queues: messages that fill one queue delay no other one.
#[test]
fn a_full_queue_holds_up_its_own_priority_alone() {
    let mut scene = Scene::new();
    scene.fill();
    for priority in Priority::ALL.into_iter().skip(1) {
        let publisher = scene
            .a
            .declare_publisher("demo/key")
            .priority(priority)
            .congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
        let result = publisher.try_put(scene.next_payload(8));
        match priority {
            Priority::Data => assert_eq!(in_words(&result), "Err(WouldBlock)"),
            _ => {
                assert_eq!(result, Ok(Outcome::Queued), "{priority:?}");
                scene.accepted += 1;
            }
        }
    }
    let peer = scene.b.zid();
    let links = scene.a.info().links();
    let link = links.iter().find(|link| link.zid == peer).unwrap();
    for counts in &link.priorities[1..] {
        let full = counts.priority == Priority::Data;
        assert_eq!(full, counts.queued_bytes >= 512 << 10, "{counts:?}");
        assert_eq!(counts.refused > 0, full, "{counts:?}");
        assert_eq!(counts.accepted, counts.sent + counts.queued);
    }
    assert!(LIMIT < LONG);
    scene.proxy.release();
    scene.until_all_arrived();
}
