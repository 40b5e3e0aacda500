// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records in files.

use std::fs;
use std::path::Path;

use serde_json::Value;
use zonda_program::Failure;

use super::{Record, SCHEMA};

impl Record {
    /// Checks that `file` can be written, before the measurement and not after it. An existing file
    /// is emptied.
    pub fn reserve(file: &Path) -> Result<(), Failure> {
        match is_output(file) {
            true => Ok(()),
            false => write(file, ""),
        }
    }

    /// Writes the record to `file`.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        // values of a record are plain numbers, strings and maps with string keys
        let text = serde_json::to_string_pretty(self).map_err(|e| cannot("write", file, e))?;
        write(file, &format!("{text}\n"))
    }

    /// Reads a record back.
    pub fn read(file: &Path) -> Result<Record, Failure> {
        let text = fs::read_to_string(file).map_err(|e| cannot("read", file, e))?;
        Record::parse(&text, file)
    }

    /// Parses the text of a file as a record. The error names the mismatch.
    pub fn parse(text: &str, file: &Path) -> Result<Record, Failure> {
        let file = file.display();
        let form =
            |why: String| Failure::Run(format!("{file} is no record of a measurement: {why}"));
        let value: Value = serde_json::from_str(text).map_err(|e| form(e.to_string()))?;
        match value.get("schema").and_then(Value::as_u64) {
            Some(found) if found == u64::from(SCHEMA) => {}
            Some(found) => {
                let text = format!("{file} has schema {found}, this program reads {SCHEMA}");
                return Err(Failure::Run(text));
            }
            None => return Err(form("it has no \"schema\"".into())),
        }
        serde_json::from_value(value).map_err(|e| form(e.to_string()))
    }
}

/// Returns true if the file name stands for standard output.
pub fn is_output(file: &Path) -> bool {
    file == Path::new("-")
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if is_output(file) {
        zonda_program::write(text.as_bytes());
        return Ok(());
    }
    fs::write(file, text).map_err(|e| cannot("write", file, e))
}

fn cannot(what: &str, file: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("cannot {what} {}: {error}", file.display()))
}
