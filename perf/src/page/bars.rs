// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bar charts, for cases that are not points of a curve: a row for each case with a bar for each
//! system, as long as its median, with a line from the slowest to the fastest round.

use super::figure::{Figure, Frame, Margins, Size};
use crate::numbers::Unit;

/// Width of a figure, and of its margins: names of cases on the left, figures on the right.
const WIDTH: u32 = 960;
const MARGINS: Margins = Margins {
    left: 210.0,
    right: 190.0,
};
/// Height of a bar, of the gap between two cases, and of title and axis.
const BAR: f64 = 15.0;
const GAP: f64 = 10.0;
const AROUND: f64 = 68.0;

/// One system in one case.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The system's name.
    pub system: String,
    /// The CSS class of its colour.
    pub class: String,
    /// The median.
    pub median: f64,
    /// The smallest and the largest figure.
    pub band: (f64, f64),
    /// The tooltip.
    pub tip: String,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Row {
    /// The case's name.
    pub name: String,
    /// The bars of its systems.
    pub bars: Vec<Bar>,
}

/// Draws the figure of these cases.
pub fn draw(title: &str, unit: Unit, rows: &[Row]) -> String {
    let bars = || rows.iter().flat_map(|row| &row.bars);
    let all: f64 = rows.iter().map(height).sum();
    let size = Size {
        width: WIDTH,
        height: (all + GAP + AROUND).ceil() as u32,
    };
    let mut figure = Figure::with_margins(size, MARGINS, title);
    let frame = figure.frame();
    // the axis begins at 0 and ends at the largest value
    let most = bars().map(|bar| bar.band.1.max(bar.median));
    let most = most.fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| frame.x.0 + value / most * (frame.x.1 - frame.x.0);
    for mark in marks(most) {
        figure.mark_x(x(mark), &unit.label(mark));
    }
    // a row for each case
    let mut y = frame.y.0 + GAP;
    for row in rows {
        let middle = y + (height(row) - GAP) / 2.0;
        figure.name_row(middle, &row.name);
        for bar in &row.bars {
            figure.begin(&bar.class, &bar.system);
            let place = Frame {
                x: (x(0.0), x(bar.median)),
                y: (y + 1.0, y + BAR - 2.0),
            };
            figure.bar(place, &bar.tip);
            let line = y + (BAR - 1.0) / 2.0;
            figure.line(&[(x(bar.band.0), line), (x(bar.band.1), line)]);
            let label = format!("{} {}", unit.label(bar.median), bar.system);
            let end = x(bar.median.max(bar.band.1)) + 6.0;
            figure.label(end.min(frame.x.1 + 4.0), y + BAR - 3.0, &label);
            figure.end();
            y += BAR;
        }
        y += GAP;
    }
    figure.finish()
}

fn height(row: &Row) -> f64 {
    row.bars.len() as f64 * BAR + GAP
}

/// Returns round numbers from 0 to at most `most`, five steps at most.
fn marks(most: f64) -> Vec<f64> {
    let least = most / 5.0;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(most);
    let all = (0..=5).map(|n| f64::from(n) * step);
    all.filter(|mark| *mark <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(marks(6.05), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(marks(172.0), [0.0, 50.0, 100.0, 150.0]);
        assert_eq!(marks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    }

    #[test]
    fn every_case_has_a_bar_for_each_system() {
        let bar = |system: &str, median| Bar {
            system: system.into(),
            class: "c0".into(),
            median,
            band: (median * 0.9, median * 1.1),
            tip: format!("{system} < others"),
        };
        let row = |name: &str| Row {
            name: name.into(),
            bars: vec![bar("zonda", 4e9), bar("zenoh", 1e9)],
        };
        let svg = draw("bytes", Unit::Count, &[row("tcp"), row("udp")]);
        assert_eq!(svg.matches("class=\"bar\"").count(), 4);
        for part in [
            ">tcp</text>",
            ">4G zonda</text>",
            "zonda &lt; others",
            ">2G</text>",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        roxmltree::Document::parse(&svg).expect("well-formed XML");
    }
}
