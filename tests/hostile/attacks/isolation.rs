// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordinary trouble instead of attacks: neighbours that stop, read slowly, all start at once, or
//! whose links break. The other neighbours must hardly notice. The same cases run against the
//! reference's router: `docs/concepts/reliability.md` has both tables.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use zonda::session::ConnectionEvent;
use zonda::{Config, Wait};

use super::chance::Chance;
use super::pace::{STUCK, beside};
use super::words::{keep_alive, narrow, queryable, read_beside, sleep_on, subscriber, token};
use crate::hand::{Hand, next_id};
use crate::roles::Stage;
use crate::scene::LONG;
use crate::world::{Bounds, Flow, Load, Setup, World, seconds};

/// Maximum number of links that are silently dead; older ones are reset, as by a machine that
/// restarts.
const DEAD_MAX: usize = 100;

/// Runs an ordinary subscriber of the library.
pub fn member(stage: &Stage) {
    let config = Config::client([format!("tcp/{}", stage.address)]);
    let session = zonda::open(config).wait().expect("the router is there");
    let _subscriber = session
        .declare_subscriber("honest/load/*")
        .callback(|_| {})
        .wait()
        .expect("open");
    stage.say("attacking");
    stage.wait();
}

/// Connects as many subscribers as the argument says that read nothing and send keep-alives.
pub fn dead_consumers(stage: &Stage) {
    let mut consumers = Vec::new();
    for _ in 0..stage.number(10) {
        let mut guest = stage.guest();
        narrow(&guest);
        guest.subscribe(1, "honest/load/*");
        assert!(guest.is_served());
        keep_alive(stage, &guest);
        consumers.push(guest);
    }
    stage.say("attacking");
    for consumer in &consumers {
        sleep_on(stage, consumer);
    }
    stage.wait();
}

/// Opens as many sessions as the argument says, each with fifty entities, all at the same time.
/// Reports the time until the last one is served.
pub fn starters(stage: &Stage) {
    const LANES: u64 = 10;
    let each = stage.number(200) / LANES;
    stage.say("attacking");
    let begin = Instant::now();
    let guests: Vec<Hand> = std::thread::scope(|scope| {
        let lanes = (0..LANES).map(|_| scope.spawn(move || start_some(stage, each)));
        let lanes: Vec<_> = lanes.collect();
        let guests = lanes.into_iter().map(|lane| lane.join().expect("a lane"));
        guests.flatten().collect()
    });
    stage.say(&format!("served after {} ms", begin.elapsed().as_millis()));
    for guest in &guests {
        keep_alive(stage, guest);
        read_beside(stage, guest);
    }
    stage.wait();
}

/// Opens sessions that send their declarations at once; returns when the router has served all of
/// them.
fn start_some(stage: &Stage, count: u64) -> Vec<Hand> {
    let start = |_| {
        let mut guest = stage.guest();
        let own = guest.zid();
        let entities = (0..50).map(|id| {
            let key = format!("start/{own}/{id}");
            match id % 3 {
                0 => subscriber(id, &key),
                1 => queryable(id, &key),
                _ => token(id, &key),
            }
        });
        assert!(guest.messages(entities));
        guest
    };
    let mut guests: Vec<Hand> = (0..count).map(start).collect();
    assert!(guests.iter_mut().all(Hand::is_served));
    guests
}

