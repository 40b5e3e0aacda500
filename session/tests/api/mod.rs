// SPDX-License-Identifier: MIT OR Apache-2.0

//! The API of the reference, item by item: that what `here.txt` says of each is true. It is if this compiles; there is nothing to run.
//! `reference.txt` is written by `peers/zenoh/listing.py`, the probes by `tests/tidy/api.rs`.

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
#[cfg(feature = "ext")]
#[rustfmt::skip]
mod zenoh_ext;

/// What a fetching subscriber fetches with.
type Fetch = fn(Box<dyn Fn(Reply) + Send + Sync>) -> zonda::Result<()>;

/// What would be there if an item were.
struct Absent;

/// Takes what a probe gives.
fn used<T>(_: T) {}

/// A value of whatever type is wanted; nothing of this is run.
fn any<T>() -> T {
    unreachable!("only compiled")
}
