// SPDX-License-Identifier: MIT OR Apache-2.0

//! Caches and querying subscribers, which the reference has deprecated in favour of the advanced ones.

use std::ffi::c_int;

use zonda::ext::{FetchingSubscriber, PublicationCache, SessionExt, SubscriberBuilderExt};
use zonda::query::Selector;
use zonda::{Session, Wait};

use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::get::{Consolidation, GetOptions, limit, with_manner, with_matter};
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{Loan, Out, fill, given, lent, mechanical, place, write};
use crate::qos::{self, MATCHING_REPLIES};
use crate::query::ending;
use crate::subscriber::OwnedClosureSample;

place!(
    /// A cache of publications.
    OwnedPublicationCache = Box<DeclaredCache>, size 96, align 8
);

mechanical!(OwnedPublicationCache:
    null ze_internal_publication_cache_null,
    check ze_internal_publication_cache_check,
    loan ze_publication_cache_loan,
);

/// A cache, and its key in the form that C reads.
pub struct DeclaredCache {
    cache: PublicationCache,
    key: OwnedKeyExpr,
}

/// Options of [`ze_declare_publication_cache`].
#[repr(C)]
pub struct CacheOptions<'a> {
    suffix: Loan<'a, Key>,
    origin: c_int,
    complete: bool,
    history: usize,
    resources_limit: usize,
}
const _: () = assert!(size_of::<CacheOptions<'_>>() == 32);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ze_publication_cache_options_default(this: Out<'_, CacheOptions<'static>>) {
    let defaults = CacheOptions {
        suffix: None,
        origin: 0,
        complete: false,
        history: 1,
        resources_limit: 0,
    };
    fill(this, defaults);
}

/// Declares a cache of the session's publications on these keys.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_publication_cache(
    session: Loan<'_, Session>,
    cache: Out<'_, OwnedPublicationCache>,
    key: Loan<'_, Key>,
    options: Option<&CacheOptions<'_>>,
) -> Code {
    answer(|| write(cache, declare_cache(session, key, options).map(Box::new)))
}

/// Declares a cache that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_background_publication_cache(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    options: Option<&CacheOptions<'_>>,
) -> Code {
    answer(|| {
        let mut declared = declare_cache(session, key, options)?;
        declared.cache.set_background(true);
        Ok(())
    })
}

fn declare_cache(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    options: Option<&CacheOptions<'_>>,
) -> Result<DeclaredCache, Failure> {
    let key = lent(key).required("key_expr")?;
    let session = lent(session).required("session")?;
    let mut builder = session.declare_publication_cache(key.owned());
    if let Some(options) = options {
        builder = builder
            .history(options.history)
            .queryable_allowed_origin(qos::locality(options.origin))
            .queryable_complete(options.complete);
        let resources = Some(options.resources_limit).filter(|limit| *limit > 0);
        given!(builder: resources_limit = resources,
            queryable_suffix = lent(options.suffix).map(Key::owned));
    }
    Ok(DeclaredCache {
        cache: builder.wait().or_fail(GENERIC)?,
        key: Some(Key::from(key.as_str())),
    })
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn ze_publication_cache_keyexpr(
    this: Loan<'_, Box<DeclaredCache>>,
) -> Option<&OwnedKeyExpr> {
    Some(&lent(this)?.key)
}

ending!(OwnedPublicationCache: drop ze_publication_cache_drop, undeclare ze_undeclare_publication_cache,
    |declared| declared.cache.undeclare());

place!(
    /// A subscriber that queries earlier samples.
    OwnedQueryingSubscriber = Box<Querying>, size 80, align 8
);

mechanical!(OwnedQueryingSubscriber:
    null ze_internal_querying_subscriber_null,
    check ze_internal_querying_subscriber_check,
    loan ze_querying_subscriber_loan,
);

/// A querying subscriber, and the session that it queries with.
pub struct Querying {
    subscriber: FetchingSubscriber<()>,
    session: Session,
}

/// Options of [`ze_declare_querying_subscriber`].
#[repr(C)]
pub struct QueryingOptions<'a> {
    allowed_origin: c_int,
    selector: Loan<'a, Key>,
    target: c_int,
    consolidation: Consolidation,
    accept_replies: c_int,
    timeout_ms: u64,
}
const _: () = assert!(size_of::<QueryingOptions<'_>>() == 40);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ze_querying_subscriber_options_default(this: Out<'_, QueryingOptions<'static>>) {
    let defaults = QueryingOptions {
        allowed_origin: 0,
        selector: None,
        target: 0,
        consolidation: Consolidation::NONE,
        accept_replies: MATCHING_REPLIES,
        timeout_ms: 0,
    };
    fill(this, defaults);
}

/// Declares a subscriber that queries earlier samples: the closure is called with each sample.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_querying_subscriber(
    session: Loan<'_, Session>,
    subscriber: Out<'_, OwnedQueryingSubscriber>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&QueryingOptions<'_>>,
) -> Code {
    answer(|| {
        let declared = declare(session, key, callback, options);
        write(subscriber, declared.map(Box::new))
    })
}

/// Declares a querying subscriber that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn ze_declare_background_querying_subscriber(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&QueryingOptions<'_>>,
) -> Code {
    answer(|| {
        let mut declared = declare(session, key, callback, options)?;
        declared.subscriber.set_background(true);
        Ok(())
    })
}

fn declare(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&QueryingOptions<'_>>,
) -> Result<Querying, Failure> {
    let callback = callback.required("callback")?.take();
    let key = lent(key).required("key_expr")?;
    let session = lent(session).required("session")?;
    let mut builder = session
        .declare_subscriber(key.owned())
        .callback(move |sample| callback.give(sample.into()))
        .querying();
    if let Some(options) = options {
        builder = builder
            .allowed_origin(qos::locality(options.allowed_origin))
            .query_target(qos::target(options.target))
            .query_consolidation(options.consolidation.mode())
            .query_accept_replies(qos::accepted_replies(options.accept_replies));
        given!(builder: query_selector = lent(options.selector).map(Key::owned),
            query_timeout = limit(options.timeout_ms));
    }
    Ok(Querying {
        subscriber: builder.wait().or_fail(GENERIC)?,
        session: session.clone(),
    })
}

/// Queries earlier samples once more, on other keys if the program likes.
#[unsafe(no_mangle)]
pub extern "C" fn ze_querying_subscriber_get(
    this: Loan<'_, Box<Querying>>,
    selector: Loan<'_, Key>,
    options: Option<&mut GetOptions<'_>>,
) -> Code {
    answer(|| {
        let given = options.map(|options| (options.take(), options));
        let Querying {
            subscriber,
            session,
        } = &**lent(this).required("subscriber")?;
        let key = lent(selector).required("selector")?.owned();
        let fetch = subscriber.fetch(move |take| {
            let mut get = session.get(Selector::from(key)).callback(take);
            if let Some((matter, options)) = given {
                with_manner!(get, options);
                with_matter!(get, matter);
            }
            get.wait()
        });
        fetch.wait().or_fail(GENERIC)
    })
}

ending!(OwnedQueryingSubscriber: drop ze_querying_subscriber_drop, undeclare ze_undeclare_querying_subscriber,
    |declared| declared.subscriber.undeclare());
