// SPDX-License-Identifier: MIT OR Apache-2.0
//! The everyday tools: publish, subscribe, put, delete, and what this node is. Each is a thin face on
//! the session API.

mod events;
mod info;
mod publish;
mod put;
mod subscribe;

pub use info::Info;
pub use publish::Publish;
pub use put::{Delete, Put};
pub use subscribe::Subscribe;
