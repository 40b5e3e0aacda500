// SPDX-License-Identifier: MIT OR Apache-2.0

//! Search through a tree, which may be suspended after any number of steps and resumed later.

use std::ops::ControlFlow;

use crate::key_tree::{
    KeyTree, NONE, Node, PLAIN, WILD, owner::Owner, pattern::Pattern, steps::Steps,
};

/// State of a search: the path from the root to its current node.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    has_begun: bool,
    /// The owner whose values it skips.
    except: Option<Owner>,
    /// The tree's count of displaced nodes when the search was suspended.
    displaced: u64,
    frames: Vec<Frame>,
    /// Positions that match at each node of the path, one set after another, and room for the next.
    sets: Vec<u64>,
    /// Plain children to visit, of all nodes of the path.
    picks: Vec<u32>,
}

impl Walk {
    /// Returns a walk that skips the values that this owner alone has, but may find some of them.
    pub(crate) fn except(owner: Option<Owner>) -> Self {
        Walk {
            except: owner,
            ..Walk::default()
        }
    }

    /// Returns the slot of the face whose values it skips.
    pub(crate) fn passes_over(&self) -> Option<u32> {
        self.except.map(Owner::place)
    }
}

/// Outcome of a slice of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// All nodes were visited, or `found` has stopped the search.
    End,
    /// The steps are over, and nodes are left.
    Pause,
    /// The tree has lost or displaced nodes since the search was suspended, so its path is invalid.
    /// A new search may find every value again.
    Nowhere,
}

/// Children of a node of the path that are left.
#[derive(Debug)]
struct Frame {
    /// Rest of the two lists.
    lists: [u32; 2],
    /// Number of picks that belong to the nodes above.
    picks_above: usize,
}

/// Number of texts beyond which the children are counted before a lookup by text.
const PICKS_FEW: usize = 4;

impl<V: Copy + Eq> KeyTree<V> {
    /// Calls `found` with the values of nodes whose keys intersect `pattern`, until `found` breaks
    /// or the steps are over. The tree may change between two calls with the same `walk`: the
    /// search finds the values that stay from the first call to the last, and may find values
    /// inserted or removed in between.
    pub(crate) fn search<F>(
        &self,
        pattern: &Pattern<'_>,
        walk: &mut Walk,
        steps: &Steps,
        found: &mut F,
    ) -> Reached
    where
        F: FnMut(&[V]) -> ControlFlow<()>,
    {
        let before = steps.spent();
        let reached = Walking {
            tree: self,
            pattern,
            steps,
            walk,
        }
        .go(found);
        self.count((steps.spent() - before) as u64);
        reached
    }
}

/// A search under way.
struct Walking<'t, 'k, V> {
    tree: &'t KeyTree<V>,
    pattern: &'t Pattern<'k>,
    steps: &'t Steps,
    walk: &'t mut Walk,
}

impl<'t, V: Copy + Eq> Walking<'t, '_, V> {
    fn go<F>(mut self, found: &mut F) -> Reached
    where
        F: FnMut(&[V]) -> ControlFlow<()>,
    {
        if !self.begin() {
            return Reached::Nowhere;
        }
        // Visit one child after another; those that match nothing are not entered.
        while !self.steps.are_over() {
            let Some((child, node)) = self.next() else {
                return Reached::End;
            };
            let is_end = self.step(node);
            self.steps.spend(1 + self.pattern.take_work());
            let Some(is_end) = is_end else {
                continue;
            };
            let values = node.values.as_slice();
            if is_end && !values.is_empty() {
                self.steps.spend(values.len());
                if found(values).is_break() {
                    return Reached::End;
                }
            }
            if node.children != [NONE; 2] {
                self.enter(child, node);
            }
        }
        self.walk.displaced = self.tree.displaced;
        Reached::Pause
    }

    /// Begins or resumes; false if the path is invalid.
    fn begin(&mut self) -> bool {
        if self.walk.has_begun {
            return self.walk.displaced == self.tree.displaced;
        }
        self.walk.has_begun = true;
        if let Some(root) = self.tree.nodes.get(self.tree.root) {
            self.walk.sets.resize(2 * self.pattern.words(), 0);
            self.pattern.start(&mut self.walk.sets);
            self.enter(self.tree.root, root);
        }
        true
    }

    /// Returns the next node to visit, below the last of the path.
    fn next(&mut self) -> Option<(u32, &'t Node<V>)> {
        let tree = self.tree;
        let Walk {
            frames,
            picks,
            except,
            ..
        } = &mut *self.walk;
        // Picked children come before those of the two lists; a frame without either is done.
        while let Some(frame) = frames.last_mut() {
            let child = if picks.len() > frame.picks_above {
                picks.pop().unwrap_or(NONE)
            } else if frame.lists[PLAIN] != NONE {
                frame.lists[PLAIN]
            } else {
                frame.lists[WILD]
            };
            let Some(node) = tree.nodes.get(child) else {
                frames.pop();
                continue;
            };
            if let Some(list) = frame.lists.iter_mut().find(|list| **list == child) {
                *list = tree.behind(node, *except);
            }
            // A subtree of the skipped owner costs one step.
            if *except == Some(node.owner) {
                self.steps.spend(1);
                continue;
            }
            return Some((child, node));
        }
        None
    }

    /// Reads the chunk of a child of the path's last node: `Some(true)` if the whole key is matched
    /// then, `None` if no position is.
    fn step(&mut self, child: &Node<V>) -> Option<bool> {
        let (words, depth) = (self.pattern.words(), self.walk.frames.len());
        let (path, next) = self.walk.sets.split_at_mut_checked(depth * words)?;
        let (from, to) = (path.get((depth - 1) * words..)?, next.get_mut(..words)?);
        let matched = self.pattern.step(from, child.chunk.as_str(), to);
        matched.then(|| self.pattern.is_end(to))
    }

    /// Enters the node whose chunk was just read.
    fn enter(&mut self, at: u32, node: &Node<V>) {
        let (words, depth) = (self.pattern.words(), self.walk.frames.len());
        self.walk.sets.resize((depth + 2) * words, 0);
        let mut frame = Frame {
            lists: node.children,
            picks_above: self.walk.picks.len(),
        };
        if node.children[PLAIN] != NONE && self.pick(at) {
            frame.lists[PLAIN] = NONE;
        }
        self.walk.frames.push(frame);
    }

    /// Looks the plain children up by text, if the texts are known and fewer than the children.
    fn pick(&mut self, at: u32) -> bool {
        let (tree, words, depth) = (self.tree, self.pattern.words(), self.walk.frames.len());
        let Walk { sets, picks, .. } = &mut *self.walk;
        let Some(here) = sets.get(depth * words..(depth + 1) * words) else {
            return false;
        };
        // With many texts, walking the list of children may be cheaper.
        let positions = here.iter().map(|word| word.count_ones() as usize).sum();
        if positions > PICKS_FEW {
            let children = tree.children(at, PLAIN).take(positions).count();
            self.steps.spend(children);
            if children < positions {
                return false;
            }
        }
        // A wildcard in the key may match any child, so none is picked.
        let Some(texts) = self.pattern.plain_next(here) else {
            return false;
        };
        // Two positions may have the same text.
        let above = picks.len();
        picks.extend(texts.filter_map(|text| tree.child(at, text)));
        if picks.len() > above + 1 {
            let mut new = picks.split_off(above);
            new.sort_unstable();
            new.dedup();
            picks.append(&mut new);
        }
        true
    }
}
