// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures storages within one process: puts, queries with wildcards for 100 keys, and a storage
//! with many keys: its memory, the time until it is open, and the times of queries for one key,
//! of the router itself and of a client.
//!
//! `cargo run --release -p zonda-storage --example figures -- FOLDER [KEYS]`
//!
//! Each volume is measured in a process of its own.

use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::query::ConsolidationMode;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;

const PUTS: u64 = 500_000;
const KEYS: u64 = 10_000;
const GETS: u32 = 20_000;
const UNDER_WAY: u64 = 16;
/// Default number of the keys of a large storage, and of the queries for one of them.
const MANY: u64 = 1_000_000;
const SINGLE_GETS: u64 = 20_000;

const RATES: [&str; 4] = ["memory", "redb batch", "redb none", "redb each"];
const LARGE: [&str; 3] = ["memory", "redb fill", "redb open"];

fn main() -> zonda::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "figures".to_owned());
    let many = arguments.next().and_then(|many| many.parse().ok());
    let many: u64 = many.unwrap_or(MANY);
    match (arguments.next().as_deref(), arguments.next().as_deref()) {
        (Some("rates"), Some(volume)) => rates(&folder, volume),
        (Some("large"), Some(volume)) => large(&folder, volume, many),
        _ => {
            for volume in RATES {
                measure(&folder, many, "rates", volume)?;
            }
            for volume in LARGE {
                measure(&folder, many, "large", volume)?;
            }
            Ok(())
        }
    }
}

fn measure(folder: &str, many: u64, what: &str, volume: &str) -> zonda::Result<()> {
    let program = std::env::current_exe()?;
    let many = many.to_string();
    let arguments = [folder, &many, what, volume];
    let ended = Command::new(program).args(arguments).status()?;
    if !ended.success() {
        exit(1);
    }
    Ok(())
}

/// A router with one storage.
struct Scene {
    session: Session,
    storages: Storages,
    /// Time until the storage was open, and the memory of the process before.
    opened: Duration,
    memory_before: u64,
}

impl Scene {
    fn new(volume: &str) -> zonda::Result<Scene> {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("scouting/multicast/enabled", "false");
        let session = zonda::open(config).wait()?;
        let memory_before = memory();
        let json = format!(
            r#"{{"storages": {{"s": {{"key_expr": "k/**", "write_queries": true, "volume": {volume}}}}}}}"#
        );
        let start = Instant::now();
        let storages = Storages::start(&session, &json)?;
        // It answers once it has opened its volume.
        session.get("k/none").wait()?.iter().for_each(drop);
        Ok(Scene {
            session,
            storages,
            opened: start.elapsed(),
            memory_before,
        })
    }

    fn metric(&self, name: &str) -> u64 {
        let samples = self.storages.counters().samples();
        let found = samples.iter().find(|sample| sample.metric().name == name);
        found.map_or(0, |sample| sample.value())
    }

