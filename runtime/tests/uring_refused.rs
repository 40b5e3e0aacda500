// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refusal of io_uring by the system: it is reported, and the runtime is replaced or the start
//! fails. The kernel itself refuses.
#![forbid(unsafe_code)]
#![cfg(all(
    feature = "uring",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::io;
use std::process::Command;
use std::sync::Once;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};
use zonda_runtime::{AnyRuntime, RuntimeKind, RuntimeOptions, UringRuntime, oneshot};

/// Number of a system call, equal on every architecture.
const SETUP: i64 = 425;
const ENTER: i64 = 426;

thread_local! {
    /// The warnings of this thread, while a test collects them.
    static WARNED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// A subscriber that collects the warnings of threads that ask for them. There is one for the whole
/// process: tracing caches the first interest in a call site for all threads, so a subscriber per
/// thread would miss warnings.
struct Warnings;

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        WARNED.with_borrow_mut(|warned| {
            if let Some(texts) = warned {
                texts.push(message.0);
            }
        });
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Installs the subscriber, before the first warning.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        tracing::subscriber::set_global_default(Warnings).expect("the only subscriber");
    });
}

/// Calls `f` and returns its warnings.
fn warned<T>(f: impl FnOnce() -> T) -> (T, Vec<String>) {
    listen();
    WARNED.set(Some(Vec::new()));
    let output = f();
    (output, WARNED.take().unwrap_or_default())
}

/// Calls `f` on a thread whose system call `number` fails with `errno`, as in a sandbox.
fn forbidden<T: Send + 'static>(
    number: i64,
    errno: u32,
    f: impl FnOnce() -> T + Send + 'static,
) -> T {
    let sandboxed = thread::spawn(move || {
        let filter = SeccompFilter::new(
            BTreeMap::from([(number, vec![])]),
            SeccompAction::Allow,
            SeccompAction::Errno(errno),
            env::consts::ARCH.try_into().expect("a known machine"),
        );
        let program: BpfProgram = filter
            .and_then(TryInto::try_into)
            .expect("a filter of one call");
        apply_filter(&program).expect("a thread may restrict itself");
        f()
    });
    sandboxed.join().expect("no panic")
}

fn options(uring_required: bool) -> RuntimeOptions {
    listen();
    RuntimeOptions {
        threads: Some(2),
        uring_required,
        ..RuntimeOptions::default()
    }
}

/// Returns true if the runtime of `AnyRuntime` runs tasks.
fn works(runtime: &AnyRuntime) -> bool {
    let (sender, receiver) = oneshot::channel();
    runtime.spawn("zonda-task", move || async move { sender.send(()) });
    runtime.block_on(receiver).is_some()
}

fn substitute() -> Option<RuntimeKind> {
    RuntimeKind::available().find(|&kind| kind != RuntimeKind::Uring)
}

/// Checks the outcome of a refusal; run where io_uring is refused for `reason`.
fn check_refusal(reason: &str) {
    let text = format!("io_uring is not usable: {reason}");
    let probed = UringRuntime::probe().expect_err("refused");
    assert_eq!(probed.to_string(), text);
    let insisted = AnyRuntime::start(RuntimeKind::Uring, &options(true));
    let insisted = insisted.expect_err("refused");
    assert_eq!(insisted.to_string(), text);
    assert_eq!(insisted.kind(), io::ErrorKind::Unsupported);
    let (started, warnings) = warned(|| AnyRuntime::start(RuntimeKind::Uring, &options(false)));
    let Some(kind) = substitute() else {
        assert_eq!(
            started.expect_err("nothing else is there").to_string(),
            text
        );
        return assert!(RuntimeKind::Uring.effective().is_err());
    };
    let runtime = started.expect("another runtime takes its place");
    assert_eq!(runtime.name(), kind.name());
    assert!(works(&runtime));
    let instead = format!(
        "{text}; running on {kind} instead (runtime_uring_required: true makes this an error)"
    );
    assert_eq!(warnings, [instead]);
    let effective = RuntimeKind::Uring.effective().expect("something runs");
    assert_eq!(effective, (kind, Some(text)));
}

