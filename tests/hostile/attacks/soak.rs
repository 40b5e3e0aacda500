// SPDX-License-Identifier: MIT OR Apache-2.0
//! The soak: ordinary sessions connect, take part and close for as long as wanted, at two linked
//! routers under honest load. Leaks of each session add up, so the memory and the descriptors of
//! the watched router must stay as they are.
//!
//! An hour in `./check --long`; left out elsewhere. By hand:
//!
//! ```sh
//! ZONDA_SOAK_SECONDS=3600 cargo test --test hostile soak::soak -- --nocapture
//! ```
//!
//! Progress goes to standard error, one line for each twelfth of the time.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

use super::chance::Chance;
use super::words::{queryable, subscriber, token};
use crate::hand::Hand;
use crate::roles::Stage;
use crate::world::{Bounds, Flow, Load, Setup, World, seconds};

/// Number of sessions at the same time.
const LANES: u64 = 1;

/// Number of parts in which the time is evaluated.
const PARTS: usize = 12;

/// Limit for the router's growth from the second third of the time to the last one. The first third
/// is for memory that grows to its size once: pools, caches and the pages that the allocator keeps
/// of the peak.
const GROWTH_MAX: u64 = 6 << 20;

/// Tolerance for the router's descriptors: samples differ by the sessions that open or close at
/// that moment.
const DESCRIPTORS_MAX: usize = 24;

/// Sizes of payloads.
const SIZES: [usize; 5] = [0, 8, 1000, 65_536, 300_000];

/// Opens sessions, lets them take part and closes them, in lanes. Reports once in a while how many
/// there have been.
pub fn daily_life(stage: &Stage) {
    let lives = AtomicU64::new(0);
    stage.say("attacking");
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (mut chance, lives) = (Chance::of(stage.seed * LANES + lane), &lives);
            scope.spawn(move || {
                stage.while_on(|| {
                    let number = lives.fetch_add(1, Ordering::Relaxed);
                    match chance.one_in(4) {
                        true => life_of_a_hand(stage, number, &mut chance),
                        false => life_of_a_session(stage, number, &mut chance),
                    }
                    stage.say(&format!("lives {number}"));
                    !stage.pause(Duration::from_millis(chance.up_to(400) as u64))
                });
            });
        }
    });
}

/// Runs a session of the library: it declares, publishes, queries, and ends in one of three ways.
fn life_of_a_session(stage: &Stage, number: u64, chance: &mut Chance) {
    let config = Config::client([format!("tcp/{}", stage.address)]);
    let session = zonda::open(config).wait().expect("the router is there");
    let own = |what: &str| format!("soak/{what}/{}", number % 97);
    let ears = session.declare_subscriber(format!("soak/*/{}", number % 97));
    let ears = ears.callback(|_| {}).wait().expect("open");
    let answers = session.declare_queryable(own("answer"));
    let answers = answers
        .callback(|query| {
            // the node that sent the query may have left
            let _ = query.reply(query.key_expr().clone(), "yes").wait();
        })
        .wait()
        .expect("open");
    let alive = session.liveliness().declare_token(own("alive")).wait();
    let watcher = session.liveliness().declare_subscriber("soak/alive/*");
    let watcher = watcher.history(true).callback(|_| {}).wait().expect("open");
    speak(&session, &own("said"), chance);
    ask(
        &session,
        &format!("soak/answer/{}", chance.below(97)),
        chance,
    );
    match chance.below(3) {
        // an orderly end, entity by entity
        0 => {
            ears.undeclare().wait().expect("declared");
            answers.undeclare().wait().expect("declared");
            alive.expect("open").undeclare().wait().expect("declared");
            watcher.undeclare().wait().expect("declared");
            session.close().wait().expect("open");
        }
        // the session closes with all that it has
        1 => session.close().wait().expect("open"),
        // dropped without a close
        _ => {}
    }
}

/// Publishes some messages, on the key itself and by a publisher.
fn speak(session: &Session, key: &str, chance: &mut Chance) {
    let publisher = session.declare_publisher(key.to_owned());
    let publisher = publisher.congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().expect("open");
    for _ in 0..chance.below(20) {
        let payload = vec![7; *chance.one_of(&SIZES)];
        publisher.put(payload).wait().expect("the router takes it");
    }
    session.delete(key).wait().expect("the router takes it");
}

