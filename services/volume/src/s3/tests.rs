// SPDX-License-Identifier: MIT OR Apache-2.0

//! The store over buckets in memory, and over servers that fail.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use zonda_codec::{Ntp64, Timestamp, ZenohId};

use super::*;
use crate::{Entry, StoreError, Table, Value, conformance};

/// A volume whose buckets are in memory.
#[derive(Default)]
struct Buckets(Mutex<BTreeMap<String, Arc<InMemory>>>);

impl Buckets {
    fn bucket(&self, name: &str) -> Arc<InMemory> {
        let mut buckets = self.0.lock().expect("the lock");
        Arc::clone(buckets.entry(name.to_owned()).or_default())
    }

    /// Returns the names of all objects but the marks of places.
    fn keys(&self, name: &str) -> Vec<String> {
        let listed = futures_util::StreamExt::collect::<Vec<_>>(self.bucket(name).list(None));
        let listed = block_on(listed);
        let each = listed.into_iter().map(|it| it.expect("it is in memory"));
        let names = each.map(|meta| meta.location.to_string());
        names
            .filter(|name| !name.ends_with(".zonda/storage"))
            .collect()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

impl Volume for Buckets {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        S3.check(options)
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        let bucket = self.bucket(&place.bucket);
        open_in(place, bucket)
    }
}

/// Returns the options of a bucket that no other test has.
fn options() -> Options {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Options::default().with("bucket", format!("bucket-{number}"))
}

fn entry(time: u64, payload: &str) -> Entry {
    let id = ZenohId::from_le_bytes(&[7]).expect("an id");
    let value = Value {
        payload: Bytes::copy_from_slice(payload.as_bytes()),
        encoding: "text/plain".into(),
    };
    Entry::new(Timestamp::new(Ntp64(time << 32), id), Some(value))
}

fn deletion(time: u64) -> Entry {
    Entry {
        value: None,
        ..entry(time, "")
    }
}

/// Writes an object as another process would.
fn write_elsewhere(bucket: &InMemory, path: &str, entry: &Entry) {
    let (content, attributes) = object::parts_of(entry);
    let path = Path::from(path);
    let put = bucket.put_opts(&path, content.into(), attributes.into());
    block_on(put).expect("a put");
}

fn bucket_of(options: &Options) -> String {
    let bucket = options.text("bucket").expect("a text");
    bucket.expect("a bucket").to_owned()
}

#[test]
fn a_bucket_in_memory_passes() {
    conformance::passes(&Buckets::default(), options);
    conformance::passes(&Buckets::default(), || options().with("path_prefix", "a/b"));
}

#[test]
fn an_object_is_the_payload_and_one_of_another_program_is_served() {
    let (buckets, options) = (Buckets::default(), options());
    let bucket = buckets.bucket(&bucket_of(&options));
    let path = Path::from("by-hand/a.txt");
    block_on(bucket.put(&path, "by hand".into())).expect("a put");
    let mut store = buckets.open(&options).expect("it opens");
    let found = store.get(Table::Live, "by-hand/a.txt").expect("a get");
    let found = found.and_then(|entry| entry.value).expect("a value");
    assert_eq!(&found.payload[..], b"by hand");
    store.put(Table::Live, "a", entry(1, "1")).expect("a put");
    store.commit().expect("a commit");
    let got = block_on(bucket.get(&Path::from("a"))).expect("an object");
    assert_eq!(&block_on(got.bytes()).expect("its bytes")[..], b"1");
}

#[test]
fn the_newer_of_two_writers_stays() {
    for (ours, theirs, kept) in [(5, 3, "ours"), (3, 5, "theirs")] {
        let (buckets, options) = (Buckets::default(), options());
        let bucket = buckets.bucket(&bucket_of(&options));
        let mut store = buckets.open(&options).expect("it opens");
        store.put(Table::Live, "a", entry(1, "1")).expect("a put");
        store.commit().expect("a commit");
        // Another process writes the object that the store knows, and one that it does not know.
        for name in ["a", "b"] {
            write_elsewhere(&bucket, name, &entry(theirs, "theirs"));
        }
        for name in ["a", "b"] {
            store
                .put(Table::Live, name, entry(ours, "ours"))
                .expect("a put");
        }
        store.commit().expect("a commit");
        for name in ["a", "b"] {
            let found = store.get(Table::Live, name).expect("a get");
            let value = found.and_then(|entry| entry.value).expect("a value");
            assert_eq!(&value.payload[..], kept.as_bytes(), "{name}");
            let got = block_on(bucket.get(&Path::from(name))).expect("an object");
            let bytes = block_on(got.bytes()).expect("its bytes");
            assert_eq!(&bytes[..], kept.as_bytes(), "{name}");
        }
    }
}

#[test]
fn a_commit_that_was_broken_off_is_repaired() {
    for (live, deleted) in [(1, 2), (2, 1)] {
        let (buckets, options) = (Buckets::default(), options());
        let mut store = buckets.open(&options).expect("it opens");
        store
            .put(Table::Live, "a", entry(live, "1"))
            .expect("a put");
        store
            .put(Table::Deleted, "a", deletion(deleted))
            .expect("a put");
        store.close().expect("it closes");
        let mut store = buckets.open(&options).expect("it opens");
        let found = store.get(Table::Live, "a").expect("a get");
        assert_eq!(found.is_some(), live > deleted);
        assert_eq!(store.len(Table::Live), Ok(u64::from(live > deleted)));
        assert_eq!(store.len(Table::Deleted), Ok(u64::from(live < deleted)));
        store.close().expect("it closes");
        assert_eq!(buckets.keys(&bucket_of(&options)).len(), 1);
    }
}

#[test]
fn a_close_destroys_what_is_below_the_prefix_if_it_is_to() {
    let buckets = Buckets::default();
    let kept = options().with("path_prefix", "k");
    let below = kept.clone().with("path_prefix", "p");
    let below = below.with("on_closure", "destroy_bucket");
    let mut store = buckets.open(&kept).expect("it opens");
    store.put(Table::Live, "a", entry(1, "1")).expect("a put");
    store.close().expect("it closes");
    let mut store = buckets.open(&below).expect("it opens");
    store.put(Table::Live, "a", entry(1, "1")).expect("a put");
    store
        .put(Table::Patterns, "P/**", entry(1, "1"))
        .expect("a put");
    store.commit().expect("a commit");
    assert_eq!(buckets.keys(&bucket_of(&kept)).len(), 3);
    store.close().expect("it closes");
    assert_eq!(buckets.keys(&bucket_of(&kept)), ["k/a"]);
    let mark = Path::from("p/.zonda/storage");
    let marked = block_on(buckets.bucket(&bucket_of(&kept)).head(&mark));
    assert!(matches!(marked, Err(object_store::Error::NotFound { .. })));
}

#[test]
fn a_deletion_removes_no_newer_value_of_another_writer() {
    for (deleted, theirs) in [(5, 3), (3, 5)] {
        let (buckets, options) = (Buckets::default(), options());
        let bucket = buckets.bucket(&bucket_of(&options));
        let mut store = buckets.open(&options).expect("it opens");
        store.put(Table::Live, "a", entry(1, "1")).expect("a put");
        store.commit().expect("a commit");
        write_elsewhere(&bucket, "a", &entry(theirs, "theirs"));
        store
            .put(Table::Deleted, "a", deletion(deleted))
            .expect("a put");
        store.remove(Table::Live, "a").expect("a removal");
        store.commit().expect("a commit");
        let kept = (theirs > deleted).then(|| entry(theirs, "theirs"));
        assert_eq!(store.get(Table::Live, "a"), Ok(kept.clone()));
        assert_eq!(store.len(Table::Live), Ok(u64::from(kept.is_some())));
        let found = block_on(bucket.head(&Path::from("a")));
        assert_eq!(found.is_ok(), kept.is_some());
    }
}

#[test]
fn a_removal_that_was_broken_off_is_finished() {
    for has_deletion in [true, false] {
        let (buckets, options) = (Buckets::default(), options());
        let bucket = buckets.bucket(&bucket_of(&options));
        write_elsewhere(&bucket, "a", &deletion(2));
        if has_deletion {
            write_elsewhere(&bucket, ".zonda/deleted/a", &deletion(2));
        }
        let mut store = buckets.open(&options).expect("it opens");
        assert_eq!(store.get(Table::Live, "a"), Ok(None));
        assert_eq!(store.len(Table::Live), Ok(0));
        store.close().expect("it closes");
        let left: &[&str] = if has_deletion {
            &[".zonda/deleted/a"]
        } else {
            &[]
        };
        assert_eq!(buckets.keys(&bucket_of(&options)), left);
    }
}

#[test]
fn a_place_within_that_of_another_storage_is_refused() {
    let buckets = Buckets::default();
    let open = |options: &Options, prefix: &str| {
        let options = options.clone().with("path_prefix", prefix);
        buckets.open(&options).map_err(|error| error.to_string())
    };
    let refused = |options: &Options, prefix: &str, other: &str| {
        let error = open(options, prefix).map(|_| ()).expect_err("it overlaps");
        assert!(error.contains(other) && !error.contains('\n'), "{error}");
    };
    let whole = options();
    let store = open(&whole, "").expect("it opens");
    refused(&whole, "a", "the whole bucket");
    store.close().expect("it closes");
    // Another process has it, as far as this one knows.
    refused(&whole, "a", "the whole bucket");
    open(&whole, "").expect("it opens again");
    let parts = options();
    let store = open(&parts, "a/b").expect("it opens");
    let beside = open(&parts, "a/bc").expect("it opens");
    let all_refused = || {
        refused(&parts, "", "\"a/b");
        refused(&parts, "a", "\"a/b");
        refused(&parts, "a/b/c", "\"a/b\"");
    };
    all_refused();
    store.close().expect("it closes");
    beside.close().expect("it closes");
    all_refused();
}

#[test]
fn a_damaged_object_hides_no_other_and_is_replaced() {
    let (buckets, options) = (Buckets::default(), options().with("path_prefix", "z"));
    let bucket = buckets.bucket(&bucket_of(&options));
    for name in ["a", "b", "c"] {
        write_elsewhere(&bucket, &format!("z/{name}"), &entry(1, name));
    }
    let (content, attributes) = object::parts_of(&entry(1, "b"));
    let wrong = attributes.iter().map(|(name, _)| (name.clone(), "77"));
    let attributes: object_store::Attributes = wrong.collect();
    let path = Path::from("z/b");
    block_on(bucket.put_opts(&path, content.into(), attributes.into())).expect("a put");
    write_elsewhere(&bucket, "z/.zonda/deleted/b", &deletion(1));
    let mut store = buckets.open(&options).expect("it opens");
    let scan = |store: &mut dyn Store, from: &str| {
        let mut names = Vec::new();
        let scanned = store.scan(Table::Live, from, &mut |name, _| {
            names.push(name.to_owned());
            std::ops::ControlFlow::Continue(())
        });
        (names, scanned)
    };
    let (names, scanned) = scan(&mut *store, "");
    assert_eq!(names, ["a"]);
    let Err(StoreError::Damaged { name, .. }) = scanned else {
        panic!("{scanned:?}");
    };
    assert_eq!(name, "b");
    assert_eq!(scan(&mut *store, "b\0"), (vec!["c".to_owned()], Ok(())));
    store.put(Table::Live, "b", entry(2, "2")).expect("a put");
    store.commit().expect("a commit");
    assert_eq!(scan(&mut *store, "").0, ["a", "b", "c"]);
}

#[test]
fn a_read_only_storage_writes_nothing() {
    let (buckets, options) = (Buckets::default(), options());
    let mut store = buckets.open(&options).expect("it opens");
    store.put(Table::Live, "a", entry(1, "1")).expect("a put");
    store.close().expect("it closes");
    let mut store = buckets
        .open(&options.with("read_only", true))
        .expect("it opens");
    assert_eq!(store.get(Table::Live, "a"), Ok(Some(entry(1, "1"))));
    let refused = store.put(Table::Live, "a", entry(2, "2"));
    assert_eq!(refused, Err(StoreError::ReadOnly));
    assert_eq!(store.remove(Table::Live, "a"), Err(StoreError::ReadOnly));
    store.close().expect("it closes");
}

/// Answers each request with these bytes, or not at all.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            if answer.is_empty() {
                silent.push(stream);
                continue;
            }
            if stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    address
}

