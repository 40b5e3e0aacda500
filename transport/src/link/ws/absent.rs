// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands in for WebSocket in a build without the feature `ws`: endpoints of this kind are refused, so nothing else can be.

use std::convert::Infallible;
use std::io;
#[cfg(target_os = "linux")]
use std::io::{IoSlice, Write};
use std::marker::PhantomData;
use std::sync::Arc;

use zonda_codec::Endpoint;
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments};

use super::{Bound, Connected, EndpointProblem, LinkAddress, LinkFailure, LinkStream, Terms};

#[cfg(target_os = "linux")]
pub(crate) const FRAMED_BYTES_MAX: usize = 0;

const ABSENT: EndpointProblem = EndpointProblem::Feature {
    protocol: "ws",
    feature: "ws",
};

pub(super) fn check(_endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    Err(ABSENT)
}

pub(super) async fn connect<R: Runtime>(
    _runtime: &R,
    _terms: &Terms<'_>,
) -> Result<Connected, LinkFailure> {
    Err(ABSENT.into())
}

pub(super) fn bind<R: Runtime>(
    _runtime: &R,
    _terms: &Terms<'_>,
) -> Result<Vec<Bound>, LinkFailure> {
    Err(ABSENT.into())
}

pub(super) fn accept(
    _stream: &LinkStream,
    _endpoint: &Endpoint,
    _listener: &LinkAddress,
) -> io::Result<LinkAddress> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) async fn pass<R: Runtime>(
    _runtime: &R,
    _stream: LinkStream,
) -> Result<LinkStream, String> {
    Err(ABSENT.to_string())
}

/// There is none.
#[derive(Debug)]
pub enum Session {}

impl Session {
    pub(in crate::link) fn agree(&self, _is_bare: bool) {
        match *self {}
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn send(
        &self,
        _slices: &[IoSlice<'_>],
        _sink: &mut impl Write,
    ) -> io::Result<usize> {
        match *self {}
    }
}

/// There is none.
#[derive(Debug)]
pub struct Reading<L>(Infallible, PhantomData<L>);

impl<L> Reading<L> {
    pub(in crate::link) fn new(_link: L, session: Arc<Session>) -> Self {
        match *session {}
    }

    pub(in crate::link) fn into_parts(self) -> (L, Arc<Session>) {
        match self.0 {}
    }
}

impl<L: LinkRead> LinkRead for Reading<L> {
    async fn read(&mut self, _buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        match self.0 {}
    }
}

/// There is none.
#[derive(Debug)]
pub struct Writing<L>(Infallible, PhantomData<L>);

impl<L> Writing<L> {
    pub(in crate::link) fn new(_link: L, session: Arc<Session>) -> Self {
        match *session {}
    }

    pub(in crate::link) fn into_inner(self) -> L {
        match self.0 {}
    }
}

impl<L: LinkWrite> LinkWrite for Writing<L> {
    async fn write_all<S: Segments>(&mut self, _segments: S) -> (io::Result<()>, S) {
        match self.0 {}
    }

    async fn writable(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}
