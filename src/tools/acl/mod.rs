// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda acl`: rules of access control, their decisions, and those that ROS 2 nodes need.

mod ros2;
mod ros2_names;
mod test;

use clap::Subcommand;
use zonda_codec::KeyExpr;
use zonda_program::Failure;

use ros2::Ros2;
use test::Test;

/// Write rules of access control, and see what they decide.
#[derive(Subcommand, Clone, Debug)]
pub enum Acl {
    /// Say if a message is allowed, by which rule, policy and subject, and what would change that
    Test(Box<Test>),
    /// Print the rules that a ROS 2 node needs at a router which denies everything else
    Ros2(Box<Ros2>),
}

impl Acl {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Acl::Test(test) => test.run(),
            Acl::Ros2(ros2) => ros2.run(),
        }
    }
}

/// Reads a key expression of the command line.
pub(super) fn key(text: &str) -> Result<KeyExpr<'static>, String> {
    KeyExpr::try_from(text.to_owned()).map_err(|error| error.to_string())
}
