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
//!
//! # Values of a type
//! A loan begins at a multiple of [`ALIGNMENT`] bytes, here and at its receivers on this host, so the crates that view bytes as
//! values, `zerocopy` and `bytemuck`, need no copy and their users no `unsafe` code. A payload that arrived over a link has the
//! alignment of bytes: such a view fails then, and the value is to be copied.
//!
//! ```
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
//! use zonda::{Config, Wait};
//!
//! #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Scan {
//!     time: u64,
//!     ranges: [f32; 1024],
//! }
//!
//! let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//! let subscriber = session.declare_subscriber("laser").wait()?;
//! let provider = session.shm_provider(1 << 20)?;
//! let mut loan = provider.loan(size_of::<Scan>())?;
//! let scan = Scan::mut_from_bytes(&mut loan).expect("its size and alignment are those of the type");
//! scan.time = 1;
//! scan.ranges.fill(2.5);
//! session.put("laser", loan).wait()?;
//!
//! let sample = subscriber.recv()?;
//! let bytes = sample.payload().to_bytes();
//! let scan = Scan::ref_from_bytes(&bytes).expect("it came in shared memory");
//! assert_eq!((scan.time, scan.ranges[1023]), (1, 2.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zonda_codec::Payload;
use zonda_shm::{Pool, SharedBuffer};

use crate::{Session, bytes::ZBytes};

pub use zonda_shm::{ALIGNMENT, Full, Loan};

/// Memory of which a program borrows parts for its payloads. Clones share it.
#[derive(Clone, Debug)]
pub struct ShmProvider(Pool);

impl ShmProvider {
    /// Lends `len` bytes, of any content, to be filled and published. They begin at a multiple of [`ALIGNMENT`]. Never waits.
    ///
    /// # Errors
    /// [`Full`] while receivers hold too much of the memory, for a loan that is longer than all of it, or once another
    /// process of the user has truncated it.
    ///
    /// # Examples
    /// ```
    /// use zonda::{Config, Wait};
    ///
    /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let provider = session.shm_provider(1 << 20)?;
    /// let mut loan = provider.loan(4)?;
    /// loan.copy_from_slice(b"full");
    /// loan.truncate(3);
    /// session.put("words", loan).wait()?;
    /// let too_much = provider.loan(2 << 20).expect_err("more than there is");
    /// assert_eq!((too_much.wanted, too_much.size), (2 << 20, 1 << 20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// Creates a provider of `bytes` of shared memory, below 4 GiB, which the system sets aside at once.
    ///
    /// # Errors
    /// `transport/shared_memory/enabled` is false, or the system has not that much shared memory.
    ///
    /// # Examples
    /// ```
    /// use zonda::{Config, Wait};
    ///
    /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let provider = session.shm_provider(1 << 20)?;
    /// assert_eq!((provider.free_bytes(), provider.lent()), (1 << 20, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
