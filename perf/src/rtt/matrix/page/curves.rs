// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two kinds of figure: the median over the rate, and distribution functions.

use super::class;
use crate::numbers::{Unit, micros, short};
use crate::page;
use crate::page::{Chart, Figure, Logarithmic, Place, Point, Size};
use crate::rtt::matrix::plan::ECHO;
use crate::rtt::matrix::report::Report;
use crate::rtt::matrix::summary::Summary;
use crate::scenario::raw::{Rate, Raw};

/// A figure of several beside each other.
const NARROW: Size = Size {
    width: 440,
    height: 280,
};
/// Room that a label takes in width.
const LABEL: f64 = 46.0;
/// Beyond this share of the round trips, a distribution function's axis ends.
const MOST: f64 = 0.985;

/// What one framework showed in the cases of a figure.
struct Series {
    framework: &'static str,
    points: Vec<(Rate, Summary)>,
}

/// The kernel's echo stands in every figure: it knows neither transports nor tasks.
fn series(report: &Report, cases: &[Raw]) -> Vec<Series> {
    let of = |&framework: &&'static str| {
        let points = cases.iter().filter_map(|case| {
            let is_it = |c: &Raw| match framework {
                ECHO => c.rate == case.rate,
                _ => c == case,
            };
            Some((case.rate, report.summary(framework, is_it)?))
        });
        Series {
            framework,
            points: points.collect(),
        }
    };
    let all = report.plan.frameworks.iter().map(of);
    all.filter(|s| !s.points.is_empty()).collect()
}

/// The median with its band over the rate.
pub fn medians(report: &Report, cases: &[Raw]) -> String {
    let curve = |series: Series| {
        let point = |(rate, summary): &(Rate, Summary)| Point {
            x: rate.hertz().map_or(Place::Beyond, Place::Value),
            median: summary.at("p50"),
            band: (summary.at("p2.5"), summary.at("p97.5")),
            tip: tip(series.framework, *rate, summary),
        };
        page::Series {
            name: series.framework.to_owned(),
            class: class(series.framework),
            points: series.points.iter().map(point).collect(),
        }
    };
    Chart {
        title: "round trip, median and 2.5 to 97.5 %".into(),
        x: ("messages wanted per second", Unit::Count),
        y: Unit::Micros,
        group: "framework",
        series: series(report, cases).into_iter().map(curve).collect(),
    }
    .wide()
}

fn tip(framework: &str, rate: Rate, summary: &Summary) -> String {
    let loss = match summary.lost {
        0 => String::new(),
        _ => format!(", {:.2} % lost", summary.loss_percent()),
    };
    format!(
        "{framework} at {rate}: p50 {}, p99 {}; achieved {}/s{loss}{}",
        micros(summary.at("p50")),
        micros(summary.at("p99")),
        summary
            .achieved
            .map_or("unknown".into(), |a| short(a.median)),
        if summary.is_disturbed() {
            "; other programs were busy"
        } else {
            ""
        }
    )
}

/// The share of round trips that were not slower than a time, and the density of the times.
pub fn distribution(report: &Report, case: &Raw) -> String {
    let all = series(report, &[*case]);
    let most = |curve: fn(&Summary) -> &[(f64, f64)]| {
        let summaries = all.iter().flat_map(|s| &s.points);
        let shares = summaries
            .flat_map(move |(_, s)| curve(s))
            .map(|(_, share)| *share);
        shares.fold(0.0, f64::max)
    };
    let function = format!("share of round trips, {} wanted/s", case.rate);
    let density = format!("density, {} wanted/s", case.rate);
    let highest = most(|s| &s.density);
    curves(&all, &function, 1.0, |s| &s.distribution)
        + &curves(&all, &density, highest, |s| &s.density)
}

/// Curves of shares over the time, up to that of the slowest few round trips.
fn curves(
    all: &[Series],
    title: &str,
    highest: f64,
    curve: fn(&Summary) -> &[(f64, f64)],
) -> String {
    let mut figure = Figure::new(NARROW, title);
    let frame = figure.frame();
    let points = || {
        let summaries = all.iter().flat_map(|s| &s.points);
        let points = summaries.flat_map(|(_, s)| &s.distribution);
        points
            .filter(|(_, share)| *share <= MOST)
            .map(|(us, _)| *us)
    };
    let low = points().fold(f64::INFINITY, f64::min);
    let high = points().fold(0.0, f64::max);
    if !low.is_finite() || highest <= 0.0 {
        return figure.finish();
    }
    let (low, high) = (low * 0.9, high * 1.1);
    let x = Logarithmic::new(low, high, frame.x.0, frame.x.1);
    let y = |share: f64| frame.y.1 + share / highest * (frame.y.0 - frame.y.1);
    for mark in x.marks(LABEL) {
        figure.mark_x(x.at(mark), &micros(mark));
    }
    for quarter in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let share = quarter * highest;
        figure.mark_y(y(share), &format!("{:.0} %", share * 100.0));
    }
    for series in all {
        figure.begin(&class(series.framework), "framework", series.framework);
        for (_, summary) in &series.points {
            let shown = curve(summary)
                .iter()
                .filter(|(us, _)| (low..=high).contains(us));
            let line: Vec<_> = shown.map(|(us, share)| (x.at(*us), y(*share))).collect();
            figure.line(&line);
        }
        figure.end();
    }
    figure.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::matrix::summary::{summary, tests::cell};

    #[test]
    fn dots_tell_both_rates() {
        let summary = summary(&cell(&[&[10, 20, 30]])).expect("three round trips");
        let text = tip("smol", Rate::Hertz(1e3), &summary);
        assert!(
            text.starts_with("smol at 1k: p50 20") && text.contains("achieved 3.00/s"),
            "{text}"
        );
        assert!(text.contains("25.00 % lost"), "{text}");
    }
}
