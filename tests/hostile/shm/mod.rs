// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that lie in shared memory. A router in a process of its own serves honest sessions that share memory and one
//! that does not, while a neighbour of the same user forges files, descriptors and handshakes.
//!
//! A file can be written at will by each process of its user, so attackers here write files; they map none.

mod files;
mod handshakes;
mod holders;
mod liar;
mod places;
mod stage;
mod truncated;
mod words;

use files::{Forgery, Header, Segments};
use liar::{Liar, shared_put};
use stage::Stage;
