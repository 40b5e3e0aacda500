// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests to the server, from a thread that blocks until they are answered.
//!
//! They run on a runtime of their own with one thread, whatever the runtime of the node is.

use std::future::Future;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, PutMode, PutOptions, UpdateVersion};
use tokio::runtime::{Builder, Runtime};

use super::Place;
use super::object::{entry_of, parts_of};
use crate::{Entry, OpenError, StoreError};

/// Requests under way at once.
pub const AT_ONCE: usize = 32;
/// Attempts to write an object that another writer changes all the while.
const ATTEMPTS: usize = 8;
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

/// An object to write.
pub struct Write {
    pub path: Path,
    pub entry: Entry,
    pub stored: Stored,
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
        let system = |error: std::io::Error| OpenError::System {
            place: place.name(),
            reason: format!("no thread: {error}"),
        };
        let keys = place.keys.iter();
        Ok(Remote {
            runtime: Some(runtime.map_err(system)?),
            objects,
            prefix: match place.prefix.as_str() {
                "" => None,
                prefix => Path::parse(prefix).ok(),
            },
            secrets: keys
                .flat_map(|(access, secret)| [access.clone(), secret.clone()])
                .collect(),
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

    /// Returns the entries of objects in their order, with their versions; `None` for those that are gone.
    ///
    /// # Errors
    /// The server fails, or an object is none of an entry.
    pub fn get(&self, paths: Vec<Path>) -> Result<Vec<Option<(Stored, Entry)>>, StoreError> {
        let objects = Arc::clone(&self.objects);
        let all = stream::iter(paths).map(move |path| {
            let objects = Arc::clone(&objects);
            async move { read(&*objects, &path).await }
        });
        let read = self.wait(all.buffered(AT_ONCE).try_collect());
        match read.map_err(StoreError::Failed)? {
            Ok(entries) => Ok(entries),
            Err(Fault::Server(error)) => Err(StoreError::Failed(self.reason(&error))),
            Err(Fault::Entry { name, reason }) => Err(StoreError::Damaged { name, reason }),
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

    /// Removes objects; one that is gone is no failure. The results are the numbers of those removed.
    pub fn delete(&self, paths: Vec<Path>) -> Done<usize> {
        let objects = Arc::clone(&self.objects);
        self.each(paths.into_iter().enumerate(), move |(number, path)| {
            let objects = Arc::clone(&objects);
            async move {
                match objects.delete(&path).await {
                    Ok(()) | Err(Error::NotFound { .. }) => Ok(number),
                    Err(error) => Err(Fault::Server(error)),
                }
            }
        })
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
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let all = async move {
            let mut done = Vec::new();
            let mut results = stream::iter(items).map(request).buffer_unordered(AT_ONCE);
            while let Some(result) = results.next().await {
                match result {
                    Ok(one) => done.push(one),
                    Err(fault) => return (done, Some(fault)),
                }
            }
            (done, None)
        };
        match self.wait(all) {
            Ok((done, None)) => Done {
                done,
                failure: None,
            },
            Ok((done, Some(fault))) => Done {
                done,
                failure: Some(match fault {
                    Fault::Server(error) => self.reason(&error),
                    Fault::Entry { name, reason } => format!("{name}: {reason}"),
                }),
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

/// Reason why a request has no result.
enum Fault {
    Server(Error),
    Entry { name: String, reason: &'static str },
}

/// Returns the version of an object.
fn version_of(e_tag: Option<String>) -> Stored {
    e_tag.map_or(Stored::Perhaps, |tag| Stored::Version(tag.into()))
}

async fn read(objects: &dyn ObjectStore, path: &Path) -> Result<Option<(Stored, Entry)>, Fault> {
    let found = match objects.get(path).await {
        Ok(found) => found,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(Fault::Server(error)),
    };
    let (meta, attributes) = (found.meta.clone(), found.attributes.clone());
    let content = found.bytes().await.map_err(Fault::Server)?;
    let entry = entry_of(&meta, &attributes, content).map_err(|reason| Fault::Entry {
        name: path.to_string(),
        reason,
    })?;
    Ok(Some((version_of(meta.e_tag), entry)))
}

/// Writes an object, unless another writer has written a newer one.
async fn put(objects: &dyn ObjectStore, write: Write) -> Result<Written, Fault> {
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
            Ok(put) => return Ok(Written::Ours(version_of(put.e_tag))),
            Err(error @ (Error::AlreadyExists { .. } | Error::Precondition { .. })) => {
                last = Some(error);
            }
            // The object to replace is gone.
            Err(error @ Error::NotFound { .. }) if stored != Stored::No => last = Some(error),
            Err(error) => return Err(Fault::Server(error)),
        }
        stored = match read(objects, &path).await? {
            None => Stored::No,
            // A write of ours whose answer was lost, or an older one of another writer.
            Some((theirs, found)) if found == entry => return Ok(Written::Ours(theirs)),
            Some((theirs, found)) if (found.at, found.own) > (entry.at, entry.own) => {
                return Ok(Written::Theirs(theirs, found));
            }
            Some((theirs, _)) => theirs,
        };
    }
    let changes = || Error::NotImplemented;
    Err(Fault::Server(last.unwrap_or_else(changes)))
}
