// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study's second server: the crate `tokio-uring`, one thread with one ring. It answers as the
//! other servers do and has no deadlines, as the study's had none; it exists as a baseline.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use tokio_uring::net::TcpStream;

use super::accept::{Pause, Place, is_of_connection};
use super::conversation::Conversation;
use super::counts::count;
use super::service::Service;

/// Starts it on a thread of its own, which ends with the program.
pub(super) fn start(listener: TcpListener, service: Arc<Service>) -> io::Result<()> {
    // an operation on a socket that does not block would end at once with "would block"
    listener.set_nonblocking(false)?;
    let serve = move || {
        tokio_uring::start(accept(
            tokio_uring::net::TcpListener::from_std(listener),
            service,
        ));
    };
    thread::Builder::new()
        .name("original-uring".to_owned())
        .spawn(serve)?;
    Ok(())
}

async fn accept(listener: tokio_uring::net::TcpListener, service: Arc<Service>) {
    let mut pause = Pause::default();
    loop {
        if !pause.is_needed(&service) {
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(place) = Place::take(&service, Some(from)) else {
                        continue;
                    };
                    tokio_uring::spawn(async move {
                        if serve(stream, &place).await.is_err() {
                            count(&place.service().counts.broken);
                        }
                    });
                    continue;
                }
                Err(error) if is_of_connection(&error) => continue,
                Err(error) => pause.refused(&service, &error),
            }
        }
        tokio::time::sleep(Pause::rest()).await;
    }
}

async fn serve(stream: TcpStream, place: &Place) -> io::Result<()> {
    // buffers of the connection; the ring owns one while an operation runs
    let service = place.service();
    stream.set_nodelay(true)?;
    let mut conversation = Conversation::new(service, place.group());
    let head_bytes = service.limits.head_bytes;
    let mut buf = vec![0; head_bytes];
    let mut input = Vec::with_capacity(head_bytes);
    while !conversation.is_ended() {
        // read, with the buffer returned by the ring
        let (read, back) = stream.read(buf).await;
        buf = back;
        let bytes = read?;
        if bytes == 0 {
            return Ok(());
        }
        // process all whole requests
        input.extend_from_slice(&buf[..bytes]);
        let used = conversation.take(&input);
        input.drain(..used);
        conversation.settle().await;
        // write their answers
        if let Some(out) = conversation.output() {
            let (written, back) = stream.write_all(out).await;
            written?;
            conversation.written(back);
        }
    }
    stream.shutdown(std::net::Shutdown::Write)
}
