//! Syntax that zsh reads differently from bash: such a text is refused.

use super::{Parsed, Parser};
use crate::syntax::{Piece, Word};
use crate::tables::zsh::MODIFIERS;

impl Parser<'_> {
    /// Refuses what has another meaning in zsh at the start of a word.
    pub(super) fn zsh_word_start(&self) -> Parsed<()> {
        // In `[` and `[[` they compare; anywhere else zsh finds no such program and stops.
        let compares = ["=", "==", "=~"].contains(&self.bare_word());
        if self.peek() == Some(b'=') && !compares || self.starts_with("~[") {
            return Err("a word that zsh expands".to_owned());
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let after = self.rest().get(digits..).unwrap_or_default();
        if digits > 0 && (after.starts_with(['=', '[']) || after.starts_with("+=")) {
            return Err("zsh may take this for an assignment to `$1` and on".to_owned());
        }
        Ok(())
    }

    /// Refuses a word that zsh expands differently.
    pub(super) fn zsh_word(&self, word: &Word, is_operand: bool) -> Parsed<()> {
        if word.is_bare("}") && is_operand {
            return Err("zsh takes `}` for the end of a group".to_owned());
        }
        if word.source.starts_with('{') && !is_operand {
            return Err("zsh takes `{` before a command for the start of a group".to_owned());
        }
        let named = word.source.strip_prefix('{');
        if named
            .and_then(|named| named.strip_suffix('}'))
            .is_some_and(super::is_name)
        {
            return Err("zsh may take this for the name of a descriptor".to_owned());
        }
        let has_expansion = word.pieces.len() > 1
            && word
                .pieces
                .iter()
                .any(|piece| !matches!(piece, Piece::Text { .. }));
        let in_plain = |wanted: &[&str]| {
            word.pieces.iter().any(|piece| {
                matches!(piece, Piece::Text { text, quoted: false }
                    if wanted.iter().any(|wanted| text.contains(wanted)))
            })
        };
        let is_range = in_plain(&["{"]) && in_plain(&[".."]);
        let has_step = word.source.matches("..").count() > 1
            && word.source.contains(|c: char| c.is_ascii_alphabetic());
        if is_range && (has_expansion || has_step) || in_plain(&["{=", ",="]) {
            return Err("braces that zsh expands in another way".to_owned());
        }
        let begins_empty = word.source.trim_start_matches(['"', '\'']).starts_with('{');
        if begins_empty && in_plain(&["{,", ",,", ",}"]) {
            return Err("braces of which zsh makes an empty word".to_owned());
        }
        Ok(())
    }

    /// Refuses a value that begins with `=`, or has one after `:`: zsh looks up a program there.
    pub(super) fn zsh_value(&self, word: &Word) -> Parsed<()> {
        let first = word.pieces.first();
        let begins =
            matches!(first, Some(Piece::Text { text, quoted: false }) if text.starts_with('='));
        let inside = word.pieces.iter().any(
            |piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains(":=")),
        );
        if begins || inside {
            return Err("a value in which zsh looks for a program".to_owned());
        }
        Ok(())
    }

    /// Refuses `$name:t` and the like.
    pub(super) fn zsh_modifier(&self) -> Parsed<()> {
        let is_modifier = |byte: u8| MODIFIERS.contains(&byte);
        if self.peek() == Some(b':') && self.peek_at(1).is_some_and(is_modifier) {
            return Err("`:` and a letter behind a variable change its value in zsh".to_owned());
        }
        Ok(())
    }

    /// Refuses redirections of more than one digit, and `<1-9>`, which is a pattern.
    pub(super) fn zsh_redirect(&self, width: usize) -> Parsed<()> {
        let rest = self.rest();
        let has_digits = rest
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit());
        if has_digits && width > 1 {
            return Err("zsh knows descriptors of one digit".to_owned());
        }
        let range = rest.get(width..).and_then(|rest| rest.strip_prefix('<'));
        let end =
            range.map(|range| range.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'));
        let is_pattern = end.is_some_and(|end| end.starts_with('>'));
        if is_pattern && range.is_some_and(|range| !range.starts_with('>')) {
            return Err("zsh takes `<N-M>` for a pattern".to_owned());
        }
        Ok(())
    }
}
