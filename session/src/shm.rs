// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory of this host that payloads lie in, with the feature `shm`, on Linux.
//!
//! A loan is filled where its receivers on this host read it: they get some bytes that name the place, whatever the size
//! of the payload. Receivers elsewhere get its bytes. A received payload lies in the memory of its publisher, which has the
//! place back once the last [`ZBytes`] of it is dropped.
//!
//! ```
//! use zonda::{Config, Wait};
//!
//! let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//! let provider = session.shm_provider(1 << 20)?;
//! let mut loan = provider.loan(100_000)?;
//! loan.fill(7);
//! session.put("camera/front", loan).wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zonda_codec::Payload;
use zonda_shm::{Pool, SharedBuffer};

use crate::{Session, bytes::ZBytes};

pub use zonda_shm::{Full, Loan};

/// Memory of which a program borrows parts for its payloads. Clones share it.
#[derive(Clone, Debug)]
pub struct ShmProvider(Pool);

impl ShmProvider {
    /// Lends `len` bytes, of any content, to be filled and published. Never waits.
    ///
    /// # Errors
    /// [`Full`] while receivers hold too much of the memory.
    pub fn loan(&self, len: usize) -> Result<Loan, Full> {
        self.0.loan(len)
    }

    /// Returns the bytes that are free now.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.0.free_bytes()
    }

    /// Returns the number of loans that this program or a receiver holds.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.0.lent()
    }
}

impl Session {
    /// Creates a provider of `bytes` of shared memory, at most 4 GiB.
    ///
    /// # Errors
    /// `transport/shared_memory/enabled` is false, or the system has no shared memory of that size.
    pub fn shm_provider(&self, bytes: usize) -> std::io::Result<ShmProvider> {
        let memory = self.node().shared_memory().ok_or_else(|| {
            let kind = std::io::ErrorKind::Unsupported;
            std::io::Error::new(
                kind,
                "this node shares no memory: set transport/shared_memory/enabled to true, and see if /dev/shm is writable",
            )
        })?;
        memory.node().provider(bytes).map(ShmProvider)
    }
}

impl From<Loan> for ZBytes {
    /// Ends the filling; no copy.
    fn from(loan: Loan) -> ZBytes {
        ZBytes::from(loan.freeze())
    }
}

impl ZBytes {
    /// Returns true if the bytes lie in shared memory, of this process or of another one.
    #[must_use]
    pub fn is_shm(&self) -> bool {
        let payload = Payload::from(self.clone());
        SharedBuffer::of(payload.as_zslice()).is_some()
    }
}
