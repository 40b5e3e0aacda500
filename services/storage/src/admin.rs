// SPDX-License-Identifier: MIT OR Apache-2.0

//! State of the storages in the admin space of the node.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda::query::{Query, Queryable};
use zonda::session::openmetrics;
use zonda::{Session, Wait};

use crate::counts::Counters;
use crate::storage::Storage;

/// Limit of the time that a reply may take.
const PATIENCE: Duration = Duration::from_millis(20);

/// Version that the reference's keys report.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Declares the queryable that answers below `@/ID/ROLE/status/plugins/storage_manager`.
pub fn declare(
    session: &Session,
    volumes: Vec<(String, Value)>,
    storages: Arc<Vec<Storage>>,
) -> zonda::Result<Queryable<()>> {
    let (zid, role) = (session.zid(), session.info().whatami());
    let root = format!("@/{zid}/{role}/status/plugins/storage_manager");
    let queryable = session.declare_queryable(format!("{root}/**"));
    let answer = move |query: Query| {
        for (key, value) in records(&root, &volumes, &storages) {
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
            let text = openmetrics(&Counters::of(&storages).samples());
            let _ = query.reply(key, text).encoding(Encoding::TEXT_PLAIN).wait();
        }
    };
    queryable.callback(answer).wait()
}

fn records(root: &str, volumes: &[(String, Value)], storages: &[Storage]) -> Vec<(String, Value)> {
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
    for (name, volume) in volumes {
        records.push((format!("{root}/volumes/{name}"), volume.clone()));
    }
    for storage in storages {
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
