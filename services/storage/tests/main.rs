// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tests of storages that can share a process: one program, as each additional one is linked with
//! a whole node.

mod changes;
mod replicas;
mod storages;
mod troubles;