/// Opens links that break in five ways, as many as the argument says. Reports how many of them were
/// admitted.
pub fn cuts(stage: &Stage) {
    let mut chance = Chance::of(stage.seed);
    let mut dead = VecDeque::new();
    let (mut came, mut let_in) = (0, 0);
    stage.say("attacking");
    for _ in 0..stage.number(1000) {
        came += 1;
        let number = u128::from(next_id()) << 64 | u128::from(std::process::id());
        let Some(mut guest) = cuttable(stage, number) else {
            continue;
        };
        let_in += 1;
        match chance.below(5) {
            // the machine restarted without the state of the connection
            0 => guest.reset(),
            // an unplugged cable: no packet comes, not even an end
            1 => dead.push_back(guest),
            // one direction is closed
            2 => {
                let _ = guest.stream.shutdown(Shutdown::Write);
                dead.push_back(guest);
            }
            // a fast restart: the same id reconnects at once
            3 => {
                drop(guest);
                came += 1;
                if let Some(again) = cuttable(stage, number) {
                    let_in += 1;
                    dead.push_back(again);
                }
            }
            // it ends in the middle of a message
            _ => {
                guest.try_raw(&[200, 0, 5, 1, 2, 3]);
            }
        }
        if dead.len() > DEAD_MAX {
            dead.pop_front().into_iter().for_each(Hand::reset);
        }
        if stage.pause(Duration::from_millis(4)) {
            return;
        }
    }
    stage.say(&format!("let in {let_in} of {came}"));
    stage.wait();
}

/// Connects a neighbour with a subscriber, a queryable and a token; returns `None` if the router
/// refuses it.
fn cuttable(stage: &Stage, number: u128) -> Option<Hand> {
    let mut guest = Hand::connect_as(stage.address, number);
    let entities = [
        subscriber(1, "honest/usual/0"),
        queryable(2, "cut/answer"),
        token(3, &format!("cut/alive/{number}")),
    ];
    (guest.is_let_in() && guest.messages(entities)).then_some(guest)
}

/// Opens as many clients as the argument says, which lose their router. Reports the time until the
/// last one has reconnected, and how many reconnected within the busiest tenth of a second.
pub fn returners(stage: &Stage) {
    let count = stage.number(100) as usize;
    let back = Arc::new(Mutex::new(Vec::new()));
    // each client notes when it has a connection again
    let open = |_| {
        let config = Config::client([format!("tcp/{}", stage.address)]);
        let session = zonda::open(config).wait().expect("the router is there");
        let back = Arc::clone(&back);
        let note = move |event| {
            if let ConnectionEvent::Connected(_) = event {
                let mut back = back.lock().unwrap_or_else(PoisonError::into_inner);
                back.push(Instant::now());
            }
        };
        let listener = session.info().events_listener().callback(note);
        listener.background().wait().expect("open");
        session
    };
    let _sessions: Vec<_> = (0..count).map(open).collect();
    stage.say("attacking");
    // all clients are back
    let all = || back.lock().unwrap_or_else(PoisonError::into_inner).len() >= count;
    while !all() && !stage.pause(Duration::from_millis(20)) {}
    let mut back = back.lock().unwrap_or_else(PoisonError::into_inner).clone();
    back.sort_unstable();
    // the busiest tenth of a second
    let within = |first: &Instant| {
        let end = *first + Duration::from_millis(100);
        back.iter().filter(|at| (first..&end).contains(at)).count()
    };
    let fullest = back.iter().map(within).max().unwrap_or(0);
    let took = back[count - 1] - back[0];
    stage.say(&format!(
        "back within {} ms, {fullest} in 100 ms",
        took.as_millis()
    ));
    stage.wait();
}

/// Returns true in the long run; other runs skip the case.
fn is_long() -> bool {
    let is_long = std::env::var_os("ZONDA_LONG").is_some();
    if !is_long {
        println!("SKIPPED: a test of the long run (./check --long, or ZONDA_LONG=1)");
    }
    is_long
}

/// Returns a load with three subscribers that continue during the disturbance.
fn load(flow: Flow) -> Load {
    let flows = vec![flow, Flow::drop(8, 100).priority(1)];
    Load::of("load", flows).subscribers(3)
}

/// Stops one of four subscribers for three seconds and resumes it.
#[track_caller]
fn one_of_four_is_stopped(flow: Flow) {
    let mut world = World::open(Setup::router());
    world.honest(load(flow));
    let member = world.attack("member", "");
    member.said("attacking");
    world.quiet(seconds(2.0));
    member.freeze();
    world.attacked(seconds(3.0));
    member.thaw();
    world.attacked(seconds(1.0));
    world.verdict().holds(&STUCK);
}

