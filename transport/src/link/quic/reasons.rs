// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons for a missing connection, as text.

use std::io;

use quinn_proto::{ConnectionError, TransportErrorCode};
use rustls::AlertDescription;

use super::super::tls::{CertificateFault, explain};
use super::connection::Loss;

/// First code of QUIC that is an alert of TLS.
const ALERTS: u64 = 0x100;

fn alert(code: TransportErrorCode) -> Option<AlertDescription> {
    let number = u64::from(code).checked_sub(ALERTS)?;
    u8::try_from(number).ok().map(AlertDescription::from)
}

fn explain_tls(error: rustls::Error) -> String {
    explain(&io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Describes the fault, as a clause. `noted` has the fault of the peer's certificate.
pub(super) fn explain_lost(lost: &Loss, noted: Option<&CertificateFault>) -> String {
    let error = match lost {
        Loss::Refused => return "no node is there".to_owned(),
        Loss::NoDatagrams => {
            return "the peer takes no datagrams of QUIC; leave rel=0 out of the endpoint"
                .to_owned();
        }
        Loss::Ended(error) => error,
    };
    // The fault of the peer's certificate is more precise than the alert.
    if let Some(error) = noted.and_then(CertificateFault::take) {
        return explain_tls(error);
    }
    // Alerts of TLS are codes of QUIC.
    match error {
        ConnectionError::TransportError(error) => match alert(error.code) {
            Some(AlertDescription::NoApplicationProtocol) => no_common_variant(),
            _ => error.reason.clone(),
        },
        ConnectionError::ConnectionClosed(close) => match alert(close.error_code) {
            Some(AlertDescription::NoApplicationProtocol) => no_common_variant(),
            Some(alert) => explain_tls(rustls::Error::AlertReceived(alert)),
            None => format!("the peer refused: {close}"),
        },
        ConnectionError::VersionMismatch => "the peer speaks another version of QUIC".to_owned(),
        ConnectionError::TimedOut => "the peer fell silent during the handshake".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the error of a link on a lost connection: the peer's reason, if it ended the connection
/// with an alert or for a fault of this end, in the form of TLS links; else the kind alone.
pub(super) fn error_of(lost: &Loss, kind: io::ErrorKind) -> io::Error {
    let is_complaint = match lost {
        Loss::Ended(ConnectionError::TransportError(_)) => true,
        Loss::Ended(ConnectionError::ConnectionClosed(close)) => {
            close.error_code != TransportErrorCode::NO_ERROR
        }
        _ => false,
    };
    match is_complaint {
        true => io::Error::new(io::ErrorKind::InvalidData, explain_lost(lost, None)),
        false => kind.into(),
    }
}

fn no_common_variant() -> String {
    "the peer speaks QUIC, but nothing within it that this end speaks; is it a node of Zenoh, and do the endpoints of both say the \
     same of multistream, mixed_rel and rel?"
        .to_owned()
}
