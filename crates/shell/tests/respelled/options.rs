//! Options of programs with a value in the same word or in the next.

use std::sync::LazyLock;

/// The relevant options of a program.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program, with its subcommand if it has one.
    name: &'static str,
    /// Letters without a value.
    pub(crate) flags: &'static str,
    /// Letters with a value in the same word or in the next.
    pub(crate) valued: &'static str,
    /// Long options with a value after `=` or in the next word.
    long: Vec<&'static str>,
    /// Long options that are still recognized without their last letter.
    cuts: Vec<&'static str>,
    /// Whether options end at the first operand.
    pub(crate) stops: bool,
}

static OPTIONS: LazyLock<Vec<Options>> = LazyLock::new(|| {
    let rows = include_str!("options.txt").lines();
    rows.filter(|row| !row.starts_with('#')).map(row).collect()
});

fn row(row: &'static str) -> Options {
    let mut fields = row.split('|').map(str::trim);
    let mut next = || fields.next().unwrap_or_default();
    let name = next();
    Options {
        name: name.trim_end_matches(" +"),
        flags: next(),
        valued: next(),
        long: next().split_whitespace().collect(),
        cuts: next().split_whitespace().collect(),
        stops: name.ends_with('+'),
    }
}

impl Options {
    /// Returns whether the next word is the value of this one.
    pub(crate) fn takes_next(&self, word: &str) -> bool {
        let Some(option) = word.strip_prefix('-') else {
            return false;
        };
        if let Some(long) = option.strip_prefix('-') {
            return self.long.contains(&long);
        }
        let flags = option.trim_start_matches(|c| self.flags.contains(c));
        let mut rest = flags.chars();
        rest.next().is_some_and(|c| self.valued.contains(c)) && rest.next().is_none()
    }

    /// Returns the length of the option if its value is joined to it.
    pub(crate) fn joined(&self, word: &str) -> Option<usize> {
        let option = word.strip_prefix('-')?;
        if let Some(long) = option.strip_prefix('-') {
            let (name, _) = long.split_once('=')?;
            return self.long.contains(&name).then_some(name.len() + 2);
        }
        let first = option.chars().next()?;
        (self.valued.contains(first) && option.len() > 1).then_some(2)
    }

    /// Returns whether a long option is still recognized without its last letter.
    pub(crate) fn cuts(&self, option: &str) -> bool {
        let name = option.strip_prefix("--");
        name.is_some_and(|name| self.cuts.contains(&name))
    }
}

/// Returns the options of a command, and the number of words before them.
pub(crate) fn options(words: &[&str]) -> Option<(&'static Options, usize)> {
    let [name, rest @ ..] = words else {
        return None;
    };
    let two = rest.first().map(|second| format!("{name} {second}"));
    let by_two = two.and_then(|two| OPTIONS.iter().find(|known| known.name == two));
    match by_two {
        Some(known) => Some((known, 2)),
        None => {
            let known = OPTIONS.iter().find(|known| known.name == *name)?;
            Some((known, 1))
        }
    }
}
