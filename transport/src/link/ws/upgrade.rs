// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP request that a WebSocket begins with, and its answer.

use crate::foreign;
use tungstenite::handshake::client::{self, Response, generate_key, generate_request};
use tungstenite::handshake::derive_accept_key;
use tungstenite::handshake::machine::TryParse;
use tungstenite::handshake::server::{Request, create_response, write_response};
use tungstenite::http::StatusCode;
use zonda_runtime::{LinkRead, LinkWrite, RxBuf};

use super::frames::{Framing, Side};
use super::origins::Origins;

/// Maximum length of a request or answer.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Code of a Close for a peer that may not connect.
const POLICY: u16 = 1008;

/// Maximum bytes of the first read.
const FIRST_BYTES: usize = 512;

/// Returns an answer that ends the connection, with the reason as readable text.
fn refusal(status: StatusCode, text: &str) -> Vec<u8> {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{text}"
    )
    .into_bytes()
}

/// Requests a WebSocket from the server at `host`. Returns the bytes behind the server's answer.
///
/// # Errors
/// The reason, as a clause.
pub(super) async fn ask(
    read: &mut impl LinkRead,
    write: &mut impl LinkWrite,
    host: &str,
) -> Result<Vec<u8>, String> {
    // Send the request.
    let request = client::Request::builder()
        .uri("/")
        .header("Host", host)
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", generate_key())
        .body(());
    let request = request.map_err(|error| error.to_string())?;
    let (bytes, key) = generate_request(request).map_err(|error| error.to_string())?;
    send(write, bytes).await?;
    // Check the status and the key of the answer.
    let (response, behind) = head::<Response>(read).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(format!("the answer is {}", response.status()));
    }
    let accepted = response.headers().get("Sec-WebSocket-Accept");
    if accepted.is_none_or(|accepted| *accepted != derive_accept_key(key.as_bytes())) {
        return Err("the answer is for another request".to_owned());
    }
    Ok(behind)
}

/// Answers a client's request, with any path and host, if pages of its origin may connect. Returns
/// the bytes behind the request.
///
/// # Errors
/// The fault of the request, as a clause.
pub(super) async fn answer(
    read: &mut impl LinkRead,
    write: &mut impl LinkWrite,
    origins: &Origins,
) -> Result<Vec<u8>, String> {
    let bad = |text: String| (StatusCode::BAD_REQUEST, text);
    let asked = head::<Request>(read).await.map_err(bad);
    let asked = asked.and_then(|(request, behind)| {
        let response = create_response(&request).map_err(|error| bad(error.to_string()))?;
        let mut bytes = Vec::new();
        write_response(&mut bytes, &response).map_err(|error| bad(error.to_string()))?;
        Ok((bytes, behind, origins.problem_with(&request)))
    });
    match asked {
        Ok((bytes, behind, None)) => {
            send(write, bytes).await?;
            Ok(behind)
        }
        // A browser shows a page the reason of a Close, but no part of an answer that refuses the
        // WebSocket.
        Ok((mut bytes, _, Some(problem))) => {
            Framing::new(Side::Server).say_close_for(POLICY, &problem, &mut bytes);
            let _ = send(write, bytes).await;
            let _ = write.shutdown().await;
            Err(problem)
        }
        Err((status, text)) => {
            // The peer may be gone already.
            let _ = send(write, refusal(status, &text)).await;
            let _ = write.shutdown().await;
            Err(text)
        }
    }
}

async fn send(write: &mut impl LinkWrite, bytes: Vec<u8>) -> Result<(), String> {
    let (result, _) = write.write_all(vec![bytes]).await;
    result.map_err(|error| error.to_string())
}

/// Reads a request or an answer; returns the bytes behind it.
async fn head<T: TryParse>(read: &mut impl LinkRead) -> Result<(T, Vec<u8>), String> {
    let mut bytes = RxBuf::new(FIRST_BYTES);
    loop {
        // Read until the head is complete.
        let (result, back) = read.read(bytes).await;
        bytes = back;
        match result {
            Ok(0) => return Err("the peer hung up".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        // Parse the head, or describe the other protocol.
        match T::try_parse(bytes.filled()) {
            Ok(Some((end, head))) => return Ok((head, bytes.filled()[end..].to_vec())),
            Ok(None) if bytes.filled().len() >= HEAD_BYTES_MAX => {
                return Err(format!("a head of more than {HEAD_BYTES_MAX} bytes"));
            }
            Ok(None) => {}
            Err(_) => {
                let what = match foreign::recognise(bytes.filled()) {
                    Some("HTTP") => "and what it says in HTTP is no handshake".to_owned(),
                    Some(protocol) => {
                        format!("but {protocol}: {}", foreign::advice(protocol))
                    }
                    None => "it may want another kind of link, such as tcp/".to_owned(),
                };
                let what = format!("the peer does not speak WebSocket, {what}");
                return Err(what);
            }
        }
        // Grow the buffer for the next read.
        if bytes.spare_mut().is_empty() {
            let mut larger = RxBuf::new(bytes.capacity() * 4);
            larger.spare_mut()[..bytes.filled().len()].copy_from_slice(bytes.filled());
            larger.advance(bytes.filled().len());
            bytes = larger;
        }
    }
}
