// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda acl ros2`: the rules that a ROS 2 node of rmw_zenoh needs at a router.

use clap::Args;
use serde_json::{Value, json};
use zonda_codec::ZenohId;
use zonda_program::{Failure, complain, print_lines};

use super::ros2_names::{
    HEARD_TOPIC, Node, OWN_SERVICES, OWN_TOPICS, action_services, action_topics, advanced_key,
    graph_key, key,
};

/// Explanation below the flags.
const HELP: &str = "\
Examples:
  zonda acl ros2 --node /talker --publishes /chatter --user talker
  zonda acl ros2 --domain 7 --node /arm --serves /arm/stop --cert-name arm
  zonda acl ros2 --node /nav --acts /navigate --calls /map/load --user nav

Prints a configuration of a router with which it lets the node do what is named, and nothing else. Rules of several nodes go into \
one file: append the lists. Topics and services of parameters, /rosout, and the graph that `ros2 node list` shows are included.

Messages between nodes of one machine do not pass a router unless they are clients of it (mode: \"client\" in their \
configuration).";

/// A node, and what it does.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Ros2 {
    /// The full name of the node
    #[arg(long, value_name = "NAME", value_parser = Node::read)]
    node: Node,
    /// The domain; ROS_DOMAIN_ID of the environment by default, else 0
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=232))]
    domain: Option<u32>,
    /// A topic that it publishes; several times if there are several
    #[arg(long, value_name = "TOPIC")]
    publishes: Vec<String>,
    /// A topic that it subscribes to; several times if there are several
    #[arg(long, value_name = "TOPIC")]
    subscribes: Vec<String>,
    /// A service that it has; several times if there are several
    #[arg(long, value_name = "SERVICE")]
    serves: Vec<String>,
    /// A service that it calls; several times if there are several
    #[arg(long, value_name = "SERVICE")]
    calls: Vec<String>,
    /// An action that it performs; several times if there are several
    #[arg(long, value_name = "ACTION")]
    acts: Vec<String>,
    /// An action whose goals it sends; several times if there are several
    #[arg(long, value_name = "ACTION")]
    commands: Vec<String>,
    /// Leave out the services of parameters, /parameter_events and /rosout
    #[arg(long)]
    minimal: bool,
    /// The user that the node proves to be
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The common name in the node's certificate
    #[arg(long, value_name = "NAME")]
    cert_name: Option<String>,
    /// The interface of the router that the node's link uses
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// The id of the node's session, which it may choose itself
    #[arg(long, value_name = "ID")]
    id: Option<ZenohId>,
}

/// Full names of what a node does.
#[derive(Debug, Default)]
struct Doing {
    publishes: Vec<String>,
    subscribes: Vec<String>,
    serves: Vec<String>,
    calls: Vec<String>,
}

impl Ros2 {
    /// Prints the configuration.
    pub fn run(self) -> Result<(), Failure> {
        let doing = self.doing().map_err(Failure::Usage)?;
        let subject = self.subject();
        if subject
            .as_object()
            .is_some_and(|subject| subject.len() == 1)
        {
            complain(format_args!(
                "warning: the rules are for every neighbour; name this one by --user or --cert-name"
            ));
        }
        let rules = rules(&self.node, self.domain()?, &doing);
        let ids: Vec<_> = rules.iter().map(|rule| rule["id"].clone()).collect();
        let name = self.node.full_name();
        let control = json!({
            "access_control": {
                "enabled": true,
                "default_permission": "deny",
                "rules": rules,
                "subjects": [subject],
                "policies": [{"id": name, "rules": ids, "subjects": [name]}],
            }
        });
        let text = serde_json::to_string_pretty(&control);
        let text = text.map_err(|error| Failure::Run(error.to_string()))?;
        print_lines(format_args!("{text}"));
        Ok(())
    }

    fn domain(&self) -> Result<u32, Failure> {
        let given = std::env::var("ROS_DOMAIN_ID").unwrap_or_default();
        let read = |text: &str| {
            let number = text.parse().ok().filter(|number| *number <= 232);
            number.ok_or_else(|| {
                Failure::Usage(format!(
                    "ROS_DOMAIN_ID: {text:?} is no number from 0 to 232"
                ))
            })
        };
        match self.domain {
            Some(domain) => Ok(domain),
            None if given.is_empty() => Ok(0),
            None => read(&given),
        }
    }

