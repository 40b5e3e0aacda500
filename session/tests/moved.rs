// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that were written for the reference: what they write compiles, and does what they expect.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures_core::future::FusedFuture;
use zonda::bytes::ZBytes;
use zonda::config::{WhatAmI, WhatAmIMatcher};
use zonda::qos::{CongestionControl, Priority};
use zonda::{Config, PublishError, Session, Wait};

const LONG: Duration = Duration::from_secs(20);

fn alone() -> zonda::Result<Session> {
    Ok(zonda::open(Config::peer().listen([] as [&str; 0])).wait()?)
}

/// Errors of every kind, by `?` and `.into()`.
fn number(text: &str) -> zonda::Result<u32> {
    let text = std::str::from_utf8(text.as_bytes())?;
    match text.parse()? {
        0 => Err("zero is no number".into()),
        1 => Err(format!("{text} is too small").into()),
        2 => Err(zonda::Error::from(String::from("two"))),
        3 => Err(std::io::Error::other("three"))?,
        number => Ok(number),
    }
}

#[test]
fn the_result_of_a_program_is_any_error() {
    assert_eq!(number("7").ok(), Some(7));
    for (text, said) in [
        ("0", "zero is no number"),
        ("1", "1 is too small"),
        ("2", "two"),
        ("3", "three"),
        ("x", "invalid digit found in string"),
    ] {
        assert_eq!(number(text).unwrap_err().to_string(), said);
    }
}

#[test]
fn a_typed_error_is_still_inside() -> zonda::Result<()> {
    let publish = |session: &Session| -> zonda::Result<()> { Ok(session.put("a", "b").wait()?) };
    let session = alone()?;
    publish(&session)?;
    session.close().wait()?;
    let error = publish(&session).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&PublishError::Closed));
    Ok(())
}

#[test]
fn a_put_gives_nothing_where_nothing_is_expected() -> zonda::Result<()> {
    let session = alone()?;
    let (echoed, echoes) = mpsc::channel();
    let echo = session.declare_publisher("pong").wait()?;
    let _pings = session
        .declare_subscriber("ping")
        .callback(move |sample| echo.put(sample.payload().clone()).wait().unwrap())
        .wait()?;
    session
        .declare_subscriber("pong")
        .callback(move |sample| echoed.send(sample.payload().clone()).unwrap())
        .background()
        .wait()?;
    let putting = session.clone();
    thread::spawn(move || putting.put("ping", "1").wait().unwrap())
        .join()
        .unwrap();
    match session.put("ping", "2").wait() {
        Ok(()) => {}
        Err(error) => return Err(error.into()),
    }
    for expected in ["1", "2"] {
        assert_eq!(echoes.recv_timeout(LONG)?, ZBytes::from(expected));
    }
    Ok(())
}

#[test]
fn what_is_received_can_be_selected_on() -> zonda::Result<()> {
    let session = alone()?;
    let subscriber = session.declare_subscriber("a").wait()?;
    session.put("a", "1").wait()?;
    let mut receiving = subscriber.recv_async();
    assert!(!receiving.is_terminated());
    let sample = async_io::block_on(&mut receiving)?;
    assert_eq!(sample.payload().try_to_string()?, "1");
    assert!(receiving.is_terminated());
    drop(receiving);
    drop(session);
    // The end is told by each new future.
    for _ in 0..2 {
        let mut receiving = subscriber.recv_async();
        assert!(!receiving.is_terminated());
        assert!(async_io::block_on(&mut receiving).is_err());
    }
    Ok(())
}

#[test]
fn small_names() -> zonda::Result<()> {
    let session = alone()?;
    assert_eq!(session.id().zid(), session.zid());
    assert!(WhatAmI::Peer.is_peer() && !WhatAmI::Peer.is_router() && !WhatAmI::Peer.is_client());
    assert_eq!(WhatAmI::Router.to_str(), "router");
    assert!(WhatAmIMatcher::empty().router().matches(WhatAmI::Router));
    assert_eq!(Priority::DEFAULT, Priority::Data);
    assert_eq!(CongestionControl::DEFAULT, CongestionControl::Drop);
    Ok(())
}
