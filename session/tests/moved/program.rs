// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program that was written for the crates `zenoh` and `zenoh_ext`, and uses every module of their API. It is compiled and run
//! with them (`peers/zenoh/tests/moved.rs`) and, the same text, with Zonda (`session/tests/moved.rs`): the two names in the
//! first `use` are all that is another.

use super::{zenoh, zenoh_ext};

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use zenoh::bytes::{Encoding, OptionZBytes, ZBytes, ZBytesReader};
use zenoh::cancellation::CancellationToken;
use zenoh::config::{Config, EndPoint, Locator, WhatAmI, WhatAmIMatcher, ZenohId};
use zenoh::handlers::{
    Callback, CallbackDrop, DefaultHandler, FifoChannel, FifoChannelHandler, IntoHandler,
    RingChannel, RingChannelHandler,
};
use zenoh::key_expr::format::{ke, kedefine, keformat, kewrite};
use zenoh::key_expr::keyexpr_tree::{IKeyExprTree, IKeyExprTreeMut, KeBoxTree};
use zenoh::key_expr::{Canonize, KeyExpr, OwnedKeyExpr, SetIntersectionLevel, keyexpr};
use zenoh::liveliness::LivelinessToken;
use zenoh::matching::{MatchingListener, MatchingStatus};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::query::{
    ConsolidationMode, Parameters, Querier, Query, QueryConsolidation, QueryTarget, Queryable,
    Reply, ReplyError, ReplyKeyExpr, Selector, TimeRange, ZenohParameters,
};
use zenoh::sample::{Locality, Sample, SampleBuilder, SampleFields, SampleKind, SourceInfo};
use zenoh::scouting::Hello;
use zenoh::session::{
    EntityGlobalId, LinkEvent, Session, SessionClosedError, SessionInfo, TransportEvent,
};
use zenoh::time::{NTP64, Timestamp, TimestampId};
use zenoh::{Error, Resolvable, Resolve, Wait};
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriber,
    AdvancedSubscriberBuilderExt, CacheConfig, Deserialize, HistoryConfig, Miss,
    MissDetectionConfig, RecoveryConfig, RepliesConfig, Serialize, SubscriberForward,
    ZDeserializeError, ZDeserializer, ZSerializer, z_deserialize, z_serialize,
};

const LONG: Duration = Duration::from_secs(20);

kedefine!(sensor: "plant/${line:*}/${sensor:**}");

fn until(what: &str, is: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < LONG, "{what}");
        std::thread::yield_now();
    }
}

// Configurations and sessions. What is last in a function is its result.

fn config(mode: &str, key: &str, endpoint: &str) -> zenoh::Result<Config> {
    let mut config = Config::default();
    config.insert_json5("mode", &format!("{mode:?}"))?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("timestamping/enabled", "true")?;
    if mode != "router" {
        config.insert_json5("listen/endpoints", "[]")?;
    }
    config.insert_json5(key, &format!("[{endpoint:?}]"))?;
    assert_eq!(config.get_json("mode")?, format!("{mode:?}"));
    Ok(config)
}

async fn opened(config: Config) -> zenoh::Result<Session> {
    zenoh::open(config).await
}

fn said(session: &Session, key: &str, value: &str) -> zenoh::Result<()> {
    session
        .put(key, value)
        .encoding(Encoding::TEXT_PLAIN)
        .wait()
}

async fn ended(session: Session) -> zenoh::Result<()> {
    session.close().await
}

fn hello(session: &Session) -> impl Resolve<zenoh::Result<()>> + '_ {
    session.put("hello", "hello")
}

fn given<R: Resolvable + Wait>(operation: R) -> <R as Resolvable>::To {
    operation.wait()
}

fn sessions() -> zenoh::Result<(Session, Session)> {
    let router = zenoh::open(config("router", "listen/endpoints", "tcp/127.0.0.1:0")?).wait()?;
    let locators: Vec<Locator> = router.info().locators().wait();
    let endpoint: EndPoint = locators[0].to_endpoint();
    assert_eq!(endpoint.protocol().as_str(), "tcp");
    let client = zenoh::open(config("client", "connect/endpoints", endpoint.as_str())?).wait()?;
    Ok((router, client))
}