fn refused_by(url: String) -> String {
    let private = serde_json::json!({"access_key": "AKIA-OURS", "secret_key": "very-secret"});
    let options = options().with("url", url).with("private", private);
    let options = options.with("timeout", 1);
    let begin = Instant::now();
    let error = S3.open(&options).map(|_| ()).expect_err("no server");
    assert!(begin.elapsed() < Duration::from_secs(60), "{error}");
    let text = format!("{error} {options:?}");
    assert!(!text.contains('\n'), "{text}");
    assert!(
        !text.contains("very-secret") && !text.contains("AKIA"),
        "{text}"
    );
    error.to_string()
}

#[test]
fn a_server_that_is_gone_or_refuses_is_one_line() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let error = refused_by(format!("http://{gone}"));
    assert!(error.contains(&gone.to_string()), "{error}");
    let body = "<Error><Code>InvalidAccessKeyId</Code>\n<AWSAccessKeyId>AKIA-OURS</AWSAccessKeyId></Error>";
    let answer = format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let refuses = server(answer.leak());
    let error = refused_by(format!("http://{refuses}"));
    assert!(error.contains("refuses the credentials"), "{error}");
    let broken = server(
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\nConnection: close\r\n\r\nAKIA-OURS",
    );
    refused_by(format!("http://{broken}"));
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let silent = server("");
    let error = refused_by(format!("http://{silent}"));
    assert!(error.contains(&silent.to_string()), "{error}");
}

