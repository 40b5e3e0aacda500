// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shared memory, which the library does not have: its functions exist, so that programs that name
//! them are loaded, and answer that it is not available. No place of these types is ever full.

use std::ffi::{c_int, c_void};
use std::ptr;

use bytes::Bytes;
use zonda::{Config, Session};

use crate::bytes::OwnedBytes;
use crate::closure::{Closure, DropContext};
use crate::code::{Code, Failure, INVALID, UNAVAILABLE, answer};
use crate::place::{Loan, Moved, Out, fill, mechanical, place, taken};
use crate::session::{OwnedSession, z_open};

/// A value that does not exist.
#[derive(Clone)]
pub enum Nothing {}

/// Declares an owned type without values, and exports its mechanical functions.
macro_rules! absent {
    ($name:ident, size $size:literal: $($kind:ident $function:ident,)+) => {
        place!(
            /// A type whose places are always empty.
            $name = Box<Nothing>, size $size, align 8
        );
        mechanical!($name: $($kind $function,)+);
    };
}

absent!(OwnedShm, size 80:
    null z_internal_shm_null,
    check z_internal_shm_check,
    drop z_shm_drop,
    loan z_shm_loan,
    loan_mut z_shm_loan_mut,
    clone z_shm_clone,
);
absent!(OwnedShmMut, size 80:
    null z_internal_shm_mut_null,
    check z_internal_shm_mut_check,
    drop z_shm_mut_drop,
    loan z_shm_mut_loan,
    loan_mut z_shm_mut_loan_mut,
);
absent!(OwnedShmProvider, size 104:
    null z_internal_shm_provider_null,
    check z_internal_shm_provider_check,
    drop z_shm_provider_drop,
    loan z_shm_provider_loan,
);
absent!(OwnedSharedShmProvider, size 104:
    null z_internal_shared_shm_provider_null,
    check z_internal_shared_shm_provider_check,
    drop z_shared_shm_provider_drop,
    loan z_shared_shm_provider_loan,
    loan z_shared_shm_provider_loan_as,
    clone z_shared_shm_provider_clone,
);
absent!(OwnedShmClient, size 16:
    null z_internal_shm_client_null,
    null z_posix_shm_client_new,
    check z_internal_shm_client_check,
    drop z_shm_client_drop,
);
absent!(OwnedShmClientList, size 24:
    null zc_internal_shm_client_list_null,
    null zc_shm_client_list_new,
    check zc_internal_shm_client_list_check,
    drop zc_shm_client_list_drop,
    loan zc_shm_client_list_loan,
    loan_mut zc_shm_client_list_loan_mut,
);
absent!(OwnedShmClientStorage, size 8:
    null z_internal_shm_client_storage_null,
    null z_shm_client_storage_new_default,
    null z_ref_shm_client_storage_global,
    check z_internal_shm_client_storage_check,
    drop z_shm_client_storage_drop,
    loan z_shm_client_storage_loan,
    clone z_shm_client_storage_clone,
);
absent!(OwnedLayout, size 40:
    null z_internal_precomputed_layout_null,
    null z_internal_alloc_layout_null,
    check z_internal_precomputed_layout_check,
    check z_internal_alloc_layout_check,
    drop z_precomputed_layout_drop,
    drop z_alloc_layout_drop,
    loan z_precomputed_layout_loan,
    loan z_alloc_layout_loan,
);
absent!(OwnedMemoryLayout, size 16:
    null z_internal_memory_layout_null,
    check z_internal_memory_layout_check,
    drop z_memory_layout_drop,
    loan z_memory_layout_loan,
);
absent!(OwnedChunkAllocResult, size 32:
    null z_internal_chunk_alloc_result_null,
    check z_internal_chunk_alloc_result_check,
    drop z_chunk_alloc_result_drop,
);
absent!(OwnedPtrInSegment, size 24:
    null z_internal_ptr_in_segment_null,
    check z_internal_ptr_in_segment_check,
    drop z_ptr_in_segment_drop,
    loan z_ptr_in_segment_loan,
    clone z_ptr_in_segment_clone,
);

/// A value without existence that C lends, or gives away.
type Lent<'a> = Loan<'a, Box<Nothing>>;
type Given<'a> = Moved<'a, Box<Nothing>>;

/// An exponent of 2.
#[repr(C)]
pub struct Alignment {
    pow: u8,
}

/// A context of the program, and the function that drops it.
#[repr(C)]
pub struct Context {
    context: *mut c_void,
    delete: DropContext,
}

impl Context {
    /// Drops the context, which the program has given away.
    fn delete(self) {
        drop(Closure::<c_int>::new(self.context, None, self.delete));
    }
}

/// Functions of a client: to attach a segment, and for the id of the protocol.
#[repr(C)]
pub struct ClientCallbacks([*mut c_void; 2]);

/// Functions of a provider.
#[repr(C)]
pub struct ProviderCallbacks([*mut c_void; 6]);

