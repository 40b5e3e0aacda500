// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distribution of latencies: the share of messages up to a time, the density of the times, and the
//! time at each percentile up to the rarest.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::figure::{Figure, Size};
use super::scale::Logarithmic;
use crate::numbers::micros;
use crate::record::Cell;

/// The size of one of several figures side by side.
const SIZE: Size = Size {
    width: 440,
    height: 280,
};
/// Room that a label takes in width.
const LABEL: f64 = 46.0;
/// Room that a mark takes in height.
const LINE: f64 = 18.0;
/// The share of messages at which the axis ends.
const MOST: f64 = 0.985;
/// Points of a distribution function.
const POINTS: usize = 60;
/// Classes of a density per factor of ten.
const CLASSES: f64 = 20.0;

/// Points of a curve: a time in microseconds, and a share of the messages.
type Curve = Vec<(f64, f64)>;

/// The latencies of a system.
struct Latencies {
    system: String,
    /// The CSS class of its colour.
    class: String,
    /// The share of messages up to a time.
    function: Curve,
    /// The middle of a class of times, and the share of messages in it.
    density: Curve,
    /// The rarity of a latency, as one of this many messages, and the time.
    tail: Curve,
}

/// Room that the name of a percentile takes in width.
const PERCENTILE: f64 = 44.0;
/// The marked percentiles, and their rarity: one of this many messages is slower.
const PERCENTILES: [(&str, f64); 7] = [
    ("0 %", 1.0),
    ("50 %", 2.0),
    ("90 %", 10.0),
    ("99 %", 1e2),
    ("99.9 %", 1e3),
    ("99.99 %", 1e4),
    ("99.999 %", 1e5),
];
/// Points of a tail per factor of ten.
const TAIL: f64 = 12.0;

/// Draws the figures of cells that differ in their system only; `None` if none of the cells has
/// kept its latencies.
pub fn figures(cells: &[&Cell], at: &str, class: impl Fn(&str) -> String) -> Option<String> {
    let mut all = Vec::new();
    for cell in cells {
        if let Some(together) = cell.latencies() {
            let shares = (0..=POINTS).map(|point| point as f64 / POINTS as f64);
            let point = |share| (together.value_at_quantile(share) as f64 / 1e3, share);
            all.push(Latencies {
                system: cell.system.clone(),
                class: class(&cell.system),
                function: shares.map(point).collect(),
                density: density(cell.nanos_times.iter().flatten()),
                tail: tail(&together),
            });
        }
    }
    let highest = all.iter().flat_map(|l| &l.density);
    let highest = highest.map(|(_, share)| *share).reduce(f64::max)?;
    let function = draw(&all, &format!("share of messages {at}"), 1.0, |l| {
        &l.function
    });
    let density = draw(&all, &format!("density {at}"), highest, |l| &l.density);
    Some(percentiles(&all, at) + &function + &density)
}

/// Returns the times from the fastest message to the slowest, at equal factors of rarity.
fn tail(of: &Histogram<u64>) -> Curve {
    let last = (of.len() as f64).max(1.0);
    let steps = (last.log10() * TAIL).floor() as u32;
    let rarities = (0..=steps).map(|step| 10_f64.powf(f64::from(step) / TAIL));
    let time = |rarity: f64| of.value_at_quantile(1.0 - 1.0 / rarity) as f64 / 1e3;
    rarities.map(|rarity| (rarity, time(rarity))).collect()
}

/// Draws the time at each percentile, with rarer ones further to the right.
fn percentiles(all: &[Latencies], at: &str) -> String {
    let mut figure = Figure::new(SIZE, &format!("latency by percentile {at}"));
    // the axes cover all curves
    let frame = figure.frame();
    let points = || all.iter().flat_map(|l| &l.tail);
    let rarest = points().map(|(rarity, _)| *rarity).fold(2.0, f64::max);
    let low = points().map(|(_, us)| *us).fold(f64::INFINITY, f64::min) * 0.9;
    let high = points().map(|(_, us)| *us).fold(0.0, f64::max) * 1.1;
    let x = Logarithmic::new(1.0, rarest, frame.x.0, frame.x.1);
    let y = Logarithmic::new(low, high, frame.y.1, frame.y.0);
    let mut free = f64::NEG_INFINITY;
    for (name, rarity) in PERCENTILES {
        // a mark that would touch the previous one is left out
        if rarity <= rarest && x.at(rarity) >= free {
            figure.mark_x(x.at(rarity), name);
            free = x.at(rarity) + PERCENTILE;
        }
    }
    for mark in y.marks(LINE) {
        figure.mark_y(y.at(mark), &micros(mark));
    }
    for latencies in all {
        figure.begin(&latencies.class, &latencies.system);
        let line = latencies
            .tail
            .iter()
            .map(|(rarity, us)| (x.at(*rarity), y.at(*us)));
        figure.line(&line.collect::<Vec<_>>());
        figure.end();
    }
    figure.finish()
}

