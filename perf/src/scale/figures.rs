// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one round showed, by name.

use std::fmt;

use crate::record::{Better, Cell};

/// The figures of one round.
#[derive(Debug, Default)]
pub struct Figures(Vec<(&'static str, &'static str, Better, f64)>);

impl Figures {
    /// One more.
    pub fn add(&mut self, name: &'static str, unit: &'static str, better: Better, figure: f64) {
        self.0.push((name, unit, better, figure));
    }

    /// Appends the round to those of a cell.
    pub fn into_cell(self, cell: &mut Cell) {
        for (name, unit, better, figure) in self.0 {
            cell.add(name, unit, better, figure);
        }
    }
}

/// In one line, for the progress.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, unit, _, figure)) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {figure:.1} {unit}")?;
        }
        Ok(())
    }
}
