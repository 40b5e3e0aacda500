// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda storage import`: a recording becomes a storage, or a part of one.

use std::path::PathBuf;

use clap::Args;
use zonda::bytes::Encoding;
use zonda::config::ZenohId;
use zonda::key_expr::KeyExpr;
use zonda::time::{Ntp64, Timestamp};
use zonda_program::{Failure, Interrupt, complain, key_expr};
use zonda_storage::volume::StoreError;
use zonda_storage::{Effect, Offline, Update, value};

use super::super::progress::Progress;
use super::super::recording::{Message, Recording, messages};
use super::place::{Place, Use, not_open};

const HELP: &str = "\
Examples:
  zonda storage import demo-storage backup.jsonl
  zonda storage import demo-storage walk.jsonl --prefix demo --history
  zonda storage import files backup.jsonl --volume fs
  zonda storage import backup.jsonl --config router.json5 --storage demo

The recording is one of `zonda storage export` or `zonda record`. The rules are those of a storage that runs: of each key the update with the \
latest timestamp counts, in the recording or in the storage, so a backup overwrites nothing newer. A message without a timestamp gets \
the time at which it was recorded. The folder is created if there is none.

Not kept: attachments, priorities, and without --history former values. Keys without the prefix are left out, and counted.

Exit code: 0 when done; 1 for a failure at run time, and what was read before is stored; 2 for bad usage.";

/// Id in the timestamp of a message that has none.
const RECORDED: [u8; 1] = [2];

/// Store what a recording has.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, allow_missing_positional = true)]
pub struct Import {
    #[command(flatten)]
    place: Place,
    /// The recording; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The `strip_prefix` of the storage: what the keys begin with
    #[arg(long, value_name = "PREFIX", value_parser = key_expr)]
    prefix: Option<KeyExpr<'static>>,
    /// Keep former values, for a storage with a `history`
    #[arg(long)]
    history: bool,
}

/// Numbers of messages.
#[derive(Default)]
struct Counts {
    taken: u64,
    outdated: u64,
    left_out: u64,
}

impl Counts {
    fn summary(&self) -> String {
        let Counts {
            taken,
            outdated,
            left_out,
        } = self;
        let all = messages(taken + outdated + left_out);
        format!(
            "imported {all}: {taken} taken, {outdated} older than what is stored, {left_out} left out"
        )
    }
}

impl Import {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        // An invalid file is reported before a folder is created.
        let mut recording = Recording::open(&self.file)?;
        let found = self.place.find(Use::Fill)?;
        let prefix = found.prefix(self.prefix.as_ref());
        let prefix = prefix.as_deref();
        let has_history = self.history || found.has_history;
        let storage = Offline::open(found.volume, &found.options, prefix, has_history);
        let mut storage = storage.map_err(not_open)?;
        let mut counts = Counts::default();
        let read = fill(&mut storage, &mut recording, &interrupt, &mut counts);
        storage.close()?;
        complain(format_args!("{}", counts.summary()));
        read
    }
}

fn fill(
    storage: &mut Offline,
    recording: &mut Recording,
    interrupt: &Interrupt,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let mut progress = Progress::new();
    while let Some(message) = recording.next()? {
        interrupt.check()?;
        let update = update(recording, &message).map_err(|error| recording.wrong(error))?;
        match storage.apply(update) {
            Ok(Effect::Outdated) => counts.outdated += 1,
            Ok(Effect::Taken | Effect::TakenForOldest) => counts.taken += 1,
            Err(error @ StoreError::Name { .. }) => {
                if counts.left_out == 0 {
                    complain(format_args!("left out: {error}"));
                }
                counts.left_out += 1;
            }
            Err(error) => return Err(recording.wrong(error)),
        }
        if progress.is_due() {
            complain(format_args!("{} so far", counts.summary()));
        }
    }
    Ok(())
}

fn update(recording: &Recording, message: &Message) -> Result<Update, String> {
    let at = match message.stamp()? {
        Some(at) => at,
        None => recorded(recording, message)
            .ok_or("it has no timestamp, and the recording no time of its beginning")?,
    };
    let value = match message.delete {
        true => None,
        false => {
            let encoding = Encoding::from(message.encoding.as_str());
            Some(value(&message.payload()?, &encoding))
        }
    };
    let key = key_expr(&message.key)?;
    Ok(Update { key, at, value })
}

/// Returns the time at which a message was recorded.
fn recorded(recording: &Recording, message: &Message) -> Option<Timestamp> {
    let since_1970 = recording
        .clock(message)?
        .duration_since(std::time::UNIX_EPOCH);
    let id = ZenohId::try_from(&RECORDED[..]).ok()?;
    Some(Timestamp::new(Ntp64::from_unix(since_1970.ok()?), id))
}
