// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources of an attacker: the router's address, a source of chance, and a line to the case.

use std::io::BufRead;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::hand::Hand;

#[derive(Clone)]
pub struct Stage {
    /// Address of the router.
    pub address: SocketAddr,
    /// Seed of all random choices of this attacker.
    pub seed: u64,
    /// Argument from the case.
    pub argument: String,
    over: Arc<(Mutex<bool>, Condvar)>,
}

impl Stage {
    /// Creates a stage; the end of standard input is the end of the attack.
    pub fn enter(address: SocketAddr, seed: u64, argument: String) -> Stage {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let seen = Arc::clone(&over);
        std::thread::spawn(move || {
            for _ in std::io::stdin().lock().lines() {}
            *seen.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            seen.1.notify_all();
            // an attacker that waits for the router without polling does not outlive its case by
            // much
            std::thread::park_timeout(Duration::from_secs(5));
            std::process::exit(0);
        });
        Stage {
            address,
            seed,
            argument,
            over,
        }
    }

    /// Returns this stage in front of another router.
    pub fn at(&self, address: SocketAddr) -> Stage {
        Stage {
            address,
            ..self.clone()
        }
    }

    pub fn is_over(&self) -> bool {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats `act` until the case ends, or `act` returns false.
    pub fn while_on(&self, mut act: impl FnMut() -> bool) {
        while !self.is_over() && act() {}
    }

    /// Waits for the end of the case.
    pub fn wait(&self) {
        while !self.pause(Duration::from_secs(1)) {}
    }

    /// Waits this long at most; returns true if the case has ended.
    pub fn pause(&self, length: Duration) -> bool {
        let over = self.over.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.1.wait_timeout_while(over, length, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Prints a line to the case, which may wait for it.
    pub fn say(&self, line: &str) {
        super::say(line);
    }

    /// Returns the number in the argument, or the default.
    pub fn number(&self, default: u64) -> u64 {
        self.argument.parse().unwrap_or(default)
    }

    /// Connects without sending anything.
    pub fn visitor(&self) -> Hand {
        Hand::connect_as(self.address, self.zid())
    }

    /// Connects and is admitted as a client.
    pub fn guest(&self) -> Hand {
        let mut hand = self.visitor();
        hand.introduce();
        hand
    }

    /// Connects from this address of the machine; returns `None` if the router accepts no more
    /// connections.
    pub fn visitor_from(&self, from: &str) -> Option<Hand> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a descriptor");
        let from: IpAddr = from.parse().expect("an address");
        socket
            .bind(&SocketAddr::new(from, 0).into())
            .expect("an address of this machine");
        socket.connect(&self.address.into()).ok()?;
        Some(Hand::on(socket.into(), self.zid()))
    }

    /// Returns an id that no other process has.
    fn zid(&self) -> u128 {
        let process = u128::from(std::process::id());
        (process << 32) | u128::from(crate::hand::next_id())
    }
}
