// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of a tool: a key and a value, given by flags or as plain words.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda_program::{Failure, key_expr};

use super::form::Form;

/// The key of a tool that needs nothing else.
#[derive(Args, Clone, Debug)]
pub struct OnKey {
    /// The key expression, by a flag
    #[arg(short, long, value_parser = key_expr)]
    key: Option<KeyExpr<'static>>,
    /// Key expression, such as demo/** [default for sub and record: **, all keys]
    #[arg(value_name = "KEY", conflicts_with = "key", value_parser = key_expr)]
    word: Option<KeyExpr<'static>>,
}

impl OnKey {
    /// Returns the key; without one all keys.
    pub fn or_all(&self) -> Result<KeyExpr<'static>, Failure> {
        let given = self.required();
        given.or_else(|_| key_expr("**").map_err(Failure::Usage))
    }

    /// Returns the key.
    ///
    /// # Errors
    /// Bad usage without one.
    pub fn required(&self) -> Result<KeyExpr<'static>, Failure> {
        let given = self.key.as_ref().or(self.word.as_ref());
        given.cloned().ok_or_else(no_key)
    }
}

/// A key and a value.
#[derive(Args, Clone, Debug)]
pub struct KeyAndValue {
    /// The key, by a flag; the first word is the value then
    #[arg(short, long, value_parser = key_expr)]
    key: Option<KeyExpr<'static>>,
    /// Key, such as demo/a
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    first: Option<String>,
    /// The value to send
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    second: Option<String>,
    /// Source of the value.
    #[command(flatten)]
    pub given: Given,
}

impl KeyAndValue {
    /// Returns the key.
    ///
    /// # Errors
    /// Bad usage without one, with two, or with an invalid one.
    pub fn key(&self) -> Result<KeyExpr<'static>, Failure> {
        match (&self.key, &self.first, &self.second) {
            (Some(_), Some(word), Some(_)) => Err(Failure::Usage(format!(
                "there are two keys: {word:?} and that of -k"
            ))),
            (Some(key), _, _) => Ok(key.clone()),
            (None, Some(word), _) => {
                key_expr(word).map_err(|error| Failure::Usage(format!("key {word:?}: {error}")))
            }
            (None, None, _) => Err(no_key()),
        }
    }

    /// Returns the value, if the command line gives one; see [`Given::value`].
    pub fn value(&self) -> Result<Option<Vec<u8>>, Failure> {
        let first = self.first.as_ref().filter(|_| self.key.is_some());
        self.given.value(first.or(self.second.as_ref()))
    }

    /// Returns the value.
    ///
    /// # Errors
    /// Returns [`KeyAndValue::value`]; bad usage without one.
    pub fn required_value(&self) -> Result<Vec<u8>, Failure> {
        const NO_VALUE: &str =
            "there is no value: give it behind the key, by -p, or by -f FILE (- is standard input)";
        self.value()?
            .ok_or_else(|| Failure::Usage(NO_VALUE.to_owned()))
    }
}

/// A value: its bytes, and how a receiver is to read them.
#[derive(Args, Clone, Debug)]
pub struct Given {
    /// The value to send, by a flag
    #[arg(short, long, alias = "value", allow_negative_numbers = true)]
    payload: Option<String>,
    /// The value is what this file contains; - is standard input
    #[arg(short, long, conflicts_with = "payload")]
    file: Option<PathBuf>,
    /// The value is written in hexadecimal digits, such as "00 ff 7e"
    #[arg(long, conflicts_with = "base64")]
    hex: bool,
    /// The value is written in base64
    #[arg(long)]
    base64: bool,
    /// Encoding of the value, such as application/json [default: text/plain; zenoh/bytes with -f, --hex or --base64]
    #[arg(long)]
    encoding: Option<String>,
}

impl Given {
    /// Returns the value, if there is one: this word, or that of the flags. A file is read here.
    ///
    /// # Blocking
    /// Until standard input ends, if that is the file.
    ///
    /// # Errors
    /// Bad usage for two values, or for one that does not have the form of the flags; a failure for
    /// a file that cannot be read.
    pub fn value(&self, word: Option<&String>) -> Result<Option<Vec<u8>>, Failure> {
        let written = match (word.xor(self.payload.as_ref()), word, &self.file) {
            (Some(text), _, None) => text.clone().into_bytes(),
            (None, None, Some(file)) => read(file)?,
            (None, None, None) => return Ok(None),
            _ => {
                return Err(Failure::Usage(
                    "there are two values: give one, as a word, by -p or by -f".to_owned(),
                ));
            }
        };
        self.decode(written).map(Some)
    }

    /// Decodes the bytes of a value that is written in this form.
    ///
    /// # Errors
    /// Bad usage if it does not have the form of the flags.
    pub fn decode(&self, written: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let form = self.form();
        form.read(written)
            .map_err(|error| Failure::Usage(format!("the value is {error}")))
    }

    fn form(&self) -> Form {
        match (self.hex, self.base64) {
            (true, _) => Form::Hex,
            (_, true) => Form::Base64,
            _ => Form::Plain,
        }
    }

    /// Returns the encoding by which a receiver reads the value.
    pub fn encoding(&self) -> Encoding {
        let is_text = self.file.is_none() && self.form() == Form::Plain;
        self.named_encoding().unwrap_or(match is_text {
            true => Encoding::TEXT_PLAIN,
            false => Encoding::ZENOH_BYTES,
        })
    }

    /// Returns the encoding that the command line names.
    pub fn named_encoding(&self) -> Option<Encoding> {
        self.encoding.as_deref().map(Encoding::from)
    }
}

/// Creates the failure of a tool that needs a key.
fn no_key() -> Failure {
    Failure::Usage("there is no key: give it as the first word, or by -k".to_owned())
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match file == Path::new("-") {
        true => io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        false => fs::read(file),
    };
    read.map_err(|error| Failure::doing(format_args!("cannot read {}", file.display()), error))
}
