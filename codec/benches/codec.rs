// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time to encode and decode common messages, next to the reference's codec in the same run.
//!
//! `cargo bench -p zonda-codec --bench codec`; instructions are counted by `benches/instructions.sh`.

mod cases;

use std::time::Duration;

use cases::{Case, Ours, Theirs};
use criterion::{Criterion, Throughput};

fn encode(criterion: &mut Criterion, case: Case) {
    let mut group = criterion.benchmark_group(format!("encode/{}", case.name()));
    group.throughput(Throughput::Elements(1));
    let mut ours = Ours::new(case);
    group.bench_function("ours", |bencher| bencher.iter(|| ours.encode()));
    let mut theirs = Theirs::new(case);
    group.bench_function("zenoh-codec", |bencher| bencher.iter(|| theirs.encode()));
    group.finish();
}

fn decode(criterion: &mut Criterion, case: Case) {
    let mut group = criterion.benchmark_group(format!("decode/{}", case.name()));
    group.throughput(Throughput::Elements(1));
    let ours = Ours::new(case);
    group.bench_function("ours", |bencher| bencher.iter(|| ours.decode()));
    let mut theirs = Theirs::new(case);
    group.bench_function("zenoh-codec", |bencher| bencher.iter(|| theirs.decode()));
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for case in Case::ALL {
        encode(&mut criterion, case);
        decode(&mut criterion, case);
    }
    criterion.final_summary();
}