/// Sends a query; its replies are awaited or left.
fn ask(session: &Session, key: &str, chance: &mut Chance) {
    let replies = session.get(key).timeout(Duration::from_secs(2));
    let replies = replies.wait().expect("open");
    if !chance.one_in(3) {
        while replies.recv().is_ok() {}
    }
}

/// Runs a client by hand, which breaks its link: by a reset, or in the middle of a message.
fn life_of_a_hand(stage: &Stage, number: u64, chance: &mut Chance) {
    let mut guest: Hand = stage.guest();
    let entities = [
        subscriber(1, &format!("soak/*/{}", number % 97)),
        queryable(2, &format!("soak/answer/{}", number % 97)),
        token(3, &format!("soak/alive/{number}")),
    ];
    assert!(guest.messages(entities) && guest.is_served());
    if chance.one_in(2) {
        guest.reset();
    } else {
        guest.try_raw(&[200, 0, 5, 1, 2, 3]);
    }
}

/// Returns a load of every kind of traffic, at a pace that leaves processor time free for an hour.
fn honest() -> Load {
    let flows = vec![
        Flow::block(8, 100),
        Flow::drop(1000, 20).priority(1),
        Flow::block(65_536, 5).priority(6),
    ];
    Load {
        questions: true,
        tokens: true,
        ..Load::of("soak", flows)
    }
}

/// Usage of the router in one part of the time: medians of its samples.
struct Part {
    memory: u64,
    descriptors: usize,
}

/// Measures for one part of the time.
fn part(world: &mut World, length: Duration) -> Part {
    let begin = Instant::now();
    let (mut memory, mut descriptors) = (Vec::new(), Vec::new());
    while begin.elapsed() < length {
        world.attacked(seconds(1.0));
        let sight = world.sight();
        memory.push(sight.memory);
        descriptors.push(sight.descriptors);
    }
    memory.sort_unstable();
    descriptors.sort_unstable();
    Part {
        memory: memory[memory.len() / 2],
        descriptors: descriptors[descriptors.len() / 2],
    }
}

/// Returns the maximum of some parts.
fn most<T: Ord + Copy>(parts: &[Part], what: impl Fn(&Part) -> T) -> T {
    parts.iter().map(what).max().expect("some parts")
}

#[test]
fn soak() {
    let length = std::env::var("ZONDA_SOAK_SECONDS").ok();
    let Some(length) = length.and_then(|length| length.parse::<u64>().ok()) else {
        println!("SKIPPED: a test of the long run (./check --long, or ZONDA_SOAK_SECONDS=60)");
        return;
    };
    let mut world = World::open(Setup::router());
    let far = world.another_router(Setup::router());
    world.honest(honest().far(far));
    world.quiet(seconds(3.0));
    let mut near = world.attack_at(world.address, "daily_life", "");
    let mut beyond = world.attack("daily_life", "");
    let each = Duration::from_secs(length) / PARTS as u32;
    let mut parts = Vec::new();
    for number in 1..=PARTS {
        let seen = part(&mut world, each);
        progress(&format!(
            "{number:>2} of {PARTS}: {:.1} MiB, {} descriptors, {} and {} sessions so far; {}",
            seen.memory as f64 / f64::from(1 << 20),
            seen.descriptors,
            near.latest("lives "),
            beyond.latest("lives "),
            world.so_far().in_short()
        ));
        parts.push(seen);
        near.goes_on();
        beyond.goes_on();
    }
    drop((near, beyond));
    let (second, last) = (&parts[PARTS / 3..PARTS * 2 / 3], &parts[PARTS * 2 / 3..]);
    let bounds = Bounds {
        // the processor time of other sessions is no fault of the router
        throughput: 0.0,
        // other cases measure silences; this bound shows that no client was without service for
        // long within an hour
        silence_ms: 2000,
        lines: Bounds::USUAL.lines.max(10 * length / 60),
        ..Bounds::USUAL
    };
    world.verdict().holds(&bounds);
    let (before, after) = (most(second, |p| p.memory), most(last, |p| p.memory));
    assert!(
        after <= before + GROWTH_MAX,
        "memory grows: {before} bytes in the second third, {after} in the last one"
    );
    let (before, after) = (
        most(second, |p| p.descriptors),
        most(last, |p| p.descriptors),
    );
    assert!(
        after <= before + DESCRIPTORS_MAX,
        "descriptors grow: {before} in the second third, {after} in the last one"
    );
}

/// Prints a line that is visible even while the test harness captures the output.
fn progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "soak: {line}");
}
