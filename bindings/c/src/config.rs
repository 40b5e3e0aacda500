// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configurations.

use bytes::Bytes;
use zonda::Config;

use crate::code::{Code, Failure, GENERIC, INVALID, IO, OrFail, PARSE, Required, answer};
use crate::place::{Loan, Moved, Out, lent, lent_mut, mechanical, place, write};
use crate::text::{CText, OwnedString, Start};

place!(
    /// A configuration.
    OwnedConfig = Box<Config>, size 1816, align 8
);

mechanical!(OwnedConfig:
    null z_internal_config_null,
    check z_internal_config_check,
    drop z_config_drop,
    loan z_config_loan,
    loan_mut z_config_loan_mut,
    clone z_config_clone,
);

/// Makes the default configuration: a peer that scouts.
#[unsafe(no_mangle)]
pub extern "C" fn z_config_default(this: Out<'_, OwnedConfig>) -> Code {
    answer(|| write(this, Ok(Box::default())))
}

/// Reads the file that the environment variable `ZENOH_CONFIG` names.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_from_env(this: Out<'_, OwnedConfig>) -> Code {
    answer(|| write(this, Config::from_env().map(Box::new).or_fail(IO)))
}

/// Reads a configuration file.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_from_file(this: Out<'_, OwnedConfig>, path: CText<'_>) -> Code {
    answer(|| write(this, path.str("path").and_then(from_file)))
}

/// Reads a configuration file, whose path has so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_from_file_substr(
    this: Out<'_, OwnedConfig>,
    path: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, path.str(len, "path").and_then(from_file)))
}

fn from_file(path: &str) -> Result<Box<Config>, Failure> {
    Config::from_file(path).map(Box::new).or_fail(IO)
}

/// Parses a configuration in JSON5.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_from_str(this: Out<'_, OwnedConfig>, text: CText<'_>) -> Code {
    answer(|| write(this, text.str("s").and_then(from_text)))
}

/// Parses a configuration in JSON5 of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_from_substr(
    this: Out<'_, OwnedConfig>,
    text: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, text.str(len, "s").and_then(from_text)))
}

fn from_text(text: &str) -> Result<Box<Config>, Failure> {
    Config::from_json5(text).map(Box::new).or_fail(PARSE)
}

/// Writes the value of a key, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_get_from_str(
    this: Loan<'_, Box<Config>>,
    key: CText<'_>,
    value: Out<'_, OwnedString>,
) -> Code {
    answer(|| get(this, key.str("key"), value))
}

/// Writes the value of a key, whose name has so many bytes, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_get_from_substr(
    this: Loan<'_, Box<Config>>,
    key: Start<'_>,
    len: usize,
    value: Out<'_, OwnedString>,
) -> Code {
    answer(|| get(this, key.str(len, "key"), value))
}

fn get(
    config: Loan<'_, Box<Config>>,
    key: Result<&str, Failure>,
    value: Out<'_, OwnedString>,
) -> Result<(), Failure> {
    let read = || {
        lent(config)
            .required("this_")?
            .get_json(key?)
            .or_fail(INVALID)
    };
    write(value, read().map(Bytes::from))
}

/// Sets the value of a key, in JSON5.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_insert_json5(
    this: Moved<'_, Box<Config>>,
    key: CText<'_>,
    value: CText<'_>,
) -> Code {
    answer(|| insert(this, key.str("key")?, value.str("value")?))
}

/// Sets the value of a key, in JSON5, by texts of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_insert_json5_from_substr(
    this: Moved<'_, Box<Config>>,
    key: Start<'_>,
    key_len: usize,
    value: Start<'_>,
    value_len: usize,
) -> Code {
    answer(|| {
        insert(
            this,
            key.str(key_len, "key")?,
            value.str(value_len, "value")?,
        )
    })
}

fn insert(config: Moved<'_, Box<Config>>, key: &str, value: &str) -> Result<(), Failure> {
    lent_mut(config)
        .required("this_")?
        .insert_json5(key, value)
        .or_fail(GENERIC)
}
