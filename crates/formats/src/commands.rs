//! Entries of `allowed_commands`, as people write them.

use std::{cell::RefCell, collections::BTreeMap};

use interlock_core::policy::CommandEntry;

use crate::{diagnostic::Report, source::Span};

thread_local! {
    /// The words of entries, since the same few stand in many states; `None`: the entry is not literal.
    static SPLIT: RefCell<BTreeMap<String, Option<Vec<String>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Maximum number of entries whose words are kept, and maximum length in bytes of each.
const SPLIT_MAX: usize = 256;
const SPLIT_BYTES_MAX: usize = 256;

/// Splits an entry into shell words; `None` if it is not literal.
fn split_entry(text: &str) -> Option<Vec<String>> {
    if text.len() > SPLIT_BYTES_MAX {
        return interlock_shell::split_entry(text);
    }
    SPLIT.with_borrow_mut(|split| {
        if let Some(words) = split.get(text) {
            return words.clone();
        }
        let words = interlock_shell::split_entry(text);
        if split.len() >= SPLIT_MAX {
            split.clear();
        }
        split.insert(text.to_owned(), words.clone());
        words
    })
}

/// Parses an entry; reports an invalid one, and warns of one that matches no command.
///
/// Other products write patterns: `node --test*` is read as the words before the star followed by anything. A star at the
/// beginning or alone, or after the beginning of a name, matches nothing.
pub(crate) fn entry(
    text: &str,
    shown: &str,
    span: Span,
    report: &mut Report,
) -> Option<CommandEntry> {
    if let Some(words) = split_entry(text) {
        return Some(CommandEntry {
            text: text.to_owned(),
            words,
        });
    }
    let is_pattern =
        text.contains('*') && !text.contains(['$', '`', '|', '&', ';', '<', '>', '\\', '\'', '"']);
    let before = text.trim_end().strip_suffix('*');
    // `./scripts/*` and `npm run test:*` mean prefixes of names, which words cannot express.
    let ends_a_word = |before: &&str| before.ends_with(|c: char| c.is_alphanumeric() || c == ' ');
    let before = before.filter(|_| is_pattern).filter(ends_a_word);
    if let Some(words) = before.map(str::trim_end).and_then(split_entry) {
        let text = format!("{} *", words.join(" "));
        return Some(CommandEntry { text, words });
    }
    if is_pattern {
        let help = match text.trim_matches(['*', ' ']) {
            "" => "leave `allowed_commands` out to let every command pass that the state allows",
            _ => "write each command out from its first word, such as `npm test`",
        };
        report
            .warning(
                span,
                "useless_command",
                format!("`{shown}` lists no command: an entry begins with the name of a program, and a star may only end it"),
            )
            .help(help);
        return None;
    }
    no_command(shown, span, report);
    None
}

/// Splits the beginning of a command into words, all of which must be literal; reports the others.
pub(crate) fn words(text: &str, span: Span, report: &mut Report) -> Option<Vec<String>> {
    let words = split_entry(text);
    if words.is_none() {
        no_command(text, span, report);
    }
    words
}

fn no_command(shown: &str, span: Span, report: &mut Report) {
    report
        .error(
            span,
            "invalid_command",
            format!("`{shown}` is not the plain beginning of one command"),
        )
        .help("write the words of one command, without variables, pipes, redirections or `;`");
}

#[cfg(test)]
mod tests {
    use super::{SPLIT_MAX, split_entry};

    #[test]
    fn each_entry_has_its_own_words_however_many_there_are() {
        // More than are kept, and each again after all the others.
        let numbers = || 0..2 * SPLIT_MAX;
        for number in numbers().chain(numbers()) {
            let words = Some(vec!["make".to_owned(), number.to_string()]);
            assert_eq!(split_entry(&format!("make {number}")), words);
            assert_eq!(split_entry(&format!("make {number}; ls")), None);
        }
    }
}
