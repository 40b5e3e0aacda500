// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda storage export`: a storage as a recording.

use std::path::{Path, PathBuf};

use clap::Args;
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda_program::{Failure, Interrupt, complain, key_expr};
use zonda_storage::{Offline, Update};

use super::super::recording::{Head, Message};
use super::super::tape::Tape;
use super::place::{Place, Use, not_open};

const HELP: &str = "\
Examples:
  zonda storage export demo-storage -o backup.jsonl
  zonda storage export demo-storage --prefix demo > backup.jsonl
  zonda storage export --config router.json5 --storage demo > backup.jsonl
  zonda storage import restored backup.jsonl
  zonda replay backup.jsonl --fast -e tcp/127.0.0.1:7447

The recording has all values, former values, deletions and updates with wildcards, the oldest first, with their timestamps and \
encodings. It is written when the router does not run; a storage in use is refused. With `zonda storage import` it gives the same storage again. `zonda replay` \
publishes it with new timestamps, at the times of the updates or, with --fast, at once.

Not kept: the configuration of the storage, and which update with wildcards has deleted a key, once its `lifespan` is over.

Exit code: 0 when all is written; 1 for a failure at run time; 2 for bad usage.";

/// Write all that a storage has as a recording.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Export {
    #[command(flatten)]
    place: Place,
    /// The `strip_prefix` of the storage: what the keys begin with
    #[arg(long, value_name = "PREFIX", value_parser = key_expr)]
    prefix: Option<KeyExpr<'static>>,
    /// The file to write, in place of an older one once all is written [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let found = self.place.find(Use::Read)?;
        let prefix = found.prefix(self.prefix.as_ref());
        let prefix = prefix.as_deref();
        let storage = Offline::open(found.volume, &found.options, prefix, false);
        let mut storage = storage.map_err(not_open)?;
        let unfinished = self.output.as_deref().map(unfinished);
        let mut tape = Tape::create(unfinished.as_deref(), "exported")?;
        let mut first = None;
        let all = key_expr(&prefix.map_or("**".into(), |prefix| format!("{prefix}/**")));
        let all = all.map_err(Failure::Usage)?;
        let without_key = storage.export(|update| {
            interrupt.check()?;
            let now = update.at.time().to_unix();
            if first.is_none() {
                tape.begin(&Head::at(&all, update.at.time().to_system_time()))?;
            }
            let start = *first.get_or_insert(now);
            tape.say_progress();
            add(&mut tape, &update, now.saturating_sub(start).as_secs_f64())
        })?;
        if first.is_none() {
            tape.begin(&Head::new(&all))?;
        }
        tape.finish(unfinished.as_deref().zip(self.output.as_deref()))?;
        storage.close()?;
        complain(format_args!("{}", tape.summary()));
        if without_key > 0 {
            complain(format_args!(
                "left out {without_key} whose names are no keys; if the storage has a strip_prefix, give it as --prefix"
            ));
        }
        Ok(())
    }
}

/// Returns the name of a file until it is whole.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn add(tape: &mut Tape, update: &Update, at: f64) -> Result<(), Failure> {
    let value = update.value.as_ref();
    let payload = value.map_or(&[][..], |value| &value.payload);
    let value = value.map(|value| (payload, Encoding::from(&*value.encoding)));
    let message = Message::stored(&update.key, &update.at, value, at);
    tape.add(&message, payload.len())
}