#[test]
fn reads_fail_at_once_after_one_that_was_given_up() {
    let options = options().with("url", format!("http://{}", server("")));
    let private = serde_json::json!({"access_key": "a", "secret_key": "b"});
    let options = options.with("private", private).with("timeout", 1);
    let place = Place::of(&options).expect("they are right");
    let mut remote = Remote::start(place.client().expect("a client"), &place).expect("a thread");
    let mut read = || {
        let begin = Instant::now();
        let failed = remote.get(vec![Path::from("a")]).map(|_| ());
        (failed.expect_err("it is silent"), begin.elapsed())
    };
    let (reason, time) = read();
    assert!(time >= Duration::from_secs(1), "{time:?}");
    let (again, time) = read();
    assert_eq!(again, reason);
    assert!(time < Duration::from_secs(1), "{time:?}");
}

#[test]
fn options_that_are_wrong_are_refused_without_secrets() {
    let refusal = |options: Options| S3.check(&options).expect_err("wrong").to_string();
    let error = refusal(Options::default());
    assert!(error.contains("bucket"), "{error}");
    for (name, value) in [
        ("private", serde_json::json!("very-secret")),
        ("private", serde_json::json!({"access_key": "very-secret"})),
        (
            "private",
            serde_json::json!({"access_key": ["very-secret"]}),
        ),
        ("url", serde_json::json!("localhost:9000")),
        ("reuse_bucket", serde_json::json!(false)),
        ("on_closure", serde_json::json!("destroy_db")),
        ("path_prefix", serde_json::json!("a//b")),
        ("path_prefix", serde_json::json!("a/.zonda")),
        ("timeout", serde_json::json!(0)),
        ("timeout", serde_json::json!("10")),
    ] {
        let error = refusal(options().with(name, value));
        assert!(error.contains(name), "{error}");
        assert!(!error.contains("very-secret"), "{error}");
    }
}
