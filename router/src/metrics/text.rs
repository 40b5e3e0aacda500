// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics: each one is declared once with its name and description, and formatted as OpenMetrics
//! text, which Prometheus and compatible systems read.
//!
//! ```
//! use zonda_router::metrics::{Kind, Metric, Sample, text};
//!
//! static LINKS: Metric = Metric {
//!     name: "zonda_links",
//!     kind: Kind::Gauge,
//!     help: "Links that are open.",
//! };
//!
//! let samples = [Sample::of(&LINKS, 2).with("role", "client")];
//! assert_eq!(
//!     text(&samples),
//!     "# TYPE zonda_links gauge\n# HELP zonda_links Links that are open.\nzonda_links{role=\"client\"} 2\n# EOF\n"
//! );
//! ```

use std::fmt::Write;

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Number of events since the node was opened; it only grows. `_total` is added to the name of
    /// its samples.
    Counter,
    /// Current size of something.
    Gauge,
    /// Constant facts in the labels of one sample, whose name gets `_info`.
    Info,
    /// Distribution, of which each sample is a [part](Sample::part).
    Histogram,
}

/// Declaration of a metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Letters, digits and underscores, beginning with `zonda_`, or `zenoh_` for a name of the
    /// reference; the unit, if there is one, comes last.
    pub name: &'static str,
    /// Kind of the metric.
    pub kind: Kind,
    /// Description, one sentence.
    pub help: &'static str,
}

/// The value of a metric, for one combination of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    metric: &'static Metric,
    labels: Vec<(&'static str, String)>,
    value: u64,
    /// Suffix of the name in a histogram.
    part: &'static str,
}

impl Sample {
    /// Creates a sample without labels.
    #[must_use]
    pub fn of(metric: &'static Metric, value: u64) -> Self {
        Sample {
            metric,
            labels: Vec::new(),
            value,
            part: "",
        }
    }

    /// Sets the suffix of a part of a histogram: `_bucket`, `_count` or `_sum`.
    #[must_use]
    pub fn part(mut self, part: &'static str) -> Self {
        self.part = part;
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn with(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.labels.push((label, value.into()));
        self
    }

    /// The metric of the sample.
    #[must_use]
    pub fn metric(&self) -> &'static Metric {
        self.metric
    }

    /// Returns the value of a label, if the sample has it.
    #[must_use]
    pub fn label(&self, label: &str) -> Option<&str> {
        let mut labels = self.labels.iter();
        let found = labels.find(|(name, _)| *name == label);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of the sample.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }
}

/// Formats samples as OpenMetrics text, grouped by metric, in the order in which the metrics appear
/// first.
#[must_use]
pub fn text(samples: &[Sample]) -> String {
    // Each metric is written where its first sample stands, with all its samples.
    let mut text = String::new();
    let mut written: Vec<&'static str> = Vec::new();
    for Sample { metric, .. } in samples {
        if written.contains(&metric.name) {
            continue;
        }
        written.push(metric.name);
        let (kind, suffix) = match metric.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Info => ("info", "_info"),
            Kind::Histogram => ("histogram", ""),
        };
        let (name, help) = (metric.name, escaped(metric.help));
        text += &format!("# TYPE {name} {kind}\n# HELP {name} {help}\n");
        let same = |sample: &&Sample| sample.metric.name == name;
        for sample in samples.iter().filter(same) {
            text += name;
            text += suffix;
            text += sample.part;
            write_labels(&mut text, &sample.labels);
            // Writing to a string cannot fail.
            let _ = writeln!(text, " {}", sample.value);
        }
    }
    text + "# EOF\n"
}

fn write_labels(text: &mut String, labels: &[(&'static str, String)]) {
    for (index, (label, value)) in labels.iter().enumerate() {
        text.push(if index == 0 { '{' } else { ',' });
        // Writing to a string cannot fail.
        let _ = write!(text, "{label}=\"{}\"", escaped(value));
    }
    if !labels.is_empty() {
        text.push('}');
    }
}

/// Escapes the three characters that the format requires to be escaped.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('\n', "\\n");
    value.replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    static BYTES: Metric = Metric {
        name: "zonda_bytes",
        kind: Kind::Counter,
        help: "A \"thing\".",
    };
    static OTHERS: Metric = Metric {
        name: "zonda_others",
        kind: Kind::Gauge,
        help: "Others.",
    };

    #[test]
    fn samples_of_a_metric_stand_together_and_labels_are_escaped() {
        let samples = [
            Sample::of(&BYTES, 1).with("a", "x\\\"\n").with("b", "y"),
            Sample::of(&OTHERS, 2),
            Sample::of(&BYTES, 3),
        ];
        let expected = "# TYPE zonda_bytes counter\n# HELP zonda_bytes A \\\"thing\\\".\n\
            zonda_bytes_total{a=\"x\\\\\\\"\\n\",b=\"y\"} 1\nzonda_bytes_total 3\n\
            # TYPE zonda_others gauge\n# HELP zonda_others Others.\nzonda_others 2\n# EOF\n";
        assert_eq!(text(&samples), expected);
        assert_eq!(samples[0].label("b"), Some("y"));
        assert_eq!(text(&[]), "# EOF\n");
    }
}
