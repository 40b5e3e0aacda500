// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the `zonda` command and the examples, run as users run them: as processes, by their
//! flags, judged by their output and their exit codes.

#[cfg(unix)]
mod acl;
mod bench;
mod compare;
mod configuration;
mod curves;
mod examples;
mod explain;
mod json;
mod lat;
mod links;
mod live;
#[cfg(target_os = "linux")]
mod memory;
mod perf;
mod program;
mod queries;
mod reach;
mod recording;
mod rehearse;
mod reload;
mod router;
mod rtt;
mod runtimes;
mod scale;
mod seen;
#[cfg(all(unix, feature = "storage"))]
mod storage;
mod thr;
#[cfg(feature = "tls")]
mod tls;
mod tools;
mod top;
mod trace;
mod usage;
mod values;
