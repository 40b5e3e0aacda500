// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a session holds for each get that is under way, and for each query that waits for
//! its answer.

use zonda::handlers::FifoChannel;
use zonda::query::{ConsolidationMode, Query, Reply};
use zonda::{Config, Wait};

use crate::counting::held;

const GETS: usize = 20_000;

#[test]
fn a_get_under_way_takes_little_and_gives_it_back() {
    let session = zonda::open(Config::peer().listen([] as [&str; 0]));
    let session = session.wait().expect("a peer opens");
    let queue = FifoChannel::new(GETS);
    let queryable = session.declare_queryable("demo/a").with(queue).wait();
    let queryable = queryable.expect("declared");
    let before = held();
    for _ in 0..GETS {
        let get = session.get("demo/a").consolidation(ConsolidationMode::None);
        let get = get.callback(|_: Reply| {});
        get.wait().expect("asked");
    }
    let each = (held() - before) / GETS as i64;
    assert!(
        each <= 1400,
        "{each} bytes for each get and the query that waits"
    );
    let queries: Vec<Query> = queryable.drain().collect();
    assert_eq!(queries.len(), GETS);
    drop(queries);
    let left = (held() - before) / GETS as i64;
    assert!(left <= 200, "{left} bytes are left for each");
}
