// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda bench`: two nodes measure the link between them.

use serde_json::Value;

use super::program::{Running, run, zonda};

#[test]
fn two_clients_measure_through_their_router_and_name_it() {
    let mut router = Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]);
    let ready: Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("an address");
    let client = ["-m", "client", "-e", address, "--json"];
    let mut serve = Running::start(&zonda(), &[&["bench", "--serve"][..], &client].concat());
    serve.line();
    let bench = ["bench", "--sizes", "8,2000", "--seconds", "0.05"];
    let ended = run(&zonda(), &[&bench[..], &client].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told: Value = serde_json::from_str(&ended.out).expect("JSON");
    let path = told["path"].as_array().expect("a path");
    assert_eq!((path.len(), &path[0]["zid"]), (2, &ready["zid"]), "{told}");
    assert!(
        told["round_trip"]["p50_us"]
            .as_f64()
            .is_some_and(|us| us > 0.0),
        "{told}"
    );
    for (flow, size) in told["flows"]
        .as_array()
        .expect("flows")
        .iter()
        .zip([8, 2000])
    {
        assert_eq!(
            (flow["payload"].as_u64(), flow["lost"].as_u64()),
            (Some(size), Some(0))
        );
        assert_eq!(flow["sent"], flow["arrived"], "{told}");
        assert!(
            flow["messages_per_second"]
                .as_f64()
                .is_some_and(|rate| rate > 0.0)
        );
    }
    assert!(ended.err.contains("measuring with "), "{ended:?}");
    assert!(
        ended.err.contains("2000 B: "),
        "progress is told: {ended:?}"
    );
    serve.signal("TERM");
    assert_eq!(serve.end().code(), Some(0));
    let alone = [&["bench", "--wait", "0"][..], &client].concat();
    let ended = run(&zonda(), &alone);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("start zonda bench --serve"), "{ended:?}");
}
