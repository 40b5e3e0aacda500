// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hostile words: descriptors and headers that name what is not there, and words that change while they are read.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_codec::shared::Descriptor;

use super::files::{DATA, METADATA, path};
use super::liar::shared_query;
use super::stage::next;
use super::{Forgery, Header, Liar, Segments, Stage, shared_put};
use crate::attacks::words::queryable;
use crate::hand::Hand;
use crate::scene::until;

/// A lie in a descriptor and its header, and the reason for which it is refused.
struct Lie {
    name: &'static str,
    reason: &'static str,
    descriptor: Descriptor,
    header: Header,
}

/// Returns the lies, each with a header of its own.
fn lies(segments: &Segments, short: &Forgery, open: &Forgery) -> Vec<Lie> {
    let truth = |index| (segments.header(), segments.descriptor(index, 100));
    let lie = |index, name, reason, change: &dyn Fn(&mut Header, &mut Descriptor)| {
        let (mut header, mut descriptor) = truth(index);
        change(&mut header, &mut descriptor);
        Lie {
            name,
            reason,
            descriptor,
            header,
        }
    };
    let gone = Forgery::metadata(METADATA).id as u16;
    vec![
        lie(0, "a header beyond all", "index", &|_, told| {
            told.index = 65_535
        }),
        lie(1, "a header behind the last", "index", &|_, told| {
            told.index = 32_768
        }),
        lie(2, "metadata of 4 KiB", "size", &|_, told| {
            (told.segment, told.index) = (short.id as u16, 20_000);
        }),
        lie(3, "metadata that is gone", "absent", &|_, told| {
            told.segment = gone
        }),
        lie(4, "another generation", "generation", &|_, told| {
            told.generation = 7
        }),
        lie(
            5,
            "a gigabyte of a small segment",
            "bounds",
            &|header, told| {
                (header.capacity, told.len) = (u64::MAX, 1 << 30);
            },
        ),
        lie(6, "more than the capacity", "bounds", &|_, told| {
            told.len = DATA + 1
        }),
        lie(7, "bytes behind the segment", "bounds", &|header, told| {
            (header.offset, header.capacity, told.len) = (4000, 20_000, 20_000);
        }),
        lie(8, "the end of memory", "bounds", &|header, told| {
            (header.offset, header.capacity, told.len) = (0xffff_f000, u64::MAX, 0x2000);
        }),
        lie(9, "a length that turns over", "bounds", &|header, told| {
            (header.offset, header.capacity, told.len) = (64, u64::MAX, u64::MAX);
        }),
        lie(10, "memory of another kind", "protocol", &|header, _| {
            header.protocol = 1
        }),
        lie(11, "data that are gone", "absent", &|header, _| {
            header.segment = 4_100_000_001
        }),
        lie(
            12,
            "data that other users may open",
            "owner",
            &|header, _| header.segment = open.id,
        ),
    ]
}

#[test]
fn names_offsets_sizes_and_generations_that_are_lies() {
    let mut stage = Stage::open();
    let heard = stage.overheard();
    let mut liar = Liar::guest(stage.address);
    let segments = Segments::new();
    let (short, open) = (Forgery::metadata(4096), Forgery::data(DATA));
    std::fs::set_permissions(path(open.id), PermissionsExt::from_mode(0o644)).expect("a file");
    let lies = lies(&segments, &short, &open);
    for (index, lie) in (0..).zip(&lies) {
        segments.put(index, lie.header);
        let before = stage.refused(lie.reason);
        liar.put("attack/lie", &lie.descriptor);
        until(lie.name, || stage.refused(lie.reason) == before + 1);
    }
    // no descriptor at all, and one of nothing
    let put = shared_put("attack/lie", &[]);
    let mut none = put.clone();
    none.pop();
    none.extend([1, 1, 1, 0xff]);
    liar.hand.frame(&none);
    liar.put("attack/lie", &segments.descriptor(20, 0));
    // the truth is delivered; nothing else was
    segments.put(13, segments.header());
    liar.put("attack/truth", &segments.descriptor(13, DATA));
    let sample = next(&heard);
    assert_eq!(sample.key_expr().as_str(), "attack/truth");
    assert_eq!(sample.payload().to_bytes(), [9; DATA as usize].as_slice());
    drop(sample);
    until("it comes home", || segments.references(13) == 0);
    // what was refused has come home, too, where the header was that of the descriptor
    let home = (5..13).all(|index| segments.references(index) == 0);
    assert!(home, "references are given back");
    assert!(liar.hand.is_served(), "its link goes on");
    assert_eq!(stage.lines_about_refused(), 1, "{:#?}", stage.lines());
    stage.is_well();
    drop(liar);
    stage.until_metric("zonda_shm_links", |links| links == 2);
    let ids = [segments.meta.id, segments.data.id];
    until("the router lets go", || {
        let mapped = stage.mapped();
        ids.iter().all(|id| !mapped.contains(id))
    });
}

