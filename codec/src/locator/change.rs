// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to the parts of an [`Endpoint`]. A change that would not make an endpoint is an error and changes nothing.

use std::borrow::Borrow;
use std::fmt;

use super::{Endpoint, EndpointError, Options, Part, quoted};

impl Endpoint {
    /// Returns the protocol, to be replaced.
    pub fn protocol_mut(&mut self) -> PartMut<'_> {
        PartMut {
            endpoint: self,
            place: Place::Protocol,
        }
    }

    /// Returns the address, to be replaced.
    pub fn address_mut(&mut self) -> PartMut<'_> {
        PartMut {
            endpoint: self,
            place: Place::Address,
        }
    }

    /// Returns the metadata, to be changed.
    ///
    /// ```
    /// use zonda_codec::Endpoint;
    /// let mut endpoint: Endpoint = "tcp/localhost:7447".parse()?;
    /// endpoint.metadata_mut().insert("rel", "1")?;
    /// endpoint.config_mut().extend_from_iter([("iface", "lo"), ("bind", "127.0.0.1:0")].into_iter())?;
    /// assert_eq!(endpoint.as_str(), "tcp/localhost:7447?rel=1#bind=127.0.0.1:0;iface=lo");
    /// endpoint.config_mut().remove("bind")?;
    /// assert!(endpoint.metadata_mut().insert("rel", "0;prio=1").is_err());
    /// assert_eq!(endpoint.as_str(), "tcp/localhost:7447?rel=1#iface=lo");
    /// # Ok::<(), zonda_codec::EndpointError>(())
    /// ```
    pub fn metadata_mut(&mut self) -> OptionsMut<'_> {
        OptionsMut {
            endpoint: self,
            section: Section::Metadata,
        }
    }

    /// Returns the options of the local side, to be changed.
    pub fn config_mut(&mut self) -> OptionsMut<'_> {
        OptionsMut {
            endpoint: self,
            section: Section::Config,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Protocol,
    Address,
}

/// The protocol or the address of an endpoint, to be replaced.
pub struct PartMut<'a> {
    endpoint: &'a mut Endpoint,
    place: Place,
}

impl PartMut<'_> {
    fn part(&self) -> Part<'_> {
        match self.place {
            Place::Protocol => self.endpoint.protocol(),
            Place::Address => self.endpoint.address(),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.part().as_str()
    }

    /// Replaces the text.
    ///
    /// # Errors
    /// The text is not a protocol or an address.
    pub fn set(&mut self, text: &str) -> Result<(), EndpointError> {
        let old = &*self.endpoint;
        let (protocol, address) = match self.place {
            Place::Protocol => (text, old.address().as_str()),
            Place::Address => (old.proto(), text),
        };
        let new = Endpoint::new(protocol, address, old.metadata(), old.config())?;
        let is_as_given = match self.place {
            Place::Protocol => new.protocol() == *text,
            Place::Address => new.address() == *text,
        };
        if !is_as_given {
            return Err(EndpointError::NotAPart { text: quoted(text) });
        }
        *self.endpoint = new;
        Ok(())
    }
}

impl AsRef<str> for PartMut<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for PartMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PartMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy)]
enum Section {
    Metadata,
    Config,
}

/// The metadata or the local options of an endpoint, to be changed.
pub struct OptionsMut<'a> {
    endpoint: &'a mut Endpoint,
    section: Section,
}

