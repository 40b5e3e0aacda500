// SPDX-License-Identifier: MIT OR Apache-2.0

//! State of the storages in the admin space of the node.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda::query::{Query, Queryable};
use zonda::session::openmetrics;
use zonda::{Session, Wait};

use crate::counts::Counters;
use crate::managed::Managed;

/// Limit of the time that a reply may take.
const PATIENCE: Duration = Duration::from_millis(20);

/// Version that the reference's keys report.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Declares the queryable that answers below `@/ID/ROLE/status/plugins/storage_manager`.
pub fn declare(
    session: &Session,
    managed: Arc<Mutex<Managed>>,
    counters: Counters,
) -> zonda::Result<Queryable<()>> {
    let (zid, role) = (session.zid(), session.info().whatami());
    let root = format!("@/{zid}/{role}/status/plugins/storage_manager");
    let queryable = session.declare_queryable(format!("{root}/**"));
    let answer = move |query: Query| {
        let records = records(&root, &managed.lock());
        for (key, value) in records {
            let Ok(key) = KeyExpr::new(key) else {
                continue;
            };
            if query.key_expr().intersects(&key) {
                let reply = query.reply(&key, value.to_string()).timeout(PATIENCE);
                // An asker that has gone, or does not read, gets no more.
                if reply.encoding(Encoding::APPLICATION_JSON).wait().is_err() {
                    return;
                }
            }
        }
        let key = format!("{root}/metrics");
        if KeyExpr::new(key.as_str()).is_ok_and(|key| query.key_expr().intersects(&key)) {
            let text = openmetrics(&counters.samples());
            let _ = query.reply(key, text).encoding(Encoding::TEXT_PLAIN).wait();
        }
    };
    queryable.callback(answer).wait()
}

fn records(root: &str, managed: &Managed) -> Vec<(String, Value)> {
    let plugin = json!({
        "name": "storage_manager",
        "id": "storage_manager",
        "version": VERSION,
        "long_version": format!("zonda {VERSION}"),
        "path": "__static_lib__",
        "state": "Started",
        "report": {"level": "Normal", "messages": []},
    });
    let mut records = vec![
        (root.to_owned(), plugin),
        (format!("{root}/version"), Value::from(VERSION)),
    ];
    for (name, volume) in &managed.volumes {
        records.push((format!("{root}/volumes/{name}"), volume.clone()));
    }
    for storage in &managed.storages {
        let settings = &storage.settings;
        let mut shown = Map::new();
        shown.insert("key_expr".into(), settings.key.as_str().into());
        if let Some(prefix) = &settings.strip_prefix {
            shown.insert("strip_prefix".into(), prefix.as_str().into());
        }
        shown.insert("volume".into(), settings.shown_volume.clone());
        let key = format!("{root}/storages/{}", settings.name);
        records.push((key, Value::Object(shown)));
    }
    records
}
