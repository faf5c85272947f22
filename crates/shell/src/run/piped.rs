//! The output of a command for `xargs`: names that cannot be options.

use interlock_core::facts::SimpleCommand;

/// What is known of the text in a pipe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Names {
    /// Nothing.
    #[default]
    Unknown,
    /// NUL-terminated names, none of which begins with `-`.
    Ended,
    /// Words, none of which begins with `-`, however they are split at blanks.
    Words,
}

impl Names {
    /// Determines what the only command of a pipe's part prints.
    pub(crate) fn of(part: &[SimpleCommand]) -> Self {
        let [command] = part else {
            return Self::Unknown;
        };
        let words: Option<Vec<&str>> = command.words.iter().map(|word| word.literal()).collect();
        match words.as_deref() {
            _ if command.opaque.is_some() || !command.via.is_empty() => Self::Unknown,
            Some(["find", tests @ ..]) if ends_names(tests) => Self::Ended,
            Some(["echo", texts @ ..] | ["printf", "%s\\n" | "%s ", texts @ ..])
                if !texts.is_empty() && texts.iter().all(|text| is_plain(text)) =>
            {
                Self::Words
            }
            _ => Self::Unknown,
        }
    }
}

/// Returns whether `find` prints only whole NUL-terminated names below literal roots.
fn ends_names(words: &[&str]) -> bool {
    const PRINTS: [&str; 11] = [
        "-print", "-printf", "-ls", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0",
        "-fprintf", "-fls",
    ];
    let roots = words
        .iter()
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .count();
    roots > 0 && words.contains(&"-print0") && !words.iter().any(|word| PRINTS.contains(word))
}

/// Returns whether no word of a text, split at blanks, begins with `-`.
fn is_plain(text: &str) -> bool {
    !text.contains(['\\', '"', '\'', '%'])
        && text.split_whitespace().all(|word| !word.starts_with('-'))
}
