// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limit of the bytes that a link encodes at once: the link's lock is held during the encoding, and
//! encoded bytes are sent ahead of a more urgent message.

use std::io::{self, IoSlice};

/// Bytes that are encoded at once: four whole records of TLS.
const PART_BYTES: usize = 64 * 1024;

/// Maximum size of the last part: a rest that is little more than a part is encoded as one, because
/// a large message has a few bytes behind its last whole part.
pub(super) const LAST_BYTES: usize = PART_BYTES + PART_BYTES / 4;

/// Copies the first part of `slices` to `into`, which has to have as much room. Returns the numbers
/// of slices and bytes.
pub(super) fn first_part<'s>(
    slices: &'s [IoSlice<'_>],
    into: &mut [IoSlice<'s>],
) -> (usize, usize) {
    let all: usize = slices.iter().map(|slice| slice.len()).sum();
    let most = if all <= LAST_BYTES { all } else { PART_BYTES };
    let (mut count, mut bytes) = (0, 0);
    for (slice, slot) in slices.iter().zip(into) {
        if bytes == most {
            break;
        }
        let taken = slice.len().min(most - bytes);
        *slot = IoSlice::new(&slice[..taken]);
        bytes += taken;
        count += 1;
    }
    (count, bytes)
}

/// Passes `slices`, `MOST` at most, to `send` part by part until the socket is full. Returns the
/// number of bytes that count as sent.
///
/// A session that encodes what it sends counts the last byte of a part only when the socket has all
/// of it: the socket is full where that byte is missing, and has room again where nothing but that
/// byte is counted.
#[cfg(target_os = "linux")]
pub(crate) fn send_parts<const MOST: usize>(
    mut slices: &mut [IoSlice<'_>],
    mut send: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut total = 0;
    while !slices.is_empty() {
        let mut part = [IoSlice::new(&[]); MOST];
        let (count, bytes) = first_part(slices, &mut part);
        match send(&part[..count]) {
            Ok(sent) => {
                total += sent;
                IoSlice::advance_slices(&mut slices, sent);
                if sent < bytes && sent != 1 {
                    break;
                }
            }
            // The error is returned by the next call.
            Err(_) if total > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Sends slices of these lengths to a session with these answers; returns the result of the
    /// call, and the lengths of each part's slices.
    fn given(
        lengths: &[usize],
        answers: &[io::Result<usize>],
    ) -> (io::Result<usize>, Vec<Vec<usize>>) {
        let bytes = vec![0; 4 * PART_BYTES];
        let slices = lengths.iter().map(|length| IoSlice::new(&bytes[..*length]));
        let mut slices: Vec<IoSlice<'_>> = slices.collect();
        let mut answers = answers.iter();
        let mut parts = Vec::new();
        let result = send_parts::<8>(&mut slices, |part| {
            parts.push(part.iter().map(|slice| slice.len()).collect());
            match answers.next().expect("no more parts than answers") {
                Ok(sent) => Ok(*sent),
                Err(error) => Err(error.kind().into()),
            }
        });
        (result, parts)
    }

    #[test]
    fn a_socket_that_takes_all_is_not_waited_for() {
        let lengths = [10, 3 * PART_BYTES, 20];
        let answers = [Ok(PART_BYTES), Ok(PART_BYTES), Ok(PART_BYTES + 30)];
        let (sent, parts) = given(&lengths, &answers);
        assert_eq!(sent.expect("all"), 3 * PART_BYTES + 30);
        let last = PART_BYTES + 10;
        assert_eq!(
            parts,
            [vec![10, PART_BYTES - 10], vec![PART_BYTES], vec![last, 20]]
        );
    }

    #[test]
    fn a_full_socket_ends_the_write() {
        let full = || Err(io::ErrorKind::WouldBlock.into());
        let (sent, parts) = given(&[2 * PART_BYTES], &[Ok(PART_BYTES), Ok(PART_BYTES - 1)]);
        assert_eq!(sent.expect("all but a byte"), 2 * PART_BYTES - 1);
        assert_eq!(parts.len(), 2);
        let (sent, _) = given(&[2 * PART_BYTES], &[Ok(PART_BYTES), full()]);
        assert_eq!(sent.expect("what was sent before"), PART_BYTES);
        let (sent, parts) = given(&[7], &[full()]);
        assert_eq!(sent.expect_err("nothing").kind(), io::ErrorKind::WouldBlock);
        assert_eq!(parts.len(), 1);
    }

    #[test]
    fn a_byte_that_was_owed_is_followed_by_others() {
        let (sent, parts) = given(&[1, 8, 9], &[Ok(1), Ok(17)]);
        assert_eq!(sent.expect("all"), 18);
        assert_eq!(parts, [vec![1, 8, 9], vec![8, 9]]);
    }
}
