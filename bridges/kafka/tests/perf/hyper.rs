// SPDX-License-Identifier: MIT OR Apache-2.0
//! hyper on tokio-uring: the study failed at it, and this is the code that it takes.
//!
//! hyper's usual executor spawns by `tokio::spawn`, and a task that is spawned so is outside of the `LocalSet` that
//! tokio-uring lives in: its first `tokio_uring::spawn` panics. And sockets of tokio-uring take their buffers away, where
//! hyper lends its own. With connections spawned by `tokio_uring::spawn` and a buffer between, hyper runs.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, Incoming};
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio_uring::net::{TcpListener, TcpStream};
use zonda_kafka::perf::{Load, Mode};

/// Executor like that of hyper's companion for tokio.
struct TokioExecutor;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for TokioExecutor {
    fn execute(&self, future: F) {
        tokio::spawn(future);
    }
}

#[test]
fn a_task_of_the_usual_executor_is_outside_of_tokio_uring() {
    let (said, hears) = std::sync::mpsc::channel();
    tokio_uring::start(async {
        let (done, wait) = tokio_oneshot();
        TokioExecutor.execute(async move {
            let spawned = tokio::spawn(async {
                tokio_uring::spawn(async {});
            });
            let error = spawned.await.expect_err("it panics");
            let panic = error.into_panic();
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let _ = said.send(text.or_else(|| panic.downcast_ref::<String>().cloned()));
            drop(done);
        });
        wait.await;
    });
    let text = hears.recv().expect("a word").expect("a text");
    assert!(text.contains("LocalSet"), "{text}");
}

/// Returns a future that ends when its other half is dropped.
fn tokio_oneshot() -> (zonda_runtime::oneshot::Sender<()>, impl Future<Output = ()>) {
    let (sender, receiver) = zonda_runtime::oneshot::channel::<()>();
    (sender, async move {
        receiver.await;
    })
}

type Operation = Pin<Box<dyn Future<Output = (io::Result<usize>, Vec<u8>)>>>;

/// A socket of tokio-uring in the form that hyper needs: one pending operation in each direction,
/// with a buffer of its own.
struct Bridged {
    stream: Rc<TcpStream>,
    reading: Option<Operation>,
    /// Bytes that were read, and the index from which on hyper has not seen them.
    read: (Vec<u8>, usize),
    writing: Option<Operation>,
}

impl Read for Bridged {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.read.1 == this.read.0.len() {
            let stream = Rc::clone(&this.stream);
            let operation = this
                .reading
                .get_or_insert_with(|| Box::pin(async move { stream.read(vec![0; 8192]).await }));
            let (result, mut bytes) = ready!(operation.as_mut().poll(context));
            this.reading = None;
            bytes.truncate(result?);
            this.read = (bytes, 0);
        }
        let left = &this.read.0[this.read.1..];
        let taken = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..taken]);
        this.read.1 += taken;
        Poll::Ready(Ok(()))
    }
}

impl Write for Bridged {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let stream = Rc::clone(&this.stream);
        let operation = this.writing.get_or_insert_with(|| {
            let bytes = bytes.to_vec();
            Box::pin(async move { stream.write(bytes).submit().await })
        });
        let (result, _) = ready!(operation.as_mut().poll(context));
        this.writing = None;
        Poll::Ready(result)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(std::net::Shutdown::Write))
    }
}

/// An empty body.
struct Empty;

impl Body for Empty {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

async fn accept(mut request: Request<Incoming>) -> Result<Response<Empty>, hyper::Error> {
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(request.body_mut()).poll_frame(context)).await
    {
        frame?;
    }
    let mut response = Response::new(Empty);
    *response.status_mut() = hyper::StatusCode::ACCEPTED;
    Ok(response)
}

#[test]
fn hyper_serves_on_tokio_uring_over_a_bridge() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address: SocketAddr = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        tokio_uring::start(async {
            let listener = TcpListener::from_std(listener);
            while let Ok((stream, _)) = listener.accept().await {
                tokio_uring::spawn(async move {
                    let socket = Bridged {
                        stream: Rc::new(stream),
                        reading: None,
                        read: (Vec::new(), 0),
                        writing: None,
                    };
                    let service = service_fn(accept);
                    // a client that closes is no failure of the server
                    let _ = http1::Builder::new()
                        .serve_connection(socket, service)
                        .await;
                });
            }
        });
    });
    for mode in [Mode::KeepAlive, Mode::Close] {
        let load = Load {
            address,
            clients: 8,
            mode,
            body: 1000,
            rate: None,
        };
        let (seen, _) = load.send(400);
        assert_eq!(
            (seen.accepted, seen.failures()),
            (400, 0),
            "{:?}",
            seen.failed
        );
    }
}
