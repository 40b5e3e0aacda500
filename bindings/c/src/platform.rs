// SPDX-License-Identifier: MIT OR Apache-2.0

//! Mutexes, condition variables and threads for C programs.

mod signal;

use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::code::{Code, Failure, MUTEX_AGAIN, MUTEX_BUSY, MUTEX_INVALID, OK, Required, answer};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, taken, write};

place!(
    /// A mutex.
    OwnedMutex = Lock, size 24, align 8
);

mechanical!(OwnedMutex:
    null z_internal_mutex_null,
    check z_internal_mutex_check,
);

/// A mutex that one call locks and another one unlocks.
pub struct Lock {
    state: Mutex<LockState>,
    unlocked: Condvar,
}

#[derive(Default)]
struct LockState {
    locked: bool,
    /// The number of threads that wait in [`Lock::acquire`].
    waiting: u32,
}

impl Lock {
    fn state(&self) -> MutexGuard<'_, LockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no thread holds the lock, and takes it.
    fn acquire(&self, mut state: MutexGuard<'_, LockState>) {
        state.waiting += 1;
        while state.locked {
            let woken = self.unlocked.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.locked = true;
    }

    /// Gives the lock back, and wakes one thread that waits for it. Returns false if no thread holds it.
    fn release(&self, state: &mut LockState) -> bool {
        let was_locked = std::mem::take(&mut state.locked);
        if state.waiting > 0 {
            self.unlocked.notify_one();
        }
        was_locked
    }
}

/// Empties the place. Where the system's mutexes are plain numbers there is nothing else to drop.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_drop(this: Moved<'_, Lock>) {
    if let Some(place) = this {
        *place = None;
    }
}

/// Makes a mutex.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_init(this: Out<'_, OwnedMutex>) -> Code {
    let lock = Lock {
        state: Mutex::default(),
        unlocked: Condvar::new(),
    };
    fill(this, Some(lock));
    OK
}

/// Lends the mutex. Several threads may use it at once.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_loan_mut(this: Option<&OwnedMutex>) -> Option<&OwnedMutex> {
    this
}

fn lock(mutex: Loan<'_, Lock>) -> Result<&Lock, Failure> {
    lent(mutex).ok_or_else(|| Failure::new(MUTEX_INVALID, "the place holds no mutex"))
}

fn not_locked() -> Failure {
    Failure::new(MUTEX_INVALID, "the mutex is not locked")
}

/// Locks a mutex; waits for the thread that holds it.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_lock(this: Loan<'_, Lock>) -> Code {
    answer(|| {
        let lock = lock(this)?;
        lock.acquire(lock.state());
        Ok(())
    })
}

/// Locks a mutex if no thread holds it.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_try_lock(this: Loan<'_, Lock>) -> Code {
    let mut was_locked = false;
    let code = answer(|| {
        let mut state = lock(this)?.state();
        was_locked = std::mem::replace(&mut state.locked, true);
        Ok(())
    });
    // no error: a lock that is held is not worth a line in the log
    if was_locked { MUTEX_BUSY } else { code }
}

/// Unlocks a mutex.
#[unsafe(no_mangle)]
pub extern "C" fn z_mutex_unlock(this: Loan<'_, Lock>) -> Code {
    answer(|| {
        let lock = lock(this)?;
        let was_locked = lock.release(&mut lock.state());
        was_locked.then_some(()).ok_or_else(not_locked)
    })
}

place!(
    /// A condition variable. Its place is too small for a pointer.
    OwnedCondvar = Condvar, size 8, align 4
);

mechanical!(OwnedCondvar:
    null z_internal_condvar_null,
    check z_internal_condvar_check,
    loan z_condvar_loan,
);

/// Lends the condition variable. Several threads may use it at once.
#[unsafe(no_mangle)]
pub extern "C" fn z_condvar_loan_mut(this: Option<&OwnedCondvar>) -> Option<&OwnedCondvar> {
    this
}

/// Empties the place, as [`z_mutex_drop`] does.
#[unsafe(no_mangle)]
pub extern "C" fn z_condvar_drop(this: Moved<'_, Condvar>) {
    if let Some(place) = this {
        *place = None;
    }
}

/// Makes a condition variable.
#[unsafe(no_mangle)]
pub extern "C" fn z_condvar_init(this: Out<'_, OwnedCondvar>) {
    fill(this, Some(Condvar::new()));
}

/// Wakes one thread that waits.
#[unsafe(no_mangle)]
pub extern "C" fn z_condvar_signal(this: Loan<'_, Condvar>) -> Code {
    answer(|| {
        lent(this).required("this_")?.notify_one();
        Ok(())
    })
}

/// Unlocks the mutex, waits for a signal, and locks it again. It may return without a signal.
#[unsafe(no_mangle)]
pub extern "C" fn z_condvar_wait(this: Loan<'_, Condvar>, mutex: Loan<'_, Lock>) -> Code {
    answer(|| {
        let condition = lent(this).required("this_")?;
        let lock = lock(mutex)?;
        let mut state = lock.state();
        // a thread that signals with the mutex locked needs this state first, which `wait` gives back
        if !lock.release(&mut state) {
            return Err(not_locked());
        }
        let state = condition.wait(state);
        lock.acquire(state.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    })
}

place!(
    /// A thread.
    OwnedTask = JoinHandle<()>, size 24, align 8
);

mechanical!(OwnedTask:
    null z_internal_task_null,
    check z_internal_task_check,
    drop z_task_drop,
    drop z_task_detach,
);

/// A function of C that a thread runs.
type Run = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;

/// A function and its argument.
struct Work {
    run: Run,
    argument: *mut c_void,
}

// SAFETY: a C program that starts a thread gives it the argument.
unsafe impl Send for Work {}

impl Work {
    fn run(self) {
        if let Some(run) = self.run {
            // SAFETY: the function takes this argument, and is called once.
            unsafe { run(self.argument) };
        }
    }
}

/// Attributes of a thread: none so far.
#[repr(C)]
pub struct TaskAttributes {
    _unused: usize,
}

/// Starts a thread.
#[unsafe(no_mangle)]
pub extern "C" fn z_task_init(
    this: Out<'_, OwnedTask>,
    _attributes: Option<&TaskAttributes>,
    run: Run,
    argument: *mut c_void,
) -> Code {
    answer(|| {
        let work = Work { run, argument };
        let started = thread::Builder::new().spawn(move || work.run());
        let started = started
            .map_err(|error| Failure::new(MUTEX_AGAIN, format!("cannot start a thread: {error}")));
        write(this, started)
    })
}

/// Waits for the end of a thread.
#[unsafe(no_mangle)]
pub extern "C" fn z_task_join(this: Moved<'_, JoinHandle<()>>) -> Code {
    answer(|| match taken(this).map(JoinHandle::join) {
        None | Some(Ok(())) => Ok(()),
        Some(Err(_)) => Err(Failure::new(MUTEX_INVALID, "the thread panicked")),
    })
}
