// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda trace --stack`: where messages spend their time, as their time-stamp stacks tell.

use std::time::{Duration, Instant};

use serde_json::json;
use zonda::handlers::RecvError;
use zonda::query::Reply;
use zonda::sample::Sample;
use zonda::timestamp_stack::TimestampStack;
use zonda::{Session, Wait};
use zonda_program::{Failure, Interrupt, await_attempts, complain, plain, print, print_lines};

use super::super::show::NOTICE;
use super::super::stamps::every_point;
use super::super::start::Start;
use super::Trace;
use super::steps::{Steps, Summary};

/// Printer of stacks.
#[derive(Default)]
struct Shown {
    as_json: bool,
    count: u64,
    is_missing_said: bool,
    is_odd_said: bool,
    summary: Summary,
}

impl Trace {
    /// Shows the stacks of messages on the key, or of replies to a query.
    pub(super) fn show_stacks(&self, interrupt: &Interrupt) -> Result<(), Failure> {
        let session = self.connection.open()?;
        let mut shown = Shown {
            as_json: self.connection.json,
            ..Shown::default()
        };
        let outcome = match self.ask {
            true => self.ask_for_stacks(&session, interrupt, &mut shown),
            false => self.subscribe_to_stacks(&session, interrupt, &mut shown),
        };
        session.close().wait()?;
        outcome?;
        shown.finish();
        Ok(())
    }

    fn subscribe_to_stacks(
        &self,
        session: &Session,
        interrupt: &Interrupt,
        shown: &mut Shown,
    ) -> Result<(), Failure> {
        let subscriber = session.declare_subscriber(self.key.as_str()).wait()?;
        let mut start = Start::new(session, self.connection.json);
        let end = Instant::now() + Duration::from_secs(self.seconds);
        let limit = self.count.unwrap_or(u64::MAX);
        while shown.count < limit && Instant::now() < end && !interrupt.happened() {
            start.look();
            if let Some(sample) = subscriber.recv_timeout(NOTICE)? {
                shown.show_sample(&sample);
            }
        }
        Ok(())
    }

    /// Sends one query after the other.
    fn ask_for_stacks(
        &self,
        session: &Session,
        interrupt: &Interrupt,
        shown: &mut Shown,
    ) -> Result<(), Failure> {
        await_attempts(session);
        let end = Instant::now() + Duration::from_secs(self.seconds);
        for _ in 0..self.count.unwrap_or(1) {
            let get = session.get(self.key.as_str());
            let replies = get.timestamp_instrumentation(every_point()).wait()?;
            loop {
                if interrupt.happened() || Instant::now() >= end {
                    return Ok(());
                }
                match replies.recv_timeout(NOTICE) {
                    Ok(Some(reply)) => shown.show_reply(&reply),
                    Ok(None) => {}
                    Err(RecvError::Closed) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        match shown.count {
            0 => Err(Failure::Run(format!(
                "no queryable has answered on {} with a time-stamp stack: declare one (zonda queryable), or leave out \
                 --ask to wait for publications",
                self.key
            ))),
            _ => Ok(()),
        }
    }
}

impl Shown {
    fn show_sample(&mut self, sample: &Sample) {
        let (kind, key) = (sample.kind().to_string(), sample.key_expr().as_str());
        let bytes = sample.payload().len();
        self.show(&kind, key, bytes, sample.timestamp_stack());
    }

    fn show_reply(&mut self, reply: &Reply) {
        match reply.result() {
            Ok(sample) => self.show(
                "REPLY",
                sample.key_expr().as_str(),
                sample.payload().len(),
                sample.timestamp_stack(),
            ),
            Err(error) => self.show("ERROR", "", error.payload().len(), error.timestamp_stack()),
        }
    }

    fn show(&mut self, kind: &str, key: &str, bytes: usize, stack: Option<&TimestampStack>) {
        let Some(stack) = stack else {
            if !std::mem::replace(&mut self.is_missing_said, true) {
                complain(format_args!(
                    "note: messages without a time-stamp stack are not shown: their sender asks for one, by `zonda put --stack` \
                     or `.timestamp_instrumentation(..)`"
                ));
            }
            return;
        };
        self.count += 1;
        let steps = Steps::of(stack);
        self.summary.add(&steps);
        if steps.has_odd_clocks() && !std::mem::replace(&mut self.is_odd_said, true) {
            complain(format_args!(
                "note: a step took less than 0: the clocks of two nodes differ, and steps between nodes are as exact as these"
            ));
        }
        if self.as_json {
            let mut line = json!({"kind": kind, "key": key, "bytes": bytes});
            line["stack"] = steps.json();
            return print(format_args!("{line}"));
        }
        let what = match key {
            "" => format!("{kind}  {bytes} B"),
            key => format!("{kind} {}  {bytes} B", plain(key)),
        };
        print_lines(format_args!("{}\n\n", steps.lines(&what)));
    }

    fn finish(&self) {
        if !self.as_json {
            for table in self.summary.tables() {
                print_lines(format_args!("{table}\n"));
            }
        }
    }
}