/// A chunk that a provider of the program has allocated.
#[repr(C)]
pub struct Chunk<'a> {
    _segment: u32,
    _chunk: u32,
    _len: usize,
    _ptr: Given<'a>,
}

/// Result of an allocation, with or without the error of a layout, which lies beyond the other members.
#[repr(C)]
pub struct Allocated {
    status: c_int,
    buffer: OwnedShmMut,
    _room: [usize; 9],
    error: c_int,
    layout_error: c_int,
}
const _: () = assert!(size_of::<Allocated>() == 96);

fn allocate_nothing(result: Out<'_, Allocated>) {
    let (alloc_error, other) = (1, 2);
    let nothing = Allocated {
        status: alloc_error,
        buffer: None,
        _room: [0; 9],
        error: other,
        layout_error: 0,
    };
    fill(result, nothing);
}

fn unavailable() -> Code {
    answer(|| {
        let text = "shared memory is not available: the library was built without it";
        Err(Failure::new(UNAVAILABLE, text))
    })
}

/// Exports functions that leave their places empty and answer [`UNAVAILABLE`].
macro_rules! refused {
    ($($name:ident($($argument:ident: $type:ty),*) $effect:block)+) => {$(
        /// Answers that shared memory is not available.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> Code {
            $effect
            unavailable()
        }
    )+};
}

/// Exports functions that have the effect of doing it without shared memory.
macro_rules! without {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $effect:block)+) => {$(
        /// Answers as for an empty place.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            $effect
        }
    )+};
}

/// Exports functions that allocate nothing, from a layout.
macro_rules! by_layout {
    ($($name:ident)+) => {
        without! { $($name(result: Out<'_, Allocated>, _layout: Lent<'_>) { allocate_nothing(result) })+ }
    };
}

/// Exports functions that allocate nothing, of a size.
macro_rules! by_size {
    ($($name:ident)+) => {
        without! { $($name(result: Out<'_, Allocated>, _from: Lent<'_>, _size: usize) { allocate_nothing(result) })+ }
    };
}

/// Exports functions that allocate nothing, of a size and an alignment.
macro_rules! by_alignment {
    ($($name:ident)+) => {
        without! { $($name(result: Out<'_, Allocated>, _from: Lent<'_>, _size: usize, _alignment: Alignment) { allocate_nothing(result) })+ }
    };
}

by_layout! {
    z_alloc_layout_alloc
    z_alloc_layout_alloc_gc
    z_alloc_layout_alloc_gc_defrag
    z_alloc_layout_alloc_gc_defrag_blocking
    z_alloc_layout_alloc_gc_defrag_dealloc
    z_precomputed_layout_alloc
    z_precomputed_layout_alloc_gc
    z_precomputed_layout_alloc_gc_defrag
    z_precomputed_layout_alloc_gc_defrag_blocking
    z_precomputed_layout_alloc_gc_defrag_dealloc
}

by_size! {
    z_shm_provider_alloc
    z_shm_provider_alloc_gc
    z_shm_provider_alloc_gc_defrag
    z_shm_provider_alloc_gc_defrag_blocking
    z_shm_provider_alloc_gc_defrag_dealloc
}

by_alignment! {
    z_shm_provider_alloc_aligned
    z_shm_provider_alloc_gc_aligned
    z_shm_provider_alloc_gc_defrag_aligned
    z_shm_provider_alloc_gc_defrag_blocking_aligned
    z_shm_provider_alloc_gc_defrag_dealloc_aligned
}

/// A function of the program that gets the result of an allocation.
type Told = *mut c_void;

