// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resolution of host names. The system's resolver blocks, so each look-up gets a thread of its
//! own.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::thread;

use crate::oneshot;

/// Resolves `host` to its addresses, in the resolver's order and without duplicates; at least one
/// on success.
///
/// An address in text form needs no thread. For a name, the thread `zonda-resolve` calls the
/// system's resolver; dropping the future leaves that thread to end by itself.
pub async fn resolve(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new()
        .name("zonda-resolve".into())
        .spawn(move || sender.send(look_up(&host, port)))?;
    receiver
        .await
        .unwrap_or_else(|| Err(io::Error::other("the name look-up was abandoned")))
}

fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in (host, port).to_socket_addrs()? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        ));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use crate::block_on;

    #[test]
    fn literals_and_names() {
        let v6 = block_on(resolve("::1".into(), 7)).expect("a literal");
        assert_eq!(v6, ["[::1]:7".parse().expect("an address")]);
        let local = block_on(resolve("localhost".into(), 80)).expect("localhost has an address");
        assert!(
            local.iter().all(|a| a.ip().is_loopback() && a.port() == 80),
            "{local:?}"
        );
        assert!(block_on(resolve("name.invalid".into(), 1)).is_err());
    }
}
