// SPDX-License-Identifier: MIT OR Apache-2.0

//! A storage: a subscriber and a queryable in front of a queue and a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::query::Queryable;
use zonda::sample::{Locality, Sample};
use zonda::{Session, Wait};
use zonda_volume::{Store, Volume};

use crate::answers::{Answers, STOPPED};
use crate::counts::{Counts, add};
use crate::engine::{Engine, Progress, Replica, Shared};
use crate::ledger::Ledger;
use crate::queue::{Job, Jobs, Pushed, Queue};
use crate::replica::{Eras, Index, Indexed, Message, aligner_key, digest_key};
use crate::settings::StorageSettings;

/// Limit of the queries that one storage answers at once.
const ACTIVE_MAX: usize = 1024;

/// The end of a storage's thread, which may be a panic in its volume.
struct End {
    name: String,
    queue: Arc<Queue>,
}

impl Drop for End {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let name = &self.name;
            tracing::error!("storage {name}: it has stopped by a fault in its volume");
        }
        self.queue.close();
        refuse_all(&self.queue);
    }
}

/// A declaration in front of a queue. It stays while a storage takes over the key of another one, as
/// a message that is under way to a subscriber when it is undeclared is lost.
struct Entrance<D> {
    door: Arc<Door>,
    _declared: D,
}

/// The queue that an entrance leads to now, and the counters of its storage.
struct Door(Mutex<(Arc<Queue>, Arc<Counts>)>);

impl Door {
    fn now(&self) -> (Arc<Queue>, Arc<Counts>) {
        self.0.lock().clone()
    }

    /// Adds a job to the queue. A callback that finds the queue closed tries the one of the storage
    /// that has taken over since.
    ///
    /// # Blocking
    /// While the queue is full, if `waits`.
    fn push(&self, job: Job, waits: bool) -> (Pushed, Arc<Counts>) {
        let (mut queue, mut counts) = self.now();
        let mut pushed = queue.push(job, waits);
        while let Pushed::Closed(job) = pushed {
            let (next, its) = self.now();
            if Arc::ptr_eq(&next, &queue) {
                return (Pushed::Closed(job), counts);
            }
            pushed = next.push(job, waits);
            (queue, counts) = (next, its);
        }
        (pushed, counts)
    }
}

/// A storage that runs. Dropping it stops it and closes its store.
pub struct Storage {
    pub settings: StorageSettings,
    pub counts: Arc<Counts>,
    queue: Arc<Queue>,
    /// `None` once this storage takes no more.
    updates: Option<Arc<Entrance<Subscriber<()>>>>,
    queries: Option<Arc<Entrance<Queryable<()>>>>,
    digests: Option<Subscriber<()>>,
    aligner: Option<Queryable<()>>,
    /// Returns the store; `None` before it runs, and once it has ended.
    thread: Option<JoinHandle<Option<Box<dyn Store>>>>,
}

impl Storage {
    /// Opens the store of a storage.
    ///
    /// # Errors
    /// The reason in one line, with the name of the storage.
    pub fn open(settings: &StorageSettings, volume: &dyn Volume) -> Result<Box<dyn Store>, String> {
        let named = |error| format!("storage {}: {error}", settings.name);
        volume.open(&settings.options).map_err(named)
    }

    /// Declares a storage, whose queue fills until it runs. It takes over what a former one with the
    /// same key has declared; that one gets no more then.
    ///
    /// # Errors
    /// The reason in one line, with the name of the storage; the former one is unchanged.
    pub fn declare(
        settings: StorageSettings,
        session: &Session,
        former: Option<&Storage>,
    ) -> Result<Storage, String> {
        let mut storage = Storage {
            settings,
            counts: Arc::default(),
            queue: Arc::default(),
            updates: None,
            queries: None,
            digests: None,
            aligner: None,
            thread: None,
        };
        let declared = storage.declare_all(session, former);
        declared.map_err(|error| format!("storage {}: {error}", storage.settings.name))?;
        let former = storage.with_same_key(former);
        for door in former.into_iter().flat_map(Storage::doors) {
            *door.0.lock() = (Arc::clone(&storage.queue), Arc::clone(&storage.counts));
        }
        Ok(storage)
    }