/// Draws curves of shares over the time, up to `MOST` of the messages.
fn draw(all: &[Latencies], title: &str, highest: f64, curve: fn(&Latencies) -> &Curve) -> String {
    let mut figure = Figure::new(SIZE, title);
    let frame = figure.frame();
    // the axis ends before the slowest messages
    let points = all.iter().flat_map(|l| &l.function);
    let times = points
        .filter(|(_, share)| *share <= MOST)
        .map(|(us, _)| *us);
    let low = times.clone().fold(f64::INFINITY, f64::min) * 0.9;
    let high = times.fold(0.0, f64::max) * 1.1;
    let x = Logarithmic::new(low, high, frame.x.0, frame.x.1);
    let y = |share: f64| frame.y.1 + share / highest * (frame.y.0 - frame.y.1);
    for mark in x.marks(LABEL) {
        figure.mark_x(x.at(mark), &micros(mark));
    }
    for quarter in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let share = quarter * highest;
        figure.mark_y(y(share), &format!("{:.0} %", share * 100.0));
    }
    for latencies in all {
        figure.begin(&latencies.class, &latencies.system);
        let shown = curve(latencies).iter();
        let shown = shown.filter(|(us, _)| (low..=high).contains(us));
        let line: Vec<_> = shown.map(|(us, share)| (x.at(*us), y(*share))).collect();
        figure.line(&line);
        figure.end();
    }
    figure.finish()
}

/// Returns the shares in classes of equal width on a logarithmic axis, including empty classes
/// between them.
fn density<'p>(pairs: impl Iterator<Item = &'p (u64, u64)>) -> Curve {
    let mut classes: BTreeMap<i64, u64> = BTreeMap::new();
    for (nanos, times) in pairs {
        let micros = (*nanos).max(1) as f64 / 1e3;
        let class = (micros.log10() * CLASSES).floor() as i64;
        *classes.entry(class).or_default() += times;
    }
    let total: u64 = classes.values().sum();
    let ends = classes.keys().next().zip(classes.keys().next_back());
    let Some((first, last)) = ends else {
        return Vec::new();
    };
    let share = |class| classes.get(&class).copied().unwrap_or(0) as f64 / total.max(1) as f64;
    (first - 1..=last + 1)
        .map(|class| (10_f64.powf((class as f64 + 0.5) / CLASSES), share(class)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Round;

    #[test]
    fn a_density_has_the_gaps_too() {
        let density = density([(10_000, 3), (12_590, 1)].iter());
        let shares: Vec<f64> = density.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [0.0, 0.75, 0.0, 0.25, 0.0]);
        assert!(density[1].0 > 10.0 && density[1].0 < 11.3, "{density:?}");
    }

    #[test]
    fn every_system_that_kept_its_latencies_has_a_curve() {
        let mut kept = Cell::new("smol", "tcp");
        kept.append(Round::of_latencies(vec![(10_000, 3), (20_000, 1)]));
        let other = Cell::new("std", "tcp");
        let class = |_: &str| "c1".to_owned();
        let svg = figures(&[&kept, &other], "at 1k msg/s", class).expect("two figures");
        assert_eq!(
            (
                svg.matches("<svg").count(),
                svg.matches("data-system=\"smol\"").count()
            ),
            (3, 3)
        );
        assert!(svg.contains("latency by percentile at 1k msg/s") && svg.contains(">50 %</text>"));
        for figure in svg.split_inclusive("</svg>").map(str::trim) {
            if !figure.is_empty() {
                roxmltree::Document::parse(figure).expect("well-formed XML");
            }
        }
        assert!(
            svg.contains("share of messages at 1k msg/s") && !svg.contains("\"std\""),
            "{svg}"
        );
        assert!(figures(&[&other], "at 1k msg/s", class).is_none());
    }
}
