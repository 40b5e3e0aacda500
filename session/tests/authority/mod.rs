// SPDX-License-Identifier: MIT OR Apache-2.0

//! An authority for tests: certificates that it signs, in files of a directory that is deleted with
//! it.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

pub struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// The files of a certificate and its key.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Authority {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("zonda-authority-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Of one name, a certificate and its authority are the same to OpenSSL.
        let name = format!("authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).expect("a certificate");
        write(&directory.join("ca.pem"), &certificate.pem());
        let issuer = Issuer::new(params, key);
        Authority { directory, issuer }
    }

    fn path(&self, name: &str) -> String {
        let path = self.directory.join(name);
        path.to_str().expect("text").to_owned()
    }

    /// Returns the file of the authority's own certificate.
    pub fn ca(&self) -> String {
        self.path("ca.pem")
    }

    /// Signs a certificate for these hosts, which is valid now.
    pub fn sign(&self, name: &str, hosts: &[&str]) -> Pair {
        self.sign_with(name, hosts, |_| {})
    }

    /// Signs a certificate that has expired.
    pub fn sign_expired(&self, name: &str, hosts: &[&str]) -> Pair {
        self.sign_with(name, hosts, |params| {
            params.not_after = date_time_ymd(2020, 1, 1);
        })
    }

    /// Signs a certificate that expires so many seconds from now.
    pub fn sign_for(&self, name: &str, hosts: &[&str], seconds: u64) -> Pair {
        self.sign_with(name, hosts, |params| {
            let end = SystemTime::now() + Duration::from_secs(seconds);
            params.not_after = end.into();
        })
    }

    fn sign_with(
        &self,
        name: &str,
        hosts: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Pair {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(hosts).expect("parameters");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let pair = Pair {
            certificate: self.path(&format!("{name}.pem")),
            key: self.path(&format!("{name}.key")),
        };
        write(Path::new(&pair.certificate), &certificate.pem());
        write(Path::new(&pair.key), &key.serialize_pem());
        pair
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("room for it");
}

impl Drop for Authority {
    fn drop(&mut self) {
        // files that stay do no harm
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
