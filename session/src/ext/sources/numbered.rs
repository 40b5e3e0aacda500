// SPDX-License-Identifier: MIT OR Apache-2.0

//! A source that numbers its samples.

use std::collections::VecDeque;
use std::time::Instant;

use zonda_codec::EntityGlobalId;

use super::held::Held;
use super::late::LateSamples;
use super::lines::{FAR, Lines, Reach};
use super::{
    Budgets, CacheQuery, Forgettable, QueriedSources, RequestedSamples, Rules, SampleMoment,
    SampleOrigin, Step,
};
use crate::ext::keys::Source;
use crate::ext::miss::Miss;
use crate::sample::Sample;

/// Limit of the counted fruitless queries: at most 31 beats pass before a source is queried once
/// more for samples it did not have.
const FRUITLESS_MAX: u32 = 5;

/// Numbers have 32 bits and wrap around. Here they are places on an unbounded line: of the places a
/// number can mean, it means the one nearest to the end of the delivered ones.
pub(super) struct Numbered {
    id: EntityGlobalId,
    /// The place by which numbers get theirs as long as nothing is delivered; `None` before the first number.
    near: Option<i64>,
    /// Places that were delivered.
    lines: Lines,
    /// Samples that wait for a gap to be filled, by their places.
    held: Held<i64>,
    /// Samples that a jump has overtaken: one is delivered if the next number follows.
    late: LateSamples,
    /// Queries about it that are under way.
    questions: u32,
    asked: Asked,
    beats: Beats,
    is_alive: bool,
    heard: Instant,
}

/// The last places known when a query was sent: a place before them that is missing when the
/// answers have come is lost.
#[derive(Clone, Copy)]
struct Asked {
    /// The last place up to which no jump is far.
    near: i64,
    /// The last place behind a far jump.
    far: i64,
}

impl Asked {
    const NOTHING: Asked = Asked {
        near: i64::MIN,
        far: i64::MIN,
    };
    const ALL: Asked = Asked {
        near: i64::MAX,
        far: i64::MAX,
    };

    /// Returns true if the places from `next` on, before `place`, are lost.
    fn covers(self, next: i64, place: i64) -> bool {
        next <= self.near || place - next > FAR && place <= self.far
    }
}

/// Queries because of heartbeats.
#[derive(Default)]
struct Beats {
    /// The newest queried place.
    asked: i64,
    /// Consecutive queries for it that brought nothing.
    fruitless: u32,
    /// Beats that pass before the next query.
    pass: u32,
}

