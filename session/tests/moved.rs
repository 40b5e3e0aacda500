// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that were written for the reference: their source compiles, and does what they expect.

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures_core::future::FusedFuture;
use futures_util::SinkExt;
use zonda::bytes::ZBytes;
use zonda::config::{EndPoint, WhatAmI, WhatAmIMatcher};
use zonda::handlers::Callback;
use zonda::key_expr::format::{ke, kedefine, keformat};
use zonda::key_expr::{KeyExpr, keyexpr};
use zonda::qos::{CongestionControl, Priority};
use zonda::query::Parameters;
use zonda::sample::{Sample, SampleBuilder, SampleKind};
use zonda::time::TimestampId;
use zonda::{Config, Operation, PublishError, Session, Wait};

use crate::pair::pair;

// The move of a program takes this line only.
#[cfg(feature = "ext")]
use {zonda as zenoh, zonda::ext as zenoh_ext};

/// The reference has two types where one is enough here.
#[cfg(feature = "ext")]
#[allow(clippy::useless_conversion)]
mod program;

#[cfg(feature = "ext")]
#[test]
fn a_program_moves_by_its_use_alone() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(program::program()).unwrap();
}

const LONG: Duration = Duration::from_secs(20);

fn alone() -> zonda::Result<Session> {
    zonda::open(Config::peer().listen([] as [&str; 0])).wait()
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
    let publish = |session: &Session| -> zonda::Result<()> { session.put("a", "b").wait() };
    let session = alone()?;
    publish(&session)?;
    session.close().wait()?;
    let error = publish(&session).unwrap_err();
    assert!(error.is::<zonda::session::SessionClosedError>());
    assert_eq!(
        session.put("a", "b").typed().wait(),
        Err(PublishError::Closed)
    );
    Ok(())
}

