// SPDX-License-Identifier: MIT OR Apache-2.0

//! Closures of C: a context, a function that is called with it, and a function that drops it.

use std::ffi::c_void;
use std::ptr;

/// A function of C that is called with a value and the context of its closure.
pub type Call<T> = Option<unsafe extern "C" fn(&mut T, *mut c_void)>;
/// A function of C that drops a context.
pub type DropContext = Option<unsafe extern "C" fn(*mut c_void)>;

/// A closure as it lies in the memory of C: three words. `T` is the type whose address the function
/// gets. The function is called on threads of the library; the context is dropped once, after the last
/// call.
#[repr(C)]
pub struct Closure<T> {
    context: *mut c_void,
    call: Call<T>,
    drop: DropContext,
}

// SAFETY: a C program that makes a closure allows calls from any thread.
unsafe impl<T> Send for Closure<T> {}
// SAFETY: as above; calls may overlap.
unsafe impl<T> Sync for Closure<T> {}

impl<T> Closure<T> {
    pub const EMPTY: Closure<T> = Closure {
        context: ptr::null_mut(),
        call: None,
        drop: None,
    };

    pub fn new(context: *mut c_void, call: Call<T>, drop: DropContext) -> Closure<T> {
        Closure {
            context,
            call,
            drop,
        }
    }

    /// Returns true if the closure has a function or a context to drop.
    pub fn is_set(&self) -> bool {
        self.call.is_some() || self.drop.is_some()
    }

    /// Takes the closure out of its place, which is empty afterwards.
    pub fn take(&mut self) -> Closure<T> {
        std::mem::replace(self, Closure::EMPTY)
    }

    /// Calls the function.
    #[inline]
    pub fn call(&self, value: &mut T) {
        if let Some(call) = self.call {
            // SAFETY: the function takes a pointer to such a value, and its own context.
            unsafe { call(value, self.context) }
        }
    }
}

impl<T> Closure<Option<T>> {
    /// Calls the function with a value that it may take.
    #[inline]
    pub fn give(&self, value: T) {
        self.call(&mut Some(value));
    }
}

impl<T> Drop for Closure<T> {
    fn drop(&mut self) {
        if let Some(drop) = self.drop.take() {
            // SAFETY: the function drops this context, and is called once.
            unsafe { drop(self.context) }
        }
    }
}

/// Exports the functions of a closure type:
/// `closure!(OwnedClosureSample of OwnedSample: new z_closure_sample, null .., check .., drop .., call .., loan ..);`
macro_rules! closure {
    ($name:ident of $value:ty: new $new:ident, null $null:ident, check $check:ident, drop $drop:ident, call $call:ident, loan $loan:ident $(, loan_mut $loan_mut:ident)?) => {
        /// A closure in the memory of C.
        pub type $name = $crate::closure::Closure<$value>;

        /// Makes a closure.
        #[unsafe(no_mangle)]
        pub extern "C" fn $new(
            this: $crate::place::Out<'_, $name>,
            call: $crate::closure::Call<$value>,
            drop: $crate::closure::DropContext,
            context: *mut std::ffi::c_void,
        ) {
            $crate::place::fill(this, $crate::closure::Closure::new(context, call, drop));
        }

        /// Writes the empty state.
        #[unsafe(no_mangle)]
        pub extern "C" fn $null(this: $crate::place::Out<'_, $name>) {
            $crate::place::fill(this, $crate::closure::Closure::EMPTY);
        }

        /// Returns true if the closure is not empty.
        #[unsafe(no_mangle)]
        pub extern "C" fn $check(this: Option<&$name>) -> bool {
            this.is_some_and($crate::closure::Closure::is_set)
        }

        /// Drops the context; the closure is empty afterwards.
        #[unsafe(no_mangle)]
        pub extern "C" fn $drop(this: Option<&mut $name>) {
            drop(this.map($crate::closure::Closure::take));
        }

        /// Calls the function.
        #[unsafe(no_mangle)]
        pub extern "C" fn $call(this: Option<&$name>, value: Option<&mut $value>) {
            if let (Some(closure), Some(value)) = (this, value) {
                closure.call(value);
            }
        }

        /// Lends the closure.
        #[unsafe(no_mangle)]
        pub extern "C" fn $loan(this: Option<&$name>) -> Option<&$name> {
            this
        }

        $(
            /// Lends the closure for changes.
            #[unsafe(no_mangle)]
            pub extern "C" fn $loan_mut(this: Option<&mut $name>) -> Option<&mut $name> {
                this
            }
        )?
    };
}
pub(crate) use closure;
