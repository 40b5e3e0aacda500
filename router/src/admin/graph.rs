// SPDX-License-Identifier: MIT OR Apache-2.0

//! Networks in the language of Graphviz.

use std::fmt::Write as _;

use crate::table::NetworkGraph;

/// Returns a network in the form in which the reference prints it: nodes with their ids, links with
/// their weights. Empty without nodes.
pub(crate) fn text(graph: &NetworkGraph) -> String {
    if graph.nodes.is_empty() {
        return String::new();
    }
    let mut text = String::from("graph {\n");
    for (number, zid) in graph.nodes.iter().enumerate() {
        let _ = writeln!(text, "    {number} [ label = \"{zid}\" ]");
    }
    for link in &graph.links {
        let [one, other] = link.ends;
        let _ = match link.weight {
            Some(weight) => writeln!(text, "    {one} -- {other} [ label = \"{weight:?}\" ]"),
            None => writeln!(text, "    {one} -- {other} [ ]"),
        };
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::GraphLink;

    #[test]
    fn a_network_is_printed_as_the_reference_prints_it() {
        let graph = NetworkGraph {
            nodes: ["a1", "b2"].map(|zid| zid.parse().expect("an id")).into(),
            links: vec![GraphLink {
                ends: [0, 1],
                weight: Some(100.521_922_272_518_72),
            }],
        };
        let expected = "graph {\n    0 [ label = \"a1\" ]\n    1 [ label = \"b2\" ]\n    0 -- 1 [ label = \"100.52192227251872\" ]\n}\n";
        assert_eq!(text(&graph), expected);
        assert_eq!(text(&NetworkGraph::default()), "");
    }
}
