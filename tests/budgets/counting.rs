// SPDX-License-Identifier: MIT OR Apache-2.0
//! An allocator that counts, for each thread, the bytes that it allocates and frees.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Allocations of a thread since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    pub times: u64,
    pub bytes: u64,
}

impl std::ops::Sub for Allocated {
    type Output = Allocated;

    fn sub(self, earlier: Allocated) -> Allocated {
        Allocated {
            times: self.times - earlier.times,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { times: 0, bytes: 0 }) };
}

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// Returns the bytes that the calling thread has allocated and not freed. Memory that another
/// thread frees is not subtracted.
pub fn held() -> i64 {
    HELD.with(Cell::get)
}

fn hold(bytes: usize, sign: i64) {
    // A thread that is ending has no counter any more.
    let _ = HELD.try_with(|held| held.set(held.get() + sign * bytes as i64));
}

/// Returns the calling thread's count.
pub fn allocated() -> Allocated {
    ALLOCATED.with(Cell::get)
}

fn count(bytes: usize) {
    // A thread that is ending has no counter any more.
    let _ = ALLOCATED.try_with(|allocated| {
        let Allocated {
            times,
            bytes: before,
        } = allocated.get();
        allocated.set(Allocated {
            times: times + 1,
            bytes: before + bytes as u64,
        });
    });
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; counting neither allocates
// nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        hold(layout.size(), 1);
        // SAFETY: the caller guarantees the requirements of this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        hold(layout.size(), 1);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        hold(size, 1);
        hold(layout.size(), -1);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        hold(layout.size(), -1);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
