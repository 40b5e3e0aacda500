// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gets of tests: asking sessions, queryables and results.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::mpsc::channel;

use zonda::handlers::FifoChannelHandler;
use zonda::query::{GetEnd, Query, Queryable, Reply, SessionGetBuilder};
use zonda::{Config, RecvError, Session, Wait};

use crate::pair::{LONG, alone, connected_to, pair, until};

/// Runs a case with asker and answerer in one session, in two that are linked, and with a router between them.
pub fn everywhere(case: impl Fn(&Session, &Session)) {
    let session = alone();
    case(&session, &session);
    let (asking, answering) = pair();
    case(&asking, &answering);
    let router = zonda::open(Config::router().listen(["tcp/127.0.0.1:0"]))
        .wait()
        .unwrap();
    let asking = connected_to(&router, Config::client([] as [&str; 0]));
    let answering = connected_to(&router, Config::client([] as [&str; 0]));
    case(&asking, &answering);
}

/// Waits until `asking` knows of a queryable on this key.
pub fn until_answered(asking: &Session, key: &str) {
    let querier = asking.declare_querier(key).wait().unwrap();
    until("a queryable is known", || {
        let status = querier.matching_status().wait().unwrap();
        status.matching()
    });
}

/// Declares a queryable that answers on its key with this text.
pub fn answers(session: &Session, key: &'static str, text: &'static str) -> Queryable<()> {
    let declared = session
        .declare_queryable(key)
        .callback(move |query: Query| {
            query.reply(key, text).wait().unwrap();
        })
        .wait();
    declared.unwrap()
}

/// Returns the texts of all replies, which end in time.
pub fn texts(replies: &FifoChannelHandler<Reply>) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        match replies.recv_timeout(LONG) {
            Ok(reply) => texts.push(text(&reply.expect("a reply or the end"))),
            Err(RecvError::Closed) => return texts,
            Err(other) => panic!("{other}"),
        }
    }
}

/// Returns the text of a reply.
pub fn text(reply: &Reply) -> String {
    match reply.result() {
        Ok(sample) => sample.payload().try_to_string().unwrap().into_owned(),
        Err(error) => format!("error: {error}"),
    }
}

/// Runs a get, and returns its replies and its end.
pub fn asked<'a>(get: SessionGetBuilder<'a, 'a>) -> (Vec<String>, GetEnd) {
    let (tell, told) = channel();
    let replies = get
        .on_end(move |end| tell.send(*end).unwrap())
        .wait()
        .unwrap();
    let texts = texts(&replies);
    (texts, told.recv_timeout(LONG).unwrap())
}
