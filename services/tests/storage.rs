// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages as a service, with the counters of the metrics service.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use zonda::{Config, Session, Wait};
use zonda_services::{Running, StartError, check, start_all};

const STORAGE: &str = "{storages: {mem: {key_expr: 'demo/**', volume: 'memory'}}}";

fn config() -> Config {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    config
        .with("scouting/multicast/enabled", "false")
        .with("plugins/storage_manager", STORAGE)
}

fn start(config: &Config) -> (Session, Result<Vec<Box<dyn Running>>, StartError>) {
    let session = zonda::open(config.clone()).wait().unwrap();
    let running = {
        let session = session.clone();
        start_all(config, move || Ok::<_, zonda::Error>(session.clone()), None)
    };
    (session, running)
}

fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_scraper_gets_the_counters_of_storages() {
    let config = config().with("services/metrics/listen", "'127.0.0.1:0'");
    let (session, running) = start(&config);
    let running = running.unwrap();
    session.put("demo/a", "1").wait().unwrap();
    let replies = session.get("demo/a").wait().unwrap();
    assert!(replies.recv().unwrap().result().is_ok());
    let status = |name: &str| {
        let service = running.iter().find(|service| service.name() == name);
        service.unwrap().status()
    };
    assert_eq!(status("storage"), "mem (memory on demo/**)");
    let address = status("metrics")
        .strip_prefix("HTTP on ")
        .unwrap()
        .parse()
        .unwrap();
    let text = scrape(address);
    assert!(
        text.contains("zonda_storage_puts_total{storage=\"mem\"} 1\n"),
        "{text}"
    );
    running.into_iter().for_each(Running::stop);
}

#[test]
fn a_service_that_cannot_start_is_a_failure_unless_it_is_optional() {
    let place = "{storages: {s: {key_expr: 'a/**', volume: {id: 'redb', dir: '/dev/null/x'}}}}";
    let config = config().with("plugins/storage_manager", place);
    assert_eq!(check(&config), Ok(()));
    let (_session, started) = start(&config);
    let error = started.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("storage s") && error.contains("/dev/null/x"),
        "{error}"
    );
    let optional = config.with("plugins/storage_manager/__required__", "false");
    let (_session, started) = start(&optional);
    assert_eq!(started.unwrap().len(), 0);
}

#[test]
fn what_is_wrong_is_found_by_a_check() {
    let no_times = config().with("timestamping/enabled", "false");
    let error = check(&no_times).unwrap_err().to_string();
    assert!(
        error.contains("timestamping/enabled") && error.contains("true"),
        "{error}"
    );
    let unknown = config().with("plugins/storage_manager/storages/mem/key", "'x'");
    let error = check(&unknown).unwrap_err().to_string();
    assert!(error.contains("storages/mem/key`"), "{error}");
}

fn writable(config: Config) -> Config {
    let config = config.with("adminspace/enabled", "true");
    config.with("adminspace/permissions/write", "true")
}

/// Writes a value of the configuration; returns the reply, or the error.
fn write(session: &Session, path: &str, value: &str) -> Result<String, String> {
    let key = format!("@/{}/router/config/{path}", session.zid());
    let replies = session.get(key).payload(value).wait().unwrap();
    let reply = replies.recv().unwrap();
    match reply.result() {
        Ok(sample) => Ok(sample.payload().try_to_string().unwrap().into_owned()),
        Err(error) => Err(error.payload().try_to_string().unwrap().into_owned()),
    }
}

/// Returns the storages in the admin space.
fn shown(session: &Session) -> Vec<String> {
    let key = "@/*/router/status/plugins/storage_manager/storages/*";
    let replies = session.get(key).wait().unwrap();
    let name = |reply: zonda::query::Reply| {
        let key = reply.result().unwrap().key_expr().to_string();
        key.rsplit('/').next().unwrap().to_owned()
    };
    let mut names: Vec<_> = replies.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn storages_are_written_through_the_admin_space() {
    const STORAGES: &str = "plugins/storage_manager/storages";
    let config = writable(config());
    let (session, running) = start(&config);
    let running = running.unwrap();
    session.put("demo/a", "1").wait().unwrap();
    let new = "{key_expr: 'new/**', volume: 'memory'}";
    let reply = write(&session, &format!("{STORAGES}/new"), new).unwrap();
    assert!(
        reply.contains("plugins/storage_manager/storages/new"),
        "{reply}"
    );
    assert_eq!(shown(&session), ["mem", "new"]);
    session.put("new/a", "2").wait().unwrap();
    let replies = session.get("*/a").wait().unwrap();
    assert_eq!(
        replies
            .iter()
            .filter(|reply| reply.result().is_ok())
            .count(),
        2
    );
    // Faults are refused as a whole.
    for (path, value, words) in [
        (
            "bad",
            "{key_expr: 'new/**'}",
            "storages/bad/volume` is not set",
        ),
        ("bad", "{", "storages/bad"),
        ("bad", "7", "expected an object"),
        (
            "bad",
            "{key_expr: 'a/**', volume: {id: 'redb', dir: '/dev/null/x'}}",
            "storage bad: /dev/null/x",
        ),
        ("mem/volume", "'nothing'", "expected one of memory"),
    ] {
        let error = write(&session, &format!("{STORAGES}/{path}"), value).unwrap_err();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
        assert_eq!(shown(&session), ["mem", "new"]);
    }
    let error = write(&session, "transport/link/tx/batch_size", "8000").unwrap_err();
    assert!(
        error.contains("transport/link/tx/batch_size needs a restart"),
        "{error}"
    );
    assert!(error.contains("plugins/storage_manager"), "{error}");
    // The running configuration has what was written, and nothing of what was refused.
    let kept = session.get("@/*/router/config/**").wait().unwrap();
    let kept: Vec<_> = kept
        .iter()
        .map(|reply| reply.result().unwrap().key_expr().to_string())
        .collect();
    assert!(
        kept.iter().any(|key| key.ends_with("storages/new")),
        "{kept:?}"
    );
    assert!(!kept.iter().any(|key| key.contains("bad")), "{kept:?}");
    // `null` removes a storage.
    write(&session, &format!("{STORAGES}/mem"), "null").unwrap();
    assert_eq!(shown(&session), ["new"]);
    let status = running.iter().find(|service| service.name() == "storage");
    assert_eq!(status.unwrap().status(), "new (memory on new/**)");
    running.into_iter().for_each(Running::stop);
}

#[test]
fn a_router_whose_configuration_may_be_written_takes_its_first_storage_later() {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("scouting/multicast/enabled", "false");
    let (session, running) = start(&writable(config));
    assert_eq!(running.as_ref().unwrap().len(), 1);
    let whole = "{storages: {one: {key_expr: 'one/**', volume: 'memory'}}}";
    write(&session, "plugins/storage_manager", whole).unwrap();
    assert_eq!(shown(&session), ["one"]);
}
