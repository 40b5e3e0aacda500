// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two nodes of one process, and a neighbour that lies.

use std::{
    os::unix::fs::PermissionsExt,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::{Duration, Instant},
};

use zonda_codec::{
    ZSlice,
    shared::{Descriptor, Kind},
};

use crate::{
    Neighbour, Node, Refusal, Settings, SharedBuffer,
    meta::{self, Meta, Place},
    segment::Segment,
};

/// Rounds of the longest test.
const ROUNDS: u32 = if cfg!(miri) { 400 } else { 20_000 };

fn node() -> Arc<Node> {
    let settings = Settings {
        pool_bytes: 1 << 16,
        size_min: 100,
        ..Settings::default()
    };
    Node::open(settings).expect("this system has shared memory")
}

/// Returns the two ends of a link.
fn link(a: &Arc<Node>, b: &Arc<Node>) -> (Neighbour, Neighbour) {
    let (to_b, to_a) = (a.knock(b.segment()).unwrap(), b.knock(a.segment()).unwrap());
    assert_eq!(
        (to_b.challenge(), to_a.challenge()),
        (b.challenge(), a.challenge())
    );
    let (of_a, of_b) = (a.lease().unwrap(), b.lease().unwrap());
    let (numbers_a, numbers_b) = (of_a.numbers(), of_b.numbers());
    (
        Neighbour::new(a, to_b, of_a, numbers_b).unwrap(),
        Neighbour::new(b, to_a, of_b, numbers_a).unwrap(),
    )
}