impl Beats {
    /// Decides whether to query this place now. A place that was queried in vain is queried more
    /// and more seldom.
    fn asks_for(&mut self, place: i64) -> bool {
        if place != self.asked {
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
    pub fn new(id: EntityGlobalId, budgets: &Budgets, now: Instant) -> Numbered {
        Numbered {
            id,
            near: None,
            lines: Lines::default(),
            held: Held::new(&budgets.held),
            late: LateSamples::new(&budgets.late),
            questions: 0,
            asked: Asked::NOTHING,
            beats: Beats::default(),
            is_alive: false,
            heard: now,
        }
    }

    fn place(&mut self, number: u32) -> i64 {
        if let Some(place) = self.lines.place(number) {
            return place;
        }
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

    /// Handles a sample of this number. Before anything was delivered it is held while a query is
    /// under way, as the samples of the answers come first.
    pub fn take(
        &mut self,
        number: u32,
        sample: Sample,
        moment: &SampleMoment<'_>,
        steps: &mut VecDeque<Step>,
    ) {
        self.heard = moment.now;
        let place = self.place(number);
        match (self.lines.reach(place), moment.heard) {
            (Reach::On, _) => self.take_next(place, sample, moment, steps),
            (Reach::Delivered, _) | (Reach::Behind { .. }, SampleOrigin::Answered) => {}
            (Reach::Behind { is_far: true }, SampleOrigin::Live) => {
                self.lines.reopen(place);
                self.take_next(place, sample, moment, steps);
            }
            (Reach::Behind { is_far: false }, SampleOrigin::Live) => {
                match self.late.remove(place - 1) {
                    Some(first) => self.take_two(first, place, sample, moment, steps),
                    None => self.late.insert(place, sample),
                }
            }
        }
    }

    /// Extends a line by a sample, and by the one before it if that was kept and has not come
    /// again.
    fn take_two(
        &mut self,
        first: Option<Sample>,
        place: i64,
        sample: Sample,
        moment: &SampleMoment<'_>,
        steps: &mut VecDeque<Step>,
    ) {
        let before = place - 1;
        match first.filter(|_| self.lines.reach(before) != Reach::Delivered) {
            Some(first) => {
                self.lines.reopen(before);
                self.take_next(before, first, moment, steps);
            }
            None => self.lines.reopen(place),
        }
        self.take_next(place, sample, moment, steps);
    }

    /// Handles the next sample of a line, perhaps with a gap before it.
    fn take_next(
        &mut self,
        place: i64,
        sample: Sample,
        moment: &SampleMoment<'_>,
        steps: &mut VecDeque<Step>,
    ) {
        let rules = moment.rules;
        let has_gap = |last: i64| place > last + 1;
        let is_waiting = (moment.is_asked || self.questions > 0) && rules.depth > 1;
        // With recovery, a gap is queried, and the samples behind it are held.
        match self.lines.end_before(place) {
            Some(last) if has_gap(last) && rules.recovery => {
                self.held.insert(place, sample);
                if self.held.is_full(usize::MAX) {
                    self.deliver_until(Asked::ALL, steps);
                } else if self.questions == 0 {
                    self.ask_gap(steps);
                }
            }
            last if is_waiting && last.is_none_or(has_gap) => {
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

    /// Handles the number of the newest sample, and returns the query that follows. A number that
    /// is far away is queried, but not taken for known.
    pub fn take_heartbeat(
        &mut self,
        newest: u32,
        is_asked: bool,
        now: Instant,
    ) -> Option<RequestedSamples> {
        self.heard = now;
        if self.lines.is_empty() && (is_asked || newest == u32::MAX) {
            // The answers will show it; or `newest` is the number before 0, from a publisher that
            // has sent nothing.
            return None;
        }
        let place = self.place(newest);
        let last = self.lines.end_before(place);
        let goes_on = match self.lines.reach(place) {
            Reach::Delivered => false,
            Reach::On => true,
            Reach::Behind { is_far } => is_far && last.is_some(),
        };
        if self.questions > 0 || !goes_on || !self.beats.asks_for(place) {
            return None;
        }
        self.lines.reopen(place);
        if last.is_none_or(|last| place - last <= FAR) {
            self.asked.near = self.asked.near.max(place);
        }
        Some(self.ask(last, Some(newest)))
    }

    /// Queries later samples without any sign that one is missing.
    pub fn ask_rest(&mut self, is_asked: bool) -> Option<RequestedSamples> {
        let is_free = self.questions == 0 && !(is_asked && self.lines.is_empty());
        is_free.then(|| self.ask(self.lines.end_of_newest(), None))
    }

    /// Queries the samples after `last`.
    fn ask(&mut self, last: Option<i64>, to: Option<u32>) -> RequestedSamples {
        self.questions += 1;
        self.note_asked(last);
        let from = last.map(|last| (last + 1) as u32);
        RequestedSamples::Numbers { from, to }
    }

    /// Records which held samples were known when the rest was queried.
    fn note_asked(&mut self, last: Option<i64>) {
        let Some(newest) = self.held.last() else {
            return;
        };
        let is_near = |last: i64, place: i64| place - last <= FAR;
        if last.is_none_or(|last| is_near(last, newest)) {
            self.asked.near = self.asked.near.max(newest);
            return;
        }
        self.asked.far = self.asked.far.max(newest);
        let mut near = last.unwrap_or(newest);
        for place in self.held.places().filter(|place| Some(*place) > last) {
            if !is_near(near, place) {
                break;
            }
            near = place;
        }
        if Some(near) != last {
            self.asked.near = self.asked.near.max(near);
        }
    }

    fn ask_gap(&mut self, steps: &mut VecDeque<Step>) {
        let first = self.held.first();
        let last = first.and_then(|first| self.lines.end_before(first));
        let wanted = self.ask(last, None);
        steps.push_back(Step::Ask(CacheQuery {
            about: QueriedSources::One(Source::Numbered(self.id)),
            key: None,
            wanted,
        }));
    }

    /// Handles the end of one of its queries.
    pub fn end_question(&mut self, is_asked: bool, rules: &Rules, steps: &mut VecDeque<Step>) {
        self.questions = self.questions.saturating_sub(1);
        if !is_asked {
            self.let_go(rules, steps);
        }
    }

    /// Delivers the held samples, unless a query is under way. Places that are missing and were
    /// queried are missed; places that are missing since are queried.
    pub fn let_go(&mut self, rules: &Rules, steps: &mut VecDeque<Step>) {
        if self.questions > 0 {
            return;
        }
        match rules.recovery {
            true => self.deliver_until(self.asked, steps),
            false => self.deliver_until(Asked::ALL, steps),
        }
        if !self.held.is_empty() {
            self.ask_gap(steps);
        }
    }

    fn deliver(&mut self, place: i64, sample: Sample, steps: &mut VecDeque<Step>) {
        let missed = self.lines.add(place);
        if missed > 0 {
            steps.push_back(Step::Missed(Miss::new(self.id, missed)));
        }
        steps.push_back(Step::Deliver(sample));
    }

    /// Delivers the first held sample.
    fn deliver_held(&mut self, steps: &mut VecDeque<Step>) {
        if let Some((place, sample)) = self.held.pop() {
            self.deliver(place, sample, steps);
        }
    }

    /// Delivers the held samples as far as nothing is missing.
    fn deliver_next(&mut self, steps: &mut VecDeque<Step>) {
        self.deliver_until(Asked::NOTHING, steps);
    }

    /// Delivers held samples, and passes over places that are missing and were queried.
    fn deliver_until(&mut self, asked: Asked, steps: &mut VecDeque<Step>) {
        while let Some(place) = self.held.first() {
            let next = self.lines.end_before(place).map_or(place, |last| last + 1);
            if place > next && !asked.covers(next, place) {
                return;
            }
            self.deliver_held(steps);
        }
    }
}
