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
    let running = start_all(config, || Ok::<_, zonda::Error>(session.clone()));
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