fn wait(what: &str, is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_loan_arrives_without_a_copy_and_comes_home() {
    let (a, b) = (node(), node());
    let (to_b, to_a) = link(&a, &b);
    let pool = a.provider(1 << 16).unwrap();
    let free = pool.free_bytes();
    for round in 0..ROUNDS / 20 {
        let mut loan = pool.loan(5000).unwrap();
        loan.fill(round as u8);
        loan.truncate(4000);
        let payload = ZSlice::from(loan.freeze());
        let told = to_b.describe(&payload, 5).unwrap();
        assert_eq!(told.len, 4000);
        drop(payload);
        let taken = to_a.take(&told, 5, u64::from(round)).unwrap();
        assert!(SharedBuffer::of(&taken).unwrap().is_foreign());
        assert_eq!(taken.as_slice(), [round as u8; 4000]);
        assert_eq!(pool.lent(), 1);
    }
    assert_eq!(pool.free_bytes(), free);
    let counted = (a.counted(), b.counted());
    let rounds = u64::from(ROUNDS / 20);
    assert_eq!((counted.0.sent, counted.1.taken), (rounds, rounds));
    assert_eq!((counted.1.held, counted.1.segments), (0, 2));
    drop((to_a, to_b));
    assert_eq!((b.counted().segments, b.counted().links), (0, 0));
}

#[test]
fn a_buffer_goes_on_to_a_third_node() {
    let (a, b, c) = (node(), node(), node());
    let (to_b, from_a) = link(&a, &b);
    let (to_c, from_b) = link(&b, &c);
    let payload = a.copy_in(&[7; 3000], Kind::Put).unwrap();
    let told = to_b.describe(&payload, 1).unwrap();
    drop(payload);
    let at_b = from_a.take(&told, 1, 1).unwrap();
    let told_again = to_c.describe(&at_b, 1).unwrap();
    assert_eq!(told_again, told);
    drop(at_b);
    let at_c = from_b.take(&told_again, 1, 1).unwrap();
    assert_eq!(at_c.as_slice(), [7; 3000]);
    assert_eq!(a.pool().unwrap().lent(), 1);
    drop(at_c);
    assert_eq!(a.pool().unwrap().lent(), 0);
    assert!(a.copy_in(&[7; 99], Kind::Put).is_none());
    assert_eq!(a.counted().copied_in, 1);
}

#[test]
fn descriptors_that_were_never_read_come_home_after_the_link() {
    let (a, b) = (node(), node());
    let (to_b, to_a) = link(&a, &b);
    let pool = a.provider(1 << 16).unwrap();
    let loans: Vec<_> = (0..4).map(|_| pool.loan(1000).unwrap().freeze()).collect();
    let told: Vec<_> = loans
        .iter()
        .map(|loan| to_b.describe(loan.as_zslice(), 3).unwrap())
        .collect();
    drop(loans);
    let taken = to_a.take(&told[0], 3, 1).unwrap();
    drop((to_b, to_a));
    wait("three of four", || pool.lent() == 1);
    assert_eq!(taken.as_slice().len(), 1000);
    drop(taken);
    assert_eq!((pool.lent(), a.counted().reclaimed), (0, 0));
}

#[test]
fn a_full_pool_says_so_and_lost_holders_give_back() {
    let (a, b) = (node(), node());
    let (to_b, to_a) = link(&a, &b);
    let pool = a.provider(4096).unwrap();
    let payload = ZSlice::from(pool.loan(4096).unwrap().freeze());
    let told = to_b.describe(&payload, 0).unwrap();
    drop(payload);
    assert_eq!(pool.loan(64).unwrap_err().size, 4096);
    assert_eq!(a.counted().pool_full, 1);
    // A holder that was killed: it has counted the descriptor down, and never confirms or gives back.
    let counter = a.auth().counter(0).unwrap();
    assert_eq!(counter.swap(0, SeqCst), 1);
    let start = Instant::now();
    wait("the buffer comes home", || pool.free_bytes() == 4096);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(a.counted().reclaimed, 1);
    assert_eq!(to_a.take(&told, 0, 1).unwrap_err(), Refusal::Generation(1));
    pool.loan(4096).unwrap();
}

/// A neighbour's metadata and data segments, written at will.
struct Forged {
    meta: Meta,
    data: Segment,
}

impl Forged {
    fn new() -> Forged {
        let meta = Meta::create().unwrap();
        let data = Segment::create(4096, u32::MAX).unwrap();
        data.map().fill(0, 4096).unwrap().fill(9);
        Forged { meta, data }
    }

    fn place(&self) -> Place {
        Place {
            protocol: 0,
            segment: self.data.id(),
            offset: 0,
            capacity: 100,
        }
    }

    fn meta_file(&self) -> std::fs::File {
        let path = format!("/dev/shm/{}.zenoh", self.meta.id());
        std::fs::File::options().write(true).open(path).unwrap()
    }

    fn told(&self, index: u16, len: u64) -> Descriptor {
        Descriptor {
            len,
            segment: self.meta.id(),
            index,
            generation: 0,
        }
    }
}

#[test]
fn forged_headers_and_descriptors_are_refused() {
    let (a, b) = (node(), node());
    let (_to_b, to_a) = link(&a, &b);
    let forged = Forged::new();
    let take = |told: Descriptor| to_a.take(&told, 2, 1).map(|taken| taken.to_vec());
    let place = forged.place();
    let (last, beyond) = (meta::HEADERS - 1, meta::HEADERS);
    forged.meta.begin(last, place);
    assert_eq!(take(forged.told(last, 100)), Ok(vec![9; 100]));
    assert_eq!(take(forged.told(beyond, 100)), Err(Refusal::Index(32768)));
    let cases = [
        (place, 0),
        (place, 101),
        (
            Place {
                offset: 4000,
                capacity: 20000,
                ..place
            },
            20000,
        ),
        (
            Place {
                offset: 0xffff_f000,
                ..place
            },
            100,
        ),
        (
            Place {
                capacity: u64::MAX,
                ..place
            },
            1 << 30,
        ),
        (
            Place {
                offset: 4097,
                capacity: u64::MAX,
                ..place
            },
            u64::MAX,
        ),
    ];
    for (index, (place, len)) in (0..).zip(cases) {
        forged.meta.begin(index, place);
        let taken = take(forged.told(index, len));
        assert!(matches!(taken, Err(Refusal::Bounds { .. })), "{taken:?}");
        assert_eq!(forged.meta.references(index), 0, "given back");
    }
}

#[test]
fn headers_of_other_kinds_and_payloads_are_refused() {
    let (a, b) = (node(), node());
    let (_to_b, to_a) = link(&a, &b);
    let forged = Forged::new();
    let take = |told: Descriptor| to_a.take(&told, 2, 1).map(|taken| taken.to_vec());
    let place = forged.place();
    forged.meta.begin(
        7,
        Place {
            protocol: 9,
            ..place
        },
    );
    assert_eq!(take(forged.told(7, 100)), Err(Refusal::Protocol(9)));
    forged.meta.begin(
        8,
        Place {
            segment: 4242,
            ..place
        },
    );
    assert!(matches!(take(forged.told(8, 100)), Err(Refusal::Absent(_))));
    forged.meta.begin(9, place);
    forged.meta.retire(9, true);
    assert_eq!(take(forged.told(9, 100)), Err(Refusal::Generation(1)));
    assert_eq!(forged.meta.references(9), 1, "another payload's by now");
    let elsewhere = Descriptor {
        segment: forged.meta.id() ^ 1,
        ..forged.told(0, 100)
    };
    assert!(matches!(take(elsewhere), Err(Refusal::Absent(_))));
    assert_eq!(b.counted().refused.iter().sum::<u64>(), 4);
    assert_eq!(b.counted().held, 0);
}

#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn truncated_segments_are_found_before_the_next_batch() {
    let (a, b) = (node(), node());
    let (_to_b, to_a) = link(&a, &b);
    let forged = Forged::new();
    for index in 0..3 {
        forged.meta.begin(index, forged.place());
    }
    let taken = to_a.take(&forged.told(0, 100), 2, 1).unwrap();
    forged.data.map().file().resize(0).unwrap();
    assert_eq!(SharedBuffer::of(&taken).unwrap().copied(), None);
    assert_eq!(to_a.take(&forged.told(1, 100), 2, 2), Err(Refusal::Size(0)));
    forged.data.map().file().resize(4096).unwrap();
    drop(taken);
    assert!(to_a.take(&forged.told(2, 100), 2, 3).is_ok());
    // Metadata, while a buffer of it is held: nothing is given back, and nothing is touched.
    forged.meta.begin(3, forged.place());
    let taken = to_a.take(&forged.told(3, 100), 2, 4).unwrap();
    rustix::fs::ftruncate(forged.meta_file(), 0).unwrap();
    drop(taken);
    let refused = to_a.take(&forged.told(3, 100), 2, 5).unwrap_err();
    assert_eq!(refused, Refusal::Size(0));
    drop(a);
}