#[test]
fn i1_one_of_four_is_stopped_under_block() {
    one_of_four_is_stopped(Flow::block(1000, 0));
}

#[test]
fn i1_one_of_four_is_stopped_under_drop() {
    if is_long() {
        one_of_four_is_stopped(Flow::drop(1000, 20_000));
    }
}

#[test]
fn i2_a_reader_of_a_kilobyte_a_second() {
    if is_long() {
        beside(load(Flow::block(1000, 0)), "slow", "1000").holds(&STUCK);
    }
}

#[test]
fn i2_a_reader_of_sixty_kilobytes_a_second() {
    if is_long() {
        beside(load(Flow::block(1000, 0)), "slow", "60000").holds(&STUCK);
    }
}

#[test]
fn i3_ten_dead_consumers_at_full_load() {
    if is_long() {
        beside(load(Flow::block(1000, 0)), "dead_consumers", "10").holds(&STUCK);
    }
}

/// Starts `count` sessions with fifty entities each at the same time.
#[track_caller]
fn all_start_together(count: u32) {
    if !is_long() {
        return;
    }
    // all clients have one address here, which gets a share of the places
    let mut world = World::open(Setup::router().with("transport/unicast/max_sessions:4000"));
    world.honest(Load::usual());
    world.quiet(seconds(2.0));
    let starters = world.attack("starters", &count.to_string());
    starters.said("attacking");
    world.attacked(seconds(4.0));
    let took = starters.said("served after ");
    println!("  {count} sessions with 50 entities each were served after {took}");
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn i4_two_hundred_start_together() {
    all_start_together(200);
}

#[test]
fn i4_a_thousand_start_together() {
    all_start_together(1000);
}

/// A thousand links break; each neighbour is admitted, also one whose old link was open a moment
/// ago.
#[test]
fn i5_a_thousand_cuts() {
    if !is_long() {
        return;
    }
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(2.0));
    let mut cuts = world.attack("cuts", "1000");
    cuts.said("attacking");
    let begin = Instant::now();
    while !cuts.has_said("let in ") && cuts.is_running() && begin.elapsed() < LONG {
        world.attacked(seconds(1.0));
    }
    let said = cuts.said("let in ");
    println!("  {said} were let in within {:?}", begin.elapsed());
    let (let_in, came) = said.split_once(" of ").expect("two numbers");
    assert_eq!(let_in, came);
    world.verdict().holds(&Bounds::USUAL);
}

/// A stuck client of one router does not slow clients of another one, though its router is a
/// subscriber there.
#[test]
fn i6_a_stuck_client_behind_another_router() {
    let mut world = World::open(Setup::router());
    let far = world.another_router(Setup::router());
    world.honest(load(Flow::block(1000, 0)).far(far));
    world.quiet(seconds(2.0));
    let attack = world.attack("dead_consumers", "1");
    attack.said("attacking");
    world.attacked(seconds(4.0));
    world.verdict().holds(&STUCK);
}

/// A hundred clients lose their router, which is restarted: they reconnect, and not all at once.
#[test]
fn i7_a_reconnect_storm() {
    if !is_long() {
        return;
    }
    let mut world = World::open(Setup::router());
    let (router, port) = Setup::router().start(0);
    let storm = world.attack_at(([127, 0, 0, 1], port).into(), "returners", "100");
    storm.said("attacking");
    drop(router);
    std::thread::sleep(seconds(0.3));
    let (_router, _) = Setup::router().start(port);
    let said = storm.said("back within ");
    println!("  100 clients were back within {said}");
    let fullest = said.split_whitespace().nth(2).expect("a number");
    let fullest: u32 = fullest.parse().expect("a number");
    assert!(fullest < 50, "{fullest} came within a tenth of a second");
}
