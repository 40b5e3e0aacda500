// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures storages within one process: puts, and queries with wildcards for 100 keys.
//!
//! `cargo run --release -p zonda-storage --example figures -- FOLDER`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::query::ConsolidationMode;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;

const PUTS: u64 = 500_000;
const KEYS: u64 = 10_000;
const GETS: u32 = 20_000;
const REPLIES: u64 = 100;
const UNDER_WAY: u64 = 16;

fn main() -> zonda::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "figures".to_owned());
    for volume in [
        r#""memory""#.to_owned(),
        format!(r#"{{"id": "redb", "dir": "{folder}/batch"}}"#),
        format!(r#"{{"id": "redb", "dir": "{folder}/none", "durability": "none"}}"#),
        format!(r#"{{"id": "redb", "dir": "{folder}/each", "durability": "each"}}"#),
    ] {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("scouting/multicast/enabled", "false");
        let session = zonda::open(config).wait()?;
        let json = format!(
            r#"{{"storages": {{"s": {{"key_expr": "k/**", "write_queries": true, "volume": {volume}}}}}}}"#
        );
        let storages = Storages::start(&session, &json)?;
        let puts = match volume.contains("each") {
            true => PUTS / 100,
            false => PUTS,
        };
        let time = put(&session, &storages, puts)?;
        let rate = puts as f64 / time.as_secs_f64();
        println!("{volume}: {rate:.0} puts/s of 64 bytes on {KEYS} keys, until the last commit");
        let (time, replies) = get(&session)?;
        let rate = f64::from(GETS) / time.as_secs_f64();
        println!(
            "{volume}: {rate:.0} gets/s with {} replies each",
            replies / u64::from(GETS)
        );
    }
    Ok(())
}

fn metric(storages: &Storages, name: &str) -> u64 {
    let samples = storages.counters().samples();
    let found = samples.iter().find(|sample| sample.metric().name == name);
    found.map_or(0, |sample| sample.value())
}

fn put(session: &Session, storages: &Storages, puts: u64) -> zonda::Result<Duration> {
    let keys = (0..KEYS).map(|key| format!("k/{}/{}", key / 100, key % 100));
    let publishers = keys.map(|key| {
        let publisher = session.declare_publisher(key);
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
    while metric(storages, "zonda_storage_puts") < puts {
        std::thread::sleep(Duration::from_millis(1));
    }
    // A write that is answered is committed with all that came before it.
    let replies = session.get("k/0/0?_write=put").payload("x").wait()?;
    replies.recv()?;
    Ok(start.elapsed())
}

/// Asks with some queries under way at a time.
fn get(session: &Session) -> zonda::Result<(Duration, u64)> {
    let start = Instant::now();
    let count = Arc::new(AtomicU64::new(0));
    let wait = |gets: u64| {
        while count.load(Ordering::Relaxed) < gets.saturating_sub(UNDER_WAY) * REPLIES {
            std::thread::yield_now();
        }
    };
    for number in 0..GETS {
        let selector = format!("k/{}/*", number % 10);
        let count = Arc::clone(&count);
        let get = session.get(selector).consolidation(ConsolidationMode::None);
        let get = get.callback(move |reply| {
            count.fetch_add(u64::from(reply.result().is_ok()), Ordering::Relaxed);
        });
        get.wait()?;
        wait(u64::from(number));
    }
    wait(u64::from(GETS) + UNDER_WAY);
    Ok((start.elapsed(), count.load(Ordering::Relaxed)))
}