fn who_is_there(router: &Session, client: &Session) -> zenoh::Result<()> {
    let info: SessionInfo = client.info();
    let zid: ZenohId = info.zid().wait();
    assert_eq!((zid, client.zid()), (client.id().zid(), zid));
    assert_eq!(
        info.routers_zid().wait().collect::<Vec<_>>(),
        [router.zid()]
    );
    assert_eq!(info.peers_zid().wait().count(), 0);
    let transport = info.transports().wait().next().ok_or("no transport")?;
    assert_eq!(
        (transport.zid(), transport.whatami()),
        (&router.zid(), WhatAmI::Router)
    );
    let link = info
        .links()
        .transport(transport)
        .wait()
        .next()
        .ok_or("no link")?;
    assert!(link.is_streamed() && link.dst().to_string().starts_with("tcp/"));
    let events = info
        .transport_events_listener()
        .history(true)
        .with(FifoChannel::new(4))
        .wait()?;
    let event: TransportEvent = events.recv()?;
    assert_eq!(event.kind(), SampleKind::Put);
    let (sent, heard) = mpsc::channel::<LinkEvent>();
    let links = info
        .link_events_listener()
        .history(true)
        .callback(move |event| sent.send(event).unwrap());
    links.background().wait()?;
    assert_eq!(heard.recv_timeout(LONG)?.link().zid(), &router.zid());
    assert!(
        WhatAmIMatcher::empty()
            .router()
            .peer()
            .matches(WhatAmI::Peer)
    );
    assert!(client.config().to_string().contains("client"));
    Ok(())
}

async fn scouted() -> zenoh::Result<()> {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/address", "'224.0.0.224:17447'")?;
    config.insert_json5("scouting/multicast/interface", "'lo'")?;
    let hellos = zenoh::scout(WhatAmI::Peer | WhatAmI::Router, config).await?;
    let hello: Option<Hello> = hellos.try_recv()?;
    assert!(
        hello
            .map(|hello| (hello.zid(), hello.whatami(), hello.locators().len()))
            .is_none()
    );
    hellos.stop();
    Ok(())
}

// Keys, values, times.

fn keys(session: &Session) -> zenoh::Result<()> {
    let line = KeyExpr::try_from("plant/1")?;
    let owned: OwnedKeyExpr = line.join("boiler/**")?.into();
    let key: &keyexpr = &owned;
    assert!(
        key.includes(ke!("plant/1/boiler/temp"))
            && key.is_wild()
            && line.concat("2")?.intersects(ke!("plant/12"))
    );
    assert_eq!(
        key.relation_to(keyexpr::new("plant/1/boiler/temp")?),
        SetIntersectionLevel::Includes
    );
    assert_eq!((&line / ke!("temp")).as_str(), "plant/1/temp");
    assert_eq!(
        KeyExpr::autocanonize("a/**/**".to_string())?.as_str(),
        "a/**"
    );
    let mut text = "a/**/*".to_string();
    text.canonize();
    assert_eq!(text, "a/*/**");
    assert!(KeyExpr::new("a//b").is_err() && "a/#".parse::<KeyExpr>().is_err());
    let mut formatter = sensor::formatter();
    assert_eq!(
        keformat!(formatter, line = 7, sensor = "boiler/temp")?.as_str(),
        "plant/7/boiler/temp"
    );
    kewrite!(formatter, line = 8)?;
    let built = formatter.build()?;
    assert_eq!(sensor::parse(&built)?.line().as_str(), "8");
    let mut tree: KeBoxTree<u32> = KeBoxTree::default();
    assert_eq!(
        (
            tree.insert(ke!("plant/1"), 1),
            tree.insert(ke!("plant/2"), 2)
        ),
        (None, None)
    );
    assert_eq!(tree.insert(ke!("plant/3"), 3), None);
    assert_eq!(tree.intersecting_keys(ke!("plant/*")).count(), 3);
    assert_eq!(tree.weight_at(ke!("plant/3")), Some(&3));
    assert_eq!(tree.remove(ke!("plant/1")), Some(1));
    let declared = session.declare_keyexpr("plant/declared").wait()?;
    session.put(&declared, "1").wait()?;
    session.undeclare(declared).wait()
}

