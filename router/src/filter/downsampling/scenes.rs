// SPDX-License-Identifier: MIT OR Apache-2.0

//! Downsampling in a router between real nodes.

use std::time::Instant;

use zonda_runtime::block_on;

use crate::{
    config::Config,
    filter::tests::{
        LONG, Lengths, PATIENCE, answer, ask, key, publication, subscribe, until, until_answered,
    },
    metrics::table::DOWNSAMPLING_MESSAGES,
    model::SampleKind,
    node::Node,
};

/// A router with these items, and two clients.
struct Site {
    router: Node,
    left: Node,
    right: Node,
}

impl Site {
    fn new(items: &str) -> Site {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("downsampling", items);
        let router = block_on(Node::open(config)).expect("it opens");
        let address = router.locators().remove(0).to_string();
        let client = || block_on(Node::open(Config::client([&address]))).expect("it opens");
        let (left, right) = (client(), client());
        Site {
            router,
            left,
            right,
        }
    }

    /// Returns the number of dropped messages of a kind in a direction.
    fn dropped(&self, flow: &str, kind: &str) -> u64 {
        let samples = self.router.metrics();
        let like = samples.iter().filter(|sample| {
            sample.metric().name == DOWNSAMPLING_MESSAGES.name
                && sample.label("flow") == Some(flow)
                && sample.label("message") == Some(kind)
        });
        like.map(|sample| sample.value()).sum()
    }

    fn close(self) {
        for node in [&self.left, &self.right, &self.router] {
            let _ = node.close_blocking(LONG);
        }
    }
}

/// Puts `count` payloads of `bytes` bytes from `node`.
fn put_all(node: &Node, text: &str, bytes: usize, count: usize) {
    let publisher = node.declare_publisher(&key(text)).expect("declared");
    until("a subscriber is known", || {
        publisher.has_matching_subscribers()
    });
    let payload = vec![0; bytes];
    for _ in 0..count {
        let put = publication(SampleKind::Put, &payload);
        publisher.publish(&put, PATIENCE).expect("it is sent");
    }
}

/// Returns the number of payloads of `bytes` bytes.
fn count(got: &Lengths, bytes: usize) -> usize {
    got.got().iter().filter(|one| **one == bytes).count()
}

#[test]
fn of_a_burst_the_first_message_passes_and_its_rate_is_shared_by_keys() {
    let site = Site::new(
        "[{messages: ['put'], flows: ['egress'], rules: [{key_expr: 'demo/**', freq: 0.001}]}]",
    );
    let got = subscribe(&site.right, "**");
    put_all(&site.left, "demo/a", 1, 100);
    put_all(&site.left, "demo/b", 2, 10);
    put_all(&site.left, "other", 3, 5);
    until("the last ones come", || count(&got, 3) == 5);
    assert_eq!((count(&got, 1), count(&got, 2)), (1, 0));
    assert_eq!(site.dropped("egress", "put"), 109);
    assert_eq!(site.dropped("ingress", "put"), 0);
    site.close();
}

#[test]
fn with_per_key_each_key_has_its_rate() {
    let site = Site::new(
        "[{messages: ['put'], rules: [{key_expr: 'demo/**', freq: 0.001, per_key: true}]}]",
    );
    let got = subscribe(&site.right, "**");
    put_all(&site.left, "demo/a", 1, 100);
    put_all(&site.left, "demo/b", 2, 10);
    put_all(&site.left, "other", 3, 5);
    until("the last ones come", || count(&got, 3) == 5);
    assert_eq!((count(&got, 1), count(&got, 2)), (1, 1));
    assert_eq!(site.dropped("ingress", "put"), 108);
    site.close();
}

/// The own session is no neighbour: what it puts is decided about on its way to each neighbour.
#[test]
fn messages_of_the_own_session_are_thinned_out_towards_each_neighbour() {
    let site = Site::new("[{messages: ['put'], rules: [{key_expr: 'demo/**', freq: 0.001}]}]");
    let [left, right] = [&site.left, &site.right].map(|node| subscribe(node, "**"));
    let own = subscribe(&site.router, "**");
    until("both are known", || {
        put_all(&site.router, "first", 4, 1);
        count(&left, 4) > 0 && count(&right, 4) > 0
    });
    put_all(&site.router, "demo/a", 1, 50);
    put_all(&site.router, "other", 3, 1);
    until("the last ones come", || {
        [&left, &right, &own].iter().all(|got| count(got, 3) == 1)
    });
    assert_eq!([&left, &right, &own].map(|got| count(got, 1)), [1, 1, 50]);
    assert_eq!(site.dropped("egress", "put"), 98);
    site.close();
}

#[test]
fn a_dropped_query_ends_at_once() {
    for flow in ["ingress", "egress"] {
        let site = Site::new(&format!(
            "[{{messages: ['query'], flows: ['{flow}'], rules: [{{key_expr: 'demo/no', freq: 0}},
               {{key_expr: 'demo/**', freq: 0.001}}]}}]"
        ));
        for text in ["demo/no", "demo/q"] {
            answer(&site.right, text);
            until_answered(&site.left, text);
        }
        assert_eq!(ask(&site.left, "demo/q"), 1, "{flow}");
        for text in ["demo/q", "demo/no"] {
            let begin = Instant::now();
            assert_eq!(ask(&site.left, text), 0, "{flow} {text}");
            assert!(begin.elapsed() < LONG / 4, "it ends at once");
        }
        assert_eq!(site.dropped(flow, "query"), 2);
        site.close();
    }
}
