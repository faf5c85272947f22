//! Reads the names in a repository's index without starting a program.

use std::{fs, path::Path};

use crate::revision::repository;

/// Maximum number of bytes read of an index.
const INDEX_MAX: u64 = 64 * 1024 * 1024;
/// Number of bytes of an entry before its object id.
const STAT: usize = 40;
/// The largest length of a name that an entry tells; of a longer one, it tells this.
const NAME_MAX: usize = 0xfff;
/// Mode of a submodule, whose files belong to another repository.
const SUBMODULE: u32 = 0o160_000;

/// The files that version control tracks below a project.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tracked {
    /// These files, relative to the project.
    Files(Vec<String>),
    /// There are more files than requested.
    TooMany,
    /// There is no repository, or its index has another format.
    Unknown,
}

/// Lists the tracked files below `project`.
pub(super) fn tracked(project: &Path, files_max: usize) -> Tracked {
    let Some((top, own)) = repository(project) else {
        return Tracked::Unknown;
    };
    let path = own.join("index");
    let Ok(about) = fs::metadata(&path) else {
        return Tracked::Unknown;
    };
    if about.len() > INDEX_MAX {
        return Tracked::TooMany;
    }
    let Ok(bytes) = fs::read(&path) else {
        return Tracked::Unknown;
    };
    let Some(names) = [20, 32].into_iter().find_map(|id| names(&bytes, id)) else {
        return Tracked::Unknown;
    };
    let below = project.strip_prefix(&top).ok().and_then(Path::to_str);
    let Some(below) = below else {
        return Tracked::Unknown;
    };
    let files: Vec<String> = names
        .into_iter()
        .filter_map(|name| match below {
            "" => Some(name),
            below => Some(name.strip_prefix(below)?.strip_prefix('/')?.to_owned()),
        })
        .collect();
    match files.len() {
        // Nothing is tracked yet: then every file counts.
        0 => Tracked::Unknown,
        count if count > files_max => Tracked::TooMany,
        _ => Tracked::Files(files),
    }
}

/// Reads the names of an index with object ids of `id` bytes; `None`: it is not such an index.
fn names(bytes: &[u8], id: usize) -> Option<Vec<String>> {
    let rest = bytes.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut names = Vec::new();
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = rest;
        let (mode, _) = number(rest.get(24..)?)?;
        rest = rest.get(STAT + id..)?;
        let (flags, after) = rest.split_first_chunk::<2>()?;
        let flags = u16::from_be_bytes(*flags);
        let extended = flags & 0x4000 != 0;
        rest = if extended { after.get(2..)? } else { after };
        if version == 4 {
            let (dropped, after) = varint(rest)?;
            last.truncate(last.len().checked_sub(dropped)?);
            rest = after;
        } else {
            last.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0)?;
        last.extend_from_slice(rest.get(..end)?);
        // With ids of another size, what is read as a name rarely has the length that its entry tells.
        if last.len().min(NAME_MAX) != usize::from(flags) & NAME_MAX {
            return None;
        }
        rest = if version == 4 {
            rest.get(end + 1..)?
        } else {
            // Filled with 1 to 8 NUL up to a multiple of 8.
            let length = start.len() - rest.len() + end;
            start.get((length / 8 + 1) * 8..)?
        };
        if mode != SUBMODULE {
            names.push(String::from_utf8(last.clone()).ok()?);
        }
    }
    whole(rest, id).then_some(names)
}

