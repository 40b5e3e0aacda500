// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands in for TLS in a build without the feature `tls`: endpoints of this kind are refused, so nothing else can be.

use std::convert::Infallible;
use std::io::{self, IoSlice, Write};
use std::marker::PhantomData;
use std::sync::Arc;

use zonda_codec::Endpoint;
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments};

use super::{Bound, Connected, EndpointProblem, LinkAddress, LinkFailure, LinkStream, Terms};

pub(super) const AVAILABLE: bool = false;

pub(crate) const SEALED_BYTES_MAX: usize = 0;

const ABSENT: EndpointProblem = EndpointProblem::Feature {
    protocol: "tls",
    feature: "tls",
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

/// There is none.
#[derive(Debug)]
pub(crate) enum Gate {}

impl Gate {
    pub(crate) async fn pass<R: Runtime>(
        &self,
        _runtime: &R,
        _stream: LinkStream,
    ) -> Result<LinkStream, String> {
        match *self {}
    }
}

/// There is none.
#[derive(Debug)]
pub enum Session {}

impl Session {
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
