// SPDX-License-Identifier: MIT OR Apache-2.0
//! The budgets of the message path and of what a router keeps in mind, held by counting: allocations, locks, writes, hops. No clock decides anything
//! here. Counts of locks exist in debug builds only.

mod allocations;
mod asking;
mod counting;
mod futures;
mod holding;
mod questions;
mod scene;
mod sending;
