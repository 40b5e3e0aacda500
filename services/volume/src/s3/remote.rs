// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests to the server, from a thread that blocks until they are answered.
//!
//! They run on a runtime of their own with one thread, whatever the runtime of the node is.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use tokio::runtime::{Builder, Runtime};

use super::Place;
use super::object::{entry_of, parts_of};
use crate::{Entry, OpenError, StoreError};

/// Requests under way at once.
pub const AT_ONCE: usize = 32;
/// Attempts to write an object that another writer changes all the while.
const ATTEMPTS: usize = 8;
/// Time after which an object that another writer has marked as removed is taken for one that stays.
const REMOVAL: Duration = Duration::from_secs(2);
/// Longest text of an error.
const TEXT_MAX: usize = 300;

const REFUSED: &str =
    "the server refuses the credentials; check `private` and the rights of its keys";
const ABSENT: &str = "there is no such bucket; create it";

/// State of an object at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// There is none, as far as the store knows.
    No,
    /// A write of it failed, and may have arrived all the same.
    Perhaps,
    /// It has this version.
    Version(Arc<str>),
}

impl Stored {
    /// Returns the state of an object that is there.
    pub fn of(e_tag: Option<String>) -> Stored {
        e_tag.map_or(Stored::Perhaps, |tag| Stored::Version(tag.into()))
    }
}

/// Content of an object.
pub enum Found {
    Nothing,
    Entry(Stored, Entry),
    /// It is no entry, for this reason.
    Damaged(Stored, &'static str),
}

/// An object to write.
pub struct Write {
    pub path: Path,
    pub entry: Entry,
    pub stored: Stored,
}

/// An object to remove.
pub struct Removal {
    pub path: Path,
    /// Deletion of a key that another writer may write, and the state of its object as the store knows
    /// it; `None` for an object that is removed whatever it is.
    pub deletion: Option<(Entry, Stored)>,
}

/// Result of a write.
pub enum Written {
    /// The server has it, at this version.
    Ours(Stored),
    /// Another writer has written a newer one.
    Theirs(Stored, Entry),
}

/// Results of several requests: those that were answered, and the first failure. None is begun after it.
pub struct Done<T> {
    pub done: Vec<T>,
    pub failure: Option<String>,
}

/// The bucket of a storage.
pub struct Remote {
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
    objects: Arc<dyn ObjectStore>,
    prefix: Option<Path>,
    secrets: Vec<String>,
    /// Time until which reads fail, and why.
    pause: Option<(Instant, String)>,
}

/// Returns a text in one line, not at length, and without secrets.
pub fn one_line(text: &str, secrets: &[&str]) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        line = line.replace(secret, "(secret)");
    }
    if let Some((end, _)) = line.char_indices().nth(TEXT_MAX) {
        line.truncate(end);
        line.push_str("..");
    }
    line
}

