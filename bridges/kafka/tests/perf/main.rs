// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small measurements with a mock cluster, and the symptoms of the study.

#[cfg(target_os = "linux")]
mod hyper;
mod measuring;
#[cfg(target_os = "linux")]
mod ports;