    /// Returns another storage if it has the same key.
    fn with_same_key<'a>(&self, other: Option<&'a Storage>) -> Option<&'a Storage> {
        other.filter(|other| other.settings.key == self.settings.key)
    }

    fn doors(&self) -> impl Iterator<Item = &Door> {
        let updates = self.updates.iter().map(|updates| &*updates.door);
        updates.chain(self.queries.iter().map(|queries| &*queries.door))
    }

    /// Returns a door that leads to the queue.
    fn door(&self) -> Arc<Door> {
        let to = (Arc::clone(&self.queue), Arc::clone(&self.counts));
        Arc::new(Door(Mutex::new(to)))
    }

    fn declare_all(&mut self, session: &Session, former: Option<&Storage>) -> zonda::Result<()> {
        let settings = &self.settings;
        let former = self.with_same_key(former);
        let same = former.filter(|former| former.settings.complete == settings.complete);
        let queries = match same.and_then(|former| former.queries.clone()) {
            Some(queries) => queries,
            None => ask_through(self.door(), settings, session)?,
        };
        let updates = match former.and_then(|former| former.updates.clone()) {
            Some(updates) => updates,
            None => keep_through(self.door(), settings, session)?,
        };
        (self.queries, self.updates) = (Some(queries), Some(updates));
        match self.settings.replication {
            Some(eras) => self.declare_replica(session, self.settings.fingerprint(&eras)),
            None => Ok(()),
        }
    }

    /// Declares that other replicas are listened to, and answered.
    fn declare_replica(&mut self, session: &Session, print: u64) -> zonda::Result<()> {
        let door = self.door();
        let aligner = session.declare_queryable(aligner_key(&session.zid().to_string(), print));
        let aligner = aligner.allowed_origin(Locality::Remote);
        let aligner = aligner.callback(move |query| {
            ask(&door, Job::Align(Message::Question(query)));
        });
        self.aligner = Some(aligner.wait()?);
        let (queue, counts) = (Arc::clone(&self.queue), Arc::clone(&self.counts));
        let digests = session.declare_subscriber(digest_key("*", print));
        let digests = digests.allowed_origin(Locality::Remote);
        let digests = digests.callback(move |sample| {
            let id = sample.key_expr().as_str().split('/').nth(1);
            let from = id.unwrap_or_default().to_owned();
            let bytes = sample.payload().clone();
            let digest = Job::Align(Message::Digest { from, bytes });
            if let Pushed::Full(_) = queue.push(digest, false) {
                add(&counts.dropped, 1);
            }
        });
        self.digests = Some(digests.wait()?);
        Ok(())
    }

    /// Ends one that does not run, and gives what has arrived to another one.
    pub fn hand_over(self, to: &Storage) {
        self.queue.hand_over(&to.queue);
    }

    /// Begins to work on a store.
    ///
    /// # Errors
    /// The reason in one line, with the name of the storage, which does not run then.
    pub fn run(
        &mut self,
        store: Box<dyn Store>,
        session: &Session,
        answers: &Arc<Answers>,
    ) -> Result<(), String> {
        let settings = &self.settings;
        let name = settings.name.clone();
        let prefix = format!("storage {name}");
        let named = |error: &dyn std::fmt::Display| format!("{prefix}: {error}");
        let (store, replica) = match settings.replication {
            None => (store, None),
            Some(eras) => {
                let (store, replica) = self.replicate(store, eras, session)?;
                (store, Some(replica))
            }
        };
        let ledger =
            Ledger::open(store, settings.names(), settings.history).map_err(|e| named(&e))?;
        let engine = Engine {
            name: name.clone(),
            ledger,
            session: session.clone(),
            queue: Arc::clone(&self.queue),
            counts: Arc::clone(&self.counts),
            answers: Arc::clone(answers),
            period: settings.period,
            lifespan: settings.lifespan,
            write_queries: settings.write_queries,
            replica,
            progress: Progress::default(),
        };
        let queue = Arc::clone(&self.queue);
        let run = move || {
            let _end = End { name, queue };
            engine.run()
        };
        let thread = std::thread::Builder::new().name("zonda-storage".into());
        self.thread = Some(thread.spawn(run).map_err(|e| named(&e))?);
        Ok(())
    }

    /// Begins to index what a store has, and to align it.
    fn replicate(
        &self,
        store: Box<dyn Store>,
        eras: Eras,
        session: &Session,
    ) -> Result<(Box<dyn Store>, Replica), String> {
        let settings = &self.settings;
        let named = |error: &dyn std::fmt::Display| format!("storage {}: {error}", settings.name);
        let print = settings.fingerprint(&eras);
        let index = Arc::new(Mutex::new(Index::new(eras, print, settings.lifespan)));
        let store = Arc::new(Mutex::new(store));
        let indexed = Indexed::new(Arc::clone(&store), Arc::clone(&index));
        let indexed = indexed.map_err(|error| named(&error))?;
        let shared = Shared {
            key: settings.key.clone(),
            settings: print,
            eras,
            index,
            store,
        };
        let replica = Replica::start(shared, session, &self.queue);
        Ok((Box::new(indexed), replica.map_err(|error| named(&error))?))
    }

    /// Stops it, and returns its store; `None` if its volume has panicked, or it did not run.
    ///
    /// # Blocking
    /// Until what was taken is on the disk.
    pub fn into_store(mut self) -> Option<Box<dyn Store>> {
        self.finish()
    }

    fn finish(&mut self) -> Option<Box<dyn Store>> {
        self.updates = None;
        self.queries = None;
        self.digests = None;
        self.aligner = None;
        self.queue.close();
        match self.thread.take() {
            // A panic was reported when it happened.
            Some(thread) => thread.join().ok().flatten(),
            None => {
                refuse_all(&self.queue);
                None
            }
        }
    }
}

