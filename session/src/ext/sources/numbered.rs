// SPDX-License-Identifier: MIT OR Apache-2.0

//! A source that counts its samples.

use std::collections::VecDeque;
use std::time::Instant;

use zonda_codec::EntityGlobalId;

use super::held::{Budget, Held};
use super::{About, Forgettable, Moment, Question, Rules, Step, Wanted};
use crate::ext::keys::Source;
use crate::ext::miss::Miss;
use crate::sample::Sample;

/// Questions in vain that are counted: at most 31 beats pass before a source is asked once more for what it did not have.
const FRUITLESS_MAX: u32 = 5;

/// Numbers are of 32 bits and begin anew behind the last one. Here they are places on a line that goes on: of the places a
/// number can mean, it means the one nearest to the last that was delivered.
pub(super) struct Numbered {
    id: EntityGlobalId,
    /// The place by which others are found; `None` before the first number.
    near: Option<i64>,
    /// The place delivered last.
    last: Option<i64>,
    /// What waits for a gap to be filled, by its place.
    held: Held<i64>,
    /// How many questions about it are under way.
    questions: u32,
    /// The last place that was known when its numbers were asked for: what is missing before it is lost when the answers
    /// are there.
    asked: i64,
    beats: Beats,
    is_alive: bool,
    heard: Instant,
}

/// What was asked because of heartbeats.
#[derive(Default)]
struct Beats {
    /// The newest place that was asked for.
    asked: i64,
    /// How many questions for it in a row brought nothing.
    fruitless: u32,
    /// How many beats pass before the next question.
    pass: u32,
}

impl Beats {
    /// Whether to ask for this place now. What was asked for in vain is asked for more and more seldom.
    fn asks_for(&mut self, place: i64) -> bool {
        if place > self.asked {
            let asked = place;
            *self = Beats {
                asked,
                ..Beats::default()
            };
        }
        if self.pass > 0 {
            self.pass -= 1;
            return false;
        }
        self.pass = (1 << self.fruitless) - 1;
        self.fruitless = (self.fruitless + 1).min(FRUITLESS_MAX);
        true
    }
}

impl Forgettable for Numbered {
    fn idle_since(&self) -> Option<Instant> {
        let is_idle = !self.is_alive && self.questions == 0 && self.held.is_empty();
        is_idle.then_some(self.heard)
    }
}

impl Numbered {
    pub fn new(id: EntityGlobalId, budget: &Budget, now: Instant) -> Numbered {
        Numbered {
            id,
            near: None,
            last: None,
            held: Held::new(budget),
            questions: 0,
            asked: i64::MIN,
            beats: Beats::default(),
            is_alive: false,
            heard: now,
        }
    }

    fn place(&mut self, number: u32) -> i64 {
        // The first place leaves room for smaller ones, and its lower half is the number.
        let first = (1 << 32) | i64::from(number);
        let near = *self.near.get_or_insert(first);
        near + i64::from(number.wrapping_sub(near as u32) as i32)
    }

    pub fn set_alive(&mut self, is_alive: bool, now: Instant) {
        self.is_alive = is_alive;
        self.heard = now;
        if is_alive {
            self.questions += 1;
        }
    }

    /// A sample of this number came. Before anything was delivered it is held while a question is under way, as what the
    /// answers bring comes first.
    pub fn take(
        &mut self,
        number: u32,
        sample: Sample,
        moment: &Moment<'_>,
        steps: &mut VecDeque<Step>,
    ) {
        self.heard = moment.now;
        let rules = moment.rules;
        let place = self.place(number);
        let is_waiting = (moment.is_asked || self.questions > 0) && rules.depth > 1;
        match self.last {
            Some(last) if place <= last => {}
            Some(last) if place > last + 1 && rules.recovery => {
                self.held.insert(place, sample);
                if self.held.is_full(usize::MAX) {
                    self.deliver_until(i64::MAX, steps);
                } else if self.questions == 0 {
                    self.ask_gap(steps);
                }
            }
            last if is_waiting && last.is_none_or(|last| place > last + 1) => {
                self.held.insert(place, sample);
                if self.held.is_full(rules.depth) {
                    self.deliver_held(steps);
                    self.deliver_next(steps);
                }
            }
            _ => {
                self.deliver(place, sample, steps);
                self.deliver_next(steps);
            }
        }
    }

