// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rehearsal of a plan, stage by stage.

use std::time::Duration;

use zonda_codec::WhatAmI;

use crate::bridges::bridges;
use crate::load::{Declarations, declare, publish};
use crate::outcome::{Bridge, Change, LinkUse, Outcome, RouterUse};
use crate::plan::Plan;
use crate::topology::Graph;
use crate::world::{Counts, World};

/// Number of stages of a rehearsal: all links come up, rest, messages, a loss, messages again.
pub const STAGES: usize = 5;

/// Duration of the rest, within which routers repeat their link states.
const REST: Duration = Duration::from_secs(15);

/// A plan that is being rehearsed.
pub struct Rehearsal {
    graph: Graph,
    world: World,
    declared: Declarations,
    lost: Vec<usize>,
    outcome: Outcome,
}

/// The totals of all links and routers so far.
#[derive(Clone, Copy)]
struct Total {
    counts: Counts,
    reshaped: u64,
}

impl Rehearsal {
    /// Prepares a rehearsal of a plan that was [parsed](Plan::parse).
    pub fn new(plan: &Plan) -> Rehearsal {
        // `Plan::parse` has found the faults of the plan.
        let graph = plan.graph().unwrap_or_default();
        let mut world = World::new(&graph);
        let declared = declare(&mut world, &graph, &plan.load);
        let lost = plan.lost(&graph).unwrap_or_default();
        let outcome = Outcome {
            nodes: graph.names.len(),
            routers: count_routers(&graph),
            ..Outcome::default()
        };
        Rehearsal {
            graph,
            world,
            declared,
            lost,
            outcome,
        }
    }

    /// Runs all stages. `progress` is called now and then with the number of finished [`STAGES`]
    /// and the current work.
    pub fn run(mut self, progress: &mut dyn FnMut(usize, &str)) -> Outcome {
        // The network as planned, and its messages.
        let come_up = |world: &mut World| {
            for link in 0..world.links.len() {
                world.connect(link);
            }
        };
        self.change("all links come up", &mut |what| progress(0, what), come_up);
        self.rest(&mut |what| progress(1, what));
        self.outcome.load = self.publish(&mut |what| progress(2, what));
        self.outcome.links = self.links();
        self.outcome.router_use = self.routers();
        // After a loss, the messages once more.
        if self.lose(&mut |what| progress(3, what)) {
            self.outcome.after_loss = self.publish(&mut |what| progress(4, what));
        }
        // The links whose loss would cut off nodes.
        let ends: Vec<[usize; 2]> = self.graph.links.iter().map(|edge| edge.ends).collect();
        let cuts = bridges(self.graph.names.len(), &ends).into_iter();
        let bridges = cuts.map(|cut| Bridge {
            ends: self.ends(cut.link),
            cut_off: cut.nodes.iter().map(|node| self.name(*node)).collect(),
        });
        self.outcome.bridges = bridges.collect();
        self.outcome.steps = self.world.steps;
        self.outcome
    }

    /// Makes a change, and runs the network until all tables have it.
    fn change(
        &mut self,
        what: &str,
        progress: &mut dyn FnMut(&str),
        change: impl FnOnce(&mut World),
    ) {
        let (before, begin) = (self.total(), self.world.now);
        self.world.last = begin;
        change(&mut self.world);
        self.world
            .run(&mut |steps| progress(&format!("{what}: {steps} steps")));
        self.note(what, before, self.world.last - begin);
    }

    /// Waits for what routers repeat after a while at rest.
    fn rest(&mut self, progress: &mut dyn FnMut(&str)) {
        progress("at rest");
        let (before, begin) = (self.total(), self.world.now);
        self.world.last = begin;
        self.world.pass(REST);
        self.note("said once more at rest", before, self.world.last - begin);
    }

    fn note(&mut self, what: &str, before: Total, time: Duration) {
        let now = self.total();
        self.outcome.changes.push(Change {
            what: what.to_owned(),
            converged_ms: time.as_secs_f64() * 1000.0,
            declarations: now.counts.declarations - before.counts.declarations,
            interests: now.counts.interests - before.counts.interests,
            link_states: now.counts.link_states - before.counts.link_states,
            bytes: now.counts.bytes - before.counts.bytes,
            reshaped: now.reshaped - before.reshaped,
        });
    }

    fn publish(&mut self, progress: &mut dyn FnMut(&str)) -> crate::outcome::Delivery {
        publish(&mut self.world, &self.declared, &mut |at, all| {
            if at % 100 == 0 {
                progress(&format!("publisher {at} of {all}"));
            }
        })
    }

    /// Breaks the links that the plan loses, or the busiest link between routers. Returns false if
    /// there is none.
    fn lose(&mut self, progress: &mut dyn FnMut(&str)) -> bool {
        let mut lost = self.lost.clone();
        // Without a list in the plan, the busiest link between routers is lost.
        if lost.is_empty() {
            let between_routers = (0..self.graph.links.len()).filter(|link| {
                let ends = self.graph.links[*link].ends;
                ends.iter()
                    .all(|end| self.graph.roles[*end] == WhatAmI::Router)
            });
            let busiest = between_routers.max_by_key(|link| {
                let counts = self.world.links[*link].counts;
                (counts.data, counts.bytes)
            });
            lost.extend(busiest);
        }
        if lost.is_empty() {
            return false;
        }
        let named = lost.iter().map(|link| self.ends(*link).join(" - "));
        let what = format!("loss of {}", named.collect::<Vec<_>>().join(", "));
        self.change(&what, progress, |world| {
            for link in lost {
                world.cut(link);
            }
        });
        true
    }

