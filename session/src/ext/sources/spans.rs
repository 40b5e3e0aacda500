// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times of one clock from which samples were delivered.
//!
//! A timestamp in the future gives no information about earlier ones: a sample that jumps ahead
//! begins a span of its own, and samples stamped between the spans are still new.

/// Distance by which a clock may jump, in units of 2^-32 s, before a span ends: two seconds.
pub(super) const FAR: u64 = 2 << 32;

/// Limit of the remembered spans of one clock: the ones that grew last.
const SPANS_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    end: u64,
    is_alone: bool,
}

/// The spans of a clock, in the order in which they grew last.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    /// Adds the time of a delivered sample.
    pub fn add(&mut self, time: u64) {
        let reaches = |span: &Span| {
            (span.first.saturating_sub(FAR)..=span.end.saturating_add(FAR)).contains(&time)
        };
        let mut grown = Span {
            first: time,
            end: time,
            is_alone: true,
        };
        // The grown span may close the gap between two spans.
        self.0.retain(|span| {
            let joins = reaches(span);
            if joins {
                grown.first = grown.first.min(span.first);
                grown.end = grown.end.max(span.end);
                grown.is_alone &= span.is_alone && span.end == time;
            }
            !joins
        });
        self.0.push(grown);
        if self.0.len() > SPANS_MAX {
            self.0.remove(0);
        }
    }

    /// Returns true if a live sample of this time was delivered, or overtaken by one of its span.
    pub fn has(&self, time: u64) -> bool {
        let mut spans = self.0.iter();
        spans.any(|span| (span.first.saturating_sub(FAR)..=span.end).contains(&time))
    }

    /// Returns true if a sample of this time out of a cache is older than the delivered ones. The
    /// newest span counts only if it is more than one sample, or the only one.
    pub fn is_past(&self, time: u64) -> bool {
        let newest = self.0.iter().map(|span| span.end).max();
        let is_only = self.0.len() == 1;
        let believed = |span: &&Span| is_only || !span.is_alone || Some(span.end) != newest;
        let until = self.0.iter().filter(believed).map(|span| span.end).max();
        until.is_some_and(|until| time <= until) || self.has(time)
    }
}
