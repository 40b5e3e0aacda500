// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints every sample on a key expression.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::key_expr::KeyExpr;
use zonda::sample::Sample;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Prints what is published on a key expression until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Key expression to subscribe to
    #[arg(short, long, default_value = "demo/example/**", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(subscribe)
}

fn subscribe(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    // without a handler of its own, a subscriber has a bounded queue to receive from
    let subscriber = session.declare_subscriber(&cli.key).wait()?;
    if !cli.connection.json {
        program::print(format_args!("Declaring Subscriber on '{}'...", cli.key));
        program::print(format_args!("Press CTRL-C to quit..."));
    }
    while !interrupt.happened() {
        if let Some(sample) = subscriber.recv_timeout(Duration::from_millis(50))? {
            show(&sample, cli.connection.json);
        }
    }
    subscriber.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}

fn show(sample: &Sample, as_json: bool) {
    if as_json {
        let line = json!({
            "kind": sample.kind().to_string(),
            "key": sample.key_expr().as_str(),
            "payload": text(sample.payload()),
            "encoding": sample.encoding().to_string(),
            "attachment": sample.attachment().map(text),
            "timestamp": sample.timestamp().map(ToString::to_string),
        });
        return program::print(format_args!("{line}"));
    }
    let attachment = sample
        .attachment()
        .map_or(String::new(), |a| format!(" ({})", text(a)));
    program::print(format_args!(
        ">> [Subscriber] Received {} ('{}': '{}'){attachment}",
        sample.kind(),
        sample.key_expr(),
        text(sample.payload())
    ));
}

fn text(bytes: &ZBytes) -> String {
    String::from_utf8_lossy(&bytes.to_bytes()).into_owned()
}
