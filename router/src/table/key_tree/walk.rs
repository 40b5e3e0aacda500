// SPDX-License-Identifier: MIT OR Apache-2.0

//! A search through a tree, which may be left after any number of steps and gone on with later.

use std::ops::ControlFlow;

use crate::table::key_tree::{
    KeyTree, NONE, Node, PLAIN, WILD, owner::Owner, pattern::Pattern, steps::Steps,
};

/// Where a search is: the path from the root to the node it is at.
#[derive(Debug, Default)]
pub(in crate::table) struct Walk {
    has_begun: bool,
    /// The owner whose values it passes over.
    except: Option<Owner>,
    /// How many nodes the tree had lost or displaced when the search was left.
    displaced: u64,
    frames: Vec<Frame>,
    /// The positions that match at each node of the path, one set after another, and room for the next.
    sets: Vec<u64>,
    /// Plain children to look at, of all nodes of the path.
    picks: Vec<u32>,
}

impl Walk {
    /// Passes over what this owner alone has, but may find some of it.
    pub(in crate::table) fn except(owner: Option<Owner>) -> Self {
        Walk {
            except: owner,
            ..Walk::default()
        }
    }

    /// The place of the face whose values it passes over.
    pub(in crate::table) fn passes_over(&self) -> Option<u32> {
        self.except.map(Owner::place)
    }
}

/// How far a search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) enum Reached {
    /// Everything was looked at, or what was found was enough.
    End,
    /// The steps are over, and there is more to look at.
    Pause,
    /// The tree lost or displaced nodes since the search was left, and with them the place to go on. Everything may be found again.
    Nowhere,
}

/// The children of a node of the path that are left.
#[derive(Debug)]
struct Frame {
    /// The rest of the two lists.
    lists: [u32; 2],
    /// How many picks belong to the nodes above.
    picks_above: usize,
}

/// With more texts to look for than this, the children are counted first.
const PICKS_FEW: usize = 4;

impl<V: Copy + Eq> KeyTree<V> {
    /// Calls `found` with the values of nodes whose keys intersect `pattern`, until it wants no more or the steps are over.
    /// Between two calls with the same `walk` the tree may change: what was in it from the first to the last is found, what
    /// came or went meanwhile perhaps.
    pub(in crate::table) fn search<F>(
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

    /// Begins, or goes on; false if the place to go on is lost.
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

    /// The next node to look at, below the last of the path.
    fn next(&mut self) -> Option<(u32, &'t Node<V>)> {
        let tree = self.tree;
        let Walk {
            frames,
            picks,
            except,
            ..
        } = &mut *self.walk;
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
            if *except == Some(node.owner) {
                self.steps.spend(1);
                continue;
            }
            return Some((child, node));
        }
        None
    }

    /// Reads the chunk of a child of the path's last node: whether the whole key is matched then, `None` if
    /// nothing is.
    fn step(&mut self, child: &Node<V>) -> Option<bool> {
        let (words, depth) = (self.pattern.words(), self.walk.frames.len());
        let (path, next) = self.walk.sets.split_at_mut_checked(depth * words)?;
        let (from, to) = (path.get((depth - 1) * words..)?, next.get_mut(..words)?);
        let matched = self.pattern.step(from, child.chunk.as_str(), to);
        matched.then(|| self.pattern.is_end(to))
    }

    /// Goes down to the node whose chunk was just read.
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

    /// Finds the plain children to look at by their texts, if these are known and fewer than the children.
    fn pick(&mut self, at: u32) -> bool {
        let (tree, words, depth) = (self.tree, self.pattern.words(), self.walk.frames.len());
        let Walk { sets, picks, .. } = &mut *self.walk;
        let Some(here) = sets.get(depth * words..(depth + 1) * words) else {
            return false;
        };
        let positions = here.iter().map(|word| word.count_ones() as usize).sum();
        if positions > PICKS_FEW {
            let children = tree.children(at, PLAIN).take(positions).count();
            self.steps.spend(children);
            if children < positions {
                return false;
            }
        }
        let Some(texts) = self.pattern.plain_next(here) else {
            return false;
        };
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
