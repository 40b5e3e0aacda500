// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure: a frame with marked axes, and series of lines, bands and dots in it. Colours come from
//! the page's style, by the CSS class of the series.

use std::fmt::Write;

use super::escape;

/// The extent of a picture in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Space at the sides of the frame, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Margins {
    /// Left of the frame.
    pub left: f64,
    /// Right of the frame.
    pub right: f64,
}

/// Edges of the frame, or of a bar in it.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left and right.
    pub x: (f64, f64),
    /// Top and bottom.
    pub y: (f64, f64),
}

/// A figure in progress.
pub struct Figure {
    frame: Frame,
    svg: String,
}

impl Figure {
    /// Begins a figure with an empty frame and a title.
    pub fn new(size: Size, title: &str) -> Self {
        Figure::with_margin(size, 14.0, title)
    }

    /// Begins a figure with this margin right of the frame.
    pub fn with_margin(size: Size, margin: f64, title: &str) -> Self {
        let margins = Margins {
            left: 64.0,
            right: margin,
        };
        Figure::with_margins(size, margins, title)
    }

    /// Begins a figure with room on both sides of the frame.
    pub fn with_margins(size: Size, margins: Margins, title: &str) -> Self {
        let Size { width, height } = size;
        let title = escape(title);
        let frame = Frame {
            x: (margins.left, f64::from(width) - margins.right),
            y: (26.0, f64::from(height) - 42.0),
        };
        let svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\
             <text x=\"{}\" y=\"16\">{title}</text>\n",
            frame.x.0
        );
        Figure { frame, svg }
    }

    /// Returns the edges of the frame.
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Adds a mark below the frame, with a line through the frame.
    pub fn mark_x(&mut self, x: f64, label: &str) {
        let (top, bottom) = self.frame.y;
        self.add(&format!(
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            bottom + 16.0
        ));
    }

    /// Adds a mark left of the frame, with a line through the frame.
    pub fn mark_y(&mut self, y: f64, label: &str) {
        let (left, right) = self.frame.x;
        self.add(&format!(
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 6.0,
            y + 4.0
        ));
    }

    /// Adds the name of a row, left of the frame.
    pub fn name_row(&mut self, y: f64, name: &str) {
        let x = self.frame.x.0 - 8.0;
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            escape(name)
        ));
    }

    /// Adds a bar with a tooltip.
    pub fn bar(&mut self, place: Frame, text: &str) {
        let ((left, right), (top, bottom)) = (place.x, place.y);
        let (width, height) = ((right - left).max(1.0), bottom - top);
        self.add(&format!(
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
            escape(text)
        ));
    }

    /// Names the lower axis.
    pub fn name_x(&mut self, name: &str) {
        let (left, right) = self.frame.x;
        let (x, y) = ((left + right) / 2.0, self.frame.y.1 + 34.0);
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            escape(name)
        ));
    }

    /// Begins the series of a system, which its checkbox hides as far as the series' end. `class`
    /// is the CSS class of its colour.
    pub fn begin(&mut self, class: &str, system: &str) {
        self.add(&format!(
            "<g class=\"{class}\" data-part=\"\" data-system=\"{}\">",
            escape(system)
        ));
    }

    /// Adds the name of a series at its end.
    pub fn label(&mut self, x: f64, y: f64, text: &str) {
        self.add(&format!(
            "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        ));
    }

    /// Adds the area between a lower and an upper line.
    pub fn band(&mut self, lower: &[(f64, f64)], upper: &[(f64, f64)]) {
        let around = lower.iter().chain(upper.iter().rev());
        let points = points(around);
        self.add(&format!("<polygon class=\"band\" points=\"{points}\"/>"));
    }

    /// Adds a line through points.
    pub fn line(&mut self, through: &[(f64, f64)]) {
        let points = points(through.iter());
        self.add(&format!("<polyline class=\"line\" points=\"{points}\"/>"));
    }

    /// Adds a dot with a tooltip.
    pub fn dot(&mut self, x: f64, y: f64, text: &str) {
        self.add(&format!(
            "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>",
            escape(text)
        ));
    }

    /// Ends the series.
    pub fn end(&mut self) {
        self.add("</g>");
    }

    /// Returns the figure as a part of a page.
    pub fn finish(mut self) -> String {
        let ((left, right), (top, bottom)) = (self.frame.x, self.frame.y);
        self.add(&format!(
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/></svg>",
            right - left,
            bottom - top
        ));
        self.svg
    }

    fn add(&mut self, part: &str) {
        writeln!(self.svg, "{part}").expect("a string takes everything");
    }
}

fn points<'p>(of: impl Iterator<Item = &'p (f64, f64)>) -> String {
    let each: Vec<String> = of.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    each.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_is_closed() {
        let mut figure = Figure::new(
            Size {
                width: 400,
                height: 300,
            },
            "a title",
        );
        figure.mark_x(100.0, "1k");
        figure.mark_y(100.0, "10 µs");
        figure.begin("s-std", "std & co");
        figure.line(&[(64.0, 30.0), (70.04, 31.0)]);
        figure.band(&[(64.0, 30.0)], &[(64.0, 20.0), (65.0, 20.0)]);
        figure.dot(64.0, 30.0, "p50 < p99");
        figure.label(70.0, 30.0, "std");
        figure.end();
        let svg = figure.finish();
        for part in [
            "<svg viewBox=\"0 0 400 300\"",
            "points=\"64.0,30.0 70.0,31.0\"",
            "points=\"64.0,30.0 65.0,20.0 64.0,20.0\"",
            "data-system=\"std &amp; co\"",
            "<title>p50 &lt; p99</title>",
            ">std</text>",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        roxmltree::Document::parse(&svg).expect("well-formed XML");
        assert!(svg.ends_with("</svg>\n"));
    }
}
