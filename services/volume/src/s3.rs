// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `s3`: an object for each key, in a bucket of S3 or of a server that speaks its protocol.
//!
//! The names of all objects are in memory. Writes are conditional on the version of the object that
//! the store knows, so another writer's newer value is never replaced by an older one.

mod names;
mod object;
mod remote;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::{BackoffConfig, Certificate, ClientOptions, RetryConfig};

use crate::{Durability, OpenError, Options, Store, Volume};
use remote::Remote;

/// Options of a storage.
const OPTIONS: [&str; 11] = [
    "url",
    "timeout",
    "region",
    "tls",
    "private",
    "bucket",
    "path_prefix",
    "reuse_bucket",
    "read_only",
    "on_closure",
    "durability",
];
/// Options that may be set for all storages of the volume.
const SHARED: [&str; 5] = ["url", "timeout", "region", "tls", "private"];

/// Region of servers that have none.
const REGION: &str = "us-east-1";
/// Limit of the time of a connection attempt.
const CONNECT: Duration = Duration::from_secs(4);
/// Limit of the time of a request in seconds, if the option `timeout` is not set, and the most that it takes.
const TIMEOUT: u64 = 10;
const TIMEOUT_MAX: u64 = 3600;
/// Time after the limit of a request within which it is tried again.
const RETRIES: Duration = Duration::from_secs(2);

/// The volume `s3`.
#[derive(Debug, Clone, Copy, Default)]
pub struct S3;

/// Options of a storage, read.
struct Place {
    url: Option<String>,
    region: Option<String>,
    /// File of the authorities that certify the server.
    authority: Option<String>,
    /// Access key and secret key; `None` for those of the environment.
    keys: Option<(String, String)>,
    bucket: String,
    /// First chunks of the names of all objects; empty for none.
    prefix: String,
    read_only: bool,
    /// True if a close destroys the data.
    destroys: bool,
    durability: Durability,
    /// Limit of the time of a request.
    timeout: Duration,
}

impl Place {
    fn of(options: &Options) -> Result<Place, OpenError> {
        options.allow(&OPTIONS)?;
        let expected = "the name of a bucket";
        let bucket = options.text("bucket")?.filter(|it| !it.is_empty());
        let bucket = bucket.ok_or_else(|| options.refusal("bucket", expected))?;
        if !options.flag("reuse_bucket", true)? {
            let expected = "true: the bucket has to exist, and several storages may share it";
            return Err(options.refusal("reuse_bucket", expected));
        }
        let expected = "a URL such as \"http://localhost:9000\"";
        let url = options.text("url")?.map(|url| url.trim_end_matches('/'));
        let is_url = |url: &&str| url.starts_with("http://") || url.starts_with("https://");
        if url.is_some_and(|url| !is_url(&url)) {
            return Err(options.refusal("url", expected));
        }
        let prefix = options.text("path_prefix")?.unwrap_or_default();
        let prefix = prefix.trim_matches('/');
        let is_path = object_store::path::Path::parse(prefix).is_ok() && prefix.len() <= 512;
        if !is_path || prefix.split('/').any(|chunk| chunk == names::HIDDEN) {
            let expected =
                "a path such as \"robots/one\", of at most 512 bytes, without \".zonda\"";
            return Err(options.refusal("path_prefix", expected));
        }
        let read_only = options.flag("read_only", false)?;
        let text = |text: Option<&str>| text.map(str::to_owned);
        Ok(Place {
            url: text(url),
            region: text(options.text("region")?),
            authority: options.member("tls", "root_ca_certificate")?,
            keys: keys(options)?,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            read_only,
            destroys: options.destroys("destroy_bucket", read_only)?,
            durability: options.durability()?,
            timeout: Duration::from_secs(options.number("timeout", TIMEOUT, 1..=TIMEOUT_MAX)?),
        })
    }

    /// Returns the error of a place that the server, or the system, refuses.
    fn system(&self, reason: String) -> OpenError {
        let place = self.name();
        OpenError::System { place, reason }
    }

    /// Returns the error of a place that has the one of another storage in it, or is in it.
    fn overlaps(&self, prefix: &str) -> OpenError {
        let other = match prefix {
            "" => "the whole bucket".to_owned(),
            prefix => format!("the path_prefix {prefix:?}"),
        };
        self.system(format!(
            "another storage has {other}; give each one a path_prefix that is not within that of another"
        ))
    }

