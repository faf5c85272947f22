//! Builtins that zsh handles differently from bash.

use crate::parse::is_name;
use crate::tables::programs::BUILTINS;
use crate::tables::zsh;
use crate::value::{Arg, is_number};
use crate::walk::{CommandPosition, Step, Walker};

impl Walker<'_> {
    /// Refuses a builtin that zsh lacks, parses differently, or whose words it evaluates.
    pub(super) fn zsh_builtin(
        &mut self,
        name: &str,
        words: &[Arg],
        place: &CommandPosition,
    ) -> Step {
        if zsh::BUILTINS.contains(&name) {
            return Err(format!("`{name}` is a builtin of zsh that is not read"));
        }
        if BUILTINS.contains(&name) && place.via.iter().any(|via| via == "command") {
            return Err(format!(
                "zsh looks for a program behind `command`: `{name}`"
            ));
        }
        // Outside a loop they end the line, with any code.
        self.facts.exit_is_free |= matches!(name, "break" | "continue");
        let harmless = match name {
            "exit" | "return" | "break" | "continue" | "shift" | "logout" => {
                words.iter().all(is_count)
            }
            "builtin" => words.first().is_none_or(|word| !word.is("--")),
            "read" => words.iter().all(is_read_word),
            "hash" => words.iter().all(|word| word.literal().is_some_and(is_name)),
            "printf" => !prints_numbers(words) || words.iter().skip(1).all(is_no_expression),
            "declare" | "typeset" | "local" | "export" | "readonly" => !words.iter().any(|word| {
                let text = word.literal().unwrap_or_default();
                text.starts_with(['-', '+']) && text.contains('F')
            }),
            "set" => words.first().and_then(Arg::literal).is_none_or(|text| {
                let letters = text.strip_prefix(['-', '+']);
                letters.is_none_or(|letters| {
                    letters
                        .chars()
                        .all(|c| c == '-' || zsh::SET_LETTERS.contains(c))
                })
            }),
            _ => true,
        };
        if harmless {
            return Ok(());
        }
        Err(format!(
            "zsh takes the words of this `{name}` in its own way"
        ))
    }
}

/// Returns whether a word is a count: zsh evaluates it as arithmetic.
fn is_count(word: &Arg) -> bool {
    word.is_number() || word.literal().is_some_and(is_number)
}

/// Returns whether a word of `read` has the same meaning as in bash.
fn is_read_word(word: &Arg) -> bool {
    word.literal()
        .is_some_and(|text| is_name(text) || matches!(text, "-r" | "-s" | "-rs" | "-sr"))
}

/// Returns whether a word is not an expression that runs a command.
fn is_no_expression(word: &Arg) -> bool {
    word.is_number() || word.literal().is_some_and(|text| !text.contains('['))
}

/// Returns whether `printf` may treat a word as a number.
fn prints_numbers(words: &[Arg]) -> bool {
    let Some(format) = words.first().and_then(Arg::literal) else {
        return true;
    };
    let plain = format.replace("%%", "");
    let mut parts = plain.split('%');
    parts.next();
    parts.any(|part| {
        let flags = part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.".contains(c));
        !flags.starts_with(['s', 'b', 'q', 'c'])
    })
}