    /// The newest sample has this number; what is to be asked for.
    pub fn take_heartbeat(&mut self, newest: u32, is_asked: bool, now: Instant) -> Option<Wanted> {
        self.heard = now;
        if self.last.is_none() && (is_asked || newest == u32::MAX) {
            // The answers will tell, or: the one before the first, from a publisher that has sent nothing.
            return None;
        }
        let place = self.place(newest);
        if self.questions > 0 || self.last.is_some_and(|last| place <= last) {
            return None;
        }
        if !self.beats.asks_for(place) {
            return None;
        }
        self.asked = self.asked.max(place);
        Some(self.ask(Some(newest)))
    }

    /// What is to be asked for without any sign that something is missing.
    pub fn ask_rest(&mut self, is_asked: bool) -> Option<Wanted> {
        let is_free = self.questions == 0 && !(is_asked && self.last.is_none());
        is_free.then(|| self.ask(None))
    }

    fn ask(&mut self, to: Option<u32>) -> Wanted {
        self.questions += 1;
        if let Some(place) = self.held.last() {
            self.asked = self.asked.max(place);
        }
        let from = self.last.map(|last| (last + 1) as u32);
        Wanted::Numbers { from, to }
    }

    fn ask_gap(&mut self, steps: &mut VecDeque<Step>) {
        let wanted = self.ask(None);
        steps.push_back(Step::Ask(Question {
            about: About::One(Source::Numbered(self.id)),
            key: None,
            wanted,
        }));
    }

    /// One question about it was answered.
    pub fn end_question(&mut self, is_asked: bool, rules: &Rules, steps: &mut VecDeque<Step>) {
        self.questions = self.questions.saturating_sub(1);
        if !is_asked {
            self.let_go(rules, steps);
        }
    }

    /// Delivers what is held, unless a question is under way. What is missing and was asked for is missed; what is missing
    /// since is asked for.
    pub fn let_go(&mut self, rules: &Rules, steps: &mut VecDeque<Step>) {
        if self.questions > 0 {
            return;
        }
        match rules.recovery {
            true => self.deliver_until(self.asked, steps),
            false => self.deliver_until(i64::MAX, steps),
        }
        if !self.held.is_empty() {
            self.ask_gap(steps);
        }
    }

    fn deliver(&mut self, place: i64, sample: Sample, steps: &mut VecDeque<Step>) {
        if let Some(last) = self.last
            && place > last + 1
        {
            let nb = u32::try_from(place - last - 1).unwrap_or(u32::MAX);
            steps.push_back(Step::Missed(Miss::new(self.id, nb)));
        }
        (self.last, self.near) = (Some(place), Some(place));
        steps.push_back(Step::Deliver(sample));
    }

    /// Delivers the first that is held.
    fn deliver_held(&mut self, steps: &mut VecDeque<Step>) {
        if let Some((place, sample)) = self.held.pop() {
            self.deliver(place, sample, steps);
        }
    }

    /// Delivers what is held as far as nothing is missing.
    fn deliver_next(&mut self, steps: &mut VecDeque<Step>) {
        self.deliver_until(i64::MIN, steps);
    }

    /// The same, and passes over what is missing up to this place.
    fn deliver_until(&mut self, end: i64, steps: &mut VecDeque<Step>) {
        while let Some(place) = self.held.first() {
            let next = self.last.map_or(place, |last| last + 1);
            if place > next && next > end {
                return;
            }
            self.deliver_held(steps);
        }
    }
}
