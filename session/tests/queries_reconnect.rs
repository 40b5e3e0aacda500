// SPDX-License-Identifier: MIT OR Apache-2.0

//! A get that is sent while no neighbour is connected waits for the connection: it never ends early
//! and empty.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::pair::{LONG, alone, until};
use zonda::query::{EndReason, Query, Queryable};
use zonda::{Config, RecvError, Session, Wait};

/// A place that leads to a session, or refuses every connection.
struct Gate {
    endpoint: String,
    leads_to: Arc<Mutex<Option<String>>>,
}

impl Gate {
    fn closed() -> Gate {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("tcp/{}", listener.local_addr().unwrap());
        let leads_to: Arc<Mutex<Option<String>>> = Arc::default();
        let whereto = leads_to.clone();
        thread::spawn(move || {
            for here in listener.incoming().map_while(Result::ok) {
                let place = whereto.lock().unwrap().clone();
                let there = place.and_then(|place| TcpStream::connect(place).ok());
                if let Some(there) = there {
                    pass(here.try_clone().unwrap(), there.try_clone().unwrap());
                    pass(there, here);
                }
            }
        });
        Gate { endpoint, leads_to }
    }

    /// Opens the gate to this session, which has made all its declarations.
    fn open_to(&self, session: &Session) {
        let there = locator(session);
        let there = there.strip_prefix("tcp/").unwrap().to_owned();
        *self.leads_to.lock().unwrap() = Some(there);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn locator(session: &Session) -> String {
    session.info().locators().remove(0).to_string()
}

fn patient(gate: &Gate) -> Config {
    Config::client([&gate.endpoint])
        .with("connect/exit_on_failure", "false")
        .with("connect/timeout_ms", "0")
        .with("connect/retry", "{ period_init_ms: 10, period_max_ms: 50 }")
}

fn answering(session: &Session) -> Queryable<()> {
    let declared = session
        .declare_queryable("demo/a")
        .callback(|query: Query| {
            query.reply("demo/a", "found").wait().unwrap();
        });
    declared.wait().unwrap()
}

#[test]
fn a_client_asks_when_it_is_connected() {
    let gate = Gate::closed();
    let client = zonda::open(patient(&gate)).wait().unwrap();
    let querier = client.declare_querier("demo/a").wait().unwrap();
    let gets = [
        client.get("demo/a").timeout(LONG).wait().unwrap(),
        querier.get().wait().unwrap(),
    ];
    let server = alone();
    let _answers = answering(&server);
    gate.open_to(&server);
    for replies in gets {
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(reply.into_result().unwrap().payload(), &"found".into());
        assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
    }
}

#[test]
fn a_client_that_is_never_connected_ends_with_its_time() {
    let gate = Gate::closed();
    let client = zonda::open(patient(&gate)).wait().unwrap();
    let (tell, told) = channel();
    let get = client.get("demo/a").timeout(Duration::from_millis(100));
    let get = get.on_end(move |end| tell.send(end.reason()).unwrap());
    let replies = get.wait().unwrap();
    let errors = replies.iter().filter(|reply| reply.result().is_err());
    assert!(errors.count() <= 1);
    assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Timeout));
}

#[test]
fn a_client_asks_again_after_its_gateway_was_restarted() {
    let first = alone();
    let gate = Gate::closed();
    gate.open_to(&first);
    let client = zonda::open(patient(&gate)).wait().unwrap();
    until("it is connected", || !client.info().links().is_empty());
    first.close().wait().unwrap();
    until("the link is gone", || client.info().links().is_empty());
    let replies = client.get("demo/a").timeout(LONG).wait().unwrap();
    assert!(matches!(replies.try_recv(), Ok(None)), "it waits");
    let second = alone();
    let _answers = answering(&second);
    gate.open_to(&second);
    let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
    assert_eq!(reply.into_result().unwrap().payload(), &"found".into());
}

/// A queryable behind a restarted gateway may need longer to be back than the asker.
#[test]
fn a_client_waits_for_who_answers_behind_its_restarted_gateway() {
    let router = || {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("adminspace/enabled", "true");
        zonda::open(config).wait().unwrap()
    };
    let first = router();
    let gate = Gate::closed();
    gate.open_to(&first);
    let client = zonda::open(patient(&gate)).wait().unwrap();
    let querier = client.declare_querier("demo/a").wait().unwrap();
    // The answer to the querier's interest is sent by then: queued in the moment of the close, it
    // would be reported as lost.
    let nobody = client.get("demo/nobody").timeout(LONG).wait().unwrap();
    assert_eq!(nobody.recv_timeout(LONG).err(), Some(RecvError::Closed));
    first.close().wait().unwrap();
    until("the link is gone", || client.info().links().is_empty());
    let held = client.get("demo/a").timeout(LONG).wait().unwrap();
    let second = router();
    gate.open_to(&second);
    until("it is connected", || !client.info().links().is_empty());
    let gets = [
        held,
        client.get("demo/*").timeout(LONG).wait().unwrap(),
        querier.get().wait().unwrap(),
    ];
    // A reply that is known at once comes at once.
    let admin = format!("@/{}/router", second.zid());
    let known = client.get(&admin).timeout(LONG).wait().unwrap();
    assert!(known.recv_timeout(LONG).unwrap().is_some());
    let server = zonda::open(Config::client([&locator(&second)]));
    let server = server.wait().unwrap();
    let _answers = answering(&server);
    for replies in gets {
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(reply.into_result().unwrap().payload(), &"found".into());
        assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
    }
}