    /// Returns what no error shows.
    fn secrets(&self) -> impl Iterator<Item = &String> {
        let keys = self.keys.iter();
        keys.flat_map(|(access, secret)| [access, secret])
    }

    /// Returns the place as errors name it.
    fn name(&self) -> String {
        match self.prefix.as_str() {
            "" => self.bucket_name(),
            prefix => format!("{}/{prefix}", self.bucket_name()),
        }
    }

    fn bucket_name(&self) -> String {
        let url = self.url.as_deref().unwrap_or("s3:/");
        format!("{url}/{}", self.bucket)
    }

    /// Returns a client for the bucket.
    fn client(&self) -> Result<Arc<dyn object_store::ObjectStore>, OpenError> {
        let system = |reason: String| self.system(reason);
        let mut client = ClientOptions::new()
            .with_connect_timeout(CONNECT.min(self.timeout))
            .with_timeout(self.timeout)
            .with_allow_http(true);
        if let Some(file) = &self.authority {
            let pem = std::fs::read(file).map_err(|error| system(format!("{file}: {error}")))?;
            let certificates = Certificate::from_pem_bundle(&pem);
            let wrong = |_| system(format!("{file} has no certificates in the form PEM"));
            for certificate in certificates.map_err(wrong)? {
                client = client.with_root_certificate(certificate);
            }
        }
        let retry = RetryConfig {
            backoff: BackoffConfig {
                max_backoff: Duration::from_secs(2),
                ..BackoffConfig::default()
            },
            max_retries: 3,
            retry_timeout: self.timeout + RETRIES,
        };
        let mut builder = match &self.keys {
            Some((access, secret)) => AmazonS3Builder::new()
                .with_access_key_id(access)
                .with_secret_access_key(secret)
                .with_region(REGION),
            None => AmazonS3Builder::from_env(),
        };
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(url) = &self.url {
            builder = builder.with_endpoint(url);
        }
        let builder = builder.with_bucket_name(&self.bucket);
        let builder = builder.with_client_options(client).with_retry(retry);
        let built = builder.build();
        let secrets: Vec<_> = self.secrets().map(String::as_str).collect();
        let plain = |error: object_store::Error| remote::one_line(&error.to_string(), &secrets);
        Ok(Arc::new(built.map_err(|error| system(plain(error)))?))
    }
}

/// Reads the credentials. No error has a value of them.
fn keys(options: &Options) -> Result<Option<(String, String)>, OpenError> {
    let access = options.member("private", "access_key")?;
    let secret = options.member("private", "secret_key")?;
    match (access, secret) {
        (Some(access), Some(secret)) => Ok(Some((access, secret))),
        (None, None) => Ok(None),
        _ => {
            let wrong = "needs both access_key and secret_key";
            Err(options.fault("private", wrong))
        }
    }
}

/// Places that are open in this process: their buckets and prefixes.
static OPEN: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

/// A place that no other storage of this process has; released when it is dropped.
struct Claimed((String, String));

impl Claimed {
    fn new(place: &Place) -> Result<Claimed, OpenError> {
        let claim = (place.bucket_name(), place.prefix.clone());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let in_bucket = open.iter().filter(|(bucket, _)| *bucket == claim.0);
        for other in in_bucket.map(|(_, prefix)| prefix.as_str()) {
            let is_within =
                |inner: &str, outer: &str| names::prefixes_above(inner).any(|it| it == outer);
            if is_within(other, &claim.1) || is_within(&claim.1, other) {
                return Err(place.overlaps(other));
            }
        }
        match open.insert(claim.clone()) {
            true => Ok(Claimed(claim)),
            false => Err(OpenError::InUse {
                place: place.name(),
            }),
        }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.0);
    }
}

impl Volume for S3 {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn shared_options(&self) -> &'static [&'static str] {
        &SHARED
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        Place::of(options).map(|_| ())
    }

    /// Reads the certificates; the server is not asked.
    fn look(&self, options: &Options) -> Result<(), OpenError> {
        Place::of(options)?.client().map(drop)
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        let client = place.client()?;
        open_in(place, client)
    }
}

/// Opens a place with the client of its bucket.
fn open_in(
    place: Place,
    client: Arc<dyn object_store::ObjectStore>,
) -> Result<Box<dyn Store>, OpenError> {
    let claimed = Claimed::new(&place)?;
    let remote = Remote::start(client, &place)?;
    Ok(Box::new(store::Objects::open(place, claimed, remote)?))
}
