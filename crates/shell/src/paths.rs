//! Paths as text: absolute and normalised, without access to any disk.

use interlock_core::facts::PathText;

use crate::value::Arg;
use crate::words::words;

/// Resolves the path that a word names, relative to `directory`.
pub(crate) fn resolve(arg: &Arg, directory: Option<&str>) -> PathText {
    match arg {
        Arg::Literal(text) => match absolute(text, directory) {
            Some(path) => PathText::Whole(path),
            None => PathText::Unknown,
        },
        Arg::Dynamic(dynamic) => match dynamic.start.rsplit_once('/') {
            Some(("", partial)) => PathText::Below(format!("/{partial}")),
            Some((parent, partial)) => below(absolute(parent, directory), partial),
            // Only file names and numbers certainly contain no slash.
            None if dynamic.pattern.is_none() && !dynamic.is_number => PathText::Unknown,
            None => below(directory.map(str::to_owned), &dynamic.start),
        },
    }
}

fn below(parent: Option<String>, partial: &str) -> PathText {
    match parent.as_deref() {
        None => PathText::Unknown,
        Some("/") => PathText::Below(format!("/{partial}")),
        Some(parent) => PathText::Below(format!("{parent}/{partial}")),
    }
}

/// Returns the prefix of every path inside a directory.
pub(crate) fn inside(path: PathText) -> PathText {
    match path {
        PathText::Whole(path) => below(Some(path), ""),
        other => other,
    }
}

/// Joins `path` to `directory` and removes `.`, `..` and doubled slashes.
pub(crate) fn absolute(path: &str, directory: Option<&str>) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    if path.starts_with('/') {
        return Some(normalise(path));
    }
    let directory = directory?;
    Some(normalise(&format!("{directory}/{path}")))
}

fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns whether writing to the path has no effect (`/dev/null`, the terminal).
pub(crate) fn is_sink(path: &str) -> bool {
    matches!(
        path,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/stdin"
    ) || matches!(path, "/dev/fd/0" | "/dev/fd/1" | "/dev/fd/2")
        || matches!(
            path,
            "/proc/self/fd/0" | "/proc/self/fd/1" | "/proc/self/fd/2"
        )
}

/// Returns whether the path is a device or a file of the kernel.
pub(crate) fn is_system(path: &str) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Directories whose programs are identified by their last part.
const PROGRAM_DIRECTORIES: &[&str] =
    words!("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /opt/homebrew/bin");

/// Returns the name of a program given by path, or `None` for any other file.
pub(crate) fn program_name(word: &str) -> Option<&str> {
    match word.rsplit_once('/') {
        None => Some(word),
        Some((directory, name)) if PROGRAM_DIRECTORIES.contains(&directory) && !name.is_empty() => {
            Some(name)
        }
        Some(_) => None,
    }
}
