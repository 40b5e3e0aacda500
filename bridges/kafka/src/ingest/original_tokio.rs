// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study's first server: tokio with its own `TcpStream`, and nothing between. It answers as the
//! other servers do and has no deadlines, as the study's had none; it exists as a baseline.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::accept::{Pause, Place, is_of_connection};
use super::conversation::Conversation;
use super::counts::count;
use super::service::Service;

/// A server that runs until it is dropped.
pub(super) struct Running {
    _runtime: tokio::runtime::Runtime,
}

/// Starts it, with a thread for each processor.
pub(super) fn start(listener: TcpListener, service: Arc<Service>) -> io::Result<Running> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("original-tokio")
        .build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    runtime.spawn(accept(listener, service));
    Ok(Running { _runtime: runtime })
}

async fn accept(listener: tokio::net::TcpListener, service: Arc<Service>) {
    let mut pause = Pause::default();
    loop {
        if !pause.is_needed(&service) {
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(place) = Place::take(&service, Some(from)) else {
                        continue;
                    };
                    tokio::spawn(async move {
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

async fn serve(mut stream: TcpStream, place: &Place) -> io::Result<()> {
    let service = place.service();
    stream.set_nodelay(true)?;
    let mut conversation = Conversation::new(service, place.group());
    let head_bytes = service.limits.head_bytes;
    let mut input = Vec::with_capacity(head_bytes);
    while !conversation.is_ended() {
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        let used = conversation.take(&input);
        input.drain(..used);
        conversation.settle().await;
        if let Some(out) = conversation.output() {
            stream.write_all(&out).await?;
            conversation.written(out);
        }
    }
    stream.shutdown().await
}
