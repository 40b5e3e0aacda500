// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publications: puts and deletions of a session, and declared publishers.

use std::ffi::c_int;

use ::bytes::Bytes;
use zonda::bytes::{Encoding, ZBytes};
use zonda::pubsub::{Publisher, PublisherBuilder};
use zonda::{Session, Wait};

use crate::bytes;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::generation::SourceOption;
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{Loan, Moved, Out, fill, given, lent, mechanical, place, taken, write};
use crate::qos::{self, DROP, PRIORITY_DATA, RELIABLE};
use crate::query::ending;
use crate::values::{EntityGlobalId, Timestamp};

place!(
    /// A declared publisher.
    OwnedPublisher = Box<Declared>, size 112, align 8
);

mechanical!(OwnedPublisher:
    null z_internal_publisher_null,
    check z_internal_publisher_check,
    loan z_publisher_loan,
    loan_mut z_publisher_loan_mut,
);

/// A publisher, and its key in the form that C reads.
pub struct Declared {
    pub publisher: Publisher<'static>,
    key: OwnedKeyExpr,
}

/// Options of [`z_put`].
#[repr(C)]
pub struct PutOptions<'a> {
    encoding: Moved<'a, Encoding>,
    congestion_control: c_int,
    priority: c_int,
    express: bool,
    timestamp: Option<&'a Timestamp>,
    reliability: c_int,
    allowed_destination: c_int,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
}
const _: () = assert!(size_of::<PutOptions<'_>>() == 56);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_put_options_default(this: Out<'_, PutOptions<'static>>) {
    let defaults = PutOptions {
        encoding: None,
        congestion_control: DROP,
        priority: PRIORITY_DATA,
        express: false,
        timestamp: None,
        reliability: RELIABLE,
        allowed_destination: 0,
        source: SourceOption::NONE,
        attachment: None,
    };
    fill(this, defaults);
}

/// Publishes a value. With congestion control "block" it waits for room towards slow receivers.
#[unsafe(no_mangle)]
pub extern "C" fn z_put(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    payload: Moved<'_, Bytes>,
    options: Option<&mut PutOptions<'_>>,
) -> Code {
    answer(|| {
        // what the program gives away is taken, whatever follows
        let payload = payload.map(bytes::payload_of);
        let given = options.map(|options| {
            (
                taken(options.encoding.take()),
                taken(options.attachment.take()),
                options.source.take(),
                options,
            )
        });
        let session = lent(session).required("session")?;
        let key = lent(key).required("key_expr")?;
        let mut put = session.put(key.borrowed(), ZBytes::from(payload.required("payload")?));
        if let Some((encoding, attachment, source, options)) = given {
            put = put
                .congestion_control(qos::congestion_control(options.congestion_control))
                .priority(qos::priority(options.priority))
                .express(options.express)
                .reliability(qos::reliability(options.reliability))
                .allowed_destination(qos::locality(options.allowed_destination));
            given!(put: encoding = encoding, attachment = attachment.map(ZBytes::from),
                timestamp = options.timestamp.and_then(Timestamp::inner),
                source_info = source);
        }
        put.wait().or_fail(GENERIC)
    })
}

/// Options of [`z_delete`].
#[repr(C)]
pub struct DeleteOptions<'a> {
    congestion_control: c_int,
    priority: c_int,
    express: bool,
    timestamp: Option<&'a Timestamp>,
    reliability: c_int,
    allowed_destination: c_int,
}
const _: () = assert!(size_of::<DeleteOptions<'_>>() == 32);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_delete_options_default(this: Out<'_, DeleteOptions<'static>>) {
    let defaults = DeleteOptions {
        congestion_control: DROP,
        priority: PRIORITY_DATA,
        express: false,
        timestamp: None,
        reliability: RELIABLE,
        allowed_destination: 0,
    };
    fill(this, defaults);
}

/// Publishes that the key has no value any more.
#[unsafe(no_mangle)]
pub extern "C" fn z_delete(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    options: Option<&mut DeleteOptions<'_>>,
) -> Code {
    answer(|| {
        let key = lent(key).required("key_expr")?;
        let mut delete = lent(session).required("session")?.delete(key.borrowed());
        if let Some(options) = options {
            delete = delete
                .congestion_control(qos::congestion_control(options.congestion_control))
                .priority(qos::priority(options.priority))
                .express(options.express)
                .reliability(qos::reliability(options.reliability))
                .allowed_destination(qos::locality(options.allowed_destination));
            given!(delete: timestamp = options.timestamp.and_then(Timestamp::inner));
        }
        delete.wait().or_fail(GENERIC)
    })
}

/// Options of [`z_declare_publisher`].
#[repr(C)]
pub struct PublisherOptions<'a> {
    encoding: Moved<'a, Encoding>,
    congestion_control: c_int,
    priority: c_int,
    express: bool,
    reliability: c_int,
    allowed_destination: c_int,
}
const _: () = assert!(size_of::<PublisherOptions<'_>>() == 32);

impl PublisherOptions<'_> {
    /// The defaults.
    pub const DEFAULT: PublisherOptions<'static> = PublisherOptions {
        encoding: None,
        congestion_control: DROP,
        priority: PRIORITY_DATA,
        express: false,
        reliability: RELIABLE,
        allowed_destination: 0,
    };
}

