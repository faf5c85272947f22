//! The index of a project's git repository, as far as needed.

use std::collections::BTreeMap;

use super::list::repository;
use crate::{disk::Disk, path::is_within};

/// Maximum size of an index in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of bytes of an entry before its path.
const HEAD: usize = 62;

/// Files in the index, with their state when git last examined them.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Modification time in seconds and size, by absolute path.
    files: BTreeMap<String, (u64, u64)>,
    /// Whether the index exists but cannot be read.
    unknown: bool,
}

impl Index {
    /// Returns whether no file at or below a path is in the index.
    pub(super) fn holds_none_below(&self, path: &str) -> bool {
        self.unknown || !self.files.keys().any(|file| is_within(file, path))
    }

    /// Returns whether some file at or below a path is in the index and has changed.
    pub(super) fn differs_below(&self, path: &str, disk: &dyn Disk) -> bool {
        let differs = |file: &str, (modified, size): (u64, u64)| {
            disk.stamp(file).is_none_or(|stamp| {
                let [written, _] = stamp.times;
                u64::try_from(written / 1_000_000_000).ok() != Some(modified)
                    || stamp.size() != size
            })
        };
        self.unknown
            || self
                .files
                .iter()
                .filter(|(file, _)| is_within(file, path))
                .any(|(file, known)| differs(file, *known))
    }
}

/// Reads the index of the project's repository.
pub(super) fn read(root: &str, disk: &dyn Disk) -> Index {
    let Some(directory) = repository(root, disk) else {
        return Index::default();
    };
    let work_tree = directory.rsplit_once('/').map_or(root, |(above, _)| above);
    match disk.read(&format!("{directory}/index"), BYTES_MAX) {
        Ok(None) => Index::default(),
        Ok(Some(bytes)) => entries(&bytes, work_tree).unwrap_or(Index {
            files: BTreeMap::new(),
            unknown: true,
        }),
        Err(_) => Index {
            files: BTreeMap::new(),
            unknown: true,
        },
    }
}

fn entries(bytes: &[u8], root: &str) -> Option<Index> {
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let known = bytes.starts_with(b"DIRC") && matches!(number(4)?, 2 | 3);
    if !known {
        return None;
    }
    let mut files = BTreeMap::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        // Times, device, inode, mode, owner, size, digest, flags; then the path.
        let (modified, size) = (number(at + 8)?, number(at + 36)?);
        let flags = number(at + 58)? & 0xffff;
        let begin = at + HEAD + if flags & 0x4000 == 0 { 0 } else { 2 };
        let length = bytes.get(begin..)?.iter().position(|byte| *byte == 0)?;
        let path = bytes.get(begin..begin + length)?;
        let path = format!("{root}/{}", String::from_utf8_lossy(path));
        files.insert(path, (u64::from(modified), u64::from(size)));
        // Padded with zeros to a multiple of eight.
        at += (begin - at + length) / 8 * 8 + 8;
    }
    Some(Index {
        files,
        unknown: false,
    })
}