refused! {
    z_alloc_layout_new(this: Out<'_, OwnedLayout>, _provider: Lent<'_>, _size: usize) { fill(this, None) }
    z_alloc_layout_with_alignment_new(this: Out<'_, OwnedLayout>, _provider: Lent<'_>, _size: usize, _alignment: Alignment) { fill(this, None) }
    z_alloc_layout_threadsafe_alloc_gc_defrag_async(result: Out<'_, Allocated>, _layout: Lent<'_>, context: Context, _told: Told) { allocate_nothing(result); context.delete() }
    z_precomputed_layout_threadsafe_alloc_gc_defrag_async(result: Out<'_, Allocated>, _layout: Lent<'_>, context: Context, _told: Told) { allocate_nothing(result); context.delete() }
    z_shm_provider_alloc_layout(this: Out<'_, OwnedLayout>, _provider: Lent<'_>, _size: usize) { fill(this, None) }
    z_shm_provider_alloc_layout_aligned(this: Out<'_, OwnedLayout>, _provider: Lent<'_>, _size: usize, _alignment: Alignment) { fill(this, None) }
    z_shm_provider_alloc_gc_defrag_async(result: Out<'_, Allocated>, _provider: Lent<'_>, _size: usize, context: Context, _told: Told) { allocate_nothing(result); context.delete() }
    z_shm_provider_alloc_gc_defrag_aligned_async(result: Out<'_, Allocated>, _provider: Lent<'_>, _size: usize, _alignment: Alignment, context: Context, _told: Told) { allocate_nothing(result); context.delete() }
    z_shm_provider_default_new(this: Out<'_, OwnedShmProvider>, _size: usize) { fill(this, None) }
    z_shm_provider_map(this: Out<'_, OwnedShmMut>, _provider: Lent<'_>, _chunk: Chunk<'_>, _len: usize) { fill(this, None) }
    z_posix_shm_provider_new(this: Out<'_, OwnedShmProvider>, _size: usize) { fill(this, None) }
    z_posix_shm_provider_with_layout_new(this: Out<'_, OwnedShmProvider>, _layout: Lent<'_>) { fill(this, None) }
    z_memory_layout_new(this: Out<'_, OwnedMemoryLayout>, _size: usize, _alignment: Alignment) { fill(this, None) }
    z_chunk_alloc_result_new_ok(this: Out<'_, OwnedChunkAllocResult>, _chunk: Chunk<'_>) { fill(this, None) }
    z_shm_client_storage_new(this: Out<'_, OwnedShmClientStorage>, _clients: Lent<'_>, _with_default: bool) { fill(this, None) }
    zc_shm_client_list_add_client(_this: Given<'_>, client: Given<'_>) { drop(taken(client)) }
    z_bytes_from_shm(this: Out<'_, OwnedBytes>, shm: Given<'_>) { fill(this, None); drop(taken(shm)) }
    z_bytes_from_shm_mut(this: Out<'_, OwnedBytes>, shm: Given<'_>) { fill(this, None); drop(taken(shm)) }
    z_shm_mut_try_from_immut(this: Out<'_, OwnedShmMut>, that: Given<'_>, immutable: Out<'_, OwnedShm>) { fill(this, None); fill(immutable, None); drop(taken(that)) }
    z_obtain_shm_provider(_session: Loan<'_, Session>, provider: Out<'_, OwnedSharedShmProvider>, state: Out<'_, c_int>) { fill(provider, None); fill(state, 0) }
}

/// Returns the error of a payload that does not lie in shared memory, as the reference does.
fn not_shared() -> Code {
    answer(|| {
        Err(Failure::new(
            INVALID,
            "the payload does not lie in shared memory",
        ))
    })
}

without! {
    z_bytes_as_loaned_shm(_this: Loan<'_, Bytes>, shm: Out<'_, *const c_void>) -> Code { fill(shm, ptr::null()); not_shared() }
    z_bytes_as_mut_loaned_shm(_this: Moved<'_, Bytes>, shm: Out<'_, *mut c_void>) -> Code { fill(shm, ptr::null_mut()); not_shared() }
    z_bytes_to_owned_shm(_this: Loan<'_, Bytes>, shm: Out<'_, OwnedShm>) -> Code { fill(shm, None); not_shared() }
    z_chunk_alloc_result_new_error(this: Out<'_, OwnedChunkAllocResult>, _error: c_int) { fill(this, None) }
    z_memory_layout_get_data(_this: Lent<'_>, size: Out<'_, usize>, alignment: Out<'_, Alignment>) { fill(size, 0); fill(alignment, Alignment { pow: 0 }) }
    z_ptr_in_segment_new(this: Out<'_, OwnedPtrInSegment>, _ptr: *mut u8, segment: Context) { fill(this, None); segment.delete() }
    z_shm_client_new(this: Out<'_, OwnedShmClient>, context: Context, _callbacks: ClientCallbacks) { fill(this, None); context.delete() }
    z_shm_provider_new(this: Out<'_, OwnedShmProvider>, context: Context, _callbacks: ProviderCallbacks) { fill(this, None); context.delete() }
    z_shm_provider_threadsafe_new(this: Out<'_, OwnedShmProvider>, context: Context, _callbacks: ProviderCallbacks) { fill(this, None); context.delete() }
    z_shm_data(_this: Lent<'_>) -> *const u8 { ptr::null() }
    z_shm_len(_this: Lent<'_>) -> usize { 0 }
    z_shm_from_mut(this: Out<'_, OwnedShm>, that: Given<'_>) { fill(this, taken(that)) }
    z_shm_mut_data(_this: Lent<'_>) -> *const u8 { ptr::null() }
    z_shm_mut_data_mut(_this: Given<'_>) -> *mut u8 { ptr::null_mut() }
    z_shm_mut_len(_this: Lent<'_>) -> usize { 0 }
    z_shm_try_mut(_this: Given<'_>) -> Option<&OwnedShmMut> { None }
    z_shm_try_reloan_mut(_this: Given<'_>) -> Option<&OwnedShmMut> { None }
    z_shm_provider_available(_provider: Lent<'_>) -> usize { 0 }
    z_shm_provider_defragment(_provider: Lent<'_>) -> usize { 0 }
    z_shm_provider_garbage_collect(_provider: Lent<'_>) -> usize { 0 }
    z_open_with_custom_shm_clients(this: Out<'_, OwnedSession>, config: Moved<'_, Box<Config>>, _clients: Lent<'_>) -> Code { z_open(this, config, None) }
    zc_cleanup_orphaned_shm_segments() {}
}
