// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishers and subscribers that miss nothing: caches, histories, recovery of lost samples.

mod publisher;
mod subscriber;
