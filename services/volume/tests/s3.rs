// SPDX-License-Identifier: MIT OR Apache-2.0

//! The volume `s3` against a server on this machine.

use std::cell::Cell;

use bytes::Bytes;
use serde_json::json;
use zonda_codec::{Ntp64, Timestamp, ZenohId};
use zonda_testkit::buckets::Buckets;
use zonda_volume::{Entry, Options, S3, Table, Value, Volume, conformance};

fn options(server: &Buckets, bucket: &str) -> Options {
    let private = json!({"access_key": "an-access-key", "secret_key": "a-secret-key"});
    let options = Options::default().with("url", server.url());
    let options = options.with("private", private).with("bucket", bucket);
    // The machine may have much else to do.
    options.with("timeout", 60)
}

fn entry(time: u64, payload: &str) -> Entry {
    let id = ZenohId::from_le_bytes(&[7]).unwrap();
    let value = Value {
        payload: Bytes::copy_from_slice(payload.as_bytes()),
        encoding: "text/plain".into(),
    };
    Entry::new(Timestamp::new(Ntp64(time << 32), id), Some(value))
}

#[test]
fn a_real_server_passes() {
    let Some(server) = Buckets::start() else {
        return;
    };
    let number = Cell::new(0);
    conformance::passes(&S3, || {
        number.set(number.get() + 1);
        let bucket = format!("bucket-{}", number.get());
        server.create(&bucket);
        options(&server, &bucket)
    });
    absent(&server);
    written_by_two(&server);
    many(&server);
}

/// A bucket that does not exist is one line.
fn absent(server: &Buckets) {
    let opened = S3.open(&options(server, "absent")).map(|_| ());
    let error = opened.unwrap_err().to_string();
    assert!(
        error.contains("no such bucket") && !error.contains('\n'),
        "{error}"
    );
}

/// Two writers in one place, which the names of the server hide from each other.
fn written_by_two(server: &Buckets) {
    server.create("shared");
    let ours = options(server, "shared");
    let theirs = ours
        .clone()
        .with("url", server.url().replace("127.0.0.1", "localhost"));
    let (mut first, mut second) = (S3.open(&ours).unwrap(), S3.open(&theirs).unwrap());
    first.put(Table::Live, "a", entry(5, "newer")).unwrap();
    first.commit().unwrap();
    second.put(Table::Live, "a", entry(3, "older")).unwrap();
    second.commit().unwrap();
    assert_eq!(second.get(Table::Live, "a"), Ok(Some(entry(5, "newer"))));
    second.put(Table::Live, "a", entry(6, "newest")).unwrap();
    second.commit().unwrap();
    first.put(Table::Live, "a", entry(4, "older")).unwrap();
    first.commit().unwrap();
    assert_eq!(first.get(Table::Live, "a"), Ok(Some(entry(6, "newest"))));
}

/// More objects than a page of a list has.
fn many(server: &Buckets) {
    server.create("many");
    let options = options(server, "many").with("path_prefix", "p/q");
    let mut store = S3.open(&options).unwrap();
    for number in 0..2500 {
        store
            .put(Table::Live, &format!("{number}"), entry(1, "x"))
            .unwrap();
    }
    store.close().unwrap();
    let mut store = S3
        .open(&options.with("on_closure", "destroy_bucket"))
        .unwrap();
    assert_eq!(store.len(Table::Live), Ok(2500));
    assert_eq!(store.get(Table::Live, "2499"), Ok(Some(entry(1, "x"))));
    store.close().unwrap();
}
