// SPDX-License-Identifier: MIT OR Apache-2.0

//! Conversion of the library's errors into failures of the daemon. What a configuration can change
//! is wrong usage, everything else is a failure at run time.

use zonda_program::Failure;
use zonda_router::node::OpenError;
use zonda_services::StartError;

/// Returns the failure of a node that did not open.
pub(super) fn of_open(error: OpenError) -> Failure {
    match error {
        OpenError::Config { .. } | OpenError::NoEndpoint => Failure::Usage(error.to_string()),
        _ => Failure::Run(error.to_string()),
    }
}

/// Returns the failure of services that did not start.
pub(super) fn of_services(error: StartError) -> Failure {
    match error {
        StartError::Config(_) => Failure::Usage(error.to_string()),
        _ => Failure::Run(error.to_string()),
    }
}
