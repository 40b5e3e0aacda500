// SPDX-License-Identifier: MIT OR Apache-2.0

//! The threads of a session: they have names, and none is left when the session is closed. Alone in its process, since
//! it counts them.

#![cfg(target_os = "linux")]

mod pair;

use pair::{LONG, connected_to, until, until_matched};
use zonda::config::RuntimeKind;
use zonda::{Config, Wait};

/// Returns the names of this process's threads that the node started, in order.
fn threads() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux tells");
    let mut names: Vec<String> = threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .filter(|name| name.starts_with("zonda-"))
        .collect();
    names.sort();
    names
}

#[test]
fn threads_are_named_and_end_with_their_session() {
    for kind in RuntimeKind::available() {
        let listening = Config::peer().listen(["tcp/127.0.0.1:0"]);
        let a = zonda::open(listening.with_runtime(kind)).wait().unwrap();
        let b = connected_to(&a, Config::client([] as [&str; 0]).with_runtime(kind));
        let subscriber = b.declare_subscriber("demo").wait().unwrap();
        let publisher = a.declare_publisher("demo").wait().unwrap();
        until_matched(&publisher);
        publisher.put("hello").wait().unwrap();
        assert!(subscriber.recv_timeout(LONG).unwrap().is_some(), "{kind}");
        if kind == RuntimeKind::Threads {
            // Each side has one link, and they are numbered from 0 on each side.
            until("only the links' and the nodes' own threads", || {
                let expected = [
                    "zonda-accept-0",
                    "zonda-clock-0",
                    "zonda-clock-0",
                    "zonda-connect-0",
                    "zonda-rx-0",
                    "zonda-rx-0",
                    "zonda-tx-0",
                    "zonda-tx-0",
                ];
                threads() == expected
            });
        }
        a.close().wait().unwrap();
        b.close().wait().unwrap();
        drop((publisher, subscriber));
        drop((a, b));
        until("no thread is left", || threads().is_empty());
    }
}
