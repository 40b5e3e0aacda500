// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thread of the process that confirms the buffers in use, takes back those of holders that ended, and notes which
//! descriptors have arrived.

use std::{
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use crate::{meta::Meta, outgoing::Outgoing, pool};

/// Pause between two confirmations.
const ROUND: Duration = Duration::from_millis(50);

/// Rounds after the end of a link until the descriptors that were never read are given back.
const ROUNDS_AFTER_END: u32 = 10;

#[derive(Default)]
struct Kept {
    metas: Vec<Weak<Meta>>,
    pools: Vec<Weak<pool::Inner>>,
    links: Vec<Weak<Outgoing>>,
    ended: Vec<(u32, Arc<Outgoing>)>,
}

impl Kept {
    fn is_empty(&self) -> bool {
        self.metas.is_empty()
            && self.pools.is_empty()
            && self.links.is_empty()
            && self.ended.is_empty()
    }
}

#[derive(Default)]
struct Keeper {
    kept: Mutex<Kept>,
    more: Condvar,
}

fn keep(add: impl FnOnce(&mut Kept)) {
    static KEEPER: OnceLock<Arc<Keeper>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let keeper = Arc::new(Keeper::default());
        let for_thread = Arc::clone(&keeper);
        let thread = std::thread::Builder::new().name("zonda-shm".to_owned());
        if let Err(error) = thread.spawn(move || for_thread.work()) {
            tracing::warn!(
                "no thread for shared memory: {error}; buffers of lost holders stay lost"
            );
        }
        keeper
    });
    add(&mut keeper.kept.lock().unwrap_or_else(PoisonError::into_inner));
    keeper.more.notify_one();
}

/// Confirms the buffers of this segment that the process uses.
pub(crate) fn confirm(meta: &Arc<Meta>) {
    keep(|kept| kept.metas.push(Arc::downgrade(meta)));
}

/// Takes back lost buffers of this pool.
pub(crate) fn validate(pool: &Arc<pool::Inner>) {
    keep(|kept| kept.pools.push(Arc::downgrade(pool)));
}

/// Notes which descriptors of this link have arrived.
pub(crate) fn settle(link: &Arc<Outgoing>) {
    keep(|kept| kept.links.push(Arc::downgrade(link)));
}

/// Gives back the descriptors of this link that have not arrived some time after its end.
pub(crate) fn end(link: Arc<Outgoing>) {
    keep(|kept| kept.ended.push((0, link)));
}

/// Returns what is still in use, and forgets the rest.
fn alive<T>(all: &mut Vec<Weak<T>>) -> Vec<Arc<T>> {
    let alive: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
    if alive.len() < all.len() {
        all.retain(|one| one.strong_count() > 0);
    }
    alive
}

impl Keeper {
    fn work(&self) {
        for round in 0_u64.. {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            while kept.is_empty() {
                kept = self.more.wait(kept).unwrap_or_else(PoisonError::into_inner);
            }
            let metas = alive(&mut kept.metas);
            let pools = alive(&mut kept.pools);
            let links = alive(&mut kept.links);
            kept.ended.iter_mut().for_each(|(rounds, _)| *rounds += 1);
            let over = kept
                .ended
                .extract_if(.., |(rounds, _)| *rounds > ROUNDS_AFTER_END);
            let over: Vec<_> = over.map(|(_, link)| link).collect();
            drop(kept);
            let whole = metas.iter().filter(|meta| meta.is_whole());
            whole.for_each(|meta| meta.confirm_all());
            if round % 2 == 0 {
                links.iter().for_each(|link| link.settle());
                pools.iter().for_each(|pool| pool.validate());
            }
            over.iter().for_each(|link| link.give_back());
            drop((metas, pools, links, over));
            std::thread::sleep(ROUND);
        }
    }
}