impl OptionsMut<'_> {
    fn options(&self) -> Options<'_> {
        match self.section {
            Section::Metadata => self.endpoint.metadata(),
            Section::Config => self.endpoint.config(),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.options().as_str()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.options().is_empty()
    }

    /// Sets the value of a key, in place of its previous one.
    ///
    /// # Errors
    /// The key or the value cannot stand in an endpoint, or the endpoint is too long with it.
    pub fn insert<K, V>(&mut self, key: K, value: V) -> Result<(), EndpointError>
    where
        K: Borrow<str>,
        V: Borrow<str>,
    {
        self.replace(&[(key.borrow(), value.borrow())])
    }

    /// Sets the values of several keys. Either all are set or none.
    ///
    /// # Errors
    /// The errors of [`insert`](Self::insert), for the first entry that has one.
    pub fn extend_from_iter<'s, I, K, V>(&mut self, entries: I) -> Result<(), EndpointError>
    where
        I: Iterator<Item = (&'s K, &'s V)>,
        K: Borrow<str> + ?Sized + 's,
        V: Borrow<str> + ?Sized + 's,
    {
        let entries: Vec<_> = entries.map(|(k, v)| (k.borrow(), v.borrow())).collect();
        self.replace(&entries)
    }

    /// Removes a key and its value.
    ///
    /// # Errors
    /// None today; the type is the one of the other changes.
    pub fn remove<K: Borrow<str>>(&mut self, key: K) -> Result<(), EndpointError> {
        let key = key.borrow();
        let options = self.options();
        let text = text_of(options.iter().filter(|(other, _)| *other != key));
        self.set(&text)
    }

    fn replace(&mut self, entries: &[(&str, &str)]) -> Result<(), EndpointError> {
        for (key, value) in entries {
            let reserved = |c: char| matches!(c, ';' | '#' | '?');
            if key.is_empty()
                || key.contains('=')
                || key.contains(reserved)
                || value.contains(reserved)
            {
                let text = quoted(&format!("{key}={value}"));
                return Err(EndpointError::NotAPart { text });
            }
        }
        // The last of equal keys counts, as if each were inserted by itself.
        let mut kept: Vec<_> = self.options().iter().collect();
        for (key, value) in entries {
            kept.retain(|(other, _)| other != key);
            kept.push((key, value));
        }
        let text = text_of(kept.into_iter());
        self.set(&text)
    }

    fn set(&mut self, text: &str) -> Result<(), EndpointError> {
        let old = &*self.endpoint;
        let (metadata, config) = (old.metadata(), old.config());
        let (metadata, config) = match self.section {
            Section::Metadata => (text, config.as_str()),
            Section::Config => (metadata.as_str(), text),
        };
        *self.endpoint = Endpoint::new(old.proto(), old.address(), metadata, config)?;
        Ok(())
    }
}

fn text_of<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (key, value) in entries {
        if !text.is_empty() {
            text.push(';');
        }
        text.push_str(key);
        if !value.is_empty() {
            text.push('=');
            text.push_str(value);
        }
    }
    text
}

impl AsRef<str> for OptionsMut<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Omits private keys, as [`Options`] does.
impl fmt::Display for OptionsMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.options(), f)
    }
}

impl fmt::Debug for OptionsMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.options(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced_and_nothing_else_changes() {
        let mut endpoint: Endpoint = "tcp/h:1?prio=1-3#iface=lo".parse().unwrap();
        endpoint.protocol_mut().set("quic").unwrap();
        endpoint.address_mut().set("[::1]:2").unwrap();
        assert_eq!(endpoint.as_str(), "quic/[::1]:2?prio=1-3#iface=lo");
        for wrong in ["", "h:1?rel=1", "h:1#iface=x"] {
            assert!(endpoint.address_mut().set(wrong).is_err(), "{wrong}");
        }
        assert!(endpoint.protocol_mut().set("tcp/x").is_err());
        assert_eq!(endpoint.as_str(), "quic/[::1]:2?prio=1-3#iface=lo");
    }

    #[test]
    fn options_are_inserted_replaced_and_removed() {
        let mut endpoint: Endpoint = "tcp/h:1#b=1".parse().unwrap();
        endpoint
            .config_mut()
            .insert("a", String::from("x=y"))
            .unwrap();
        endpoint.config_mut().insert("b", "2").unwrap();
        assert_eq!(endpoint.config_mut().as_str(), "a=x=y;b=2");
        let more = [
            ("b".to_owned(), "3".to_owned()),
            ("c".to_owned(), String::new()),
        ];
        let more = more.iter().map(|(key, value)| (key, value));
        endpoint.config_mut().extend_from_iter(more).unwrap();
        assert_eq!(endpoint.as_str(), "tcp/h:1#a=x=y;b=3;c");
        for (key, value) in [("", "1"), ("a=b", "1"), ("a", "1;c=2"), ("a", "1#c")] {
            assert!(endpoint.config_mut().insert(key, value).is_err());
        }
        for key in ["a", "b", "c", "never there"] {
            endpoint.config_mut().remove(key).unwrap();
        }
        assert!(endpoint.config_mut().is_empty());
        assert_eq!(endpoint.as_str(), "tcp/h:1");
        assert!(
            endpoint
                .metadata_mut()
                .insert("a", "x".repeat(300))
                .is_err()
        );
    }
}
