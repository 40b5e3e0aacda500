// SPDX-License-Identifier: MIT OR Apache-2.0
//! Budgets of the message path and of a router's memory, checked by counting: allocations, locks,
//! writes, hops. No result depends on a clock. Counts of locks exist in debug builds only.

mod allocations;
mod asking;
mod counting;
mod futures;
mod holding;
mod questions;
mod scene;
mod sending;
