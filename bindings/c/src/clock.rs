// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clocks, sleep and random numbers.

use std::collections::hash_map::RandomState;
use std::ffi::c_void;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::Read;
use std::ptr;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use zonda::time::Ntp64;

use crate::code::{Code, OK, shielded};
use crate::text::StartMut;

/// The time that values of the monotonic clock count from.
static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A time of the monotonic clock, in nanoseconds.
#[repr(C)]
pub struct Clock {
    nanos: u64,
    base: *const c_void,
}
const _: () = assert!(size_of::<Clock>() == 16);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the time now.
#[unsafe(no_mangle)]
pub extern "C" fn z_clock_now() -> Clock {
    Clock {
        nanos: nanos(BASE.elapsed()),
        base: ptr::from_ref(&BASE).cast(),
    }
}

/// Returns the nanoseconds since then.
fn since(time: Option<&Clock>) -> u64 {
    time.map_or(0, |time| nanos(BASE.elapsed()).saturating_sub(time.nanos))
}

/// Returns the seconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_clock_elapsed_s(time: Option<&Clock>) -> u64 {
    since(time) / 1_000_000_000
}

/// Returns the milliseconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_clock_elapsed_ms(time: Option<&Clock>) -> u64 {
    since(time) / 1_000_000
}

/// Returns the microseconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_clock_elapsed_us(time: Option<&Clock>) -> u64 {
    since(time) / 1_000
}

/// A time of the system's clock, in nanoseconds since 1970.
#[repr(C)]
pub struct Time {
    nanos: u64,
}

/// Returns the time now.
#[unsafe(no_mangle)]
pub extern "C" fn z_time_now() -> Time {
    Time {
        nanos: nanos(since_1970()),
    }
}

fn since_1970() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

/// Returns the nanoseconds since then; 0 if the clock was set back.
fn passed(time: Option<&Time>) -> u64 {
    time.map_or(0, |time| nanos(since_1970()).saturating_sub(time.nanos))
}

/// Returns the seconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_time_elapsed_s(time: Option<&Time>) -> u64 {
    passed(time) / 1_000_000_000
}

/// Returns the milliseconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_time_elapsed_ms(time: Option<&Time>) -> u64 {
    passed(time) / 1_000_000
}

/// Returns the microseconds since then.
#[unsafe(no_mangle)]
pub extern "C" fn z_time_elapsed_us(time: Option<&Time>) -> u64 {
    passed(time) / 1_000
}

/// Writes the time now, in UTC, as `2024-02-29T12:00:00Z` and a zero, shortened to the room; returns
/// the room.
#[unsafe(no_mangle)]
pub extern "C" fn z_time_now_as_str(room: StartMut<'_>, len: usize) -> *const u8 {
    let start = room.address().cast_const();
    shielded(start, || {
        if let Some((end, room)) = room.bytes(len).and_then(<[u8]>::split_last_mut) {
            let text = Ntp64::from(since_1970()).to_string_rfc3339_lossy();
            let seconds = text.split('.').next().unwrap_or_default();
            let text = format!("{seconds}Z");
            let (text, len) = (text.as_bytes(), text.len().min(room.len()));
            if let (Some(room), Some(text)) = (room.get_mut(..len), text.get(..len)) {
                room.copy_from_slice(text);
            }
            *room.get_mut(len).unwrap_or(end) = 0;
        }
        start
    })
}

/// Sleeps so many seconds.
#[unsafe(no_mangle)]
pub extern "C" fn z_sleep_s(time: usize) -> Code {
    sleep(time, Duration::from_secs)
}

/// Sleeps so many milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn z_sleep_ms(time: usize) -> Code {
    sleep(time, Duration::from_millis)
}

/// Sleeps so many microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn z_sleep_us(time: usize) -> Code {
    sleep(time, Duration::from_micros)
}

fn sleep(time: usize, unit: fn(u64) -> Duration) -> Code {
    shielded((), || thread::sleep(unit(time as u64)));
    OK
}

/// Fills memory with random bytes of the system. Without any, as in a root directory without `/dev`,
/// they are those that the standard library draws for hash tables: unlike any other, but no secret.
fn randomize(room: &mut [u8]) {
    static SOURCE: LazyLock<Option<File>> = LazyLock::new(|| File::open("/dev/urandom").ok());
    let read = SOURCE.as_ref().map(|mut file| file.read_exact(room));
    if !matches!(read, Some(Ok(()))) {
        for bytes in room.chunks_mut(8) {
            let number = RandomState::new().hash_one(()).to_le_bytes();
            bytes.copy_from_slice(number.get(..bytes.len()).unwrap_or_default());
        }
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    shielded((), || randomize(&mut bytes));
    bytes
}

/// Fills memory with random bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_random_fill(start: StartMut<'_>, len: usize) {
    shielded((), || {
        if let Some(room) = start.bytes(len) {
            randomize(room);
        }
    });
}

/// Returns a random number.
#[unsafe(no_mangle)]
pub extern "C" fn z_random_u8() -> u8 {
    u8::from_le_bytes(random())
}

/// Returns a random number.
#[unsafe(no_mangle)]
pub extern "C" fn z_random_u16() -> u16 {
    u16::from_le_bytes(random())
}

/// Returns a random number.
#[unsafe(no_mangle)]
pub extern "C" fn z_random_u32() -> u32 {
    u32::from_le_bytes(random())
}

/// Returns a random number.
#[unsafe(no_mangle)]
pub extern "C" fn z_random_u64() -> u64 {
    u64::from_le_bytes(random())
}
