// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records in files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Record, SCHEMA};

/// Why a file of figures could not be written or read. Its text is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be written.
    #[error("cannot write {}: {error}", file.display())]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("{} is no record of a measurement: {why}", file.display())]
    Form {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is of another version of this program.
    #[error("{} has schema {found}, this program reads {SCHEMA}", file.display())]
    Schema {
        /// Which.
        file: PathBuf,
        /// Its schema.
        found: u64,
    },
}

impl Record {
    /// Finds out that `file` can be written, before the work and not after it. An existing file is
    /// emptied.
    pub fn reserve(file: &Path) -> Result<(), RecordError> {
        write(file, "")
    }

    /// Writes the record to `file`.
    pub fn write(&self, file: &Path) -> Result<(), RecordError> {
        // values of a record are plain numbers, strings and maps with string keys
        let text = serde_json::to_string_pretty(self).map_err(|error| RecordError::Write {
            file: file.to_owned(),
            error: error.into(),
        })?;
        write(file, &format!("{text}\n"))
    }

    /// Reads a record back.
    pub fn read(file: &Path) -> Result<Record, RecordError> {
        let text = fs::read_to_string(file).map_err(|error| RecordError::Read {
            file: file.to_owned(),
            error,
        })?;
        parse(&text, file)
    }
}

fn parse(text: &str, file: &Path) -> Result<Record, RecordError> {
    let form = |why: String| RecordError::Form {
        file: file.to_owned(),
        why,
    };
    let value: Value = serde_json::from_str(text).map_err(|e| form(e.to_string()))?;
    let schema = value.get("schema").and_then(Value::as_u64);
    match schema {
        Some(found) if found == u64::from(SCHEMA) => {}
        Some(found) => {
            return Err(RecordError::Schema {
                file: file.to_owned(),
                found,
            });
        }
        None => return Err(form("it has no \"schema\"".into())),
    }
    serde_json::from_value(value).map_err(|e| form(e.to_string()))
}

fn write(file: &Path, text: &str) -> Result<(), RecordError> {
    fs::write(file, text).map_err(|error| RecordError::Write {
        file: file.to_owned(),
        error,
    })
}