#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn files_of_other_users_and_sizes_are_refused() {
    let a = node();
    assert!(matches!(a.knock(4242), Err(Refusal::Absent(_))));
    let short = Segment::create(24, u32::MAX).unwrap();
    assert_eq!(a.knock(short.id()).unwrap_err(), Refusal::Size(24));
    let b = node();
    let path = format!("/dev/shm/{}.zenoh", b.segment());
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(a.knock(b.segment()).unwrap_err(), Refusal::Owner);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let candidate = a.knock(b.segment()).unwrap();
    rustix::fs::ftruncate(
        std::fs::File::options().write(true).open(&path).unwrap(),
        24,
    )
    .unwrap();
    let lease = a.lease().unwrap();
    let refused = Neighbour::new(&a, candidate, lease, [0; 8]).unwrap_err();
    assert_eq!(refused, Refusal::Size(24));
    assert_eq!(a.counted().refused.iter().sum::<u64>(), 4);
}

#[test]
fn counters_are_lent_to_351_links() {
    let a = node();
    let leases: Vec<_> = std::iter::from_fn(|| a.lease()).collect();
    assert_eq!(leases.len(), 351);
    assert!(leases.iter().all(|lease| lease.numbers()[7] < 2810));
    drop(leases);
    let lease = a.lease().unwrap();
    let candidate = a.knock(node().segment());
    drop(candidate);
    let other = node();
    let candidate = a.knock(other.segment()).unwrap();
    let wrong = Neighbour::new(&a, candidate, lease, [60000; 8]).unwrap_err();
    assert_eq!(wrong, Refusal::Index(60000));
}

#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn files_go_with_their_last_user() {
    let a = node();
    let path = format!("/dev/shm/{}.zenoh", a.segment());
    assert!(std::path::Path::new(&path).exists());
    drop(a);
    assert!(!std::path::Path::new(&path).exists());
}

/// Writes at random into the words that the reader looks at: the reader refuses or reads any bytes of the segment.
#[test]
fn a_liar_changes_words_at_random() {
    let (a, b) = (node(), node());
    let (_to_b, to_a) = link(&a, &b);
    let forged = Forged::new();
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut read, mut refused) = (0, 0);
    for batch in 0..u64::from(ROUNDS) {
        let index = (random() % 4) as u16;
        let near = [0, 100, 4096, 4000, random()];
        forged.meta.begin(
            index,
            Place {
                protocol: (random() % 8 / 7) as u32,
                segment: forged.data.id() ^ (random() % 8 / 7) as u32,
                offset: near[(random() % 5) as usize] as u32,
                capacity: near[(random() % 5) as usize],
            },
        );
        let len = near[(random() % 5) as usize];
        let told = Descriptor {
            generation: (random() % 8 / 7) as u32,
            ..forged.told(index, len)
        };
        match to_a.take(&told, 0, batch) {
            Ok(taken) => {
                assert!(taken.iter().all(|byte| *byte == 9));
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        read > ROUNDS / 200 && refused > ROUNDS / 200,
        "{read} {refused}"
    );
    assert_eq!(b.counted().held, 0);
}

/// Files that a number can name besides those of payloads: none is followed, waited for, or mapped.
#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn names_of_other_files_are_refused() {
    let (a, b) = (node(), node());
    let (_to_b, to_a) = link(&a, &b);
    let forged = Forged::new();
    let take = |index| to_a.take(&forged.told(index, 100), 2, 1);
    let mut placed = Vec::new();
    let mut place = |make: &dyn Fn(&str)| {
        let id = 4_000_000_000 + std::process::id() % 1_000_000 * 100 + placed.len() as u32;
        let path = format!("/dev/shm/{id}.zenoh");
        make(&path);
        placed.push(path);
        let at = forged.place();
        let index = placed.len() as u16;
        forged.meta.begin(index, Place { segment: id, ..at });
        (id, take(index))
    };
    let target = format!("/dev/shm/{}.zenoh", b.segment());
    let (link, taken) = place(&|path| std::os::unix::fs::symlink(&target, path).unwrap());
    assert!(matches!(taken, Err(Refusal::Absent(_))), "{taken:?}");
    assert!(matches!(a.knock(link), Err(Refusal::Absent(_))));
    let (pipe, taken) = place(&|path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    });
    assert_eq!(taken.unwrap_err(), Refusal::Owner);
    assert_eq!(a.knock(pipe).unwrap_err(), Refusal::Owner);
    let (_, taken) = place(&|path| std::fs::create_dir(path).unwrap());
    assert_eq!(taken.unwrap_err(), Refusal::Owner);
    let (_, taken) = place(&|path| {
        let mode = std::os::unix::fs::OpenOptionsExt::mode;
        let mut options = std::fs::File::options();
        let file = mode(options.write(true).create_new(true), 0o600).open(path);
        file.unwrap().set_len((1 << 32) + 1).unwrap();
    });
    assert_eq!(taken.unwrap_err(), Refusal::Size((1 << 32) + 1));
    for path in placed {
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}