#[test]
fn where_it_is_allowed_it_runs_without_a_word() {
    UringRuntime::probe().expect("this system has io_uring");
    let (started, warnings) = warned(|| AnyRuntime::start(RuntimeKind::Uring, &options(true)));
    let runtime = started.expect("started");
    assert_eq!((runtime.name(), warnings), ("uring", vec![]));
    assert!(works(&runtime));
    let effective = RuntimeKind::Uring.effective().expect("it runs");
    assert_eq!(effective, (RuntimeKind::Uring, None));
}

#[test]
fn a_sandbox_that_hides_it() {
    let reason = "the kernel has no io_uring, or a sandbox hides it (it came with Linux 5.1, and 5.13 is needed)";
    forbidden(SETUP, 38, move || check_refusal(reason));
    // the ring can then be created, but does not work: only the self-test finds it
    forbidden(ENTER, 38, move || check_refusal(reason));
}

#[test]
fn a_policy_that_forbids_it() {
    let reason = "a security policy forbids it, as those of containers do (allow io_uring_setup, io_uring_enter and io_uring_register)";
    forbidden(SETUP, 1, move || check_refusal(reason));
    forbidden(ENTER, 1, move || check_refusal(reason));
}

#[test]
fn a_limit_of_locked_memory() {
    // the error of older kernels under a low `ulimit -l`
    let reason = "too little memory may be locked (raise `ulimit -l`)";
    forbidden(SETUP, 12, move || check_refusal(reason));
}

#[test]
fn a_kernel_that_knows_too_little() {
    forbidden(SETUP, 22, || {
        let error = UringRuntime::probe().expect_err("refused").to_string();
        assert!(
            error.starts_with("io_uring is not usable: the kernel is too old"),
            "{error}"
        );
        let runtime = AnyRuntime::start(RuntimeKind::Uring, &options(false));
        assert_eq!(
            runtime.ok().map(|runtime| runtime.name()),
            substitute().map(RuntimeKind::name)
        );
    });
}

/// Environment variable that is set for the child processes of the tests below.
const CHILD: &str = "ZONDA_TEST_LIMIT";

/// Runs one test of this file in a child process, where it lowers a limit.
fn in_child(test: &str) {
    let program = env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}

#[test]
fn no_descriptors_left_for_its_rings() {
    if env::var_os(CHILD).is_none() {
        return in_child("no_descriptors_left_for_its_rings");
    }
    let soft = |current| Rlimit {
        current: Some(current),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    let open = std::fs::read_dir("/proc/self/fd").expect("listed").count() as u64;
    // too few for the rings of many threads, which have two each; enough for the substitute runtime
    setrlimit(Resource::Nofile, soft(open + 24)).expect("lowered");
    let many = |uring_required| RuntimeOptions {
        threads: Some(40),
        ..options(uring_required)
    };
    let refused = AnyRuntime::start(RuntimeKind::Uring, &many(true)).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "io_uring is not usable: no descriptor is left (raise `ulimit -n`)"
    );
    let (started, warnings) = warned(|| AnyRuntime::start(RuntimeKind::Uring, &many(false)));
    match substitute() {
        Some(kind) => {
            assert_eq!(started.expect("another one").name(), kind.name());
            assert_eq!(warnings.len(), 1, "{warnings:?}");
        }
        None => assert!(started.is_err()),
    }
}

#[test]
fn a_low_limit_of_locked_memory_is_no_matter_for_this_kernel_or_told() {
    if env::var_os(CHILD).is_none() {
        return in_child("a_low_limit_of_locked_memory_is_no_matter_for_this_kernel_or_told");
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Memlock, none).expect("lowered");
    match AnyRuntime::start(RuntimeKind::Uring, &options(true)) {
        Ok(runtime) => assert!(works(&runtime)),
        Err(error) => assert!(error.to_string().contains("ulimit -l"), "{error}"),
    }
}
