// SPDX-License-Identifier: MIT OR Apache-2.0
//! One way between two sessions of one process: one publishes, the other receives the message from
//! its subscriber's queue. Without `--runtime` both use a runtime of the calling thread, so that
//! only the link is between the two; with it, that runtime's threads.

use std::time::{Duration, Instant};

use clap::Args;
use zonda::bytes::ZBytes;
use zonda::qos::CongestionControl;
use zonda::{Config, Wait};
use zonda_codec::Locator;
use zonda_program::{Connection, Failure, pattern};

use super::answer::KEY_PING;
use super::closed_loop::{OneWayMessage, go_one_way};
use super::report::Report;
use super::timing::Timing;

/// The time after which a message is lost on a lossy link.
const LOST: Duration = Duration::from_millis(200);
/// The time after which a first message is repeated.
const RETRY: Duration = Duration::from_millis(50);
/// The time limit for the contact of the two sessions.
const CONTACT: Duration = Duration::from_secs(15);

/// Flags of the worker.
#[derive(Args, Clone, Debug)]
pub struct OneWay {
    /// Payload of a message in bytes
    size: usize,
    #[command(flatten)]
    timing: Timing,
    /// Endpoints: one session listens where the other one connects
    #[command(flatten)]
    connection: Connection,
}

/// Measures, and prints the result.
pub fn measure(options: &OneWay) -> Result<(), Failure> {
    let report = match options.connection.runtime {
        Some(_) => between_threads(options),
        None => on_this_thread(options),
    }?;
    report.hand_over();
    Ok(())
}

/// Returns the configuration of the session that connects to the other one.
fn connecting(options: &OneWay, to: Vec<String>) -> Result<Config, Failure> {
    let mut connection = options.connection.clone();
    connection.listen.clear();
    connection.connect = to;
    connection.to_config()
}

fn texts(locators: &[Locator]) -> Vec<String> {
    locators.iter().map(ToString::to_string).collect()
}

/// Measures with blocking calls, while other threads run the nodes.
fn between_threads(options: &OneWay) -> Result<Report, Failure> {
    let receiving = options.connection.open()?;
    let to = receiving.info().locators();
    let sending = zonda::open(connecting(options, texts(&to))?).wait()?;
    let messages = receiving.declare_subscriber(KEY_PING).wait()?;
    let publisher = sending.declare_publisher(KEY_PING).express(true);
    let publisher = publisher
        .congestion_control(CongestionControl::Block)
        .wait()?;
    let payload = ZBytes::from(pattern(options.size));
    let way = |patience| -> Result<OneWayMessage, Failure> {
        let sent = Instant::now();
        publisher.put(payload.clone()).wait()?;
        let came = messages.recv_timeout(patience)?.map(|_| Instant::now());
        Ok(OneWayMessage { sent, came })
    };
    meet(|| way(RETRY))?;
    while messages.recv_timeout(RETRY)?.is_some() {}
    go_one_way(&options.timing, || way(LOST))
}

/// Sends until a message arrives.
fn meet(mut way: impl FnMut() -> Result<OneWayMessage, Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    while way()?.came.is_none() {
        if start.elapsed() > CONTACT {
            return Err(Failure::Run(format!("no message within {CONTACT:?}")));
        }
    }
    Ok(())
}

/// Measures with tasks of a runtime that this thread runs.
#[cfg(feature = "tokio")]
fn on_this_thread(options: &OneWay) -> Result<Report, Failure> {
    use tokio::runtime::Builder;
    use zonda::config::AnyRuntime;

    let runtime = Builder::new_current_thread().enable_all().build()?;
    let on = || AnyRuntime::from_tokio(runtime.handle().clone());
    let receiving = options.connection.to_config()?.with_runtime_handle(on());
    let (receiving, to) = runtime.block_on(async {
        let session = zonda::open(receiving).await?;
        let to = texts(&session.info().locators());
        Ok::<_, Failure>((session, to))
    })?;
    // both sessions run on this thread's runtime
    let sending = connecting(options, to)?.with_runtime_handle(on());
    let (_sending, messages, publisher) = runtime.block_on(async {
        let sending = zonda::open(sending).await?;
        let messages = receiving.declare_subscriber(KEY_PING).await?;
        let publisher = sending.declare_publisher(KEY_PING).express(true);
        let publisher = publisher
            .congestion_control(CongestionControl::Block)
            .await?;
        Ok::<_, Failure>((sending, messages, publisher))
    })?;
    // a timer would add to the measured time, so only lossy links get one
    let is_lossy = options
        .connection
        .listen
        .iter()
        .any(|l| l.starts_with("udp/"));
    let sending_task = SendingTask {
        publisher,
        messages,
        payload: ZBytes::from(pattern(options.size)),
        patience: is_lossy.then_some(LOST),
    };
    meet(|| runtime.block_on(sending_task.way(Some(RETRY))))?;
    // as a task, like in an application: for the future of `block_on` itself tokio makes an
    // additional system call
    let ways = runtime.spawn(sending_task.go(options.timing));
    let ended = runtime.block_on(ways);
    ended.map_err(|error| Failure::Run(error.to_string()))?
}

/// The task that publishes and receives on one thread.
#[cfg(feature = "tokio")]
struct SendingTask {
    publisher: zonda::pubsub::Publisher<'static>,
    messages: zonda::pubsub::Subscriber<zonda::handlers::FifoChannelHandler<zonda::sample::Sample>>,
    payload: ZBytes,
    /// The time limit of a message, on lossy links.
    patience: Option<Duration>,
}

#[cfg(feature = "tokio")]
impl SendingTask {
    async fn go(self, timing: Timing) -> Result<Report, Failure> {
        while tokio::time::timeout(RETRY, self.messages.recv_async())
            .await
            .is_ok()
        {}
        let mut ways = super::closed_loop::OneWayMessages::new(&timing);
        loop {
            if let Some(report) = ways.add(self.way(self.patience).await?) {
                return Ok(report);
            }
        }
    }

    async fn way(&self, patience: Option<Duration>) -> Result<OneWayMessage, Failure> {
        let sent = Instant::now();
        self.publisher.put(self.payload.clone()).await?;
        let receiving = self.messages.recv_async();
        let came = match patience {
            None => Some(receiving.await?),
            Some(patience) => tokio::time::timeout(patience, receiving)
                .await
                .ok()
                .transpose()?,
        };
        let came = came.map(|_| Instant::now());
        Ok(OneWayMessage { sent, came })
    }
}

/// Measures with other threads, because this build has no runtime that the calling thread could
/// run.
#[cfg(not(feature = "tokio"))]
fn on_this_thread(options: &OneWay) -> Result<Report, Failure> {
    between_threads(options)
}