/// The memory of a node that another process truncates: no access ends the process, and payloads go as bytes.
#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn own_segments_without_bytes_are_given_up() {
    let (a, b) = (node(), node());
    let (to_b, to_a) = link(&a, &b);
    let payload = a.copy_in(&[7; 3000], Kind::Put).unwrap();
    let told = to_b.describe(&payload, 1).unwrap();
    let file = |id: u32| {
        let path = format!("/dev/shm/{id}.zenoh");
        std::fs::File::options().write(true).open(path).unwrap()
    };
    file(a.segment()).set_len(0).unwrap();
    wait("the counters are given up", || a.auth().is_lost());
    assert!(to_b.describe(&payload, 1).is_none() && a.lease().is_none());
    file(u32::from(told.segment)).set_len(4096).unwrap();
    let pool = a.pool().unwrap();
    wait("the pool is given up", || pool.is_lost());
    assert!(a.copy_in(&[7; 3000], Kind::Put).is_none());
    drop(payload);
    assert_eq!(to_a.take(&told, 1, 1).unwrap_err(), Refusal::Size(4096));
    drop((to_a, to_b));
    assert!(a.counted().pool_full > 0);
}

/// Memory is set aside for what is lent, in part.
#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn a_pool_takes_memory_as_it_lends() {
    let a = node();
    let memory = |payload: &ZSlice| {
        let buffer = SharedBuffer::of(payload).unwrap();
        buffer.memory()
    };
    let pool = crate::Pool::create(4 << 20, false, Arc::default()).unwrap();
    let first = ZSlice::from(pool.loan(1000).unwrap().freeze());
    assert_eq!(memory(&first), 256 << 10);
    let large = ZSlice::from(pool.loan(1 << 20).unwrap().freeze());
    assert_eq!(memory(&large), 1280 << 10);
    let whole = a.provider(4 << 20).unwrap();
    let lent = ZSlice::from(whole.loan(1).unwrap().freeze());
    assert_eq!(memory(&lent), 4 << 20);
}

/// A process that shares nothing, or nothing any more, has no thread for it.
#[test]
#[cfg_attr(miri, ignore = "there are no files")]
fn the_keeper_runs_while_there_is_work() {
    const INSIDE: &str = "ZONDA_TEST_ALONE";
    let name = "tests::the_keeper_runs_while_there_is_work";
    if std::env::var_os(INSIDE).is_none() {
        // Other tests of this process have work for it.
        let program = std::env::current_exe().unwrap();
        let mut alone = std::process::Command::new(program);
        alone.args(["--exact", name]).env(INSIDE, "1");
        let output = alone.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let runs = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            threads.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.into_iter().any(|name| name.trim() == "zonda-shm")
    };
    let (a, b) = (node(), node());
    let (to_b, to_a) = link(&a, &b);
    let pool = a.provider(1 << 16).unwrap();
    assert!(!runs());
    for round in 0..2 {
        let payload = ZSlice::from(pool.loan(1000).unwrap().freeze());
        let told = to_b.describe(&payload, 1).unwrap();
        wait("it runs", runs);
        drop(payload);
        let taken = to_a.take(&told, 1, round).unwrap();
        std::thread::sleep(Duration::from_millis(1200));
        assert_eq!((taken.as_slice().len(), pool.lent()), (1000, 1));
        assert!(runs());
        drop(taken);
        wait("it ends", || !runs());
        assert_eq!((pool.lent(), a.counted().reclaimed), (0, 0));
    }
    drop((to_a, to_b));
    assert!(!runs(), "a link that has nothing on its way is no work");
}
