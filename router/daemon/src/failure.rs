// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of the daemon, in one line each.

use std::process::ExitCode;

use zonda_router::node::OpenError;
use zonda_services::StartError;

/// Reason why the daemon did not start, or ended with an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// The command line or the configuration is wrong: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Something failed at run time: exit code 1.
    #[error("{0}")]
    Run(String),
}

impl DaemonError {
    /// The exit code that a shell sees.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            DaemonError::Usage(_) => ExitCode::from(2),
            DaemonError::Run(_) => ExitCode::FAILURE,
        }
    }
}

impl From<StartError> for DaemonError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Config(_) => DaemonError::Usage(error.to_string()),
            _ => DaemonError::Run(error.to_string()),
        }
    }
}

impl From<OpenError> for DaemonError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Config { .. } | OpenError::NoEndpoint => {
                DaemonError::Usage(error.to_string())
            }
            _ => DaemonError::Run(error.to_string()),
        }
    }
}
