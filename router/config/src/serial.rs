// SPDX-License-Identifier: MIT OR Apache-2.0

//! Serialisation of a configuration with serde, and aliases with the reference's names.

use serde_core::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value as Json};

use super::{AnyError, Config, ConfigError};

impl Config {
    /// The value of a key or section as JSON; the reference's name of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// The key does not exist.
    pub fn get_json(&self, key: &str) -> Result<String, AnyError> {
        Ok(self.to_json(key)?)
    }

    /// Alias of [`get_json`](Self::get_json) with the name that the reference uses for a session's
    /// configuration.
    ///
    /// # Errors
    /// The key does not exist.
    pub fn get(&self, key: &str) -> Result<String, AnyError> {
        self.get_json(key)
    }

    /// Restores the default of a key, or of every key of a section.
    ///
    /// ```
    /// let mut config = zonda_config::Config::default();
    /// config.insert_json5("timestamping/enabled", "true")?;
    /// config.remove("timestamping/enabled")?;
    /// assert!(!config.is_set("timestamping/enabled"));
    /// # Ok::<(), zonda_config::AnyError>(())
    /// ```
    ///
    /// # Errors
    /// The key does not exist.
    pub fn remove<K: AsRef<str>>(&mut self, key: K) -> Result<(), AnyError> {
        Ok(self.forget(key.as_ref())?)
    }

    /// Sets the item with the given id in a list, at `key/id=ID`: replaces the existing item or
    /// appends it. Returns false, without any change, if the key has another form.
    ///
    /// ```
    /// let mut config = zonda_config::Config::default();
    /// let rule = "{ id: 'all', flows: ['egress'], size_limit: 8192, key_exprs: ['**'], messages: ['put'] }";
    /// assert!(config.try_insert_json5_array_item("low_pass_filter/id=all", rule)?);
    /// assert!(config.get_json("low_pass_filter")?.contains("8192"));
    /// assert!(config.try_remove_json5_array_item("low_pass_filter/id=all")?);
    /// assert_eq!(config.get_json("low_pass_filter")?, "[]");
    /// # Ok::<(), zonda_config::AnyError>(())
    /// ```
    ///
    /// # Errors
    /// The item is not JSON5, or not of the list's kind, or there is no such list.
    pub fn try_insert_json5_array_item(
        &mut self,
        key: &str,
        value: &str,
    ) -> Result<bool, AnyError> {
        Ok(self.insert_item(key, value)?)
    }

    /// Removes the item with the given id from a list, at `key/id=ID`. Returns true if the key has
    /// this form and the item existed.
    ///
    /// # Errors
    /// There is no such list.
    pub fn try_remove_json5_array_item<K: AsRef<str>>(&mut self, key: K) -> Result<bool, AnyError> {
        Ok(self.remove_item(key.as_ref())?)
    }

    /// Builds a configuration from the data of a deserializer; absent keys have their defaults.
    ///
    /// # Errors
    /// The errors of the deserializer, or the fault of the configuration.
    pub fn from_deserializer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    pub(super) fn insert_item(&mut self, key: &str, value: &str) -> Result<bool, ConfigError> {
        let Some((list, id)) = key.rsplit_once("/id=") else {
            return Ok(false);
        };
        let mut items = self.items(list)?;
        // The insertion into a scratch configuration checks the item and reports its faults.
        let mut scratch = Config::default();
        scratch.set_json5(list, &format!("[{value}]"))?;
        let item = scratch.items(list)?.pop().unwrap_or_default();
        match items.iter_mut().find(|item| has_id(item, id)) {
            Some(place) => *place = item,
            None => items.push(item),
        }
        self.set_json5(list, &Json::Array(items).to_string())?;
        Ok(true)
    }

    pub(super) fn remove_item(&mut self, key: &str) -> Result<bool, ConfigError> {
        let Some((list, id)) = key.rsplit_once("/id=") else {
            return Ok(false);
        };
        let mut items = self.items(list)?;
        let before = items.len();
        items.retain(|item| !has_id(item, id));
        let is_removed = items.len() < before;
        self.set_json5(list, &Json::Array(items).to_string())?;
        Ok(is_removed)
    }

    fn items(&self, list: &str) -> Result<Vec<Json>, ConfigError> {
        let text = self.to_json(list)?;
        let json = serde_json::from_str(&text).unwrap_or_default();
        Ok(match json {
            Json::Array(items) => items,
            _ => Vec::new(),
        })
    }
}

fn has_id(item: &Json, id: &str) -> bool {
    item.get("id").and_then(Json::as_str) == Some(id)
}

/// Serialises the values that are set, without the defaults.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut root = Map::new();
        for (path, setting) in &self.settings {
            let text = setting.value.to_string();
            let value: Json = serde_json::from_str(&text).unwrap_or_default();
            place(&mut root, path, value);
        }
        Json::Object(root).serialize(serializer)
    }
}

/// Inserts a value at its path.
fn place(section: &mut Map<String, Json>, path: &str, value: Json) {
    match path.split_once('/') {
        None => {
            section.insert(path.to_owned(), value);
        }
        Some((name, rest)) => {
            let below = section
                .entry(name)
                .or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(below) = below {
                place(below, rest, value);
            }
        }
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Config::from_json5(&json.to_string()).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_serde() -> Result<(), AnyError> {
        let mut config = Config::default();
        config.insert_json5("mode", "'router'")?;
        config.insert_json5("listen/endpoints", "['tcp/127.0.0.1:0']")?;
        config.insert_json5("scouting/multicast/enabled", "false")?;
        let text = serde_json::to_string(&config)?;
        let read: Config = serde_json::from_str(&text)?;
        assert_eq!(serde_json::to_string(&read)?, text);
        assert_eq!(read.get_json("listen/endpoints")?, "[\"tcp/127.0.0.1:0\"]");
        assert!(!read.is_set("listen/timeout_ms"));
        assert!(serde_json::from_str::<Config>("{\"no_such_key\":1}").is_err());
        config.remove("mode")?;
        assert!(!config.is_set("mode") && config.remove("nothing").is_err());
        assert!(!config.try_insert_json5_array_item("low_pass_filter", "{}")?);
        Ok(())
    }
}
