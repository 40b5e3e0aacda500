// SPDX-License-Identifier: MIT OR Apache-2.0
//! The everyday tools: publish, subscribe, put, delete, who is there, and what this node is. Each is a thin face on
//! the session API.

mod events;
mod info;
mod publish;
mod put;
mod scout;
mod subscribe;

pub use info::Info;
pub use publish::Publish;
pub use put::{Delete, Put};
pub use scout::Scout;
pub use subscribe::Subscribe;
