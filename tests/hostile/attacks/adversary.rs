// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adversary: several attackers that make random moves, one after the other, against a router
//! under honest load, whose clients are watched all the time. A seed repeats the moves.
//!
//! 10 seconds in `cargo test`; 10 minutes in `./check --long`. By hand, for an hour, or to repeat a
//! failure:
//!
//! ```sh
//! ZONDA_HOSTILE_SECONDS=3600 ZONDA_HOSTILE_SEED=7 cargo test --release --test hostile adversary::adversary -- --nocapture
//! ```
//!
//! `ZONDA_HOSTILE_MOVES='frozen,slow'` leaves these moves only; `ZONDA_HOSTILE_GOES_ON=1` continues beyond the bounds.
//! Progress goes to standard error, each five seconds and whenever a silence is longer than all before.
//!
//! For an hour, build it optimised (`cargo test --release`): without optimisation this test keeps two processors busy
//! all the time, and measures how the system shares them out.

use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::moves::{Game, MOVES};
use crate::roles::Stage;
use crate::world::{Bounds, Flow, LARGE, Load, Setup, Verdict, World, seconds};

/// Number of attackers at the same time.
const ATTACKERS: usize = 3;

/// Time after the attackers have left: messages that are still queued then are late, and count.
const AFTERMATH: Duration = Duration::from_secs(4);

/// Lines of log that a minute may add: causes log a line or two each minute.
const LINES_PER_MINUTE: u64 = 20;

/// Interval of the progress output.
const PROGRESS: Duration = Duration::from_secs(5);

/// Key of the time that a put of the source waits for room. A put that would be refused shows as a
/// silence, which has a bound.
const PATIENCE: &str = "transport/link/tx/queue/congestion_control/block/wait_before_close";
const PATIENCE_US: &str = "60000000";

/// Ids of the honest routers.
pub const ROUTERS: [&str; 2] = ["a1", "a2"];

/// Argument of an adversary, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Field {
    /// Moves to choose from, by name and with commas between them; all if it is empty.
    moves: String,
    /// Ids of honest clients.
    ids: Vec<String>,
    /// The router behind the first one.
    far: SocketAddr,
    /// The first router's listener of WebSockets.
    pub web: SocketAddr,
    /// The multicast group that the first router is in.
    pub group: SocketAddr,
}

/// Makes random moves until the case ends.
pub fn play(stage: &Stage) {
    let field: Field = serde_json::from_str(&stage.argument).expect("a field");
    let named = |name: &str| field.moves.is_empty() || field.moves.split(',').any(|m| m == name);
    let moves: Vec<_> = MOVES.iter().filter(|(name, _)| named(name)).collect();
    let ids: Vec<_> = field.ids.iter().filter_map(|id| id.parse().ok()).collect();
    let far = stage.at(field.far);
    // A hand that panics because the router closed the link has made its move.
    std::panic::set_hook(Box::new(|_| {}));
    let mut chance = Chance::of(stage.seed);
    stage.say("attacking");
    for number in 0.. {
        if stage.is_over() {
            break;
        }
        let (name, act) = chance.one_of(&moves);
        let mut game = Game {
            stage,
            chance: Chance::of(chance.next()),
            end: Instant::now() + Duration::from_millis(200 + chance.up_to(3000) as u64),
            ids: &ids,
            field: &field,
            far: &far,
        };
        stage.say(&format!("move {number} {name}"));
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut game)));
        if made.is_err() {
            stage.pause(Duration::from_millis(1));
        }
    }
}

/// Returns a number in the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the setup of one of the two routers, which accepts compressed batches.
fn setup(number: usize) -> Setup {
    Setup::router()
        .with(&format!("id:\"{}\"", ROUTERS[number]))
        .with("transport/unicast/compression/enabled:true")
        .own(&format!("limits/memory_bytes:{}", BUDGET_MIB << 20))
}

/// Returns a multicast group that no other test uses.
fn group() -> SocketAddr {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    ([224, 0, 0, 225], port).into()
}

/// Starts two routers under honest load; returns them with the attackers' knowledge of them.
fn scene(seed: u64, moves: &str) -> (World, Field) {
    let group = group();
    let near = setup(0)
        .listen("ws/127.0.0.1:0")
        .listen(&format!("udp/{group}#iface=lo"));
    let mut world = World::open(near);
    let web = world.web().expect("it takes WebSockets");
    let far = world.another_router(setup(1));
    world.seed(seed.wrapping_mul(1000));
    let usual = Load::usual().advanced().far(far);
    world.honest(usual.configured(PATIENCE, PATIENCE_US));
    world.honest(Load::of(
        "speed",
        vec![Flow::block(100, 4000), Flow::drop(1000, 500)],
    ));
    world.quiet(seconds(3.0));
    let field = Field {
        moves: moves.to_owned(),
        ids: world.ids(),
        far,
        web,
        group,
    };
    (world, field)
}

