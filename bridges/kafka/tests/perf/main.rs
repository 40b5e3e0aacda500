// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements, small and before a mock cluster, and the symptoms of the study.

#[cfg(target_os = "linux")]
mod hyper;
mod measuring;
#[cfg(target_os = "linux")]
mod ports;