impl Remote {
    /// Starts the runtime.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(objects: Arc<dyn ObjectStore>, place: &Place) -> Result<Remote, OpenError> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).max_blocking_threads(2);
        let runtime = runtime.thread_name("zonda-s3").enable_all().build();
        let system = |error| place.system(format!("no thread: {error}"));
        Ok(Remote {
            runtime: Some(runtime.map_err(system)?),
            objects,
            prefix: match place.prefix.as_str() {
                "" => None,
                prefix => Path::parse(prefix).ok(),
            },
            secrets: place.secrets().cloned().collect(),
            pause: None,
        })
    }

    /// Runs requests, and waits for their end. Any thread may call it.
    fn wait<T: Send + 'static>(
        &self,
        requests: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        let stopped = || "the requests were not answered".to_owned();
        let runtime = self.runtime.as_ref().ok_or_else(stopped)?;
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver waits for it.
            let _ = sender.send(requests.await);
        });
        receiver.recv().map_err(|_| stopped())
    }

    /// Returns the reason of a failure in one line, without secrets.
    fn reason(&self, error: &Error) -> String {
        let secrets: Vec<_> = self.secrets.iter().map(String::as_str).collect();
        match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => REFUSED.to_owned(),
            Error::NotFound { .. } => ABSENT.to_owned(),
            error => {
                let text = error.to_string();
                // Of a list, the status is in the text alone.
                let has = |status: &str| text.contains(status);
                match () {
                    () if has("403 Forbidden") || has("401 Unauthorized") => REFUSED.to_owned(),
                    () if has("404 Not Found") => ABSENT.to_owned(),
                    () => one_line(&text, &secrets),
                }
            }
        }
    }

    /// Returns all objects of the storage.
    ///
    /// # Errors
    /// The reason in one line.
    pub fn list(&self) -> Result<Vec<ObjectMeta>, String> {
        let listed = self.objects.list(self.prefix.as_ref());
        let listed = self.wait(listed.try_collect::<Vec<_>>())?;
        listed.map_err(|error| self.reason(&error))
    }

    /// Returns the contents of objects in their order. After a failure it fails at once for as long as
    /// that one took: requests that have to wait leave the other half of the time to what is in memory.
    ///
    /// # Errors
    /// The server fails.
    pub fn get(&mut self, paths: Vec<Path>) -> Result<Vec<Found>, StoreError> {
        if let Some((until, reason)) = &self.pause
            && Instant::now() < *until
        {
            return Err(StoreError::Failed(reason.clone()));
        }
        let begin = Instant::now();
        let objects = Arc::clone(&self.objects);
        let all = stream::iter(paths).map(move |path| {
            let objects = Arc::clone(&objects);
            async move { read(&*objects, &path).await }
        });
        let read = self.wait(all.buffered(AT_ONCE).try_collect());
        let read = read.and_then(|read: Result<_, _>| read.map_err(|error| self.reason(&error)));
        let failure = read.as_ref().err();
        self.pause = failure.map(|reason| (Instant::now() + begin.elapsed(), reason.clone()));
        read.map_err(StoreError::Failed)
    }

    /// Returns the first of these objects that is there and may be read.
    ///
    /// # Errors
    /// The reason in one line.
    pub fn first(&self, paths: Vec<Path>) -> Result<Option<Path>, String> {
        let objects = Arc::clone(&self.objects);
        let found = self.wait(async move {
            for path in paths {
                match objects.head(&path).await {
                    Ok(_) => return Ok(Some(path)),
                    // Credentials may be for a part of the bucket.
                    Err(Error::NotFound { .. } | Error::PermissionDenied { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(None)
        })?;
        found.map_err(|error| self.reason(&error))
    }

    /// Creates an empty object, unless there is one.
    ///
    /// # Errors
    /// The reason in one line.
    pub fn mark(&self, path: Path) -> Result<(), String> {
        let objects = Arc::clone(&self.objects);
        let created = self.wait(async move {
            let created = objects.put_opts(&path, PutPayload::new(), PutMode::Create.into());
            created.await
        })?;
        match created {
            Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            Err(error) => Err(self.reason(&error)),
        }
    }

    /// Writes objects. The results have the numbers of the writes.
    pub fn put(&self, writes: Vec<Write>) -> Done<(usize, Written)> {
        let objects = Arc::clone(&self.objects);
        self.each(writes.into_iter().enumerate(), move |(number, write)| {
            let objects = Arc::clone(&objects);
            async move { Ok((number, put(&*objects, write).await?)) }
        })
    }

    /// Removes objects; one that is gone is no failure. The results have the numbers of the removals, and
    /// the newer entries of other writers, which stay.
    pub fn remove(&self, removals: Vec<Removal>) -> Done<(usize, Option<(Stored, Entry)>)> {
        let objects = Arc::clone(&self.objects);
        self.each(
            removals.into_iter().enumerate(),
            move |(number, removal)| {
                let objects = Arc::clone(&objects);
                async move { Ok((number, remove(&*objects, removal).await?)) }
            },
        )
    }

    /// Runs a request for each item, until one fails.
    fn each<I, T, F>(
        &self,
        items: impl Iterator<Item = I> + Send + 'static,
        request: impl Fn(I) -> F + Send + Sync + 'static,
    ) -> Done<T>
    where
        I: Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let all = async move {
            let mut done = Vec::new();
            let mut results = stream::iter(items).map(request).buffer_unordered(AT_ONCE);
            while let Some(result) = results.next().await {
                match result {
                    Ok(one) => done.push(one),
                    Err(error) => return (done, Some(error)),
                }
            }
            (done, None)
        };
        match self.wait(all) {
            Ok((done, error)) => Done {
                done,
                failure: error.map(|error| self.reason(&error)),
            },
            Err(stopped) => Done {
                done: Vec::new(),
                failure: Some(stopped),
            },
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // An ordinary end waits, which a thread of another runtime may not do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn read(objects: &dyn ObjectStore, path: &Path) -> Result<Found, Error> {
    let found = match objects.get(path).await {
        Ok(found) => found,
        Err(Error::NotFound { .. }) => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let (meta, attributes) = (found.meta.clone(), found.attributes.clone());
    let content = found.bytes().await?;
    let entry = entry_of(&meta, &attributes, content);
    let stored = Stored::of(meta.e_tag);
    Ok(match entry {
        Ok(entry) => Found::Entry(stored, entry),
        Err(reason) => Found::Damaged(stored, reason),
    })
}

/// Removes an object. A deletion takes its place first, as servers compare the version of what they
/// replace, and not of what they remove.
async fn remove(
    objects: &dyn ObjectStore,
    removal: Removal,
) -> Result<Option<(Stored, Entry)>, Error> {
    let Removal { path, deletion } = removal;
    if let Some((entry, stored)) = deletion {
        let write = Write {
            path: path.clone(),
            entry,
            stored,
        };
        match put(objects, write).await? {
            Written::Theirs(stored, entry) if entry.value.is_some() => {
                return Ok(Some((stored, entry)));
            }
            _ => {}
        }
    }
    match objects.delete(&path).await {
        Ok(()) | Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes an object, unless another writer has written a newer one.
async fn put(objects: &dyn ObjectStore, write: Write) -> Result<Written, Error> {
    let Write {
        path,
        entry,
        mut stored,
    } = write;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let mode = match &stored {
            Stored::No | Stored::Perhaps => PutMode::Create,
            Stored::Version(tag) => PutMode::Update(UpdateVersion {
                e_tag: Some(tag.to_string()),
                version: None,
            }),
        };
        let (content, attributes) = parts_of(&entry);
        let options = PutOptions {
            mode,
            attributes,
            ..PutOptions::default()
        };
        match objects.put_opts(&path, content.into(), options).await {
            Ok(put) => return Ok(Written::Ours(Stored::of(put.e_tag))),
            Err(error @ (Error::AlreadyExists { .. } | Error::Precondition { .. })) => {
                last = Some(error);
            }
            // The object to replace is gone.
            Err(error @ Error::NotFound { .. }) if stored != Stored::No => last = Some(error),
            Err(error) => return Err(error),
        }
        stored = match read(objects, &path).await? {
            Found::Nothing => Stored::No,
            Found::Damaged(theirs, _) => theirs,
            // A write of ours whose answer was lost, or an older one of another writer.
            Found::Entry(theirs, found) if found == entry => return Ok(Written::Ours(theirs)),
            Found::Entry(theirs, found) if (found.at, found.own) > (entry.at, entry.own) => {
                return Ok(Written::Theirs(theirs, found));
            }
            Found::Entry(theirs, found) => {
                if found.value.is_none() && entry.value.is_some() {
                    // Its writer removes it next, which would remove this value.
                    tokio::time::sleep(REMOVAL).await;
                }
                theirs
            }
        };
    }
    Err(last.unwrap_or(Error::NotImplemented))
}
