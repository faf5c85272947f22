//! Compares the findings of a test with earlier ones: a list contains a digest for each finding.
//!
//! The list shows that a finding has changed, and which one. `INTERLOCK_BLESS=1` rewrites it after an intended change.
//! With `INTERLOCK_FOUND=DIRECTORY`, all findings are written there, for comparison with those of another revision.

use std::{
    collections::BTreeMap,
    fs, io,
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

/// Maximum number of differences that are listed.
const NAMED_MAX: usize = 20;
/// Minimum length of a word that is considered random.
const CHANCE_MIN: usize = 20;
/// Length of a digest in characters.
const LETTERS: usize = 12;

fn line(name: &str, text: &str) -> String {
    let digest: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let short: String = digest.chars().take(LETTERS).collect();
    format!("{short} {name}")
}

fn name_of(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, name)| name)
}

fn is_blessed() -> bool {
    std::env::var_os("INTERLOCK_BLESS").is_some()
}

fn show(name: &str, text: &str) -> io::Result<()> {
    let Some(directory) = std::env::var_os("INTERLOCK_FOUND") else {
        return Ok(());
    };
    fs::create_dir_all(&directory)?;
    fs::write(Path::new(&directory).join(name.replace('/', "__")), text)
}

/// Compares all findings of a test, by name, with the list at `path`.
///
/// # Errors
/// A finding has changed, or a file cannot be read or written.
pub fn compare(path: &Path, found: &[(String, String)]) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    for (name, text) in found {
        show(name, text).map_err(failed)?;
    }
    let lines: Vec<String> = found.iter().map(|(name, text)| line(name, text)).collect();
    if is_blessed() {
        return fs::write(path, lines.join("\n") + "\n").map_err(failed);
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let known: BTreeMap<&str, &str> = text.lines().map(|line| (name_of(line), line)).collect();
    let others: Vec<&str> = lines
        .iter()
        .filter(|line| known.get(name_of(line)) != Some(&line.as_str()))
        .map(|line| name_of(line))
        .collect();
    if others.is_empty() && known.len() == lines.len() {
        return Ok(());
    }
    let named: Vec<&str> = others.iter().take(NAMED_MAX).copied().collect();
    Err(format!(
        "{} of {} are not what they were, {} were known; `INTERLOCK_BLESS=1` writes {} anew\n  {}",
        others.len(),
        lines.len(),
        known.len(),
        path.display(),
        named.join("\n  ")
    ))
}

/// Compares one finding with a list whose other findings belong to other tests.
///
/// # Errors
/// The finding has changed, or a file cannot be read or written.
pub fn compare_one(path: &Path, name: &str, text: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    show(name, text).map_err(failed)?;
    let line = line(name, text);
    if is_blessed() {
        return write_line(path, &line).map_err(failed);
    }
    let known = fs::read_to_string(path).map_err(failed)?;
    if known.lines().any(|known| known == line) {
        return Ok(());
    }
    Err(format!(
        "what was found is not what it was; `INTERLOCK_BLESS=1` writes {} anew\n{text}",
        path.display()
    ))
}

/// Replaces the random parts of a text: tickets, digests, and stamps of files.
#[must_use]
pub fn without_chance(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_hexdigit() || letter == ':';
    let mut left = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|letter| !is_part(letter));
        let (word, after) = from.split_at(end.unwrap_or(from.len()));
        left.push_str(before);
        left.push_str(if word.len() < CHANCE_MIN { word } else { "#" });
        rest = after;
    }
    left + rest
}

/// Updates one line of a list, safely beside other processes.
fn write_line(path: &Path, line: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let others = text.lines().filter(|known| name_of(known) != name_of(line));
    let mut lines: Vec<&str> = others.chain([line]).collect();
    lines.sort_by_key(|line| name_of(line));
    file.set_len(0)?;
    file.rewind()?;
    file.write_all((lines.join("\n") + "\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{compare, compare_one, line, without_chance};

    fn found(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = all
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn words_of_chance_are_left_out_and_others_are_not() {
        let text = "--ticket a421866f19e96c36392322631d83ab46 -- 'cafe' 12:34";
        assert_eq!(without_chance(text), "--ticket # -- 'cafe' 12:34");
        assert_eq!(without_chance("no"), "no");
    }

    #[test]
    fn what_is_other_missing_or_new_is_noticed() -> std::io::Result<()> {
        let room = tempfile::tempdir()?;
        let path = room.path().join("list.txt");
        let lines = [line("a", "one"), line("b c", "two")];
        std::fs::write(&path, lines.join("\n") + "\n")?;
        assert_eq!(
            compare(&path, &found(&[("a", "one"), ("b c", "two")])),
            Ok(())
        );
        for wrong in [
            found(&[("a", "one"), ("b c", "other")]),
            found(&[("a", "one")]),
            found(&[("a", "one"), ("b c", "two"), ("d", "")]),
        ] {
            assert!(compare(&path, &wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(compare_one(&path, "b c", "two"), Ok(()));
        assert!(compare_one(&path, "a", "two").is_err());
        Ok(())
    }
}
