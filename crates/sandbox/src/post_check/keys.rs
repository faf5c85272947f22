//! Files of which only some keys are protected.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use interlock_core::policy::wildcard_matches;
use serde_json::Value;

/// Returns whether a git configuration differs only in keys that `free` names.
///
/// Lines that are not clearly a section, a key or a comment must be unchanged: git accepts more forms than are parsed here.
pub(super) fn git_agrees(before: &[u8], path: &Path, free: &[String]) -> bool {
    let plain = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    let Ok(now) = fs::read(path) else {
        return false;
    };
    let (Ok(before), Ok(now)) = (std::str::from_utf8(before), std::str::from_utf8(&now)) else {
        return false;
    };
    plain && bound(before, free) == bound(now, free)
}

/// Lists every setting that is not free, in order, each with its full name.
fn bound(text: &str, free: &[String]) -> Vec<String> {
    let mut section = String::new();
    let mut bound = Vec::new();
    for line in text.lines() {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with(['#', ';']) && !line.ends_with('\\') {
            continue;
        }
        if let Some(name) = section_name(line) {
            section = name;
            continue;
        }
        let setting = setting(line).map(|(key, value)| (format!("{section}.{key}"), value));
        match setting {
            Some((name, _)) if free.iter().any(|one| wildcard_matches(one, &name)) => {}
            Some((name, value)) => bound.push(format!("{name} = {value}")),
            // Not parsed: it counts literally, with its section.
            None => bound.push(format!("{section}: {line}")),
        }
    }
    bound
}

/// Parses `[name]` or `[name "sub"]`, alone on its line.
fn section_name(line: &str) -> Option<String> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    match inside.split_once(' ') {
        None => is_name(inside).then(|| inside.to_ascii_lowercase()),
        Some((name, sub)) => {
            let sub = sub.trim_start().strip_prefix('"')?.strip_suffix('"')?;
            let plain = is_name(name) && !sub.contains(['"', '\\', '[', ']']);
            plain.then(|| format!("{}.{sub}", name.to_ascii_lowercase()))
        }
    }
}

/// Parses `key = value` without quotes, escapes or a continuation.
fn setting(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim_end_matches([' ', '\t']);
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !value.contains('\\');
    plain.then(|| {
        (
            key.to_ascii_lowercase(),
            value.trim_start_matches([' ', '\t']),
        )
    })
}

/// Maximum depth at which a key is searched: below the settings of one project is deep enough.
const DEPTH_MAX: usize = 4;

/// Returns whether two JSON files agree in the keys that `bound` names, wherever they are.
pub(super) fn json_agrees(before: &[u8], path: &Path, bound: &[String]) -> bool {
    let plain = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    let read = |bytes: &[u8]| match bytes {
        [] => Some(Value::Null),
        bytes => serde_json::from_slice::<Value>(bytes).ok(),
    };
    let (Some(before), Some(now)) = (read(before), fs::read(path).ok().and_then(|now| read(&now)))
    else {
        return false;
    };
    plain && settings(&before, bound) == settings(&now, bound)
}

