// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recognition of the protocol of a peer that speaks another one, by the first bytes of the
//! connection.

/// Bytes among which the name of MQTT stands, after a length of one to four bytes.
const MQTT_BYTES: usize = 12;

/// Returns the name of the protocol that a connection begins with, if it is a well-known one other
/// than this. For bytes that follow, or would follow, the length of a batch.
///
/// No first batch of a handshake begins so: as a length these bytes exceed the largest such batch
/// or, for TLS and MQTT, the largest handshake message without a cookie.
pub(crate) fn recognise(bytes: &[u8]) -> Option<&'static str> {
    match bytes.first_chunk::<3>()? {
        // Record of a handshake, or an alert.
        [0x15 | 0x16, 3, 0..=4] => Some("TLS"),
        b"HTT" | b"GET" | b"HEA" | b"POS" | b"PUT" | b"DEL" | b"OPT" | b"PAT" | b"PRI" | b"CON" => {
            Some("HTTP")
        }
        b"SSH" => Some("SSH"),
        b"220" => Some("SMTP or FTP"),
        [0x10, ..] => says_mqtt(bytes).then_some("MQTT"),
        _ => None,
    }
}

fn says_mqtt(bytes: &[u8]) -> bool {
    let front = bytes.get(..MQTT_BYTES.min(bytes.len())).unwrap_or_default();
    front
        .windows(4)
        .any(|four| matches!(four, b"MQTT" | b"MQIs"))
}

/// Returns advice for the user of a node that has connected to a peer that speaks `protocol`.
pub(crate) fn advice(protocol: &str) -> &'static str {
    match protocol {
        "TLS" => "connect to tls/ instead",
        _ => "check the port, a Zenoh router listens on 7447 by default",
    }
}

/// Returns advice for the user of a node to which a peer that speaks `protocol` has connected.
pub(crate) fn advice_to_listener(protocol: &str) -> &'static str {
    match protocol {
        "TLS" => "let it connect to an endpoint of kind tls/ or quic/, or without TLS",
        "HTTP" => {
            "a browser or a REST client has the wrong port, or a node connects to ws/ where no ws/ listens"
        }
        _ => "it has the wrong port",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_known_by_their_first_bytes() {
        for (bytes, protocol) in [
            (&b"GET / HTTP/1.1\r\n"[..], Some("HTTP")),
            (b"HTTP/1.1 400", Some("HTTP")),
            (b"\x16\x03\x01\x02\x00\x01", Some("TLS")),
            (b"\x15\x03\x03\x00\x02\x02\x32", Some("TLS")),
            (b"\x10\x0e\x00\x04MQTT\x04\x02", Some("MQTT")),
            (b"\x10\x80\x01\x00\x04MQTT\x04", Some("MQTT")),
            (b"SSH-2.0-x", Some("SSH")),
            (b"\x10\x00\x01\x09\x00", None),
            (b"\x16\x00\x01\x09", None),
            (b"G", None),
            (b"", None),
        ] {
            assert_eq!(recognise(bytes), protocol, "{bytes:?}");
        }
    }
}