impl Drop for Storage {
    /// # Blocking
    /// Until what was taken is on the disk.
    fn drop(&mut self) {
        if let Some(store) = self.finish() {
            close(store, &self.settings.name);
        }
    }
}

/// Closes the store of a storage, with what its option `on_closure` says.
pub fn close(store: Box<dyn Store>, name: &str) {
    if let Err(error) = store.close() {
        tracing::error!("storage {name}: it was not closed well: {error}");
    }
}

/// Refuses what waits in a queue that is closed.
fn refuse_all(queue: &Queue) {
    let mut left = Jobs::default();
    while queue.take(&mut left, None) {
        left.refuse(STOPPED);
    }
}

/// Declares the queryable of a storage.
fn ask_through(
    door: Arc<Door>,
    settings: &StorageSettings,
    session: &Session,
) -> zonda::Result<Arc<Entrance<Queryable<()>>>> {
    let queryable = session.declare_queryable(&settings.key);
    let queryable = queryable.complete(settings.complete);
    let to = Arc::clone(&door);
    let queryable = queryable.callback(move |query| {
        ask(&to, Job::Query(query));
    });
    let _declared = queryable.wait()?;
    Ok(Arc::new(Entrance { door, _declared }))
}

/// Declares the subscriber of a storage.
fn keep_through(
    door: Arc<Door>,
    settings: &StorageSettings,
    session: &Session,
) -> zonda::Result<Arc<Entrance<Subscriber<()>>>> {
    let subscriber = session.declare_subscriber(&settings.key);
    let to = Arc::clone(&door);
    let subscriber = subscriber.callback(move |sample| {
        keep(&to, sample);
    });
    let _declared = subscriber.wait()?;
    Ok(Arc::new(Entrance { door, _declared }))
}

/// Queues a sample. A full queue makes the link of a publisher wait, unless the publisher has asked
/// for its samples to be dropped.
fn keep(door: &Door, sample: Sample) {
    let waits = sample.congestion_control() != CongestionControl::Drop;
    let (pushed, counts) = door.push(Job::Sample(sample), waits);
    match pushed {
        Pushed::Taken => {}
        Pushed::Full(_) => add(&counts.dropped, 1),
        Pushed::Closed(_) => add(&counts.failures, 1),
    }
}

/// Queues a query of an asker or of another replica.
fn ask(door: &Door, job: Job) {
    let (_, counts) = door.now();
    let (pushed, counts) = match counts.active.load(Ordering::Relaxed) < ACTIVE_MAX {
        true => door.push(job, false),
        false => (Pushed::Full(job), counts),
    };
    let (job, reason) = match pushed {
        Pushed::Taken => return,
        Pushed::Full(job) => {
            add(&counts.dropped, 1);
            (job, "the storage has too much to do; ask again later")
        }
        Pushed::Closed(job) => {
            add(&counts.failures, 1);
            (job, STOPPED)
        }
    };
    job.refuse(reason);
}