/// Returns whether an index ends like one that contains all its entries itself.
fn whole(mut rest: &[u8], id: usize) -> bool {
    while rest.len() > id {
        let Some((name, after)) = rest.split_first_chunk::<4>() else {
            return false;
        };
        let Some((length, after)) = number(after) else {
            return false;
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(after) = after.get(length..) else {
            return false;
        };
        // A shared index holds the entries; a sparse one has directories in the place of files.
        if name == b"link" || name == b"sdir" {
            return false;
        }
        rest = after;
    }
    rest.len() == id
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// Reads a number in the encoding of version 4: seven bits a byte, and each further byte adds one.
fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = usize::from(first & 0x7f);
    let mut more = first & 0x80 != 0;
    while more {
        let (byte, after) = rest.split_first()?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
        more = byte & 0x80 != 0;
        rest = after;
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::process::Command;

    use super::*;

    fn git(directory: &Path, words: &[&str]) {
        let mut git = Command::new("git");
        let output = git
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    #[test]
    fn the_names_are_those_that_git_lists() {
        for format in ["2", "3", "4"] {
            let room = tempfile::tempdir().unwrap();
            let top = room.path();
            let mut wanted = vec![
                "a".to_owned(),
                "sub/b c".to_owned(),
                "sub/deep/é".to_owned(),
                "sub/deep/abcdefgh".to_owned(),
                format!("sub/{}", "n".repeat(200)),
                // After so long a name, format 4 drops more letters than one byte counts.
                "t".to_owned(),
            ];
            for name in &wanted {
                let path = top.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, name).unwrap();
            }
            git(top, &["init", "-q"]);
            git(top, &["config", "index.version", format]);
            git(top, &["add", "-A"]);
            if format == "3" {
                // Such an entry has more flags.
                fs::write(top.join("later"), "x").unwrap();
                git(top, &["add", "--intent-to-add", "later"]);
                wanted.push("later".to_owned());
            }
            git(top, &["update-index", "--index-version", format]);
            wanted.sort();
            let sorted = |tracked: Tracked| match tracked {
                Tracked::Files(mut files) => {
                    files.sort();
                    files
                }
                other => vec![format!("{other:?}")],
            };
            assert_eq!(sorted(tracked(top, 100)), wanted, "{format}");
            let below: Vec<String> = wanted
                .iter()
                .filter_map(|name| name.strip_prefix("sub/").map(str::to_owned))
                .collect();
            assert_eq!(sorted(tracked(&top.join("sub"), 100)), below, "{format}");
            assert_eq!(tracked(top, 3), Tracked::TooMany);
        }
    }

    #[test]
    fn an_index_that_has_not_all_files_is_not_known() {
        let room = tempfile::tempdir().unwrap();
        let top = room.path();
        for name in ["a", "sub/b", "other/c"] {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        git(top, &["init", "-q"]);
        git(top, &["add", "-A"]);
        let index = top.join(".git/index");
        let whole = fs::read(&index).unwrap();
        assert!(matches!(tracked(top, 10), Tracked::Files(files) if files.len() == 3));
        // Of an unsplit index, only its own bytes count.
        let (entries, id) = whole.split_at(whole.len() - 20);
        for (more, known) in [
            (&b""[..], true),
            (b"TEST\0\0\0\x02ab", true),
            (b"TEST\0\0\0\x63ab", false),
            (b"link\0\0\0\x02ab", false),
            (b"sdir\0\0\0\0", false),
        ] {
            fs::write(&index, [entries, more, id].concat()).unwrap();
            let is_known = matches!(tracked(top, 10), Tracked::Files(_));
            assert_eq!(is_known, known, "{}", String::from_utf8_lossy(more));
        }
        // The first entry tells that its name has one letter.
        let mut other = whole.clone();
        let told = other.get_mut(12 + STAT + 20 + 1).unwrap();
        assert_eq!(std::mem::replace(told, 2), 1);
        fs::write(&index, &other).unwrap();
        assert_eq!(tracked(top, 10), Tracked::Unknown);
        fs::write(&index, &whole).unwrap();
        git(top, &["update-index", "--split-index"]);
        fs::write(top.join("d"), "d").unwrap();
        git(top, &["add", "d"]);
        assert_eq!(tracked(top, 10), Tracked::Unknown);
    }

    #[test]
    fn what_is_no_index_is_not_known() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(tracked(room.path(), 10), Tracked::Unknown);
        git(room.path(), &["init", "-q"]);
        assert_eq!(tracked(room.path(), 10), Tracked::Unknown);
        for bytes in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x02\0\0\xff\xff",
            b"DIRC\0\0\0\x09\0\0\0\0",
        ] {
            fs::write(room.path().join(".git/index"), bytes).unwrap();
            assert_eq!(tracked(room.path(), 10), Tracked::Unknown);
        }
    }
}