#[test]
fn what_reads_a_configuration_may_stand_last() {
    fn whole(text: &str) -> zonda::Result<Config> {
        Config::from_json5(text)
    }
    fn of_file(name: &str) -> zonda::Result<Config> {
        Config::from_file(name)
    }
    fn changed(config: &mut Config) -> zonda::Result<()> {
        config.insert_json5("mode", "'client'")
    }
    fn read(config: &Config) -> zonda::Result<String> {
        config.get_json("mode")
    }
    let mut config = whole("{ mode: 'peer' }").unwrap();
    changed(&mut config).unwrap();
    assert_eq!(read(&config).unwrap(), "\"client\"");
    let error = whole("{ mod: 'peer' }").unwrap_err();
    assert!(error.is::<zonda::ConfigError>(), "{error}");
    assert!(of_file("nonexistent/file.json5").is_err());
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
        Err(error) => return Err(error),
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
    // Each new future reports the end.
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

#[test]
fn borrowed_keys_are_keys() -> zonda::Result<()> {
    static SENSORS: &keyexpr = ke!("plant/*/temp");
    let session = alone()?;
    let _sensors = session
        .declare_queryable(SENSORS)
        .callback(|query| query.reply(query.key_expr(), "21").wait().unwrap())
        .wait()?;
    let subscriber = session.declare_subscriber(SENSORS).wait()?;
    let boiler = keyexpr::new("plant")? / keyexpr::new("boiler/temp")?;
    session.put(&boiler, "22").wait()?;
    session.put(&*boiler, "23").wait()?;
    assert_eq!(subscriber.drain().count(), 2);
    let reply = session.get(boiler.as_keyexpr()).wait()?.recv()?;
    assert_eq!(reply.into_result()?.key_expr(), &boiler);
    assert_eq!(format!("{boiler:?}"), "ke`plant/boiler/temp`");
    Ok(())
}

#[test]
fn only_keys_that_were_declared_are_undeclared() -> zonda::Result<()> {
    let (one, other) = (alone()?, alone()?);
    let key = one.declare_keyexpr("expr").wait()?;
    assert!(other.undeclare(key.clone()).wait().is_err());
    let again = one.declare_keyexpr(&key).wait()?;
    one.undeclare(key.clone()).wait()?;
    one.undeclare(key.clone()).wait()?;
    one.undeclare(again).wait()?;
    assert!(one.undeclare(KeyExpr::new(key.as_str())?).wait().is_err());
    assert!(one.undeclare(KeyExpr::new("never")?).wait().is_err());
    let subscriber = one.declare_subscriber("expr").wait()?;
    one.undeclare(subscriber).wait()?;
    Ok(())
}

#[test]
fn ones_own_close_is_no_event() -> zonda::Result<()> {
    let (near, far) = pair();
    let (sent, events) = mpsc::channel();
    let of_links = sent.clone();
    let info = near.info();
    info.transport_events_listener()
        .callback(move |event| sent.send(event.kind()).unwrap())
        .background()
        .wait()?;
    info.link_events_listener()
        .callback(move |event| of_links.send(event.kind()).unwrap())
        .background()
        .wait()?;
    near.close().wait_callbacks().wait()?;
    // On a busy machine the connection itself may be news to a listener that begins now.
    assert!(events.iter().all(|kind| kind != SampleKind::Delete));
    drop(far);
    Ok(())
}

#[test]
fn what_is_shown_is_what_the_reference_shows() -> zonda::Result<()> {
    let (near, _far) = pair();
    let link = format!("{:?}", near.info().links()[0]);
    let begin = format!("Link {{ zid: {}", near.info().links()[0].zid);
    assert!(link.starts_with(&begin) && link.len() < 400, "{link}");
    let endpoint: EndPoint = "tcp/localhost:1#iface=lo".parse()?;
    assert_eq!(format!("{endpoint:?}"), "tcp/localhost:1#iface=lo");
    Ok(())
}

kedefine!(pub member: "zenoh/${group:*}/${member:*}", rest: "zenoh/${rest:**}");

#[test]
fn keys_have_formats() -> zonda::Result<()> {
    let mut formatter = member::formatter();
    let group = "foo";
    assert_eq!(
        keformat!(formatter, group, member = "bar")?,
        "zenoh/foo/bar"
    );
    formatter.set("member", "*")?;
    assert_eq!(formatter.build()?, "zenoh/foo/*");
    formatter.group("x")?.member(7)?;
    let key = formatter.build()?;
    let parsed = member::parse(&key)?;
    assert_eq!((parsed.group(), parsed.member().as_str()), (ke!("x"), "7"));
    assert_eq!(rest::parse(ke!("zenoh"))?.rest(), None);
    assert!(keformat!(formatter, group = "**", member = "**").is_err());
    assert_eq!(member::Format.to_string(), "zenoh/${group:*}/${member:*}");
    Ok(())
}

#[test]
fn what_is_in_the_background_outlives_its_handle() -> zonda::Result<()> {
    let session = alone()?;
    let (sent, heard) = mpsc::channel();
    let callback = Callback::from(move |sample: Sample| sent.send(sample).unwrap());
    let mut subscriber = session.declare_subscriber("kept").with(callback).wait()?;
    subscriber.set_background(true);
    drop(subscriber);
    session.put("kept", "1").wait()?;
    let mut sample = heard.recv_timeout(LONG)?;
    *sample.payload_mut() = ZBytes::from("2");
    // A publisher is where a stream of samples ends.
    let mut publisher = session.declare_publisher("kept").wait()?;
    let time = session.new_timestamp();
    let sample = SampleBuilder::from(sample).timestamp(time).into();
    async_io::block_on(publisher.send(sample))?;
    let forwarded = heard.recv_timeout(LONG)?;
    assert_eq!(forwarded.payload().try_to_string()?, "2");
    assert_eq!(forwarded.timestamp(), Some(&time));
    Ok(())
}

#[test]
fn times_and_places_have_parts() -> zonda::Result<()> {
    let (near, far) = pair();
    let (timestamp, id): (_, TimestampId) = (near.new_timestamp(), near.zid());
    assert_eq!(timestamp.get_id(), &id);
    assert!(
        timestamp
            .to_string_rfc3339_lossy()
            .ends_with(&format!("Z/{id}"))
    );
    let later = near.new_timestamp();
    assert!(later.get_diff_duration(&timestamp) < LONG);
    assert!(later.get_time().to_system_time() >= timestamp.get_time().to_system_time());

    let endpoint = EndPoint::new("tcp", "localhost:7447", "rel=1", "iface=lo")?;
    assert_eq!(endpoint.protocol().as_str(), "tcp");
    assert_eq!(endpoint.metadata().get("rel"), Some("1"));
    assert_eq!(
        endpoint.config().iter().collect::<Vec<_>>(),
        [("iface", "lo")]
    );
    let endpoint = endpoint.to_locator().to_endpoint();
    assert!(endpoint.config().is_empty() && endpoint.to_string() == "tcp/localhost:7447?rel=1");

    let info = near.info();
    let transport = info.transports().wait().next().expect("it is connected");
    assert_eq!(info.links().transport(transport).wait().count(), 1);
    assert_eq!(far.info().locators().wait(), *far.info().locators());
    Ok(())
}

#[test]
fn parts_of_endpoints_are_changed() -> zonda::Result<()> {
    let mut endpoint: EndPoint = "tcp/localhost:7447".parse()?;
    assert_eq!(endpoint.address().as_str(), "localhost:7447");
    endpoint.metadata_mut().insert("rel", "1")?;
    let options = [("iface", "lo"), ("so_sndbuf", "65536")];
    endpoint
        .config_mut()
        .extend_from_iter(options.into_iter())?;
    endpoint.address_mut().set("localhost:7448")?;
    endpoint.protocol_mut().set("udp")?;
    endpoint.config_mut().remove("iface")?;
    let (protocol, address, metadata, config) = endpoint.split();
    assert_eq!(
        (protocol.as_str(), address.as_str()),
        ("udp", "localhost:7448")
    );
    assert_eq!(
        (metadata.as_str(), config.as_str()),
        ("rel=1", "so_sndbuf=65536")
    );
    Ok(())
}

/// A configuration of a program's own.
struct Settings(&'static str);

impl TryFrom<Settings> for Config {
    type Error = zonda::Error;

    fn try_from(Settings(text): Settings) -> zonda::Result<Config> {
        Config::from_json5(text)
    }
}

#[test]
fn what_can_fail_to_be_a_configuration_scouts_and_opens() -> zonda::Result<()> {
    let here = Settings("{ scouting: { multicast: { interface: '127.0.0.1' } } }");
    zonda::scout(WhatAmI::Peer, here).wait()?.stop();
    let wrong = Settings("{ mod: 'peer' }");
    let error = zonda::scout(WhatAmI::Peer, wrong).wait().unwrap_err();
    assert!(error.to_string().contains("did you mean `mode`"), "{error}");
    let session = zonda::open(Settings("{ mode: 'peer', listen: { endpoints: [] } }")).wait()?;
    assert_eq!(session.config().get("mode")?, "\"peer\"");
    assert!(session.config().get("no/such/key").is_err());
    Ok(())
}

#[test]
fn parameters_are_lists_and_maps() {
    let list = [("a", "1"), ("b", "2|3")];
    let parameters = Parameters::from(&list[..]);
    assert_eq!(parameters.as_str(), "a=1;b=2|3");
    let map: HashMap<String, String> = parameters.into();
    assert_eq!(map["b"], "2|3");
    let owned = vec![("a".to_owned(), "1".to_owned())];
    assert_eq!(Parameters::from(owned.as_slice()).get("a"), Some("1"));
}

/// The version that programs for Zenoh have, and the next one.
#[cfg(feature = "flume-0-11")]
#[test]
fn channels_of_two_versions_of_flume_are_handlers() -> zonda::Result<()> {
    let session = alone()?;
    let old = session
        .declare_subscriber("a")
        .with(flume_0_11::bounded(8))
        .wait()?;
    let new = session
        .declare_subscriber("a")
        .with(flume::unbounded())
        .wait()?;
    let token = session.liveliness().declare_subscriber("a");
    let tokens = token.with(flume_0_11::bounded(1)).wait()?;
    session.put("a", "1").wait()?;
    assert_eq!(
        old.recv_timeout(LONG)?.payload(),
        new.recv_timeout(LONG)?.payload()
    );
    let _token = session.liveliness().declare_token("a").wait()?;
    assert_eq!(tokens.recv_timeout(LONG)?.key_expr().as_str(), "a");
    Ok(())
}

#[test]
fn errors_show_their_advice_where_main_returns_them() -> zonda::Result<()> {
    let session = alone()?;
    let nowhere = Config::client(["tcp/127.0.0.1:9"]).with("connect/timeout_ms", "0");
    let errors: [zonda::Error; 5] = [
        session.put("/a", "1").wait().unwrap_err(),
        session.declare_subscriber("a//b").wait().unwrap_err(),
        zonda::open(nowhere).wait().unwrap_err(),
        Config::from_json5("{ mod: 'peer' }").unwrap_err(),
        KeyExpr::new("a#b").unwrap_err().into(),
    ];
    for error in errors {
        // The standard library prints this of it.
        assert_eq!(format!("{error:?}"), error.to_string());
    }
    Ok(())
}
