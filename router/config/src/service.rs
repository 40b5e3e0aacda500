// SPDX-License-Identifier: MIT OR Apache-2.0

//! QoS in rules: priority, congestion control, express, reliability.

use zonda_codec::{CongestionControl, Priority, Reliability};

use crate::{
    rule::{one_of, yes_or_no},
    value::Located,
};

/// The QoS that a rule gives; `None` for each part that it does not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceGiven {
    /// Priority of the message.
    pub priority: Option<Priority>,
    /// Behaviour when a neighbour is slow.
    pub congestion_control: Option<CongestionControl>,
    /// True if a message is sent without waiting for more messages in its batch.
    pub express: Option<bool>,
    /// Reliability of the message on every hop.
    pub reliability: Option<Reliability>,
}

impl ServiceGiven {
    /// Reads a member of an object; returns false if it is not part of the QoS.
    pub(super) fn take(&mut self, name: &str, member: &Located) -> Result<bool, String> {
        match name {
            "priority" => self.priority = Some(one_of(name, member, &PRIORITIES)?),
            "congestion_control" => {
                self.congestion_control = Some(one_of(name, member, &CONGESTION_CONTROLS)?);
            }
            "express" => self.express = Some(yes_or_no(name, member)?),
            "reliability" => self.reliability = Some(one_of(name, member, &RELIABILITIES)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) const PRIORITIES: [(&str, Priority); 7] = [
    ("real_time", Priority::RealTime),
    ("interactive_high", Priority::InteractiveHigh),
    ("interactive_low", Priority::InteractiveLow),
    ("data_high", Priority::DataHigh),
    ("data", Priority::Data),
    ("data_low", Priority::DataLow),
    ("background", Priority::Background),
];

const CONGESTION_CONTROLS: [(&str, CongestionControl); 3] = [
    ("drop", CongestionControl::Drop),
    ("block", CongestionControl::Block),
    ("block_first", CongestionControl::BlockFirst),
];

const RELIABILITIES: [(&str, Reliability); 2] = [
    ("best_effort", Reliability::BestEffort),
    ("reliable", Reliability::Reliable),
];
