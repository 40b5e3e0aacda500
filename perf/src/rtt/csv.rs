// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows in the columns of the studies, and in the studies' own formats, so that either project's
//! tools can plot the other's measurements.

use clap::ValueEnum;

use crate::scenario::raw::rate;

/// The first line.
pub const HEADER: &str = "framework,transport,test,count,rate,payload,tasks,value,unit";

/// Format of rows.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Rates in messages per second; throughput and losses behind the round trips
    #[default]
    Zonda,
    /// As the programs of 2022 wrote them and their parse.py reads them: the interval in seconds in the place of the rate, one row for
    /// each round trip, and nothing else
    Eval2022,
    /// Rows of the program of 2025 that succeeded it
    NetBenchmark,
}

impl Format {
    /// Returns true if the rows are in the format of a study.
    pub fn is_study(self) -> bool {
        self != Format::Zonda
    }

    /// Returns the name of a framework in the rows.
    fn framework(self, name: &str) -> &str {
        match name {
            "icmp" if self.is_study() => "ping",
            name => name,
        }
    }
}

/// A line of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// The framework.
    pub framework: &'a str,
    /// The transport.
    pub transport: &'a str,
    /// The metric.
    pub test: &'a str,
    /// The message's counter, or the number of round trips of this time.
    pub count: u64,
    /// Messages wanted per second; `None` for back to back.
    pub rate: Option<f64>,
    /// Bytes of a message.
    pub payload: usize,
    /// Background tasks.
    pub tasks: u32,
    /// The figure.
    pub value: f64,
    /// The figure's unit.
    pub unit: &'a str,
}

impl<'a> Row<'a> {
    /// Parses a line. The error names the fault.
    pub fn parse(line: &'a str, format: Format) -> Result<Self, String> {
        // split into the columns of the header
        let columns: Vec<&str> = line.trim().split(',').collect();
        let [
            framework,
            transport,
            test,
            count,
            wanted,
            payload,
            tasks,
            value,
            unit,
        ] = columns[..]
        else {
            let found = columns.len();
            return Err(format!("{found} columns, expected those of {HEADER}"));
        };
        // convert names and units
        let framework = match framework {
            "ping" if format.is_study() => "icmp",
            name => name,
        };
        let (value, unit) = in_nanos(number(value)?, unit);
        Ok(Row {
            framework,
            transport,
            test,
            count: number(count)?,
            rate: hertz(wanted, format)?,
            payload: number(payload)?,
            tasks: number(tasks)?,
            value,
            unit,
        })
    }

    /// Formats the line.
    pub fn text(&self, format: Format) -> String {
        let wanted = match (format.is_study(), self.rate) {
            (false, Some(rate)) => significant(rate).to_string(),
            (false, None) => "inf".to_owned(),
            (true, Some(rate)) => (1.0 / significant(rate)).to_string(),
            (true, None) => "0".to_owned(),
        };
        let Row {
            transport,
            test,
            count,
            payload,
            tasks,
            unit,
            ..
        } = self;
        let (framework, value) = (format.framework(self.framework), significant(self.value));
        format!("{framework},{transport},{test},{count},{wanted},{payload},{tasks},{value},{unit}")
    }
}

/// Parses messages per second; `None` for back to back.
fn hertz(wanted: &str, format: Format) -> Result<Option<f64>, String> {
    if format.is_study() {
        let interval: f64 = number(wanted)?;
        return match interval {
            0.0 => Ok(None),
            s if s > 0.0 => Ok(Some(significant(1.0 / s))),
            _ => Err(format!("{wanted} is no interval")),
        };
    }
    let rate = rate(wanted).map_err(|_| format!("{wanted} is no rate"))?;
    Ok(rate.hertz())
}

/// Converts times to nanoseconds, as these programs write them; other units are unchanged.
fn in_nanos(value: f64, unit: &str) -> (f64, &str) {
    match unit {
        "s" => (value * 1e9, "ns"),
        "ms" => (value * 1e6, "ns"),
        "us" => (value * 1e3, "ns"),
        unit => (value, unit),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// Rounds to three decimals, without the digits that only the division of an interval produces.
fn significant(figure: f64) -> f64 {
    let scale = 1e3;
    match figure.abs() {
        f if f >= 1e12 => figure,
        _ => (figure * scale).round() / scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_columns_of_the_header() {
        let mut row = Row {
            framework: "tokio",
            transport: "tcp",
            test: "rtt",
            count: 7,
            rate: Some(1.0 / 0.001),
            payload: 64,
            tasks: 10,
            value: 16_895.0,
            unit: "ns",
        };
        let line = "tokio,tcp,rtt,7,1000,64,10,16895,ns";
        assert_eq!(row.text(Format::Zonda), line);
        assert_eq!(Row::parse(line, Format::Zonda), Ok(row));
        row.rate = None;
        row.value = 999.800_04;
        let endless = row.text(Format::Zonda);
        assert_eq!(endless, "tokio,tcp,rtt,7,inf,64,10,999.8,ns");
        assert_eq!(endless.split(',').count(), HEADER.split(',').count());
    }

    /// Tests lines in the form of the programs of 2022 and of the script around ping.
    #[test]
    fn rows_of_the_study_are_read_and_written() {
        let study = Format::Eval2022;
        for line in [
            "tokio,tcp,rtt,7,0.001,64,10,16895,ns",
            "async-std,udp,rtt,0,0.0000001,64,0,9000,ns",
            "std,tcp,rtt,3,0,64,0,5000,ns",
            "smol,tcp,rtt,3,1,64,0,5000,ns",
        ] {
            let row = Row::parse(line, study).expect(line);
            assert_eq!(row.text(study), line);
        }
        let row = Row::parse("ping,icmp,rtt,4,0.001000,64,0,0.045,ms", study).expect("of ping");
        assert_eq!((row.framework, row.rate), ("icmp", Some(1000.0)));
        assert_eq!((row.value, row.unit), (45_000.0, "ns"));
        assert_eq!(row.text(study), "ping,icmp,rtt,4,0.001,64,0,45000,ns");
    }
}
