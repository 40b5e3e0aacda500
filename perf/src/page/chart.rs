// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves over a quantity that varies by factors: a line through the medians, a band around it,
//! dots with tooltips, and the name of each curve at its end.

use super::figure::{Figure, Size};
use super::scale::Logarithmic;
use crate::numbers::Unit;

/// A figure across the page, and one of several side by side.
const WIDE: Size = Size {
    width: 960,
    height: 440,
};
const NARROW: Size = Size {
    width: 560,
    height: 360,
};
/// Room right of the frame for the names of the curves.
const NAMES: f64 = 116.0;
/// Height and width of a mark, and height of a name.
const LINE: f64 = 18.0;
const MARK: f64 = 62.0;
const NAME: f64 = 14.0;
/// Distance between the frame and the outermost places.
const INSET: f64 = 24.0;

/// A place on the lower axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// A value above zero.
    Value(f64),
    /// Beyond all values: as fast as possible.
    Beyond,
}

/// One measurement of a curve.
#[derive(Clone, Debug)]
pub struct Point {
    /// The point's place.
    pub x: Place,
    /// The median.
    pub median: f64,
    /// Both ends of its band.
    pub band: (f64, f64),
    /// The tooltip.
    pub tip: String,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// The curve's name.
    pub name: String,
    /// The CSS class of its colour.
    pub class: String,
    /// The curve's measurements, in the order of the lower axis.
    pub points: Vec<Point>,
}

/// The content of a figure.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The text above the frame.
    pub title: String,
    /// The text below the frame: the varying quantity, and its unit.
    pub x: (&'a str, Unit),
    /// The unit of the axis left of the frame.
    pub y: Unit,
    /// The curves.
    pub series: Vec<Series>,
}

impl Chart<'_> {
    /// Draws the figure across the page.
    pub fn wide(&self) -> String {
        self.draw(WIDE)
    }

    /// Draws the figure next to other ones.
    pub fn narrow(&self) -> String {
        self.draw(NARROW)
    }

    fn draw(&self, size: Size) -> String {
        // axes and their marks
        let mut figure = Figure::with_margin(size, NAMES, &self.title);
        let frame = figure.frame();
        let Some((low, high)) = self.reach() else {
            return figure.finish();
        };
        let y = Logarithmic::new(low * 0.9, high * 1.1, frame.y.1, frame.y.0);
        for mark in y.marks_in(self.y, LINE) {
            figure.mark_y(y.at(mark), &self.y.label(mark));
        }
        let x = XAxis::new(self.places(), frame.x.0, frame.x.1);
        let mut free = f64::NEG_INFINITY;
        for place in x.places.iter().copied() {
            // a mark that would touch the previous one is left out
            if x.at(place) - free >= MARK * 0.8 || place == Place::Beyond {
                figure.mark_x(x.at(place), &self.mark(place));
                free = x.at(place);
            }
        }
        figure.name_x(self.x.0);
        // curves with their bands, dots and names
        let names = self.names(&y);
        for (series, name_y) in self.series.iter().zip(names) {
            let line = |of: fn(&Point) -> f64| -> Vec<(f64, f64)> {
                let points = series.points.iter();
                points.map(|p| (x.at(p.x), y.at(of(p)))).collect()
            };
            figure.begin(&series.class, &series.name);
            figure.band(&line(|p| p.band.0), &line(|p| p.band.1));
            let medians = line(|p| p.median);
            figure.line(&medians);
            for (at, point) in medians.iter().zip(&series.points) {
                figure.dot(at.0, at.1, &point.tip);
            }
            if let Some(name_y) = name_y {
                figure.label(frame.x.1 + 8.0, name_y + 4.0, &series.name);
            }
            figure.end();
        }
        figure.finish()
    }

    fn mark(&self, place: Place) -> String {
        match place {
            Place::Value(value) => self.x.1.label(value),
            Place::Beyond => "∞".into(),
        }
    }

    /// Returns the smallest and the largest value to show.
    fn reach(&self) -> Option<(f64, f64)> {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let positive = |v: &f64| *v > 0.0 && v.is_finite();
        let all = || points().flat_map(|p| [p.band.0, p.median, p.band.1]);
        let low = all().filter(positive).fold(f64::INFINITY, f64::min);
        let high = all().filter(positive).fold(0.0, f64::max);
        (high > 0.0).then_some((low, high))
    }

    /// Returns every place at which a curve has a point, from left to right.
    fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for point in self.series.iter().flat_map(|s| &s.points) {
            if !places.contains(&point.x) {
                places.push(point.x);
            }
        }
        let order = |place: &Place| match place {
            Place::Value(value) => *value,
            Place::Beyond => f64::INFINITY,
        };
        places.sort_by(|a, b| order(a).total_cmp(&order(b)));
        places
    }

    /// Returns the height of each curve's name: next to its end, but not on another name.
    fn names(&self, y: &Logarithmic) -> Vec<Option<f64>> {
        let ends = self.series.iter().map(|s| s.points.last());
        let mut names: Vec<Option<f64>> = ends.map(|p| p.map(|p| y.at(p.median))).collect();
        let mut order: Vec<usize> = (0..names.len()).filter(|i| names[*i].is_some()).collect();
        order.sort_by(|a, b| names[*a].partial_cmp(&names[*b]).expect("they are numbers"));
        let mut above = f64::NEG_INFINITY;
        for index in order {
            let height = names[index].map(|name| name.max(above + NAME));
            above = height.unwrap_or(above);
            names[index] = height;
        }
        names
    }
}

