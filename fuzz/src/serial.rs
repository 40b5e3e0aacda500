// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check of a serial line: its bytes give the same frames however they are cut, and a good frame
//! behind them is decoded.

use super::serial_frames::{CONTENT_BYTES_MAX, Flags, FrameFault, Frames, frame};

type Found = Vec<Result<(Flags, Vec<u8>), FrameFault>>;

fn take(frames: &mut Frames, bytes: &[u8], found: &mut Found) {
    frames.take(bytes, |one| {
        found.push(one.map(|(flags, content)| (flags, content.to_vec())));
    });
}

fn read(line: &[u8], step: usize) -> Found {
    let (mut frames, mut found) = (Frames::default(), Vec::new());
    for piece in line.chunks(step) {
        take(&mut frames, piece, &mut found);
    }
    found
}

/// Checks a choosing byte, and the input of the line behind it.
pub fn serial(data: &[u8]) {
    let Some((&step, input)) = data.split_first() else {
        return;
    };
    let step = 1 + usize::from(step);
    let content = &input[..input.len().min(CONTENT_BYTES_MAX)];
    let mut good = Vec::new();
    frame(Flags::DATA, content, &mut good);
    assert_eq!(good.iter().filter(|byte| **byte == 0).count(), 1);
    // The zero ends the unfinished message: only that one is lost.
    let line = [input, &[0], &good].concat();
    let found = read(&line, step);
    assert_eq!(found, read(&line, line.len()));
    assert_eq!(found.last(), Some(&Ok((Flags::DATA, content.to_vec()))));
    for (flags, content) in found.iter().flatten() {
        assert!(content.len() <= CONTENT_BYTES_MAX);
        let mut again = Vec::new();
        frame(*flags, content, &mut again);
        assert_eq!(read(&again, step), [Ok((*flags, content.clone()))]);
    }
}