    fn total(&self) -> Total {
        let mut counts = Counts::default();
        for link in &self.world.links {
            counts.declarations += link.counts.declarations;
            counts.interests += link.counts.interests;
            counts.link_states += link.counts.link_states;
            counts.bytes += link.counts.bytes;
        }
        let reshaped = self.world.nodes.iter();
        let reshaped = reshaped.map(|node| node.table.mesh_reshaped()).sum();
        Total { counts, reshaped }
    }

    fn links(&self) -> Vec<LinkUse> {
        let links = self.world.links.iter().enumerate();
        let used = links.map(|(link, found)| LinkUse {
            ends: self.ends(link),
            declarations: found.counts.declarations,
            link_states: found.counts.link_states,
            bytes: found.counts.bytes,
            messages: found.counts.data,
        });
        used.collect()
    }

    fn routers(&self) -> Vec<RouterUse> {
        let nodes = self.world.nodes.iter().enumerate();
        let routers = nodes.filter(|(_, node)| node.role == WhatAmI::Router);
        let used = routers.map(|(at, node)| RouterUse {
            name: self.name(at),
            memory: node.table.memory(),
            routers: node.table.routers().count(),
            reshaped: node.table.mesh_reshaped(),
        });
        used.collect()
    }

    fn name(&self, node: usize) -> String {
        self.graph.names[node].clone()
    }

    fn ends(&self, link: usize) -> [String; 2] {
        self.graph.links[link].ends.map(|node| self.name(node))
    }
}

fn count_routers(graph: &Graph) -> usize {
    let roles = graph.roles.iter();
    roles.filter(|role| **role == WhatAmI::Router).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, page};

    fn rehearse(text: &str) -> Outcome {
        let plan = Plan::parse(text).expect("a plan");
        Rehearsal::new(&plan).run(&mut |_, _| {})
    }

    #[test]
    fn a_ring_loses_a_link_and_nothing_else() {
        let outcome = rehearse(
            "{ topology: { shape: 'ring', routers: 6, clients: 2, peers: 1 },
               load: { subscribe: ['all/**', 'all/r0c0'], publish: ['all/{node}'], live: ['{node}'], messages: 10 } }",
        );
        assert_eq!((outcome.nodes, outcome.routers), (24, 6));
        for load in [&outcome.load, &outcome.after_loss] {
            assert_eq!((load.published, load.missing, load.repeated), (120, 0, 0));
            assert_eq!(load.delivered, 10 * (12 * 12 + 12));
        }
        let mut ring = outcome.links[..6].iter();
        assert!(ring.all(|link| link.declarations > 0 && link.messages > 0));
        // The only link of a node cuts that node off.
        assert_eq!(outcome.bridges.len(), 18);
        assert!(outcome.bridges.iter().all(|b| b.cut_off.len() == 1));
        let converged: Vec<f64> = outcome.changes.iter().map(|c| c.converged_ms).collect();
        assert_eq!(converged.len(), 3);
        assert!((1.0..2000.0).contains(&converged[0]), "{converged:?}");
        assert!((1.0..2000.0).contains(&converged[2]), "{converged:?}");
        assert!(
            outcome
                .router_use
                .iter()
                .all(|r| r.routers == 5 && r.memory > 0)
        );
        let about = About {
            plan: "{ topology: { shape: 'ring' } } // <ours>".to_owned(),
            program: "zonda 0.1".to_owned(),
            date: "2026-11-25".to_owned(),
        };
        let drawn = page(&outcome, &about);
        assert_eq!(drawn.matches("<circle").count(), 24);
        assert_eq!(drawn.matches("<line").count(), 24);
        // Only links of clients and peers cut off a node, which is no alarm.
        assert!(
            !drawn.contains("class=\"bridge\"") && drawn.contains("No link cuts off"),
            "{drawn}"
        );
        for part in [
            ">r0</text>",
            "<td>after the loss</td>",
            "<th>missing</th>",
            "&lt;ours>",
            "zonda 0.1",
            "2026-11-25",
            "prefers-color-scheme: dark",
        ] {
            assert!(drawn.contains(part), "{part} is missing in {drawn}");
        }
    }

    #[test]
    fn a_line_that_breaks_cuts_off_its_end() {
        let outcome = rehearse(
            "{ topology: { shape: 'line', routers: 4, clients: 1 }, lose: [['r3', 'r2']],
               load: { subscribe: ['a'], publish: ['a'] } }",
        );
        let cut = outcome.bridges.iter().find(|b| b.ends == ["r3", "r2"]);
        assert_eq!(cut.expect("it is a bridge").cut_off, ["r3", "r3c0"]);
        assert_eq!((outcome.load.delivered, outcome.load.missing), (16, 0));
        // Three nodes reach three, and the fourth reaches itself.
        let after = &outcome.after_loss;
        assert_eq!((after.delivered, after.missing), (10, 6));
    }

    #[test]
    fn the_same_plan_has_the_same_outcome() {
        let plan = "{ topology: { shape: 'grid', routers: 9, clients: 1 }, load: { subscribe: ['x/{node}'] } }";
        let [one, other] = [rehearse(plan), rehearse(plan)];
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}