/// Returns every value of the keys in `names`, by location.
fn settings<'a>(value: &'a Value, names: &[String]) -> BTreeMap<String, &'a Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value, 0)];
    while let Some((at, value, depth)) = open.pop() {
        let Value::Object(object) = value else {
            continue;
        };
        for (key, value) in object {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            if names.contains(key) {
                if !value.is_null() {
                    found.insert(at, value);
                }
            } else if depth < DEPTH_MAX {
                open.push((at, value, depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{error::Error, os::unix::fs::symlink};

    use super::*;

    fn file(text: &str) -> Result<(tempfile::TempDir, std::path::PathBuf), Box<dyn Error>> {
        let room = tempfile::tempdir()?;
        let path = room.path().join("file");
        fs::write(&path, text)?;
        Ok((room, path))
    }

    #[test]
    fn a_git_configuration_agrees_where_only_free_keys_differ() -> Result<(), Box<dyn Error>> {
        let free = ["branch.*".to_owned(), "user.name".to_owned()];
        let before = "[core]\n\tbare = false\n[user]\n\tname = ana\n\temail = a@example.org\n";
        let rows = [
            ("the same", before.to_owned(), true),
            ("a free key", before.replace("ana", "ben"), true),
            (
                "another key of its section",
                before.replace("a@", "b@"),
                false,
            ),
            (
                "a free key in a bound section",
                before.replace("bare = false", "bare = false\n\tname = x"),
                false,
            ),
            (
                "a bound key that is gone",
                before.replace("\tbare = false\n", ""),
                false,
            ),
            (
                "a free section",
                format!("{before}[branch \"main\"]\n\tremote = origin\n"),
                true,
            ),
            (
                "one that only begins so",
                format!("{before}[branches \"main\"]\n\tremote = origin\n"),
                false,
            ),
            (
                "a section whose name is not plain",
                format!("{before}[branch.a \"main\"]\n\tremote = origin\n"),
                false,
            ),
            ("a comment", format!("# x\n{before}; y\n"), true),
            ("a comment that goes on", format!("# x\\\n{before}"), false),
            (
                "a line that is not understood",
                format!("{before}[branch \"a\\\\b\"]\n"),
                false,
            ),
            (
                "a value that goes on",
                format!("{before}[branch \"main\"]\n\tremote = a\\\n"),
                false,
            ),
        ];
        for (what, now, agrees) in rows {
            let (_room, path) = file(&now)?;
            assert_eq!(
                git_agrees(before.as_bytes(), &path, &free),
                agrees,
                "{what}"
            );
        }
        let (room, path) = file(before)?;
        let link = room.path().join("link");
        symlink(&path, &link)?;
        assert!(!git_agrees(before.as_bytes(), &link, &free), "a link");
        assert!(!git_agrees(
            before.as_bytes(),
            &room.path().join("gone"),
            &free
        ));
        Ok(())
    }

    #[test]
    fn a_json_file_agrees_where_no_bound_key_differs() -> Result<(), Box<dyn Error>> {
        let bound = ["hooks".to_owned(), "permissions".to_owned()];
        let before =
            r#"{"hooks": {"a": 1}, "theme": "dark", "projects": {"/p": {"permissions": [1]}}}"#;
        let rows = [
            ("the same", before.to_owned(), true),
            ("another key", before.replace("dark", "light"), true),
            ("a bound key", before.replace("\"a\": 1", "\"a\": 2"), false),
            ("a bound key below", before.replace("[1]", "[2]"), false),
            (
                "a bound key that is gone",
                before.replace("\"hooks\": {\"a\": 1}, ", ""),
                false,
            ),
            (
                "a bound key that says nothing",
                before.replace("\"theme\"", "\"permissions\": null, \"theme\""),
                true,
            ),
            ("a bound key elsewhere", before.replace("/p", "/q"), false),
            (
                "a new bound key",
                before.replace("\"theme\"", "\"permissions\": [], \"theme\""),
                false,
            ),
            ("no JSON", "{".to_owned(), false),
        ];
        for (what, now, agrees) in rows {
            let (_room, path) = file(&now)?;
            assert_eq!(
                json_agrees(before.as_bytes(), &path, &bound),
                agrees,
                "{what}"
            );
        }
        let (room, path) = file(before)?;
        let link = room.path().join("link");
        symlink(&path, &link)?;
        assert!(!json_agrees(before.as_bytes(), &link, &bound), "a link");
        // If there was no file, one without bound keys does not matter.
        let (_room, path) = file(r#"{"theme": "dark"}"#)?;
        assert!(json_agrees(b"", &path, &bound));
        let (_room, path) = file(r#"{"hooks": {}}"#)?;
        assert!(!json_agrees(b"", &path, &bound));
        Ok(())
    }
}
