// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime interface of Zonda: tasks, a clock with timers, and sockets, independent of Zenoh.
//!
//! A runtime is chosen by value ([`AnyRuntime`], [`RuntimeKind`]); cargo features only add choices.
//! Sockets are used with owned buffers ([`RxBuf`], [`Segments`]), a shape that fits readiness,
//! completion and blocking threads alike. Sockets move between threads as [`Socket`]s of any
//! family; the task that drives a socket adopts it.
//!
//! # Features and threads
//! | feature | kind | threads, and why |
//! |---|---|---|
//! | `tokio` (default) | [`RuntimeKind::Tokio`] | `zonda-net-0`, `-1`, ...: tokio's workers, one per core or as many as [`RuntimeOptions::threads`] sets; they run all tasks |
//! | `tokio` | [`RuntimeKind::TokioCurrent`] | one `zonda-net`: runs all tasks, for small machines and for the fewest hand-overs between threads |
//! | `tokio` | `AnyRuntime::from_tokio` | none: tasks run on the application's runtime |
//! | `smol` | [`RuntimeKind::Smol`] | `zonda-net-0`, and more if [`RuntimeOptions::threads`] is larger: they run all tasks and wait for events in turns |
//! | `smol` | `AnyRuntime::from_smol` | none: tasks run wherever the application runs its executor |
//! | `async-std` | [`RuntimeKind::AsyncStd`] | async-std's own, `async-std/runtime`, one per core or as many as `ASYNC_STD_THREAD_COUNT` sets |
//! | `smol`, `async-std` | | `async-io`, one in a process: waits for events while no other thread does; it belongs to the crate async-io and stays |
//! | `threads` | [`RuntimeKind::Threads`] | one per task, named after it with a number behind: for each link `zonda-rx-0` reads and calls subscribers, and `zonda-tx-0` waits for a slow peer and for deadlines; for each listening socket `zonda-accept-0` |
//! | `threads` | | `zonda-handshake`, while peers open links: runs all their handshakes; `zonda-wait`, while other threads or executors wait for this backend: does their waiting |
//! | `uring` | [`RuntimeKind::Uring`] | `zonda-net-0`, `-1`, ...: one per core or as many as [`RuntimeOptions::threads`] sets, each with an io_uring and tasks of its own |
//! | all | | `zonda-resolve`: only while a host name is looked up, since the system's resolver blocks |
//! | all | | `zonda-trial`: only while [`AnyRuntime::start`] tries [`RuntimeOptions::cpus`] and [`RuntimeOptions::scheduling`] |
//!
//! All threads `zonda-..` that a runtime starts for its tasks run on the cpus and in the scheduling
//! class of its options. `zonda-resolve` inherits those of the calling thread; `async-io` and
//! async-std's threads are left unchanged.
//!
//! async-std is discontinued (RUSTSEC-2025-0052): that backend is for programs which still use it.
//!
//! # Guarantees
//! Dropping a runtime value never blocks or panics, not even inside async code. A task never moves
//! to a thread that cannot drive its sockets. A panic of one task never ends another one. There is
//! no global pool.
//!
//! ```
//! # #[cfg(feature = "tokio")] {
//! use zonda_runtime::{AnyRuntime, RuntimeKind, RuntimeOptions, oneshot};
//!
//! let runtime = AnyRuntime::start(RuntimeKind::TokioCurrent, &RuntimeOptions::default())?;
//! let (sender, receiver) = oneshot::channel();
//! runtime.spawn("greeting", move || async move { sender.send("hello") });
//! assert_eq!(runtime.block_on(receiver), Some("hello"));
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod absent;
mod any;
#[cfg(any(feature = "smol", feature = "async-std"))]
mod async_io;
#[cfg(feature = "async-std")]
mod async_std;
mod buffer;
#[cfg(any(
    feature = "smol",
    feature = "async-std",
    all(feature = "uring", target_os = "linux")
))]
mod contained;
pub mod deadline;
mod fallback;
pub mod guard;
mod kind;
pub mod oneshot;
mod options;
mod origin;
mod park;
// async-std and builds without a runtime use only its check of cpus
#[cfg_attr(
    not(any(
        feature = "tokio",
        feature = "smol",
        feature = "threads",
        feature = "uring"
    )),
    allow(dead_code)
)]
mod placement;
#[cfg(any(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    feature = "threads",
    feature = "uring"
))]
mod resolve;
mod segments;
#[cfg(any(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    all(feature = "uring", target_os = "linux")
))]
mod sending;
pub mod serial;
#[cfg(feature = "smol")]
mod smol;
#[cfg(any(feature = "tokio", all(feature = "threads", unix)))]
mod spin;
#[cfg(all(feature = "threads", unix))]
mod threads;
pub mod timers;
#[cfg(feature = "tokio")]
mod tokio;
mod traits;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;
#[cfg(any(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    feature = "uring"
))]
mod yielding;

pub use absent::Absent;
pub use any::AnyRuntime;
pub use buffer::RxBuf;
pub use deadline::after;
pub use kind::{RuntimeKind, UnknownRuntime};
pub use options::{InvalidScheduling, RuntimeOptions, Scheduling};
pub use origin::Origin;
pub use park::{block_on, block_on_until};
pub use placement::may_use;
pub use segments::{Cursor, SLICES_PER_WRITE, Segments};
/// A socket that no runtime drives.
pub use socket2::Socket;
pub use traits::{LinkRead, LinkWrite, PreciseTimer, Runtime};

// Each backend's type exists for every set of features: types of backends that are not compiled in
// have no values.

#[cfg(not(feature = "tokio"))]
pub use Absent as TokioRuntime;
#[cfg(feature = "tokio")]
pub use tokio::{TokioListener, TokioRead, TokioRuntime, TokioTimer, TokioWrite};

#[cfg(any(feature = "smol", feature = "async-std"))]
pub use async_io::{ReactorListener, ReactorRead, ReactorTimer, ReactorWrite};

#[cfg(not(feature = "smol"))]
pub use Absent as SmolRuntime;
#[cfg(feature = "smol")]
pub use smol::SmolRuntime;

#[cfg(not(feature = "async-std"))]
pub use Absent as AsyncStdRuntime;
#[cfg(feature = "async-std")]
pub use async_std::AsyncStdRuntime;

#[cfg(not(all(feature = "threads", unix)))]
pub use Absent as ThreadsRuntime;
#[cfg(all(feature = "threads", unix))]
pub use threads::{ThreadsListener, ThreadsRead, ThreadsRuntime, ThreadsTimer, ThreadsWrite};

#[cfg(not(all(feature = "uring", target_os = "linux")))]
pub use Absent as UringRuntime;
#[cfg(all(feature = "uring", target_os = "linux"))]
pub use uring::{UringListener, UringRead, UringRuntime, UringTimer, UringWrite};
