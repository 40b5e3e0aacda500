// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of shared memory, forged.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU32, Ordering};

use zonda_codec::shared::Descriptor;

/// Bytes of a metadata segment.
pub const METADATA: u64 = 1_310_720;

/// Bytes of the data segments here.
pub const DATA: u64 = 4096;

/// File that an attacker writes at will. Dropping it removes it.
pub struct Forgery {
    pub id: u32,
    pub file: File,
    /// True if dropping it leaves it, as that of a killed process.
    pub stays: bool,
}

/// Returns the path of a segment.
pub fn path(id: u32) -> String {
    format!("/dev/shm/{id}.zenoh")
}

/// Returns a number that no other file here has, from the given one on.
fn next(from: u32, count: u32) -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() * 37;
    from + next % count
}

impl Forgery {
    /// Creates a file of that length with a number from `from` on.
    fn create(from: u32, count: u32, len: u64) -> Forgery {
        loop {
            let id = next(from, count);
            let mut options = File::options();
            options.read(true).write(true).create_new(true).mode(0o600);
            let Ok(file) = options.open(path(id)) else {
                continue;
            };
            // unlocked, it would be removed as that of a killed process
            file.lock_shared().expect("a lock");
            file.set_len(len).expect("a file");
            return Forgery {
                id,
                file,
                stays: false,
            };
        }
    }

    /// Creates a file for data.
    pub fn data(len: u64) -> Forgery {
        Forgery::create(1_000_000_000, 1_000_000_000, len)
    }

    /// Creates a file whose number a descriptor can have.
    pub fn metadata(len: u64) -> Forgery {
        Forgery::create(1000, 60_000, len)
    }

    /// Opens a file of another process, which is not removed.
    pub fn open(id: u32) -> Option<File> {
        File::options().read(true).write(true).open(path(id)).ok()
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, offset).expect("a file");
    }

    pub fn truncate(&self, len: u64) {
        self.file.set_len(len).expect("a file");
    }
}

impl Drop for Forgery {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(path(self.id));
        }
    }
}

/// Header of a metadata segment.
#[derive(Clone, Copy)]
pub struct Header {
    pub references: u32,
    pub generation: u32,
    pub protocol: u32,
    pub segment: u32,
    pub offset: u32,
    pub capacity: u64,
}

impl Header {
    /// Returns the header in its native layout.
    fn bytes(&self) -> Vec<u8> {
        let words = [
            self.references,
            0,
            self.generation,
            self.protocol,
            self.segment,
            self.offset,
        ];
        let words = words.iter().flat_map(|word| word.to_ne_bytes());
        words.chain(self.capacity.to_ne_bytes()).collect()
    }
}

/// Metadata and data of an attacker.
pub struct Segments {
    pub meta: Forgery,
    pub data: Forgery,
}

impl Segments {
    /// Creates both, with data of nines.
    pub fn new() -> Segments {
        let segments = Segments {
            meta: Forgery::metadata(METADATA),
            data: Forgery::data(DATA),
        };
        segments.data.write(0, &[9; DATA as usize]);
        segments
    }

    /// Returns a header that tells the truth about the data.
    pub fn header(&self) -> Header {
        Header {
            references: 1,
            generation: 0,
            protocol: 0,
            segment: self.data.id,
            offset: 0,
            capacity: DATA,
        }
    }

    /// Writes a header.
    pub fn put(&self, index: u16, header: Header) {
        self.meta.write(32 * u64::from(index), &header.bytes());
    }

    /// Returns the number of references to a buffer.
    pub fn references(&self, index: u16) -> u32 {
        let mut word = [0; 4];
        let at = 32 * u64::from(index);
        self.meta.file.read_exact_at(&mut word, at).expect("a file");
        u32::from_ne_bytes(word)
    }

    /// Returns a descriptor of the first `len` bytes of a buffer.
    pub fn descriptor(&self, index: u16, len: u64) -> Descriptor {
        Descriptor {
            len,
            segment: self.meta.id as u16,
            index,
            generation: 0,
        }
    }
}
