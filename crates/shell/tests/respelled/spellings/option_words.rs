//! Options with their values joined or separate.

use super::{Edit, Edits, Line};
use crate::respelled::lexer::Token;
use crate::respelled::options::{Options, options};

/// Calls `each` with the words after the name of each command with known options.
fn known(line: &Line<'_>, each: &mut impl FnMut(&'static Options, &[&Token])) {
    line.each_simple(&mut |tokens, simple| {
        let words: Vec<&Token> = simple
            .words
            .iter()
            .filter_map(|at| tokens.get(*at))
            .collect();
        let texts: Vec<&str> = words.iter().map(|word| line.of(word)).collect();
        if let Some((known, behind)) = options(&texts) {
            let words = words.get(behind..).unwrap_or_default();
            let end = words.iter().position(|word| line.of(word) == "--");
            // If options end at the first operand, the words after it are not options.
            let first = if known.stops {
                let mut takes = false;
                words.iter().position(|word| {
                    let text = line.of(word);
                    let is_value = std::mem::take(&mut takes);
                    takes = !is_value && known.takes_next(text);
                    !is_value && !text.starts_with('-')
                })
            } else {
                None
            };
            let end = end.unwrap_or(words.len()).min(first.unwrap_or(words.len()));
            each(known, words.get(..end).unwrap_or_default());
        }
    });
}

pub(super) fn joined(line: &Line<'_>, edits: &mut Edits) {
    known(line, &mut |known, words| {
        let mut at = 0;
        while let (Some(word), next) = (words.get(at), words.get(at + 1)) {
            let text = line.of(word);
            at += 1;
            let Some(next) = next.filter(|_| known.takes_next(text)) else {
                continue;
            };
            at += 1;
            let by = if text.starts_with("--") { "=" } else { "" };
            if !line.of(next).starts_with(['~', '{']) && !line.of(next).contains(['$', '`']) {
                edits.push(Edit {
                    start: word.end,
                    end: next.start,
                    text: by.to_owned(),
                });
            }
        }
    });
}

impl Line<'_> {
    /// Returns the option values that are separate words.
    pub(crate) fn values(&self) -> Vec<String> {
        let mut values = Vec::new();
        known(self, &mut |known, words| {
            for two in words.windows(2) {
                if let [option, value] = two
                    && known.takes_next(self.of(option))
                {
                    values.push(self.of(value).replace(['\'', '"'], ""));
                }
            }
        });
        values
    }
}

pub(super) fn apart(line: &Line<'_>, edits: &mut Edits) {
    known(line, &mut |known, words| {
        let mut is_value = false;
        for word in words {
            let text = line.of(word);
            if std::mem::take(&mut is_value) {
                continue;
            }
            is_value = known.takes_next(text);
            if let Some(width) = known.joined(text) {
                let behind = usize::from(text.starts_with("--"));
                let value = text.get(width + behind..).unwrap_or_default();
                if !value.is_empty() && !value.starts_with('~') {
                    edits.push(Edit {
                        start: word.start + width,
                        end: word.start + width + behind,
                        text: " ".to_owned(),
                    });
                }
            }
        }
    });
}

pub(super) fn letters_apart(line: &Line<'_>, edits: &mut Edits) {
    known(line, &mut |known, words| {
        let mut is_value = false;
        for word in words {
            let text = line.of(word);
            if std::mem::take(&mut is_value) {
                continue;
            }
            is_value = known.takes_next(text);
            let Some(letters) = text.strip_prefix('-').filter(|text| !text.starts_with('-')) else {
                continue;
            };
            let all = letters.chars().count();
            let flags = letters
                .chars()
                .take_while(|c| known.flags.contains(*c))
                .count();
            let last = letters.chars().last();
            if all > 1
                && (flags == all
                    || flags + 1 == all && last.is_some_and(|c| known.valued.contains(c)))
            {
                edits.push(Edit {
                    start: word.start,
                    end: word.end,
                    text: letters
                        .chars()
                        .map(|c| format!("-{c}"))
                        .collect::<Vec<_>>()
                        .join(" "),
                });
            }
        }
    });
}

pub(super) fn cut_short(line: &Line<'_>, edits: &mut Edits) {
    known(line, &mut |known, words| {
        for word in words {
            let text = line.of(word);
            let name = text.split('=').next().unwrap_or_default();
            if known.cuts(name) {
                edits.push(Edit {
                    start: word.start + name.len() - 1,
                    end: word.start + name.len(),
                    text: String::new(),
                });
            }
        }
    });
}
