// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags of `zonda-kafka ingest`, and the program's use of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use zonda::key_expr::KeyExpr;
use zonda::{Config, Wait};
use zonda_program::{Failure, Interrupt, complain, endpoint, print};
use zonda_router::descriptors;
use zonda_runtime::RuntimeKind;

use super::server::{On, Server};
use super::service::{Patience, Service};
use crate::http::{Budget, Limits};
use crate::producer::{Producer, ProducerArgs};
use crate::settings::{self, Problem, Purpose};
use crate::sink::{KafkaSink, Sink, ZondaSink};

/// Descriptors that are reserved for the broker, the log and the runtime.
const SPARE: u64 = 128;

/// Destination of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SinkKind {
    /// A topic of Kafka
    Kafka,
    /// A key of Zonda
    Zonda,
    /// Nowhere, to measure the server alone
    Nowhere,
}

/// When a message is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ack {
    /// When the producer has queued it
    Queue,
    /// When the broker has it
    Broker,
}

/// Take messages by HTTP and publish them.
///
/// The body of each POST or PUT is a message. The answer is 202, or 503 with Retry-After when as many messages wait for
/// the broker as may. GET /metrics gives the counters.
#[derive(Args, Clone, Debug)]
pub struct IngestArgs {
    /// Address to listen on; port 0 takes any free one
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1:18080")]
    pub listen: SocketAddr,
    /// Runtime of the server
    #[arg(long, value_name = "NAME", help = runtime_help(), default_value_t = On::Runtime(RuntimeKind::default()))]
    pub runtime: On,
    /// Destination of the messages
    #[arg(long, value_name = "SINK", default_value = "kafka")]
    pub sink: SinkKind,
    /// When a message is acknowledged, with --sink kafka
    #[arg(long, value_name = "WHEN", default_value = "queue")]
    pub ack: Ack,
    /// Topic of the messages, with --sink kafka
    #[arg(long, value_name = "NAME", default_value = "ingest")]
    pub topic: String,
    /// Key of the messages, with --sink zonda
    #[arg(long, value_name = "KEY", default_value = "ingest")]
    pub key: String,
    /// Endpoint that the node connects to, with --sink zonda (repeatable)
    #[arg(short = 'e', long, value_name = "ENDPOINT", value_parser = endpoint)]
    pub connect: Vec<String>,
    /// The most bytes of one body
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body_bytes)]
    pub body_bytes: usize,
    /// The most bytes of bodies that are arriving, of all connections together; one address has at most three quarters
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub bodies_bytes: usize,
    /// Take requests of web pages, which browsers send from any page to any address; they say their Origin
    #[arg(long)]
    pub any_origin: bool,
    /// The most connections, of which one address has at most three quarters [default: what the limit of open files leaves]
    #[arg(long, value_name = "N")]
    pub connections_max: Option<u64>,
    /// Time limit for one request of a client, in seconds
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub request_seconds: u32,
    /// Time limit between two requests of a client, in seconds
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub idle_seconds: u32,
    /// Time to wait at the end until the broker has taken all acknowledged messages, in seconds
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub end_seconds: u32,
    /// Options of the producer
    #[command(flatten)]
    pub producer: ProducerArgs,
}

fn runtime_help() -> String {
    format!("Runtime of the server, of {}", On::names())
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

impl IngestArgs {
    /// Serves until Ctrl-C.
    pub fn run(&self) -> Result<(), Failure> {
        self.serve(&Interrupt::listen()?)
    }

    /// Serves until it is interrupted.
    pub(crate) fn serve(&self, interrupt: &Interrupt) -> Result<(), Failure> {
        // Start, with the actual address printed for the operator.
        let service = Arc::new(self.service()?);
        let server = Server::start(self.runtime, self.listen, service).map_err(|error| {
            Failure::doing(format_args!("{} on {}", self.listen, self.runtime), error)
        })?;
        print(format_args!(
            "listening on {} ({})",
            server.address(),
            self.runtime
        ));
        // Serving until the signal, then the end within its time limit.
        interrupt.wait();
        let service = Arc::clone(server.service());
        let ending = server.end(seconds(self.end_seconds));
        // Summary of the run.
        let counts = &service.counts;
        print(format_args!(
            "connections {}, acknowledged {}, refused {}, bytes {}",
            counts.accepted.load(Ordering::Relaxed),
            counts.acknowledged(),
            counts.refused(),
            counts.body_bytes.load(Ordering::Relaxed),
        ));
        for line in &ending.lines {
            print(format_args!("{line}"));
        }
        match ending.lost {
            0 => Ok(()),
            lost => Err(Failure::Run(format!(
                "{lost} messages did not reach the broker"
            ))),
        }
    }

    /// Returns the state that the server's connections share.
    pub fn service(&self) -> Result<Service, Failure> {
        let mut service = Service::new(self.sink()?);
        service.limits = Limits {
            body_bytes: self.body_bytes,
            any_origin: self.any_origin,
            ..Limits::default()
        };
        service.bodies = Budget::new(self.bodies_bytes);
        service.patience = Patience {
            request: seconds(self.request_seconds),
            idle: seconds(self.idle_seconds),
        };
        service.places = Budget::new(self.places());
        Ok(service)
    }

    /// Returns the maximum number of open connections, after raising the limit of open files as far
    /// as possible.
    fn places(&self) -> usize {
        if let Some((before, after)) = descriptors::raise() {
            complain(format_args!(
                "limit of open files raised from {before} to {after}"
            ));
        }
        let limit = descriptors::limit();
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(SPARE).max(1));
        let places = self.connections_max.unwrap_or(left);
        usize::try_from(places).unwrap_or(usize::MAX)
    }

    fn sink(&self) -> Result<Sink, Failure> {
        if self.ack == Ack::Broker && self.sink != SinkKind::Kafka {
            return Err(Failure::Usage("--ack broker needs --sink kafka".to_owned()));
        }
        // Each sink checks its own options before it connects.
        Ok(match self.sink {
            SinkKind::Kafka => {
                let config = self.producer.to_config();
                settings::check(&config, Purpose::Producer).map_err(|problems| {
                    let problems: Vec<_> = problems.iter().map(Problem::to_string).collect();
                    Failure::Usage(problems.join("; "))
                })?;
                let producer = Producer::start(&config, None)?;
                let by_broker = self.ack == Ack::Broker;
                Sink::Kafka(KafkaSink::new(producer, self.topic.clone(), by_broker))
            }
            SinkKind::Zonda => {
                let wrong = |error| Failure::Usage(format!("--key {}: {error}", self.key));
                let key = KeyExpr::try_from(self.key.clone()).map_err(wrong)?;
                let config = match self.connect.is_empty() {
                    true => Config::peer(),
                    false => Config::client(&self.connect),
                };
                Sink::Zonda(ZondaSink::new(zonda::open(config).wait()?, key))
            }
            SinkKind::Nowhere => Sink::Nowhere,
        })
    }
}
