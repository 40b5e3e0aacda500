// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda acl test`: the decision of a configuration about a message, and its cause.

use std::path::PathBuf;

use super::key;
use clap::Args;
use serde_json::json;
use zonda_codec::{KeyExpr, ZenohId};
use zonda_program::{Failure, complain, print};
use zonda_router::access::{Explanation, Message, Neighbour, Rules};
use zonda_router::config::{AccessControl, AccessMode, Config, Flow, MessageKind};

/// Explanation below the flags.
const HELP: &str = "\
Examples:
  zonda acl test router.json5 --user ann put demo/a           both directions
  zonda acl test router.json5 --interface eth0 --flow egress put demo/a

The neighbour has exactly the properties that are given. Ingress is from the neighbour to the router, egress from the router to the \
neighbour: a message that a router forwards passes both, each with the neighbour of that side.

Exit code: 0 if the message is allowed in the directions asked for; 1 if it is denied in one of them; 2 for bad usage or a bad \
configuration.";

/// A message, and the neighbour that it comes from or goes to.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Test {
    /// The configuration of the router
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// put, delete, query, reply, declare_subscriber, declare_queryable, liveliness_token, declare_liveliness_subscriber or
    /// liveliness_query
    #[arg(value_name = "KIND", value_parser = kind)]
    kind: MessageKind,
    /// The key of the message
    #[arg(value_name = "KEY", value_parser = key)]
    key: KeyExpr<'static>,
    /// The id of the neighbour
    #[arg(long, value_name = "ID")]
    id: Option<ZenohId>,
    /// The user that the neighbour has proved to be
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A common name in the neighbour's certificate; several times if there are several
    #[arg(long, value_name = "NAME")]
    cert_name: Vec<String>,
    /// The interface of the router that the neighbour's link uses; several times if there are several
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// The protocol of the neighbour's link, such as tcp; several times if there are several
    #[arg(long, value_name = "NAME")]
    protocol: Vec<String>,
    /// One direction: ingress or egress; both by default
    #[arg(long, value_name = "FLOW", value_parser = flow)]
    flow: Option<Flow>,
    /// Print a JSON object for each direction
    #[arg(long)]
    json: bool,
}

fn kind(text: &str) -> Result<MessageKind, String> {
    let mut all = MessageKind::ALL.into_iter();
    let found = all.find(|kind| kind.name() == text);
    let names = || MessageKind::ALL.map(MessageKind::name).join(", ");
    found.ok_or_else(|| format!("it is none of {}", names()))
}

fn flow(text: &str) -> Result<Flow, String> {
    let mut all = [Flow::Ingress, Flow::Egress].into_iter();
    let found = all.find(|flow| flow.name() == text);
    found.ok_or_else(|| "it is neither ingress nor egress".to_owned())
}

impl Test {
    /// Prints the decision.
    pub fn run(self) -> Result<(), Failure> {
        // The rules, and the warnings about them.
        let control = self.control()?;
        let is_audit = control.mode() == AccessMode::Audit;
        let rules = Rules::new(control);
        let neighbour = Neighbour {
            zid: self.id,
            user: self.user.clone(),
            cert_names: self.cert_name.clone(),
            interfaces: self.interface.clone(),
            protocols: self.protocol.clone(),
        };
        let flows = match self.flow {
            Some(flow) => vec![flow],
            None => vec![Flow::Ingress, Flow::Egress],
        };
        let mut is_allowed = true;
        for flow in flows {
            let (kind, key) = (self.kind, &self.key);
            let explanation = rules.explain(&neighbour, Message { flow, kind, key });
            is_allowed &= explanation.is_allowed || is_audit;
            match self.json {
                true => print(format_args!("{}", as_json(flow, &explanation, is_audit))),
                false => print_lines(flow, &explanation, is_audit),
            }
        }
        match is_allowed {
            true => Ok(()),
            false => Err(Failure::NoResult),
        }
    }

    fn control(&self) -> Result<AccessControl, Failure> {
        let usage = |error: String| Failure::Usage(format!("{}: {error}", self.file.display()));
        let mut config = Config::from_file(&self.file).map_err(|error| usage(error.to_string()))?;
        if config.insert_json5("mode", "'router'").is_err() {
            return Err(usage("it is for no router".into()));
        }
        config
            .validate()
            .map_err(|error| usage(error.to_string()))?;
        for warning in config.warnings() {
            if warning.key.starts_with("access_control") {
                complain(format_args!("warning: {warning}"));
            }
        }
        let control = config.settings().access_control().ok().flatten();
        control.ok_or_else(|| usage("access_control/enabled is not true, so all is allowed".into()))
    }
}

/// Returns the decision in words.
fn decision(explanation: &Explanation, is_audit: bool) -> &'static str {
    match (explanation.is_allowed, is_audit) {
        (true, _) => "allowed",
        (false, true) => "allowed and counted, because of the mode audit; else denied",
        (false, false) => "denied",
    }
}

fn print_lines(flow: Flow, explanation: &Explanation, is_audit: bool) {
    let by = explanation.cause();
    let decision = decision(explanation, is_audit);
    print(format_args!("{}: {decision} {by}", flow.name()));
    let subjects = match explanation.subjects.is_empty() {
        true => "none".to_owned(),
        false => quoted(&explanation.subjects),
    };
    print(format_args!("  subjects of the neighbour: {subjects}"));
    for hint in &explanation.hints {
        print(format_args!("  {hint}"));
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

fn as_json(flow: Flow, explanation: &Explanation, is_audit: bool) -> serde_json::Value {
    let by = explanation
        .by
        .as_ref()
        .map(|by| json!({"rule": by.rule, "policies": by.policies, "subjects": by.subjects}));
    json!({
        "flow": flow.name(),
        "allowed": explanation.is_allowed || is_audit,
        "audit": is_audit && !explanation.is_allowed,
        "by": by,
        "subjects": explanation.subjects,
        "hints": explanation.hints,
    })
}
