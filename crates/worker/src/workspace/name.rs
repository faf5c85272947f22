//! Names of files and targets of links: what may be recorded and restored.

use super::archive::PATH_MAX;

/// The maximum number of folders above a file.
const DEPTH_MAX: usize = 128;
/// The folder of a repository.
pub(super) const GIT: &[u8] = b".git";

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadName {
    #[error("is an absolute path")]
    Absolute,
    #[error("leads out of its folder")]
    Out,
    #[error("is not a path that can be restored")]
    Path,
    #[error("could be taken for `.git`")]
    LooksLikeGit,
}

/// Checks a path relative to the project.
pub(super) fn check(path: &[u8]) -> Result<(), BadName> {
    if path.first() == Some(&b'/') {
        return Err(BadName::Absolute);
    }
    if path.len() > PATH_MAX || path.contains(&0) || parts(path).count() > DEPTH_MAX {
        return Err(BadName::Path);
    }
    for part in parts(path) {
        match part {
            b".." => return Err(BadName::Out),
            b"" | b"." => return Err(BadName::Path),
            GIT => {}
            other if folded(other) == GIT => return Err(BadName::LooksLikeGit),
            _ => {}
        }
    }
    Ok(())
}

/// Checks the target of a symbolic link at `path`: it stays in the project, also if parts of it are links themselves.
///
/// Only its beginning leads upwards, from a folder that is no link.
pub(super) fn check_target(path: &[u8], target: &[u8]) -> Result<(), BadName> {
    if target.first() == Some(&b'/') {
        return Err(BadName::Absolute);
    }
    if target.is_empty() || target.len() > PATH_MAX || target.contains(&0) {
        return Err(BadName::Path);
    }
    let above = parts(path).count().saturating_sub(1);
    let mut up = 0;
    let mut is_down = false;
    for part in parts(target) {
        match part {
            b".." if is_down => return Err(BadName::Out),
            b".." => up += 1,
            b"" | b"." => {}
            _ => is_down = true,
        }
    }
    if up > above {
        return Err(BadName::Out);
    }
    Ok(())
}

pub(super) fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

/// Returns the folder of a path; `None` if it is the project itself.
pub(super) fn parent(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().rposition(|byte| *byte == b'/')?;
    path.get(..at)
}

/// Returns what is below the first `.git` of a path; empty for the folder itself, `None` if it is in no repository's folder.
pub(super) fn below_git(path: &[u8]) -> Option<&[u8]> {
    let mut rest = path;
    loop {
        let (first, after) = match rest.iter().position(|byte| *byte == b'/') {
            Some(at) => rest.split_at(at),
            None => (rest, &[][..]),
        };
        let after = after.strip_prefix(b"/").unwrap_or(after);
        if first == GIT {
            return Some(after);
        }
        if after.is_empty() {
            return None;
        }
        rest = after;
    }
}

/// Returns a name as file systems compare it that ignore case and invisible characters.
fn folded(name: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(name);
    let is_seen = |c: &char| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen: String = text.chars().filter(is_seen).collect();
    let text = seen.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    let text = if text == "git~1" {
        ".git".to_owned()
    } else {
        text
    };
    text.into_bytes()
}
