// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of files: none leaves the folder, and no two keys share one.

use std::path::PathBuf;

use crate::escape::{escape, unescape};

/// File of a key that is a folder, too: `a/%self` for the key `a` beside `a/b`.
pub const SELF: &str = "%self";

/// Longest name of a file, and longest path, in bytes.
const NAME_MAX: usize = 255;
const PATH_MAX: usize = 3500;

/// Returns the path of a name below the folder.
///
/// # Errors
/// The reason why the name has none.
pub fn path_of(name: &str) -> Result<PathBuf, &'static str> {
    if name.is_empty() {
        return Ok(PathBuf::from(SELF));
    }
    if name.len() > PATH_MAX {
        return Err("it is too long for a path");
    }
    let mut path = PathBuf::new();
    for chunk in name.split('/') {
        if chunk.is_empty() {
            return Err("it has an empty chunk");
        }
        let file = escaped(chunk);
        if file.len() > NAME_MAX {
            return Err("a chunk of it is too long for the name of a file");
        }
        path.push(file);
    }
    Ok(path)
}

/// Returns true if a character cannot be part of the name of a file, or has a meaning there.
fn is_special(c: char, at: usize) -> bool {
    let is_odd = matches!(c, '%' | '\\' | ':') || c.is_control();
    is_odd || (c == '.' && at == 0)
}

fn escaped(chunk: &str) -> String {
    let mut file = String::with_capacity(chunk.len());
    escape(&mut file, chunk, is_special);
    file
}

/// Returns the chunk that the name of a file or folder stands for; `None` for a hidden file, and
/// for a name that no key has.
pub fn chunk_of(file: &str) -> Option<String> {
    if file.starts_with('.') {
        return None;
    }
    let chunk = unescape(file)?;
    (escaped(&chunk) == file).then_some(chunk)
}

/// Returns the encoding that the name of a file tells; empty if it tells none.
pub fn encoding_of(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "json" => "application/json",
        "json5" => "text/json5",
        "txt" | "log" => "text/plain",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        "css" => "text/css",
        "js" => "text/javascript",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "mp4" => "video/mp4",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use super::*;

    #[test]
    fn no_name_leaves_the_folder() {
        for name in [
            "..",
            "../x",
            "a/../../x",
            ".",
            "./x",
            ".zonda",
            "a\0b",
            "c:",
            "\\\\host\\x",
            "a\nb",
        ] {
            let path = path_of(name).expect(name);
            let is_plain = |component: Component<'_>| matches!(component, Component::Normal(_));
            assert!(path.components().all(is_plain), "{name:?}: {path:?}");
            let text = path.to_str().expect("text");
            assert!(
                !text.contains(['\0', '\\', ':', '\n']) && !text.starts_with('.'),
                "{text}"
            );
            let chunks: Option<Vec<_>> = text.split('/').map(chunk_of).collect();
            assert_eq!(chunks.map(|chunks| chunks.join("/")).as_deref(), Some(name));
        }
        for name in [
            "/",
            "/etc/passwd",
            "a//b",
            "a/",
            &"x".repeat(256),
            &"a/".repeat(4000),
        ] {
            assert!(path_of(name).is_err(), "{name:.20}");
        }
        for file in [SELF, ".hidden", "100%", "%zz", "%41", "%", "%ff"] {
            assert_eq!(chunk_of(file), None, "{file}");
        }
        assert_eq!(chunk_of("a b,ü.json").as_deref(), Some("a b,ü.json"));
    }
}
