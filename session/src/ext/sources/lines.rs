// SPDX-License-Identifier: MIT OR Apache-2.0

//! Places of one source that were delivered, as lines of places that follow each other.
//!
//! A jump begins a new line and leaves the old one where it ended. A stranger that publishes on the
//! key can forge the number of a source and so make it jump; therefore the old line is remembered:
//! it continues when its next numbers come, and both lines are delivered.
//!
//! | place | live | answer of a cache |
//! |---|---|---|
//! | in a line | delivered before | delivered before |
//! | beyond the last line, or beyond one that has gone on | goes on | goes on |
//! | more than [`FAR`] before the next line | goes on, or begins a line | too old |
//! | close before the next line | goes on if two in a row come | too old |

/// Limit of the places that a source may jump over without being doubted.
pub(super) const FAR: i64 = 4096;

/// Limit of the remembered lines of one source.
const LINES_MAX: usize = 8;

/// Places from `first` to `end` that were delivered.
#[derive(Debug)]
struct Line {
    first: i64,
    end: i64,
    /// Places that were jumped over before it and that were reported to no listener yet: one sample
    /// does not prove a far jump.
    untold: u32,
    /// Set if the line has continued although another one lies beyond it.
    is_open: bool,
}

/// Relation of a place to the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Inside a line.
    Delivered,
    /// Beyond an open line, or there is no line yet.
    On,
    /// Before a line, and not beyond an open one. `is_far` is set if the next line is too far away
    /// to have overtaken it.
    Behind { is_far: bool },
}

/// The lines of a source, the one that was extended last at the end.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Line>);

impl Lines {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the place that a number means: the one nearest to the end of a line; `None` without
    /// lines.
    pub fn place(&self, number: u32) -> Option<i64> {
        let away = |line: &Line| i64::from(number.wrapping_sub(line.end as u32) as i32);
        let nearest = self.0.iter().min_by_key(|line| away(line).abs())?;
        Some(nearest.end + away(nearest))
    }

    /// Returns the end of the line before a place.
    pub fn end_before(&self, place: i64) -> Option<i64> {
        let before = self.below(place)?;
        self.0.get(before).map(|line| line.end)
    }

    /// Returns the end of the line that was extended last.
    pub fn end_of_newest(&self) -> Option<i64> {
        self.0.last().map(|line| line.end)
    }

    pub fn reach(&self, place: i64) -> Reach {
        if self.0.iter().any(|l| (l.first..=l.end).contains(&place)) {
            return Reach::Delivered;
        }
        let Some(next) = self.next_after(place) else {
            return Reach::On;
        };
        let below = self.below(place).and_then(|below| self.0.get(below));
        match below.is_some_and(|line| line.is_open) {
            true => Reach::On,
            false => Reach::Behind {
                is_far: next - place > FAR,
            },
        }
    }

    /// Reopens the line before this place, whatever lies beyond it: the source had not jumped
    /// there.
    pub fn reopen(&mut self, place: i64) {
        let below = self.below(place);
        if let Some(line) = below.and_then(|below| self.0.get_mut(below)) {
            line.is_open = true;
        }
        for line in self.0.iter_mut().filter(|line| line.first > place) {
            line.untold = 0;
        }
    }

    /// Adds a delivered place. Returns the number of places before it that are missed, as far as it
    /// is known now.
    pub fn add(&mut self, place: i64) -> u32 {
        let Some(mut line) = self.below(place).map(|below| self.0.remove(below)) else {
            let is_open = !self.is_empty();
            self.begin(place, 0, is_open);
            return 0;
        };
        let jumped = place - line.end - 1;
        if jumped == 0 {
            line.end = place;
            let missed = std::mem::take(&mut line.untold);
            self.join(line);
            return missed;
        }
        let nb = u32::try_from(jumped).unwrap_or(u32::MAX);
        let (told, untold) = match jumped > FAR {
            true => (0, nb),
            false => (nb.saturating_add(std::mem::take(&mut line.untold)), 0),
        };
        let is_open = std::mem::take(&mut line.is_open);
        self.0.push(line);
        self.begin(place, untold, is_open);
        told
    }

    /// Inserts a line that has grown, joined with the one that begins where it ends now.
    fn join(&mut self, mut line: Line) {
        let next = self.0.iter().position(|other| other.first == line.end + 1);
        if let Some(next) = next.map(|next| self.0.remove(next)) {
            (line.end, line.is_open) = (next.end, next.is_open);
        }
        self.0.push(line);
    }

    fn begin(&mut self, place: i64, untold: u32, is_open: bool) {
        self.join(Line {
            first: place,
            end: place,
            untold,
            is_open,
        });
        if self.0.len() > LINES_MAX {
            self.evict();
        }
    }

    /// Removes the shortest line but the newest; of several the one that was extended longest ago.
    /// A stranger that forges numbers makes many lines of few places. The line of the source itself
    /// is long: without it a cache's answers would count as new.
    fn evict(&mut self) {
        let older = self.0.iter().rev().skip(1).rev().enumerate();
        let shortest = older.min_by_key(|(_, line)| line.end - line.first);
        if let Some((at, _)) = shortest {
            self.0.remove(at);
        }
    }

    /// Returns the index of the line before a place.
    fn below(&self, place: i64) -> Option<usize> {
        let lines = self.0.iter().enumerate();
        let below = lines.filter(|(_, line)| line.end < place);
        below.max_by_key(|(_, line)| line.end).map(|(at, _)| at)
    }

    /// Returns the first place of the line behind a place.
    fn next_after(&self, place: i64) -> Option<i64> {
        let firsts = self.0.iter().map(|line| line.first);
        firsts.filter(|first| *first > place).min()
    }
}