    /// Resolves the names, and expands actions into their topics and services.
    fn doing(&self) -> Result<Doing, String> {
        let all = |names: &[String]| -> Result<Vec<String>, String> {
            names.iter().map(|name| self.node.resolve(name)).collect()
        };
        let mut doing = Doing {
            publishes: all(&self.publishes)?,
            subscribes: all(&self.subscribes)?,
            serves: all(&self.serves)?,
            calls: all(&self.calls)?,
        };
        for action in all(&self.acts)? {
            doing.serves.extend(action_services(&action));
            doing.publishes.extend(action_topics(&action));
        }
        for action in all(&self.commands)? {
            doing.calls.extend(action_services(&action));
            doing.subscribes.extend(action_topics(&action));
        }
        if !self.minimal {
            doing.serves.extend(all(&OWN_SERVICES.map(str::to_owned))?);
            doing.publishes.extend(all(&OWN_TOPICS.map(str::to_owned))?);
            doing.subscribes.push(self.node.resolve(HEARD_TOPIC)?);
        }
        Ok(doing)
    }

    fn subject(&self) -> Value {
        let mut subject = json!({"id": self.node.full_name()});
        let zid = self.id.map(|id| id.to_string());
        for (list, item) in [
            ("usernames", &self.user),
            ("cert_common_names", &self.cert_name),
            ("interfaces", &self.interface),
            ("zids", &zid),
        ] {
            if let Some(item) = item {
                subject[list] = json!([item]);
            }
        }
        subject
    }
}

/// Kinds of messages that pass a link in one direction, on the keys of some names.
struct Right {
    name: &'static str,
    flow: &'static str,
    messages: &'static [&'static str],
    /// True for the keys of caches: those of topics with the durability transient local.
    is_of_caches: bool,
}

impl Right {
    const fn new(
        name: &'static str,
        flow: &'static str,
        messages: &'static [&'static str],
    ) -> Right {
        Right {
            name,
            flow,
            messages,
            is_of_caches: false,
        }
    }

    const fn of_caches(self) -> Right {
        Right {
            is_of_caches: true,
            ..self
        }
    }

    /// Returns the rule with this right for `names`; `None` without any.
    fn rule(&self, node: &str, domain: u32, names: &[String]) -> Option<Value> {
        let key = |name: &String| match self.is_of_caches {
            true => advanced_key(domain, name),
            false => key(domain, name),
        };
        let keys: Vec<_> = names.iter().map(key).collect();
        (!keys.is_empty()).then(|| {
            json!({
                "id": format!("{node} {}", self.name),
                "permission": "allow",
                "flows": [self.flow],
                "messages": self.messages,
                "key_exprs": keys,
            })
        })
    }
}

/// Kinds of messages of a cache, and of the node that asks it.
const CACHE: &[&str] = &["declare_queryable", "reply", "liveliness_token", "put"];
const CACHE_QUERIES: &[&str] = &[
    "query",
    "declare_liveliness_subscriber",
    "liveliness_query",
    "declare_subscriber",
];

/// Rights of a publisher, as the router sees its messages. Its cache replies on the key of the topic.
const PUBLISHES: [Right; 4] = [
    Right::new("publishes", "ingress", &["put", "reply"]),
    Right::new("publishes: subscribers", "egress", &["declare_subscriber"]),
    Right::new("publishes: cache", "ingress", CACHE).of_caches(),
    Right::new("publishes: cache queries", "egress", CACHE_QUERIES).of_caches(),
];

const SUBSCRIBES: [Right; 4] = [
    Right::new("subscribes", "ingress", &["declare_subscriber"]),
    Right::new("subscribes: samples", "egress", &["put", "reply"]),
    Right::new("subscribes: cache queries", "ingress", CACHE_QUERIES).of_caches(),
    Right::new("subscribes: caches", "egress", CACHE).of_caches(),
];

const SERVES: [Right; 2] = [
    Right::new("serves", "ingress", &["declare_queryable", "reply"]),
    Right::new("serves: requests", "egress", &["query"]),
];

const CALLS: [Right; 2] = [
    Right::new("calls", "ingress", &["query"]),
    Right::new("calls: services", "egress", &["declare_queryable", "reply"]),
];

/// Returns the rules of what a node does.
fn rules(node: &Node, domain: u32, doing: &Doing) -> Vec<Value> {
    let node = node.full_name();
    let mut rules = Vec::new();
    for (rights, names) in [
        (&PUBLISHES[..], &doing.publishes),
        (&SUBSCRIBES[..], &doing.subscribes),
        (&SERVES[..], &doing.serves),
        (&CALLS[..], &doing.calls),
    ] {
        let own = rights.iter();
        rules.extend(own.filter_map(|right| right.rule(&node, domain, names)));
    }
    rules.push(json!({
        "id": format!("{node} graph"),
        "permission": "allow",
        "flows": ["ingress", "egress"],
        "messages": ["liveliness_token", "liveliness_query", "declare_liveliness_subscriber"],
        "key_exprs": [graph_key(domain)],
    }));
    rules
}
