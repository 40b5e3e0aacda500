// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links whose loss disconnects nodes.

/// A link, and the nodes on its smaller side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) link: usize,
    pub(crate) nodes: Vec<usize>,
}

/// A node on the current path of the search.
struct Visit {
    node: usize,
    /// The link that led to the node.
    by: Option<usize>,
    next: usize,
}

/// State of the search.
struct Search<'a> {
    /// Links of each node, with the nodes at their other ends.
    linked: Vec<Vec<(usize, usize)>>,
    links: &'a [[usize; 2]],
    /// Order in which each node was reached, from 1; 0 if it was not.
    reached: Vec<usize>,
    /// Earliest node that is linked to the node or to a node below it.
    lowest: Vec<usize>,
    /// The nodes in the order in which they were reached.
    order: Vec<usize>,
    cuts: Vec<Cut>,
}

/// Returns the links whose loss disconnects nodes, each with the nodes of its smaller side.
pub(crate) fn bridges(nodes: usize, links: &[[usize; 2]]) -> Vec<Cut> {
    let mut linked = vec![Vec::new(); nodes];
    for (link, [one, other]) in links.iter().copied().enumerate() {
        linked[one].push((link, other));
        linked[other].push((link, one));
    }
    let mut search = Search {
        linked,
        links,
        reached: vec![0; nodes],
        lowest: vec![0; nodes],
        order: Vec::new(),
        cuts: Vec::new(),
    };
    for root in 0..nodes {
        if search.reached[root] == 0 {
            search.component(root);
        }
    }
    search.cuts.sort_unstable_by_key(|cut| cut.link);
    search.cuts
}

impl Search<'_> {
    fn component(&mut self, root: usize) {
        // Depth-first search without recursion: a link is a bridge if nothing below it reaches
        // above.
        let (first, known) = (self.order.len(), self.cuts.len());
        self.reach(root);
        let mut path = vec![Visit {
            node: root,
            by: None,
            next: 0,
        }];
        while let Some(visit) = path.last_mut() {
            let (node, by) = (visit.node, visit.by);
            let Some(&(link, other)) = self.linked[node].get(visit.next) else {
                path.pop();
                if let Some(above) = path.last() {
                    self.leave(above.node, node, by);
                }
                continue;
            };
            visit.next += 1;
            if Some(link) == by {
                continue;
            }
            if self.reached[other] > 0 {
                self.lowest[node] = self.lowest[node].min(self.reached[other]);
            } else {
                self.reach(other);
                path.push(Visit {
                    node: other,
                    by: Some(link),
                    next: 0,
                });
            }
        }
        // The smaller side of each bridge is the one that is cut off.
        let all: Vec<usize> = self.order[first..].to_vec();
        for cut in &mut self.cuts[known..] {
            if cut.nodes.len() * 2 > all.len() {
                let below: std::collections::HashSet<usize> = cut.nodes.iter().copied().collect();
                cut.nodes = all.iter().copied().filter(|n| !below.contains(n)).collect();
            }
            cut.nodes.sort_unstable();
        }
    }

    fn reach(&mut self, node: usize) {
        self.order.push(node);
        self.reached[node] = self.order.len();
        self.lowest[node] = self.order.len();
    }

    /// Ends the visit of `node`, whose links have all been followed.
    fn leave(&mut self, above: usize, node: usize, by: Option<usize>) {
        self.lowest[above] = self.lowest[above].min(self.lowest[node]);
        if self.lowest[node] > self.reached[above]
            && let Some(link) = by
        {
            debug_assert!(self.links[link].contains(&node));
            // All nodes that were reached since are below it.
            let nodes = self.order[self.reached[node] - 1..].to_vec();
            self.cuts.push(Cut { link, nodes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_side_of_a_bridge_is_cut_off() {
        // A ring of three, with a line of two and a double link.
        let links = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [0, 5], [5, 0]];
        let cut = |link, nodes: &[usize]| Cut {
            link,
            nodes: nodes.to_vec(),
        };
        assert_eq!(bridges(7, &links), [cut(3, &[3, 4]), cut(4, &[4])]);
    }

    #[test]
    fn it_agrees_with_trying_each_link() {
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..200 {
            let nodes = 2 + random(8);
            let links: Vec<[usize; 2]> = (0..random(12))
                .map(|_| [random(nodes), random(nodes)])
                .filter(|[one, other]| one != other)
                .collect();
            let parts = |without: Option<usize>| {
                let mut part: Vec<usize> = (0..nodes).collect();
                for _ in 0..nodes {
                    for (at, [one, other]) in links.iter().enumerate() {
                        if Some(at) != without {
                            let least = part[*one].min(part[*other]);
                            (part[*one], part[*other]) = (least, least);
                        }
                    }
                }
                part
            };
            let whole = parts(None);
            let cuts: Vec<usize> = bridges(nodes, &links).iter().map(|cut| cut.link).collect();
            let tried = (0..links.len()).filter(|link| parts(Some(*link)) != whole);
            assert_eq!(cuts, tried.collect::<Vec<_>>(), "{links:?}");
        }
    }
}
