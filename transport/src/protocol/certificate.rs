// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in the certificate of a peer.

/// Names in a certificate that this node has verified: its authority vouches for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// Common names of its subject.
    pub common_names: Vec<String>,
    /// Alternative names of type DNS.
    pub hosts: Vec<String>,
    /// Alternative names of type URI.
    pub uris: Vec<String>,
}

impl CertificateNames {
    /// Returns true if the certificate is for this name, either as a common name or as an
    /// alternative one. The case of host names is ignored.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let is_host = |host: &String| host.eq_ignore_ascii_case(name);
        let mut exact = self.common_names.iter().chain(&self.uris);
        exact.any(|one| one == name) || self.hosts.iter().any(is_host)
    }

    /// Returns all names.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.common_names, &self.hosts, &self.uris];
        lists.into_iter().flatten().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_its_kind() {
        let one = |name: &str| vec![name.to_owned()];
        let names = CertificateNames {
            common_names: one("Uplink"),
            hosts: one("r7.example"),
            uris: one("spiffe://a/R"),
        };
        for (name, is_its) in [
            ("Uplink", true),
            ("uplink", false),
            ("R7.Example", true),
            ("7.example", false),
            ("spiffe://a/R", true),
            ("spiffe://a/r", false),
            ("", false),
        ] {
            assert_eq!(names.has(name), is_its, "{name}");
        }
        assert_eq!(names.all().count(), 3);
    }
}
