// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tests of the services: one program, as each additional one is linked with a whole node.

mod access;
mod browser;
mod events;
mod figures;
mod hostile;
mod http;
mod http2;
#[cfg(feature = "storage")]
mod monitoring;
mod openapi;
mod page;
mod page_browser;
mod page_scale;
#[cfg(feature = "remote-api")]
mod remote_api;
mod rest;
mod served;
#[cfg(feature = "storage")]
mod storage;