fn values() -> zenoh::Result<()> {
    let mut writer = ZBytes::writer();
    writer.write_all(b"raw ")?;
    writer.append(ZBytes::from("bytes"));
    let bytes = writer.finish();
    assert_eq!(
        (
            bytes.len(),
            bytes.try_to_string()?.as_ref(),
            bytes.is_empty()
        ),
        (9, "raw bytes", false)
    );
    let mut reader: ZBytesReader<'_> = bytes.reader();
    reader.seek(SeekFrom::Start(4))?;
    let mut rest = String::new();
    reader.read_to_string(&mut rest)?;
    assert_eq!((rest.as_str(), reader.remaining()), ("bytes", 0));
    assert_eq!(
        bytes.slices().map(<[u8]>::len).sum::<usize>(),
        bytes.to_bytes().len()
    );
    assert_eq!(
        ZBytes::from_reader(&b"bytes"[..])?,
        ZBytes::from(vec![98, 121, 116, 101, 115])
    );
    let attachment: OptionZBytes = Some("more").into();
    assert!(Option::<ZBytes>::from(attachment).is_some());
    let encoding = Encoding::from("application/json;v1");
    assert_eq!(encoding, Encoding::APPLICATION_JSON.with_schema("v1"));
    assert_eq!(encoding.to_string(), "application/json;v1");
    let parameters = Parameters::from("a=1;b=2|3");
    assert_eq!(parameters.values("b").collect::<Vec<_>>(), ["2", "3"]);
    let mut map: HashMap<&str, &str> = HashMap::from(&parameters);
    assert_eq!(map.remove("a"), Some("1"));
    let range: TimeRange = "[now(-1h)..now(1h)]".parse()?;
    assert!(range.resolve().contains(std::time::SystemTime::now()));
    let mut timed = Parameters::empty();
    timed.set_time_range(range);
    assert!(timed.time_range().is_some() && !timed.reply_key_expr_any());
    let time = Timestamp::new(NTP64::from(Duration::from_secs(7)), TimestampId::rand());
    assert_eq!(
        (
            time.get_time().to_duration().as_secs(),
            time.to_string().parse::<Timestamp>().ok()
        ),
        (7, Some(time))
    );
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Reading(u16, String);

impl Serialize for Reading {
    fn serialize(&self, serializer: &mut ZSerializer) {
        serializer.serialize(self.0);
        serializer.serialize(&self.1);
    }
}

impl Deserialize for Reading {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        Ok(Reading(
            deserializer.deserialize()?,
            deserializer.deserialize()?,
        ))
    }
}

fn serialized() -> zenoh::Result<()> {
    let readings = BTreeMap::from([("a".to_string(), Reading(500, "test".into()))]);
    let read: BTreeMap<String, Reading> = z_deserialize(&z_serialize(&readings))?;
    assert_eq!(read, readings);
    Ok(())
}

// Publishers and subscribers.

fn taken_apart(mut sample: Sample) -> zenoh::Result<()> {
    *sample.payload_mut() = ZBytes::from("2");
    let SampleFields {
        key_expr,
        payload,
        attachment,
        ..
    } = sample.clone().into();
    assert_eq!(
        (key_expr.as_str(), payload.to_bytes().as_ref(), attachment),
        ("demo/key", &b"2"[..], Some("more".into()))
    );
    let built: Sample = SampleBuilder::put(key_expr.clone(), "3")
        .keyexpr(KeyExpr::try_from("demo/built")?)
        .payload("4")
        .into();
    assert_eq!(
        (built.key_expr().as_str(), built.payload()),
        ("demo/built", &ZBytes::from("4"))
    );
    let deleted: Sample = SampleBuilder::delete(key_expr).into();
    assert_eq!(
        (deleted.kind(), Sample::empty().payload().len()),
        (SampleKind::Delete, 0)
    );
    Ok(())
}

async fn published(near: &Session, far: &Session) -> zenoh::Result<()> {
    let subscriber: Subscriber<FifoChannelHandler<Sample>> = far
        .declare_subscriber("demo/**")
        .allowed_origin(Locality::Remote)
        .await?;
    let latest: Subscriber<RingChannelHandler<Sample>> = far
        .declare_subscriber("demo/**")
        .with(RingChannel::new(1))
        .await?;
    let publisher: Publisher<'_> = near
        .declare_publisher(KeyExpr::try_from("demo/key")?)
        .congestion_control(CongestionControl::Block)
        .priority(Priority::DataHigh)
        .express(true)
        .reliability(Reliability::Reliable)
        .encoding(Encoding::TEXT_PLAIN)
        .allowed_destination(Locality::Any)
        .await?;
    let listener: MatchingListener<FifoChannelHandler<MatchingStatus>> =
        publisher.matching_listener().await?;
    until("somebody listens", || {
        publisher
            .matching_status()
            .wait()
            .is_ok_and(|status| status.matching())
    });
    drop(listener);
    let (id, time): (EntityGlobalId, _) = (publisher.id(), near.new_timestamp());
    publisher
        .put("1")
        .attachment("more")
        .timestamp(time)
        .source_info(SourceInfo::new(id, 7))
        .await?;
    let sample = subscriber.recv_async().await?;
    assert_eq!(
        (sample.kind(), sample.priority(), sample.express()),
        (SampleKind::Put, Priority::DataHigh, true)
    );
    assert_eq!(
        (
            sample.timestamp(),
            sample.source_info().map(SourceInfo::source_sn)
        ),
        (Some(&time), Some(7))
    );
    taken_apart(sample)?;
    publisher.delete().await?;
    near.delete("demo/other")
        .congestion_control(CongestionControl::Block)
        .await?;
    assert_eq!(
        subscriber.recv_timeout(LONG)?.map(|sample| sample.kind()),
        Some(SampleKind::Delete)
    );
    assert_eq!(
        subscriber.recv_async().await?.key_expr().as_str(),
        "demo/other"
    );
    until("the ring has the last one", || {
        latest
            .try_recv()
            .is_ok_and(|sample| sample.is_some_and(|s| s.key_expr().as_str() == "demo/other"))
    });
    publisher.undeclare().await?;
    near.undeclare(near.declare_publisher("demo/x").await?)
        .await?;
    subscriber.undeclare().wait_callbacks().await
}

