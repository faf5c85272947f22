//! What of a repository moves: history, references, the index, and the settings that name no program.

use super::name::parts;

/// Files of `.git` that move as they are.
const FILES: [&[u8]; 5] = [b"HEAD", b"ORIG_HEAD", b"index", b"packed-refs", b"shallow"];
/// The configuration, of which [`plain_config`] moves.
pub(super) const CONFIG: &[u8] = b"config";

/// Returns whether a file below `.git` moves.
pub(super) fn has_file(below: &[u8]) -> bool {
    let is_hex = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_hexdigit);
    let found: Vec<&[u8]> = parts(below).collect();
    match *found {
        [one] => FILES.contains(&one) || one == CONFIG,
        [b"objects", b"pack", name] => {
            let name = name.strip_prefix(b"pack-").unwrap_or_default();
            let ends: [&[u8]; 3] = [b".pack", b".idx", b".rev"];
            let mut stems = ends.iter().filter_map(|end| name.strip_suffix(*end));
            stems.any(is_hex)
        }
        [b"objects", two, rest] => two.len() == 2 && is_hex(two) && is_hex(rest),
        [b"refs", .., last] => !last.ends_with(b".lock"),
        _ => false,
    }
}

/// Returns whether a folder below `.git`, or itself, moves.
pub(super) fn has_folder(below: &[u8]) -> bool {
    let found: Vec<&[u8]> = parts(below).collect();
    match *found {
        [b"" | b"objects"] | [b"refs", ..] | [b"objects", b"pack"] => true,
        [b"objects", two] => two.len() == 2 && two.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

/// Returns the settings that move: none names a program, another file, or a password.
pub(super) fn plain_config(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut section: Option<(&str, Option<&str>)> = None;
    let mut written = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = header(line);
            continue;
        }
        let (Some((name, of)), Some((key, value))) = (section, line.split_once('=')) else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim();
        if !is_plain(name, &key, value) {
            continue;
        }
        if written != section {
            plain.push_str(&match of {
                Some(of) => format!("[{name} \"{of}\"]\n"),
                None => format!("[{name}]\n"),
            });
            written = section;
        }
        plain.push_str(&format!("\t{key} = {value}\n"));
    }
    plain.into_bytes()
}

/// Parses `[name]` or `[name "of"]`, if settings below it may move.
fn header(line: &str) -> Option<(&str, Option<&str>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let Some((name, of)) = inner.split_once(' ') else {
        return ["core", "extensions", "user"]
            .contains(&inner)
            .then_some((inner, None));
    };
    let of = of.strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = !of.is_empty()
        && of
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
    (is_plain && ["remote", "branch"].contains(&name)).then_some((name, Some(of)))
}

fn is_plain(section: &str, key: &str, value: &str) -> bool {
    let is_text = !value.is_empty()
        && !value.starts_with('-')
        && !value.contains(|c: char| c.is_control() || "\\\";#".contains(c));
    let is_switch = ["true", "false"].contains(&value);
    let is_reference = |text: &str| text.trim_start_matches('+').starts_with("refs/");
    is_text
        && match (section, key) {
            ("core", "repositoryformatversion") => ["0", "1"].contains(&value),
            ("core", "filemode" | "bare" | "logallrefupdates") => is_switch,
            ("extensions", "objectformat") => ["sha1", "sha256"].contains(&value),
            ("user", "name" | "email") => true,
            ("remote", "url") => is_plain_url(value),
            ("remote", "fetch") | ("branch", "merge") => is_reference(value),
            ("branch", "remote") => !value.contains(':'),
            _ => false,
        }
}

/// Returns whether an address of a remote starts no program of its own, and has no password.
fn is_plain_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        // `git@host:path`, or a path. Anything with `::` names a program.
        return !url.contains("::") && (url.starts_with("git@") || url.starts_with('/'));
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    match scheme {
        "ssh" => !user.contains(':') && !authority.starts_with('-'),
        "https" | "http" => user.is_empty(),
        "file" => true,
        _ => false,
    }
}