/// The lower axis: logarithmic, with `Beyond` a decade after the last value.
struct XAxis {
    places: Vec<Place>,
    axis: Option<Logarithmic>,
    beyond: f64,
    middle: f64,
}

impl XAxis {
    fn new(places: Vec<Place>, left: f64, right: f64) -> Self {
        let values = || {
            places.iter().filter_map(|place| match place {
                Place::Value(value) => Some(*value),
                Place::Beyond => None,
            })
        };
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        let beyond = match places.contains(&Place::Beyond) {
            true => high * 10.0,
            false => high,
        };
        let axis = low.is_finite() && low < beyond;
        XAxis {
            axis: axis.then(|| Logarithmic::new(low, beyond, left + INSET, right - INSET)),
            places,
            beyond,
            middle: (left + right) / 2.0,
        }
    }

    fn at(&self, place: Place) -> f64 {
        let value = match place {
            Place::Value(value) => value,
            Place::Beyond => self.beyond,
        };
        self.axis.map_or(self.middle, |axis| axis.at(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: Place, median: f64) -> Point {
        Point {
            x,
            median,
            band: (median * 0.9, median * 1.1),
            tip: "tip".into(),
        }
    }

    fn chart(series: Vec<Series>) -> Chart<'static> {
        Chart {
            title: "throughput".into(),
            x: ("payload", Unit::Bytes),
            y: Unit::Count,
            series,
        }
    }

    #[test]
    fn values_stand_by_their_logarithm_and_infinity_beyond_them() {
        let places = vec![Place::Value(10.0), Place::Value(100.0), Place::Beyond];
        let across = XAxis::new(places.clone(), 0.0, 248.0);
        let at: Vec<f64> = places.iter().map(|place| across.at(*place)).collect();
        for (at, expected) in at.iter().zip([24.0, 124.0, 224.0]) {
            assert!((at - expected).abs() < 1e-9, "{at} is not {expected}");
        }
        let alone = XAxis::new(vec![Place::Beyond], 0.0, 248.0);
        assert!((alone.at(Place::Beyond) - 124.0).abs() < 1e-9);
    }

    #[test]
    fn every_curve_is_drawn_with_its_name() {
        let series = |name: &str, median| Series {
            name: name.into(),
            class: "c0".into(),
            points: vec![
                point(Place::Value(8.0), median),
                point(Place::Value(1024.0), median / 10.0),
            ],
        };
        let chart = chart(vec![series("zonda", 2e6), series("bare sockets", 2.1e6)]);
        let svg = chart.wide();
        for part in [
            ">zonda</text>",
            ">bare sockets</text>",
            ">1 KiB</text>",
            ">1M</text>",
            "data-system=\"bare sockets\"",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 4);
        let y = Logarithmic::new(1e5, 3e6, 400.0, 26.0);
        let names = chart.names(&y);
        let [Some(lower), Some(upper)] = names[..] else {
            panic!("{names:?}");
        };
        assert!(lower - upper >= NAME - 1e-9, "{names:?}");
    }

    #[test]
    fn nothing_to_show_is_an_empty_frame() {
        let svg = chart(Vec::new()).narrow();
        assert!(svg.contains("class=\"frame\"") && !svg.contains("<g"));
        let zero = Series {
            name: "lost".into(),
            class: String::new(),
            points: vec![point(Place::Value(1.0), 0.0)],
        };
        assert!(!chart(vec![zero]).narrow().contains("<circle"));
    }
}
