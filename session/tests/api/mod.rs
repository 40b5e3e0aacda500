// SPDX-License-Identifier: MIT OR Apache-2.0

//! The API of the reference, item by item: proof of the statements in `here.txt`. They hold if this
//! compiles; there is nothing to run. `reference.txt` is written by `peers/zenoh/listing.py`, the
//! probes by `tests/tidy/api.rs`.

#![allow(
    dead_code,
    unused_imports,
    non_snake_case,
    non_camel_case_types,
    ambiguous_glob_reexports,
    clippy::all
)]

use std::time::Duration;

use zonda::Session;
use zonda::handlers::{DefaultHandler, FifoChannelHandler};
use zonda::query::{Query, Reply};
use zonda::sample::Sample;

#[rustfmt::skip]
mod zenoh;
// its items include the deprecated ones
#[cfg(feature = "legacy")]
#[rustfmt::skip]
mod zenoh_ext;

/// The function of a fetching subscriber that fetches.
type Fetch = fn(Box<dyn Fn(Reply) + Send + Sync>) -> zonda::Result<()>;

/// Stand-in of an item that does not exist.
struct Absent;

/// Uses the value of a probe.
fn used<T>(_: T) {}

/// Returns a value of any type; nothing of this is run.
fn any<T>() -> T {
    unreachable!("only compiled")
}