/// A link of this host without a handshake about shared memory: its descriptors name the segments of an honest node, or of an
/// attacker. None is opened.
#[test]
fn a_neighbour_that_has_proved_nothing() {
    let mut stage = Stage::open();
    let (near, far) = (stage.overheard(), stage.overheard_far());
    let segments = Segments::new();
    segments.put(0, segments.header());
    let mapped = stage.mapped();
    let mut stranger = Hand::connected(stage.address);
    for number in 0..50 {
        let message = match number % 2 {
            0 => shared_put("attack/unproved", &[segments.descriptor(0, 100)]),
            _ => shared_query(number, "attack/unproved", &[segments.descriptor(0, 100)]),
        };
        stranger.frame(&message);
    }
    assert!(stranger.is_served(), "its link goes on");
    stage.is_well();
    for subscriber in [&near, &far] {
        // messages of the scene
        while let Some(sample) = subscriber.try_recv().expect("open") {
            assert_ne!(sample.key_expr().as_str(), "attack/unproved");
        }
    }
    assert_eq!(segments.references(0), 1, "no count was touched");
    assert!(!stage.mapped().contains(&segments.meta.id) && mapped.len() >= 3);
    assert_eq!(stage.lines_about_refused(), 1, "{:#?}", stage.lines());
}

/// Words of the attacker's headers change while the router reads them, in the whole range that bounds depend on.
#[test]
fn headers_that_change_while_they_are_read() {
    let mut stage = Stage::open();
    let (near, far) = (stage.overheard(), stage.overheard_far());
    let mut liar = Liar::guest(stage.address);
    liar.read_beside();
    let segments = Arc::new(Segments::new());
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = {
        let (segments, is_over) = (Arc::clone(&segments), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let words = [0, 64, 4000, 4096, 1 << 20, u32::MAX];
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let word = |shift: usize| words[(round >> shift) % words.len()];
                let header = Header {
                    references: word(1),
                    generation: u32::from(round % 7 == 0),
                    protocol: u32::from(round % 11 == 0),
                    segment: segments.data.id ^ (u32::from(round % 13 == 0) << 31),
                    offset: word(0),
                    capacity: u64::from(word(2)) << (round % 40),
                };
                segments.put((round % 4) as u16, header);
            }
        })
    };
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        for (index, len) in (0..4).flat_map(|index| [1, 96, 4096, 1 << 20].map(|len| (index, len)))
        {
            liar.put("attack/changing", &segments.descriptor(index, len));
        }
        // what is delivered is bytes of the segment
        for subscriber in [&near, &far] {
            while let Some(sample) = subscriber.try_recv().expect("open") {
                assert!(sample.payload().to_bytes().iter().all(|byte| *byte == 9));
            }
        }
    }
    is_over.store(true, Ordering::Relaxed);
    writer.join().expect("it writes");
    // full queues would hold up the session that asks
    drop((near, far));
    until("lies are counted", || {
        stage.metric("zonda_shm_refused_total") > 0
    });
    stage.is_well();
    assert_eq!(stage.lines_about_refused(), 1, "{:#?}", stage.lines());
}

/// An attacker writes at random into the router's own memory: counters, headers, watchdog bits and payloads. Payloads of other
/// neighbours may be lost while it writes; no process ends, and no link.
#[test]
fn the_routers_own_words_are_written_by_another_process() {
    let mut stage = Stage::open();
    let mut liar = Liar::guest(stage.address);
    liar.hand.subscribe(1, "busy/**");
    liar.read_beside();
    stage.publish_plain("busy/flow", 10);
    let router = stage.mapped();
    let files: Vec<_> = router
        .iter()
        .filter_map(|id| Forgery::open(*id))
        .filter(|file| file.metadata().is_ok_and(|data| data.len() >= 12_288))
        .collect();
    assert!(files.len() >= 3, "{router:?}");
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        for file in &files {
            let len = file.metadata().expect("a file").len().min(1 << 17);
            for _ in 0..50 {
                let word = [0, 1, u64::MAX, random()][(random() % 4) as usize];
                let at = 1048.min(len) + random() % (len - 1048).max(1);
                let _ = file.write_at(&word.to_ne_bytes()[..4], at & !3);
            }
        }
        stage.publish_plain("busy/flow", 20);
    }
    drop(liar);
    stage.recovers();
}

/// A query whose body lies in a neighbour's memory, with more pieces than there may be, and puts of many pieces.
#[test]
fn payloads_of_many_pieces() {
    let mut stage = Stage::open();
    let near = stage.overheard();
    let mut liar = Liar::guest(stage.address);
    let segments = Segments::new();
    for index in 0..600 {
        segments.put(index, segments.header());
    }
    let all: Vec<_> = (0..500)
        .map(|index| segments.descriptor(index, DATA))
        .collect();
    liar.hand.frame(&shared_put("attack/pieces", &all));
    let sample = next(&near);
    assert_eq!(sample.payload().len(), 500 * DATA as usize);
    assert!(
        (0..500).all(|index| segments.references(index) == 0),
        "given back"
    );
    // one piece of them is a lie: none is delivered
    let mut one = all.clone();
    one[250].generation = 3;
    (0..500).for_each(|index| segments.put(index, segments.header()));
    liar.hand.frame(&shared_put("attack/pieces", &one));
    stage.until_metric("zonda_shm_refused_total{reason=\"generation\"}", |count| {
        count == 1
    });
    assert!((0..500).all(|index| (segments.references(index) == 0) == (index != 250)));
    // queries
    let mut answering = Hand::connected(stage.address);
    answering.frame(&queryable(1, "attack/asked"));
    assert!(answering.is_served());
    liar.hand.frame(&shared_query(
        9,
        "attack/asked",
        &[segments.descriptor(550, 100)],
    ));
    assert!(answering.read_until(|message| match message {
        zonda_codec::NetworkMessage::Request(request) => {
            assert_eq!(
                request.body.body.as_ref().expect("a body").payload,
                [9; 100]
            );
            true
        }
        _ => false,
    }));
    stage.is_well();
}
