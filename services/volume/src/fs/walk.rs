// SPDX-License-Identifier: MIT OR Apache-2.0

//! The names of all files below a folder, in the order of their bytes, read folder by folder.

use std::io;
use std::path::{Path, PathBuf};

use super::names::{SELF, chunk_of};

/// A file, or a folder to read.
struct Item {
    /// Name of a file, or what all names in a folder begin with, with `/` at its end.
    order: String,
    folder: Option<PathBuf>,
}

/// The names from one on.
pub struct Walk {
    from: String,
    follow_links: bool,
    /// Items that are left of each open folder, the last one first.
    open: Vec<Vec<Item>>,
}

impl Walk {
    pub fn new(folder: &Path, from: &str, follow_links: bool) -> io::Result<Walk> {
        let mut walk = Walk {
            from: from.to_owned(),
            follow_links,
            open: Vec::new(),
        };
        let mut first = walk.read(folder, "")?;
        if from.is_empty() && is_file(&folder.join(SELF), follow_links) {
            let order = String::new();
            first.push(Item {
                order,
                folder: None,
            });
        }
        walk.open.push(first);
        Ok(walk)
    }

    /// Returns the items of a folder, the last one first. A folder that is gone has none.
    fn read(&self, folder: &Path, prefix: &str) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(items),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Some(chunk) = entry.file_name().to_str().and_then(chunk_of) else {
                continue;
            };
            let (path, name) = (entry.path(), format!("{prefix}{chunk}"));
            let is_own_file = match is_folder(&path, self.follow_links) {
                true => is_file(&path.join(SELF), self.follow_links),
                false => is_file(&path, self.follow_links),
            };
            if is_folder(&path, self.follow_links) {
                let order = format!("{name}/");
                if order >= self.from || self.from.starts_with(&order) {
                    let folder = Some(path);
                    items.push(Item { order, folder });
                }
            }
            if is_own_file && name >= self.from {
                let order = name;
                items.push(Item {
                    order,
                    folder: None,
                });
            }
        }
        items.sort_by(|a, b| b.order.cmp(&a.order));
        Ok(items)
    }
}

impl Iterator for Walk {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(item) = self.open.last_mut()?.pop() else {
                self.open.pop();
                continue;
            };
            let Some(folder) = item.folder else {
                return Some(Ok(item.order));
            };
            match self.read(&folder, &item.order) {
                Ok(items) => self.open.push(items),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn metadata(path: &Path, follow_links: bool) -> Option<std::fs::Metadata> {
    match follow_links {
        true => std::fs::metadata(path).ok(),
        false => std::fs::symlink_metadata(path).ok(),
    }
}

pub fn is_file(path: &Path, follow_links: bool) -> bool {
    metadata(path, follow_links).is_some_and(|metadata| metadata.is_file())
}

pub fn is_folder(path: &Path, follow_links: bool) -> bool {
    metadata(path, follow_links).is_some_and(|metadata| metadata.is_dir())
}
