// SPDX-License-Identifier: MIT OR Apache-2.0

//! Source of the records of time-stamp stacks: the times at which a message passes the points of
//! this node. A message without a stack never reaches this module.

use std::sync::atomic::{AtomicU64, Ordering};

use zonda_codec::{TsStack, TsStackBuf, WhatAmI, Writer, ZenohId};
use zonda_runtime::guard::caught;
use zonda_transport::log_limit::LogLimit;

use crate::{flow::stamp::Timestamps, node::log::log_panic};

/// The node that calls a function for timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampContext {
    /// The id of the node.
    pub zid: ZenohId,
    /// The role of the node.
    pub whatami: WhatAmI,
}

/// Function of an application that returns the time of a record, in a format of its own; no bytes
/// for no record.
pub type TimestampCallback = Box<dyn Fn(TimestampContext) -> Vec<u8> + Send + Sync>;

/// Source of the times of a node's records.
#[derive(Default)]
pub(crate) struct Interceptor {
    callback: Option<TimestampCallback>,
    /// Records that a full stack did not take, and times that the application did not return.
    not_recorded: AtomicU64,
}

/// Longest wire form of a timestamp.
const TIMESTAMP_BYTES_MAX: usize = 26;

impl Interceptor {
    pub(crate) fn new(callback: Option<TimestampCallback>) -> Interceptor {
        Interceptor {
            callback,
            not_recorded: AtomicU64::new(0),
        }
    }

    /// Returns the number of records that are missing in stacks.
    pub(crate) fn not_recorded(&self) -> u64 {
        self.not_recorded.load(Ordering::Relaxed)
    }

    /// Appends the present time, if the stack collects times at this point.
    pub(crate) fn record(
        &self,
        stack: &mut TsStackBuf,
        point: u8,
        node: TimestampContext,
        clock: &Timestamps,
    ) {
        if !stack.view().collects(point) {
            return;
        }
        let is_recorded = match &self.callback {
            None => {
                let mut bytes = [0; TIMESTAMP_BYTES_MAX];
                let mut writer = Writer::new(&mut bytes);
                clock.next().write(&mut writer).is_ok() && stack.push(point, writer.written())
            }
            Some(callback) => match caught(|| callback(node)) {
                Ok(time) if time.is_empty() => return,
                Ok(time) => stack.push(point | TsStack::CUSTOM, &time),
                Err(_) => {
                    static PANICKED: LogLimit = LogLimit::new();
                    let text = "the function for timestamps panicked; the record is left out";
                    log_panic(&PANICKED, format_args!("{text}"));
                    false
                }
            },
        };
        if !is_recorded {
            self.not_recorded.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Stacks of a query that begins at this node.
#[derive(Debug, Clone)]
pub struct QueryStack {
    /// The stack for queryables of the session.
    pub(crate) sent: TsStackBuf,
    /// The stack for neighbours.
    pub(crate) routed: TsStackBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn node() -> TimestampContext {
        TimestampContext {
            zid: ZenohId::random_from(7),
            whatami: WhatAmI::Router,
        }
    }

    fn clock() -> Timestamps {
        Timestamps::new(node().zid, &Config::router().settings())
    }

    #[test]
    fn only_the_points_of_the_stack_are_recorded() {
        let interceptor = Interceptor::default();
        let mut stack = TsStackBuf::new(TsStack::ROUTE).expect("a stack");
        for point in [TsStack::SEND, TsStack::ROUTE, TsStack::RECEIVE] {
            interceptor.record(&mut stack, point, node(), &clock());
        }
        let records: Vec<_> = stack.view().entries().collect();
        let [(TsStack::ROUTE, time)] = records[..] else {
            panic!("other records: {records:?}");
        };
        let time = zonda_codec::Timestamp::read(&mut zonda_codec::Reader::new(time));
        assert_eq!(time.expect("a timestamp").id(), node().zid);
    }

    #[test]
    fn what_is_not_recorded_is_counted() {
        let interceptor = Interceptor::default();
        let mut stack = TsStackBuf::new(TsStack::ROUTE).expect("a stack");
        for _ in 0..300 {
            interceptor.record(&mut stack, TsStack::ROUTE, node(), &clock());
        }
        assert_eq!(stack.view().entries().count(), TsStack::RECORDS_MAX);
        assert_eq!(interceptor.not_recorded(), 45);
    }

    #[test]
    fn a_function_gives_its_own_time_none_or_panics() {
        for (given, records, not_recorded) in [
            (Some(b"noon".to_vec()), 1, 0),
            (Some(Vec::new()), 0, 0),
            (Some(vec![0; TsStackBuf::BYTES_MAX]), 0, 1),
            (None, 0, 1),
        ] {
            let callback = move |context| {
                assert_eq!(context, node());
                given.clone().expect("the time is known")
            };
            let interceptor = Interceptor::new(Some(Box::new(callback)));
            let mut stack = TsStackBuf::new(TsStack::SEND).expect("a stack");
            interceptor.record(&mut stack, TsStack::SEND, node(), &clock());
            assert_eq!(stack.view().entries().count(), records);
            assert_eq!(interceptor.not_recorded(), not_recorded);
            let is_custom = |(flags, _)| flags == TsStack::SEND | TsStack::CUSTOM;
            assert!(stack.view().entries().all(is_custom));
        }
    }
}
