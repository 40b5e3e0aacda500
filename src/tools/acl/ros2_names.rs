// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of ROS 2, and the key expressions that rmw_zenoh makes of them.

/// A node by its full name, such as `/robot/talker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The full name, without the first slash.
    name: String,
}

impl Node {
    /// Reads a full name.
    pub fn read(text: &str) -> Result<Node, String> {
        let name = text.strip_prefix('/').unwrap_or(text);
        match is_name(name) {
            true => Ok(Node { name: name.into() }),
            false => Err("expected the full name of a node, such as /robot/talker".into()),
        }
    }

    /// Returns the full name.
    pub fn full_name(&self) -> String {
        format!("/{}", self.name)
    }

    /// Returns the full name of a topic, service or action, without the first slash: `name` is that
    /// itself, relative to the node's namespace, or with `~` relative to the node.
    pub fn resolve(&self, name: &str) -> Result<String, String> {
        let full = match (name.strip_prefix('/'), name.strip_prefix("~/")) {
            (Some(full), _) => full.to_owned(),
            (_, Some(own)) => format!("{}/{own}", self.name),
            _ => match self.name.rsplit_once('/') {
                Some((namespace, _)) => format!("{namespace}/{name}"),
                None => name.to_owned(),
            },
        };
        match is_name(&full) {
            true => Ok(full),
            false => Err(format!(
                "{name:?} is no name of ROS 2: letters, digits and _, in parts with / between them"
            )),
        }
    }
}

/// Returns true for parts of letters, digits and underscores, none of which begins with a digit.
fn is_name(text: &str) -> bool {
    text.split('/').all(|part| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| !first.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the key expression of a topic or service of any type.
pub fn key(domain: u32, name: &str) -> String {
    // The type and its hash are the last two chunks.
    format!("{domain}/{name}/*/*")
}

/// Returns the key expression of all that the caches and publishers of a topic declare in addition.
pub fn advanced_key(domain: u32, name: &str) -> String {
    format!("{}/@adv/**", key(domain, name))
}

/// Returns the key expression of the tokens of all nodes and their topics and services.
pub fn graph_key(domain: u32) -> String {
    format!("@ros2_lv/{domain}/**")
}

/// Returns the services of an action.
pub fn action_services(action: &str) -> [String; 3] {
    ["send_goal", "cancel_goal", "get_result"].map(|name| format!("{action}/_action/{name}"))
}

/// Returns the topics of an action.
pub fn action_topics(action: &str) -> [String; 2] {
    ["feedback", "status"].map(|name| format!("{action}/_action/{name}"))
}

/// Services that each node has for its parameters and its types.
pub const OWN_SERVICES: [&str; 7] = [
    "~/describe_parameters",
    "~/get_parameter_types",
    "~/get_parameters",
    "~/list_parameters",
    "~/set_parameters",
    "~/set_parameters_atomically",
    "~/get_type_description",
];

/// Topics that each node publishes.
pub const OWN_TOPICS: [&str; 2] = ["/rosout", "/parameter_events"];

/// Topic that each node subscribes to.
pub const HEARD_TOPIC: &str = "/parameter_events";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resolved_as_in_ros_2() {
        let node = Node::read("/robot/talker").expect("a name");
        for (name, full) in [
            ("/chatter", "chatter"),
            ("chatter", "robot/chatter"),
            ("~/chatter", "robot/talker/chatter"),
            ("/a/b_2", "a/b_2"),
        ] {
            assert_eq!(node.resolve(name).as_deref(), Ok(full), "{name}");
        }
        let bare = Node::read("talker").expect("a name");
        assert_eq!(bare.resolve("chatter").as_deref(), Ok("chatter"));
        for wrong in ["", "/", "/a//b", "/2a", "/a*", "/a b", "~", "/a/"] {
            assert!(node.resolve(wrong).is_err(), "{wrong}");
        }
        assert!(Node::read("/robot/").is_err() && Node::read("a b").is_err());
    }

    #[test]
    fn keys_are_those_of_rmw_zenoh() {
        use zonda_codec::key_expr::includes;

        let (plain, advanced) = (key(7, "robot/chatter"), advanced_key(7, "robot/chatter"));
        let sent = "7/robot/chatter/std_msgs::msg::dds_::String_/RIHS01_df66";
        assert!(includes(&plain, sent));
        assert!(!includes(
            &plain,
            "7/robot/chatter/more/std_msgs::msg::dds_::String_/RIHS01_df66"
        ));
        let cache = format!("{sent}/@adv/pub/a1/7/_/**");
        assert!(includes(&advanced, &cache) && !includes(&plain, &cache));
        assert!(includes(
            &graph_key(7),
            "@ros2_lv/7/a1/0/0/NN/%/%robot/talker"
        ));
    }
}
