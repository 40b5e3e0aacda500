// SPDX-License-Identifier: MIT OR Apache-2.0
//! The everyday tools: publish, subscribe, put, delete, ask, answer, and what this node is. Each is a thin face on
//! the session API.

mod get;
mod info;
mod publish;
mod put;
mod queryable;
mod show;
mod subscribe;

pub use get::Get;
pub use info::Info;
pub use publish::Publish;
pub use put::{Delete, Put};
pub use queryable::Queryable;
pub use subscribe::Subscribe;
