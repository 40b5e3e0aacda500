// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in for a backend that is not compiled in: a type without values, so that code that matches on
//! [`crate::AnyRuntime`] is the same for every set of features.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::{
    LinkRead, LinkWrite, PreciseTimer, Runtime, RuntimeKind, RuntimeOptions, RxBuf, Segments,
};

/// A runtime that is not compiled in. No value of it can exist.
#[derive(Debug, Clone)]
pub enum Absent {}

impl Absent {
    /// Compile-time flag: the backend is not compiled in.
    pub const COMPILED_IN: bool = false;

    /// Fails with [`io::ErrorKind::Unsupported`].
    pub fn start(_options: &RuntimeOptions) -> io::Result<Self> {
        let names = RuntimeKind::available_names();
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("this runtime is not compiled in (compiled in: {names})"),
        ))
    }

    /// Fails with [`io::ErrorKind::Unsupported`].
    pub fn probe() -> io::Result<()> {
        match Self::start(&RuntimeOptions::default())? {}
    }

    /// Fails with [`io::ErrorKind::Unsupported`].
    pub fn start_multi_thread(options: &RuntimeOptions) -> io::Result<Self> {
        Self::start(options)
    }

    /// Fails with [`io::ErrorKind::Unsupported`].
    pub fn start_current_thread(options: &RuntimeOptions) -> io::Result<Self> {
        Self::start(options)
    }
}

impl LinkRead for Absent {
    async fn read(&mut self, _buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        match *self {}
    }
}

impl LinkWrite for Absent {
    async fn write_all<S: Segments>(&mut self, _segments: S) -> (io::Result<()>, S) {
        match *self {}
    }
    async fn writable(&mut self) -> io::Result<()> {
        match *self {}
    }
    async fn shutdown(&mut self) -> io::Result<()> {
        match *self {}
    }
}

impl PreciseTimer for Absent {
    async fn wait(&mut self, _delay: Duration) {
        match *self {}
    }
}

impl Runtime for Absent {
    type Read = Absent;
    type Write = Absent;
    type Listener = Absent;
    type Timer = Absent;

    fn name(&self) -> &'static str {
        match *self {}
    }
    fn spawn<M, F>(&self, _task: &'static str, _make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        match *self {}
    }
    fn block_on<F: Future>(&self, _future: F) -> F::Output {
        match *self {}
    }
    fn adopt_shared(&self, _stream: std::sync::Arc<Socket>) -> io::Result<(Absent, Absent)> {
        match *self {}
    }
    fn release(&self, _read: Absent, _write: Absent) -> io::Result<std::sync::Arc<Socket>> {
        match *self {}
    }
    async fn connect(&self, _socket: Socket, _to: SocketAddr) -> io::Result<Socket> {
        pending().await
    }
    fn listen(&self, _listener: Socket) -> io::Result<Absent> {
        match *self {}
    }
    async fn accept(&self, _listener: &mut Absent) -> io::Result<(Socket, Option<SocketAddr>)> {
        pending().await
    }
    async fn take_from<T: Send, F: FnMut() -> io::Result<T> + Send>(
        &self,
        _listener: &mut Absent,
        _take: F,
    ) -> io::Result<T> {
        pending().await
    }
    async fn resolve(&self, _host: String, _port: u16) -> io::Result<Vec<SocketAddr>> {
        pending().await
    }
    async fn sleep_until(&self, _deadline: Instant) {
        pending().await
    }
    fn precise_timer(&self) -> Absent {
        match *self {}
    }
}
