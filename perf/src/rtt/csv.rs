// SPDX-License-Identifier: MIT OR Apache-2.0
//! The studies' rows, so that their plots can be drawn from these measurements.

use std::fmt;

use crate::scenario::raw::rate;

/// The first line.
pub const HEADER: &str = "framework,transport,test,count,rate,payload,tasks,value,unit";

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// What moved the bytes.
    pub framework: &'a str,
    /// What they travelled by.
    pub transport: &'a str,
    /// What was measured.
    pub test: &'a str,
    /// The message's counter, or how many round trips took so long.
    pub count: u64,
    /// Messages wanted per second; `None` for as many as possible.
    pub rate: Option<f64>,
    /// Bytes of a message.
    pub payload: usize,
    /// Tasks beside the ping.
    pub tasks: u32,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'a str,
}

impl<'a> Row<'a> {
    /// Reads a line. The error says what is wrong with it.
    pub fn parse(line: &'a str) -> Result<Self, String> {
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
        Ok(Row {
            framework,
            transport,
            test,
            count: number(count)?,
            rate: rate(wanted)
                .map_err(|_| format!("{wanted} is no rate"))?
                .hertz(),
            payload: number(payload)?,
            tasks: number(tasks)?,
            value: number(value)?,
            unit,
        })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{},{},",
            self.framework, self.transport, self.test, self.count
        )?;
        match self.rate {
            Some(rate) => write!(f, "{}", significant(rate))?,
            None => f.write_str("inf")?,
        }
        write!(
            f,
            ",{},{},{},{}",
            self.payload,
            self.tasks,
            significant(self.value),
            self.unit
        )
    }
}

/// Without the digits that only the division of an interval has made.
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
        assert_eq!(row.to_string(), line);
        assert_eq!(Row::parse(line), Ok(row));
        row.rate = None;
        row.value = 999.800_04;
        assert_eq!(row.to_string(), "tokio,tcp,rtt,7,inf,64,10,999.8,ns");
        assert_eq!(
            row.to_string().split(',').count(),
            HEADER.split(',').count()
        );
    }
}
