//! Turns observed commands into entries of `allowed_commands`.

use std::collections::BTreeMap;

/// How often a command must occur to be allowed.
pub(crate) const SUPPORT: usize = 2;

/// Returns the longest prefixes that at least [`SUPPORT`] of the commands share.
pub(crate) fn entries(commands: &[Vec<String>]) -> Vec<String> {
    let mut counts: BTreeMap<&[String], usize> = BTreeMap::new();
    for words in commands {
        for length in 1..=words.len() {
            if let Some(start) = words.get(..length) {
                *counts.entry(start).or_default() += 1;
            }
        }
    }
    counts.retain(|_, count| *count >= SUPPORT);
    let longest = |start: &&[String]| {
        let longer = counts.keys().filter(|other| other.len() > start.len());
        !longer.into_iter().any(|other| other.starts_with(start))
    };
    let mut entries: Vec<String> = counts.keys().copied().filter(longest).map(line).collect();
    entries.dedup();
    entries
}

/// Writes words as one entry, quoted where necessary.
pub(crate) fn line(words: &[String]) -> String {
    let plain = |word: &String| {
        let quoted = word.is_empty()
            || word.contains(|c: char| c.is_whitespace() || "'\"\\$`#&|;<>(){}*?[]~!".contains(c));
        if quoted {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.clone()
        }
    };
    words.iter().map(plain).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn the_longest_common_beginnings_are_kept() {
        let commands = [
            "cargo test --all",
            "cargo test --all",
            "cargo test -p a",
            "cargo build",
            "git add a",
            "git add b",
            "ls",
        ];
        let commands: Vec<Vec<String>> = commands
            .iter()
            .map(|line| line.split(' ').map(str::to_owned).collect())
            .collect();
        assert_eq!(entries(&commands), ["cargo test --all", "git add"]);
        assert_eq!(entries(&[]), Vec::<String>::new());
    }
}