    /// Waits until the storage has taken so many values, and all of them are on the disk.
    fn settle(&self, puts: u64) -> zonda::Result<()> {
        while self.metric("zonda_storage_puts") < puts {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A write that is answered is committed with all that came before it.
        let replies = self
            .session
            .get("k/0/0?_write=put")
            .payload([7; 64])
            .wait()?;
        replies.recv()?;
        Ok(())
    }
}

/// Returns the configuration of a volume.
fn volume_in(folder: &str, volume: &str) -> String {
    match volume.split_once(' ') {
        Some((volume, durability @ ("batch" | "none" | "each"))) => {
            format!(
                r#"{{"id": "{volume}", "dir": "{folder}/{durability}", "durability": "{durability}"}}"#
            )
        }
        Some((volume, _)) => format!(r#"{{"id": "{volume}", "dir": "{folder}/large"}}"#),
        None => format!("\"{volume}\""),
    }
}

fn rates(folder: &str, volume: &str) -> zonda::Result<()> {
    let scene = Scene::new(&volume_in(folder, volume))?;
    let puts = match volume.ends_with("each") {
        true => PUTS / 100,
        false => PUTS,
    };
    let time = put(&scene, puts)?;
    let rate = puts as f64 / time.as_secs_f64();
    println!("{volume}: {rate:.0} puts/s of 64 bytes on {KEYS} keys, until the last commit");
    let (time, replies) = get(&scene.session)?;
    let rate = f64::from(GETS) / time.as_secs_f64();
    println!(
        "{volume}: {rate:.0} gets/s with {} replies each",
        replies / u64::from(GETS)
    );
    Ok(())
}

fn large(folder: &str, volume: &str, many: u64) -> zonda::Result<()> {
    let fills = !volume.ends_with("open");
    let scene = Scene::new(&volume_in(folder, volume))?;
    let opened = scene.opened.as_secs_f64();
    if fills {
        let start = Instant::now();
        for key in 0..many {
            let put = scene
                .session
                .put(format!("k/{}/{}", key / 1000, key % 1000), [7; 64]);
            put.congestion_control(CongestionControl::Block).wait()?;
        }
        scene.settle(many)?;
        let rate = many as f64 / start.elapsed().as_secs_f64();
        println!(
            "{volume}: {rate:.0} puts/s of new keys, without publishers, until the last commit"
        );
    } else {
        println!("{volume}: open after {opened:.3} s");
    }
    let client = Config::client(scene.session.info().locators());
    let client = zonda::open(client).wait()?;
    for (whose, session) in [("of the router", &scene.session), ("over TCP", &client)] {
        let [half, most, longest] = single_gets(session, many)?;
        println!(
            "{volume}: a get {whose} of one of {many} keys: {half} us median, {most} us p99, {longest} us at most"
        );
    }
    let more = memory().saturating_sub(scene.memory_before);
    let keys = scene.metric("zonda_storage_keys");
    println!(
        "{volume}: {} MiB of memory more than before, {} bytes for each of {keys} keys",
        more >> 20,
        more / keys.max(1)
    );
    Ok(())
}

/// Returns the memory of this process in bytes; 0 on a system without `/proc`.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().unwrap_or(0) * 1024)
}

/// Asks for one key after the other, in an order without a pattern. Returns the median, the 99th
/// percentile and the longest time in microseconds.
fn single_gets(session: &Session, many: u64) -> zonda::Result<[u128; 3]> {
    let mut times = Vec::new();
    let mut at = 1_u64;
    for _ in 0..SINGLE_GETS {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let key = (at >> 33) % many;
        let start = Instant::now();
        let replies = session
            .get(format!("k/{}/{}", key / 1000, key % 1000))
            .wait()?;
        replies.recv()?;
        times.push(start.elapsed().as_micros());
        // The end of the query, which is not a part of the time.
        replies.iter().for_each(drop);
    }
    times.sort_unstable();
    let of = |part: usize| times.get(times.len() * part / 100).copied();
    let longest = times.last().copied();
    Ok([of(50), of(99), longest].map(Option::unwrap_or_default))
}

fn put(scene: &Scene, puts: u64) -> zonda::Result<Duration> {
    let keys = (0..KEYS).map(|key| format!("k/{}/{}", key / 100, key % 100));
    let publishers = keys.map(|key| {
        let publisher = scene.session.declare_publisher(key);
        publisher
            .congestion_control(CongestionControl::Block)
            .wait()
    });
    let publishers = publishers.collect::<Result<Vec<_>, _>>()?;
    let payload = [7; 64];
    let start = Instant::now();
    for (_, publisher) in (0..puts).zip(publishers.iter().cycle()) {
        publisher.put(payload).wait()?;
    }
    scene.settle(puts)?;
    Ok(start.elapsed())
}

/// Asks with some queries under way at a time.
fn get(session: &Session) -> zonda::Result<(Duration, u64)> {
    let start = Instant::now();
    let count = Arc::new(AtomicU64::new(0));
    let (ended, ends) = channel();
    for number in 0..GETS {
        if u64::from(number) >= UNDER_WAY {
            ends.recv()?;
        }
        let selector = format!("k/{}/*", number % 10);
        let get = session.get(selector).consolidation(ConsolidationMode::None);
        let ended = ended.clone();
        let get = get.on_end(move |_| ended.send(()).unwrap_or_default());
        let count = Arc::clone(&count);
        let get = get.callback(move |reply| {
            count.fetch_add(u64::from(reply.result().is_ok()), Ordering::Relaxed);
        });
        get.wait()?;
    }
    drop(ended);
    ends.iter().for_each(drop);
    Ok((start.elapsed(), count.load(Ordering::Relaxed)))
}
