// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections of a session: transports, links, and the events of both.

mod links;
mod transports;