/// Returns a builder of a publisher with these options; takes what the program gives away.
pub fn builder<'a>(
    session: Loan<'a, Session>,
    key: Loan<'_, Key>,
    options: Option<&mut PublisherOptions<'_>>,
) -> Result<PublisherBuilder<'a, 'static>, Failure> {
    let given = options.map(|options| (taken(options.encoding.take()), options));
    let key = lent(key).required("key_expr")?;
    let session = lent(session).required("session")?;
    let mut builder = session.declare_publisher(key.owned());
    if let Some((encoding, options)) = given {
        builder = builder
            .congestion_control(qos::congestion_control(options.congestion_control))
            .priority(qos::priority(options.priority))
            .express(options.express)
            .reliability(qos::reliability(options.reliability))
            .allowed_destination(qos::locality(options.allowed_destination));
        given!(builder: encoding = encoding);
    }
    Ok(builder)
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_options_default(this: Out<'_, PublisherOptions<'static>>) {
    fill(this, PublisherOptions::DEFAULT);
}

/// Declares a publisher.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_publisher(
    session: Loan<'_, Session>,
    publisher: Out<'_, OwnedPublisher>,
    key: Loan<'_, Key>,
    options: Option<&mut PublisherOptions<'_>>,
) -> Code {
    answer(|| {
        let builder = builder(session, key, options);
        let declare = || {
            let publisher = builder?.wait().or_fail(GENERIC)?;
            let key = Some(Key::from(publisher.key_expr().as_str()));
            Ok(Box::new(Declared { publisher, key }))
        };
        write(publisher, declare())
    })
}

/// Options of [`z_publisher_put`].
#[repr(C)]
pub struct PublisherPutOptions<'a> {
    encoding: Moved<'a, Encoding>,
    timestamp: Option<&'a Timestamp>,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
}
const _: () = assert!(size_of::<PublisherPutOptions<'_>>() == 32);

/// Options of a put by a publisher, taken out of the memory of C.
#[derive(Default)]
pub struct Given {
    pub encoding: Option<Encoding>,
    pub attachment: Option<ZBytes>,
    pub timestamp: Option<zonda::time::Timestamp>,
    pub source_info: Option<zonda::sample::SourceInfo>,
}

impl PublisherPutOptions<'_> {
    /// The defaults.
    pub const DEFAULT: PublisherPutOptions<'static> = PublisherPutOptions {
        encoding: None,
        timestamp: None,
        source: SourceOption::NONE,
        attachment: None,
    };

    /// Takes what the program gives away, and reads the rest.
    #[inline]
    pub fn take(&mut self) -> Given {
        Given {
            encoding: taken(self.encoding.take()),
            attachment: taken(self.attachment.take()).map(ZBytes::from),
            timestamp: self.timestamp.and_then(Timestamp::inner),
            source_info: self.source.take(),
        }
    }
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_put_options_default(this: Out<'_, PublisherPutOptions<'static>>) {
    fill(this, PublisherPutOptions::DEFAULT);
}

/// Publishes a value.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_put(
    this: Loan<'_, Box<Declared>>,
    payload: Moved<'_, Bytes>,
    options: Option<&mut PublisherPutOptions<'_>>,
) -> Code {
    answer(|| {
        let payload = payload.map(bytes::payload_of);
        let given = options.map(PublisherPutOptions::take);
        let declared = lent(this).required("publisher")?;
        let mut put = declared
            .publisher
            .put(ZBytes::from(payload.required("payload")?));
        if let Some(Given {
            encoding,
            attachment,
            timestamp,
            source_info,
        }) = given
        {
            given!(put: encoding = encoding, attachment = attachment, timestamp = timestamp, source_info = source_info);
        }
        put.wait().or_fail(GENERIC)
    })
}

/// Options of [`z_publisher_delete`].
#[repr(C)]
#[derive(Default)]
pub struct PublisherDeleteOptions<'a> {
    timestamp: Option<&'a Timestamp>,
}

impl PublisherDeleteOptions<'_> {
    /// Returns the timestamp.
    pub fn timestamp(&self) -> Option<zonda::time::Timestamp> {
        self.timestamp.and_then(Timestamp::inner)
    }
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_delete_options_default(
    this: Out<'_, PublisherDeleteOptions<'static>>,
) {
    fill(this, PublisherDeleteOptions::default());
}

/// Publishes that the key has no value any more.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_delete(
    publisher: Loan<'_, Box<Declared>>,
    options: Option<&mut PublisherDeleteOptions<'_>>,
) -> Code {
    answer(|| {
        let mut delete = lent(publisher).required("publisher")?.publisher.delete();
        given!(delete: timestamp = options.and_then(|options| options.timestamp()));
        delete.wait().or_fail(GENERIC)
    })
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_keyexpr(publisher: Loan<'_, Box<Declared>>) -> Option<&OwnedKeyExpr> {
    Some(&lent(publisher)?.key)
}

/// Returns the id of the publisher.
#[unsafe(no_mangle)]
pub extern "C" fn z_publisher_id(publisher: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(publisher).map_or_else(EntityGlobalId::default, |declared| {
        declared.publisher.id().into()
    })
}

ending!(OwnedPublisher: drop z_publisher_drop, undeclare z_undeclare_publisher,
    |declared| declared.publisher.undeclare());
