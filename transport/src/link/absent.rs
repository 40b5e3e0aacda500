// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stub for a kind of link that is not built in: its endpoints are refused, so that no other
//! function is reached. Each such kind is this file under its own name, which is also that of the
//! cargo feature.

#![allow(dead_code, unused_imports, reason = "no kind has all of it")]

use std::convert::Infallible;
use std::io::{self, IoSlice, Write};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;

use zonda_codec::Endpoint;
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments};

use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, EndpointUse, LinkAddress, LinkFailure,
    LinkParameters, LinkStream, TlsSettings,
};
use crate::protocol::certificate::CertificateNames;

pub(super) const AVAILABLE: bool = false;

/// Longest batch.
pub(crate) const CONTENT_BYTES_MAX: u16 = 0;

fn absent() -> EndpointProblem {
    let name = module_path!().rsplit("::").next().unwrap_or_default();
    EndpointProblem::Feature {
        protocol: name,
        feature: name,
    }
}

pub(super) fn check(_endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    Err(absent())
}

pub(super) fn try_device(_endpoint: &Endpoint) -> Result<(), LinkFailure> {
    Err(absent().into())
}

pub(super) fn examine(
    _settings: &TlsSettings,
    _purpose: EndpointUse,
) -> Result<Option<String>, EndpointProblem> {
    Err(absent())
}

pub(super) fn batch_bytes_max(_endpoint: &Endpoint) -> Option<u16> {
    None
}

pub(super) async fn connect<R: Runtime>(
    _runtime: &R,
    _terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    Err(absent().into())
}

pub(super) fn bind<R: Runtime>(
    _runtime: &R,
    _terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    Err(absent().into())
}

/// Gate of such a listener, which never exists.
#[derive(Debug, Clone)]
pub(crate) enum ListenerConfig {}

impl ListenerConfig {
    pub(crate) fn renew(&self, _settings: TlsSettings) -> Result<(), EndpointProblem> {
        match *self {}
    }

    pub(crate) async fn pass<R: Runtime>(
        &self,
        _runtime: &R,
        _stream: LinkStream,
    ) -> Result<LinkStream, String> {
        match *self {}
    }
}

impl ListenerConfig {
    pub(crate) async fn serve<R: Runtime>(
        &self,
        _runtime: &R,
        _listener: &mut R::Listener,
        _meet: impl FnMut(IncomingConnection) + Send,
    ) {
        match *self {}
    }

    pub(crate) fn stop(&self) {
        match *self {}
    }
}

/// Incoming connection of this kind, which never exists.
#[derive(Debug)]
pub(crate) enum IncomingConnection {}

impl IncomingConnection {
    pub(crate) fn from(&self) -> SocketAddr {
        match *self {}
    }

    pub(crate) async fn pass<R: Runtime>(self, _runtime: &R) -> Result<LinkStream, String> {
        match self {}
    }
}

/// Session of this kind, which never exists.
#[derive(Debug)]
pub enum Session {}

impl Session {
    pub(in crate::link) fn agree(&self, _is_bare: bool) {
        match *self {}
    }

    pub(in crate::link) fn held(&self) -> usize {
        match *self {}
    }

    pub(in crate::link) fn valid_until(&self) -> Option<std::time::SystemTime> {
        match *self {}
    }

    pub(in crate::link) fn certificate(&self) -> Option<CertificateNames> {
        match *self {}
    }

    pub(crate) fn send(
        &self,
        _slices: &[IoSlice<'_>],
        _sink: &mut impl Write,
    ) -> io::Result<usize> {
        match *self {}
    }
}

/// Receiving half of this kind, which never exists.
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

/// Sending half of this kind, which never exists.
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