struct Newest;

impl<T: Send + 'static> IntoHandler<T> for Newest {
    type Handler = mpsc::Receiver<T>;

    fn into_handler(self) -> (Callback<T>, Self::Handler) {
        let (sender, receiver) = mpsc::sync_channel(8);
        (
            Callback::from(move |value| drop(sender.try_send(value))),
            receiver,
        )
    }
}

fn handled(session: &Session) -> zenoh::Result<()> {
    let own = session.declare_subscriber("handled").with(Newest).wait()?;
    let default = session
        .declare_subscriber("handled")
        .with(DefaultHandler::default())
        .wait()?;
    let (sent, heard) = mpsc::channel();
    let dropped = sent.clone();
    let callback = CallbackDrop {
        callback: move |sample: Sample| sent.send(sample.payload().len()).unwrap(),
        drop: move || dropped.send(0).unwrap(),
    };
    let with_end = session
        .declare_subscriber("handled")
        .with(callback)
        .wait()?;
    let mut counts = Vec::new();
    session
        .declare_subscriber("handled")
        .callback_mut(move |sample| counts.push(sample))
        .background()
        .wait()?;
    said(session, "handled", "12345")?;
    assert_eq!(
        (
            own.handler().recv()?.payload().len(),
            default.recv()?.payload().len(),
            heard.recv()?
        ),
        (5, 5, 5)
    );
    with_end.undeclare().wait()?;
    assert_eq!((heard.recv()?, default.drain().count()), (0, 0));
    Ok(())
}

// Queries.

fn answered(query: Query) -> zenoh::Result<()> {
    let selector: Selector<'_> = query.selector();
    match selector.parameters().get("answer") {
        Some("error") => query.reply_err("no").encoding(Encoding::TEXT_PLAIN).wait(),
        Some("delete") => query.reply_del(query.key_expr()).wait(),
        Some("other") if query.accepts_replies() == ReplyKeyExpr::Any => {
            query.reply("other", "1").wait()
        }
        _ => {
            let payload = query.payload().cloned().unwrap_or_default();
            query
                .reply(query.key_expr(), payload)
                .attachment(query.attachment().cloned())
                .express(true)
                .wait()
        }
    }
}

async fn asked_once(near: &Session) -> zenoh::Result<()> {
    let other = near
        .get("ask?answer=other")
        .accept_replies(ReplyKeyExpr::Any)
        .timeout(LONG)
        .with(FifoChannel::new(2))
        .await?;
    assert_eq!(
        other.recv_async().await?.into_result()?.key_expr().as_str(),
        "other"
    );
    let selector = Selector::owned(KeyExpr::try_from("ask")?, "answer=delete");
    for reply in near
        .get(selector)
        .consolidation(ConsolidationMode::Latest)
        .target(QueryTarget::All)
        .await?
    {
        assert_eq!(reply.into_result()?.kind(), SampleKind::Delete);
    }
    let token = CancellationToken::default();
    token.cancel().await?;
    assert!(token.is_cancelled() && near.get("ask").cancellation_token(token).await.is_err());
    Ok(())
}

