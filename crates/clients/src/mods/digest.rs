//! Digests over all files of a plugin.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Maximum size of a manifest that is read, in bytes.
const MANIFEST_MAX: u64 = 4 * 1_048_576;
/// Maximum number of files and folders of a plugin that are examined.
pub(super) const ENTRIES_MAX: usize = 2_000;
/// Maximum number of bytes of a plugin that are examined.
const BYTES_MAX: u64 = 64 * 1_048_576;
/// Maximum depth of a plugin's folders.
const DEPTH_MAX: usize = 32;

/// Reads a manifest; returns `None` if it does not exist, is too large, or is not JSON.
pub(crate) fn manifest(path: &Path) -> Option<Value> {
    let data = fs::metadata(path).ok()?;
    if !data.is_file() || data.len() > MANIFEST_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns the digest of a file, or of everything below a folder.
///
/// If that is too much, cannot be read, or has links that lead out of it, the digest is unique.
pub(crate) fn digest(plugin: &Path) -> String {
    of_all(&[plugin.to_owned()], "")
}

/// Returns the digest of `text` and of several files or folders.
pub(super) fn of_all(places: &[PathBuf], text: &str) -> String {
    let mut reading = Reading {
        hasher: Sha256::new(),
        entries: ENTRIES_MAX,
        bytes: BYTES_MAX,
    };
    reading.hasher.update(text);
    let mut whole = true;
    for place in places {
        whole &= reading.add(place, place);
    }
    let sum: String = reading
        .hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // This never equals an accepted digest, which always covers everything.
    if whole { sum } else { unread(&sum) }
}

/// Returns a substitute for a digest if not everything could be read.
pub(super) fn unread(what: &str) -> String {
    format!("part-of-{what}")
}

/// The remaining limits while reading a plugin.
struct Reading {
    hasher: Sha256,
    entries: usize,
    bytes: u64,
}

impl Reading {
    /// Adds a path; returns `false` if it is too much or cannot be read.
    fn add(&mut self, plugin: &Path, place: &Path) -> bool {
        let (Ok(data), Some(left)) = (fs::symlink_metadata(place), self.entries.checked_sub(1))
        else {
            return false;
        };
        self.entries = left;
        let name = place.strip_prefix(plugin).unwrap_or(place);
        self.hasher.update(name.as_os_str().as_encoded_bytes());
        self.hasher.update([0]);
        if data.is_dir() {
            let children = children(place);
            return name.components().count() < DEPTH_MAX
                && children.iter().all(|child| self.add(plugin, child));
        }
        if data.is_symlink() {
            return self.add_link(plugin, place);
        }
        if !data.is_file() || data.len() > self.bytes {
            return false;
        }
        self.bytes -= data.len();
        let Ok(content) = fs::read(place) else {
            return false;
        };
        self.hasher.update(data.len().to_be_bytes());
        self.hasher.update(&content);
        true
    }

    /// Adds a link: a target outside the plugin could change unnoticed.
    fn add_link(&mut self, plugin: &Path, link: &Path) -> bool {
        let (Ok(to), Ok(real), Ok(root)) = (
            fs::read_link(link),
            link.canonicalize(),
            plugin.canonicalize(),
        ) else {
            return false;
        };
        self.hasher.update(to.as_os_str().as_encoded_bytes());
        self.hasher.update([0]);
        link != plugin && real.starts_with(root)
    }
}

/// Lists the entries of a folder, sorted by name.
pub(crate) fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests;
