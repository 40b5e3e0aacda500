// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folder for the files of one test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Folder below that for temporary files, which is removed when this is dropped.
///
/// ```
/// let folder = zonda_testkit::Folder::new("example");
/// std::fs::write(folder.file("a"), "text").expect("room");
/// assert!(folder.path().join("a").is_file());
/// ```
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates the folder. Its name has `name`, the number of the process and a number of its own.
    ///
    /// # Panics
    /// If the system does not create it.
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("zonda-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in it, as text.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error leaves it in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