async fn asked(near: &Session, far: &Session) -> zenoh::Result<()> {
    let queryable: Queryable<()> = far
        .declare_queryable("ask")
        .complete(true)
        .callback(|query| answered(query).unwrap())
        .await?;
    let querier: Querier<'_> = near
        .declare_querier("ask")
        .target(QueryTarget::BestMatching)
        .consolidation(QueryConsolidation::from(ConsolidationMode::None))
        .accept_replies(ReplyKeyExpr::Any)
        .timeout(LONG)
        .await?;
    until("somebody answers", || {
        querier
            .matching_status()
            .wait()
            .is_ok_and(|status| status.matching())
    });
    assert_eq!(
        (querier.id().zid(), querier.key_expr().as_str()),
        (near.zid(), "ask")
    );
    let reply: Reply = querier
        .get()
        .payload("echo")
        .attachment("a")
        .parameters("x=1")
        .await?
        .recv_async()
        .await?;
    let sample: &Sample = reply.result().map_err(|error| error.to_string())?;
    assert_eq!(
        (sample.payload(), sample.attachment().is_some()),
        (&ZBytes::from("echo"), true)
    );
    assert_eq!(reply.replier_id().map(|id| id.zid()), Some(far.zid()));
    let error: ReplyError = querier
        .get()
        .parameters("answer=error")
        .await?
        .recv()?
        .into_result()
        .unwrap_err();
    assert_eq!(
        (error.payload(), error.encoding()),
        (&ZBytes::from("no"), &Encoding::TEXT_PLAIN)
    );
    asked_once(near).await?;
    querier.undeclare().await?;
    queryable.undeclare().await
}

// Liveliness.

async fn alive(near: &Session, far: &Session) -> zenoh::Result<()> {
    let token: LivelinessToken = far.liveliness().declare_token("alive/far").await?;
    let lives = near
        .liveliness()
        .declare_subscriber("alive/*")
        .history(true)
        .await?;
    assert_eq!(lives.recv_async().await?.kind(), SampleKind::Put);
    let replies = near.liveliness().get("alive/**").timeout(LONG).await?;
    assert_eq!(
        replies
            .recv_async()
            .await?
            .into_result()?
            .key_expr()
            .as_str(),
        "alive/far"
    );
    token.undeclare().await?;
    assert_eq!(lives.recv_async().await?.kind(), SampleKind::Delete);
    Ok(())
}

// The parts of `zenoh_ext`.

async fn missed_nothing(near: &Session, far: &Session) -> zenoh::Result<()> {
    let publisher: AdvancedPublisher<'_> = near
        .declare_publisher("ext/key")
        .cache(
            CacheConfig::default()
                .max_samples(3)
                .replies_config(RepliesConfig::default()),
        )
        .sample_miss_detection(MissDetectionConfig::default().heartbeat(Duration::from_millis(500)))
        .publisher_detection()
        .await?;
    publisher.put("before").await?;
    let subscriber: AdvancedSubscriber<FifoChannelHandler<Sample>> = far
        .declare_subscriber("ext/key")
        .history(HistoryConfig::default().detect_late_publishers())
        .recovery(RecoveryConfig::default().heartbeat())
        .subscriber_detection()
        .await?;
    let misses = subscriber
        .sample_miss_listener()
        .callback(|miss: Miss| panic!("{} missed", miss.nb()))
        .await?;
    assert_eq!(
        subscriber.recv_async().await?.payload(),
        &ZBytes::from("before")
    );
    drop(misses);
    let heard = near.declare_subscriber("ext/forwarded").await?;
    let mut plain = near.declare_subscriber("ext/plain").await?;
    let forwarded = near.declare_publisher("ext/forwarded").await?;
    near.put("ext/plain", "5").await?;
    tokio::select! {
        _ = plain.forward(forwarded) => {}
        sample = heard.recv_async() => assert_eq!(sample?.payload(), &ZBytes::from("5")),
    }
    publisher.undeclare().await
}

pub async fn program() -> zenoh::Result<()> {
    zenoh::init_log_from_env_or("off");
    values()?;
    serialized()?;
    scouted().await?;
    let (router, client) = sessions()?;
    who_is_there(&router, &client)?;
    keys(&client)?;
    given(hello(&client))?;
    published(&client, &router).await?;
    handled(&client)?;
    asked(&client, &router).await?;
    alive(&client, &router).await?;
    missed_nothing(&client, &router).await?;
    let closed = client.clone();
    ended(client).await?;
    let error: Error = closed.put("late", "late").await.unwrap_err();
    assert!(
        closed.is_closed() && error.downcast_ref::<SessionClosedError>().is_some(),
        "{error}"
    );
    let alone = opened(config("peer", "connect/endpoints", "tcp/127.0.0.1:1")?).await;
    assert!(alone.is_ok());
    ended(router).await
}