/// Prints the longest silence so far, with all silences of the same time.
fn show_silences(so_far: &Verdict, begin: Instant, moves: &[String]) {
    progress(&format!(
        "{:>5.0} s: {} ms of {} moves {moves:?}",
        begin.elapsed().as_secs_f64(),
        so_far.excess_ms(),
        so_far.excess_of()
    ));
}

#[test]
fn adversary() {
    let length = number("ZONDA_HOSTILE_SECONDS").unwrap_or(10);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let by_chance = now.map_or(1, |now| now.as_millis() as u64 % 1_000_000);
    // The short run has a constant seed, so that only a change of the code changes its result;
    // longer ones are random.
    let by_default = match std::env::var_os("ZONDA_HOSTILE_SECONDS") {
        Some(_) => by_chance,
        None => 61,
    };
    let seed = number("ZONDA_HOSTILE_SEED").unwrap_or(by_default);
    let moves = std::env::var("ZONDA_HOSTILE_MOVES").unwrap_or_default();
    let only = match moves.as_str() {
        "" => String::new(),
        moves => format!("ZONDA_HOSTILE_MOVES='{moves}' "),
    };
    let again = format!(
        "{only}ZONDA_HOSTILE_SEED={seed} ZONDA_HOSTILE_SECONDS={length} cargo test --test hostile adversary::adversary -- --nocapture"
    );
    let (mut world, field) = scene(seed, &moves);
    progress(&format!("{length} s; again: {again}"));
    let argument = serde_json::to_string(&field).expect("a field has a text");
    let attacks: Vec<_> = (0..ATTACKERS)
        .map(|_| world.attack_at(world.address, "adversary", &argument))
        .collect();
    let begin = Instant::now();
    let mut shown = begin;
    // A cause logs a line a minute at most, or two: a long run may have a line a minute of each.
    let bounds = Bounds {
        lines: BOUNDS.lines + LINES_PER_MINUTE * length / 60,
        ..BOUNDS
    };
    let mut worst = 0;
    let goes_on = std::env::var_os("ZONDA_HOSTILE_GOES_ON").is_some();
    while begin.elapsed() < Duration::from_secs(length) {
        world.attacked(seconds(1.0));
        let moves: Vec<String> = attacks
            .iter()
            .map(|attack| attack.latest("move "))
            .collect();
        let so_far = world.so_far();
        if so_far.excess_ms() > worst {
            worst = so_far.excess_ms();
            show_silences(&so_far, begin, &moves);
        }
        let broken = so_far.harm(&bounds);
        assert!(
            broken.is_empty() || goes_on,
            "beyond the bounds: {broken:#?}\nlast moves: {moves:?}\n{}\nagain: {again}",
            world.so_far()
        );
        if shown.elapsed() >= PROGRESS {
            shown = Instant::now();
            progress(&format!(
                "{:>5.0} s: {} moves {moves:?}",
                begin.elapsed().as_secs_f64(),
                world.so_far().in_short()
            ));
        }
    }
    drop(attacks);
    world.attacked(AFTERMATH);
    let verdict = world.verdict();
    println!("{verdict}");
    let broken = verdict.broken(&bounds);
    assert!(
        broken.is_empty(),
        "beyond the bounds: {broken:#?}\n{verdict}\nagain: {again}"
    );
}

/// The waits for a processor that the bound allows for are not those of a router that does nothing.
#[test]
fn a_stall_of_the_router_is_no_delay_of_the_machine() {
    let mut world = World::open(setup(0));
    world.honest(Load::of("large", vec![Flow::block(LARGE, 4).priority(6)]));
    world.quiet(seconds(2.0));
    world.stall(seconds(3.5));
    world.attacked(seconds(1.0));
    let bounds = Bounds {
        large_silence_ms: Some(1500),
        ..BOUNDS
    };
    let verdict = world.verdict();
    println!("{verdict}");
    let broken = verdict.harm(&bounds);
    let is_seen = broken.iter().any(|what| what.contains("large messages"));
    assert!(is_seen, "{broken:?}");
}

/// Memory budget of the router.
const BUDGET_MIB: u64 = 128;

/// A stuck subscriber costs the rest of its source's subscribers 600 ms, and each attacker may have
/// one. The second router adds nothing: the link between the two is read whatever they relay. A
/// large message of the lowest priority waits for each at either router, one after the other.
const BOUNDS: Bounds = Bounds {
    silence_ms: 600 * ATTACKERS as u64,
    large_silence_ms: Some(600 * (ATTACKERS * ROUTERS.len()) as u64),
    growth_mib: BUDGET_MIB + 64,
    // Handshakes that were reset keep a descriptor until their task runs; 79 in addition to two for
    // each connection were seen once in an hour. Their bound is `transport/unicast/accept_pending`.
    descriptors: 256,
    ..Bounds::USUAL
};

/// Prints a line that is visible even while the test harness captures the output.
fn progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "adversary: {line}");
}
