//! `{a,b}` and `{1..3}`: braces that expand one word to several.

use crate::state::State;
use crate::syntax::Piece;

/// Maximum number of words that braces may create.
const BRACE_WORDS_MAX: usize = 1_000;

pub(super) enum Braces {
    None,
    Words(Vec<Vec<Piece>>),
    Unclear,
}

/// Expands `{a,b}` and `{1..3}` in a word of plain text.
pub(super) fn braces(pieces: &[Piece], state: &State) -> Braces {
    let has_brace = pieces.iter().any(|piece| {
        matches!(piece, Piece::Text { text, quoted: false } if text.contains('{') && text != "{}")
    });
    if !has_brace {
        return Braces::None;
    }
    let mut chars: Vec<(char, bool)> = Vec::new();
    let mut is_text = true;
    for piece in pieces {
        match piece {
            // It makes an empty word of a member that is empty.
            Piece::Text { text, quoted: true } if text.is_empty() => is_text = false,
            Piece::Text { text, quoted } => chars.extend(text.chars().map(|c| (c, *quoted))),
            _ => {
                is_text = false;
                chars.push(('\u{0}', true));
            }
        }
    }
    let unquoted = |wanted: char| {
        chars
            .iter()
            .filter(|(c, quoted)| *c == wanted && !*quoted)
            .count()
    };
    let has_comma = unquoted(',') > 0;
    let has_dots = chars
        .windows(2)
        .any(|pair| matches!(pair, [('.', false), ('.', false)]));
    if unquoted('}') == 0 || !has_comma && !has_dots {
        return Braces::None;
    }
    if !is_text {
        return Braces::Unclear;
    }
    match brace_words(&chars, state) {
        Some(words) => Braces::Words(words.iter().map(|word| to_pieces(word)).collect()),
        None => Braces::Unclear,
    }
}

fn to_pieces(chars: &[(char, bool)]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (c, is_quoted) in chars {
        match pieces.last_mut() {
            Some(Piece::Text { text, quoted }) if quoted == is_quoted => text.push(*c),
            _ => pieces.push(Piece::Text {
                text: c.to_string(),
                quoted: *is_quoted,
            }),
        }
    }
    pieces
}

/// A text with the quoting of each character.
type Chars = Vec<(char, bool)>;

/// Expands lists of literals, including nested ones; whatever bash may leave unexpanded is unclear.
fn brace_words(chars: &[(char, bool)], state: &State) -> Option<Vec<Chars>> {
    let mut words: Vec<Chars> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&(c, is_quoted)) = chars.get(at) {
        at += 1;
        if c == '}' && !is_quoted {
            return None;
        }
        if c != '{' || is_quoted {
            words.iter_mut().for_each(|word| word.push((c, is_quoted)));
            continue;
        }
        let (parts, end) = members(chars, at)?;
        at = end;
        let mut expanded: Vec<Chars> = Vec::new();
        if let [only] = parts.as_slice() {
            // Bash leaves `{u}` as it is.
            let is_left = only.iter().all(|(c, _)| c.is_alphanumeric());
            expanded = if is_left {
                let braced = [('{', true)].into_iter().chain(only.iter().copied());
                vec![braced.chain([('}', true)]).collect()]
            } else {
                sequence(only)?
            };
        } else {
            for part in parts {
                expanded.extend(brace_words(part, state)?);
                if expanded.len() > BRACE_WORDS_MAX {
                    return None;
                }
            }
        }
        let count = words.len() * expanded.len();
        let longest = |words: &[Chars]| words.iter().map(Vec::len).max().unwrap_or(0);
        let bytes = count * (longest(&words) + longest(&expanded) + 32);
        if count > BRACE_WORDS_MAX || !state.spend(bytes) {
            return None;
        }
        words = words
            .iter()
            .flat_map(|word| {
                expanded
                    .iter()
                    .map(move |member| word.iter().chain(member).copied().collect())
            })
            .collect();
    }
    Some(words)
}

/// A character, and whether it is quoted.
type Marked = (char, bool);

/// Splits a list at the commas of its own level; also returns where it ends.
fn members(chars: &[Marked], start: usize) -> Option<(Vec<&[Marked]>, usize)> {
    let mut parts = Vec::new();
    let mut begun = start;
    let mut open = 0_usize;
    for at in start..chars.len() {
        match chars.get(at)? {
            ('{', false) => open += 1,
            ('}', false) if open == 0 => {
                parts.push(chars.get(begun..at)?);
                return Some((parts, at + 1));
            }
            ('}', false) => open -= 1,
            (',', false) if open == 0 => {
                parts.push(chars.get(begun..at)?);
                begun = at + 1;
            }
            _ => {}
        }
        if open > crate::text::NESTING_MAX {
            return None;
        }
    }
    None
}

/// Expands `1..5`, `01..10`, `1..9..2` and `a..e`.
fn sequence(member: &[(char, bool)]) -> Option<Vec<Chars>> {
    let text: String = member
        .iter()
        .map(|(c, quoted)| if *quoted { '\u{0}' } else { *c })
        .collect();
    let parts: Vec<&str> = text.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] if is_short(step) => (*from, *to, step.parse::<i64>().ok()?.abs().max(1)),
        _ => return None,
    };
    let step = usize::try_from(step).ok()?;
    if is_short(from) && is_short(to) {
        let is_padded = |text: &str| {
            let digits = text.trim_start_matches('-');
            digits.len() > 1 && digits.starts_with('0')
        };
        let width = if is_padded(from) || is_padded(to) {
            from.len().max(to.len())
        } else {
            0
        };
        let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
        if from.abs_diff(to) >= BRACE_WORDS_MAX as u64 {
            return None;
        }
        let numbers: Vec<i64> = if from <= to {
            (from..=to).step_by(step).collect()
        } else {
            (to..=from).rev().step_by(step).collect()
        };
        let shown = |n: &i64| format!("{n:0width$}").chars().map(|c| (c, false)).collect();
        return Some(numbers.iter().map(shown).collect());
    }
    let mut letters = (from.chars(), to.chars());
    match (
        letters.0.next(),
        letters.0.next(),
        letters.1.next(),
        letters.1.next(),
    ) {
        (Some(a), None, Some(b), None)
            if a.is_ascii_lowercase() && b.is_ascii_lowercase() && a <= b =>
        {
            Some((a..=b).step_by(step).map(|c| vec![(c, false)]).collect())
        }
        _ => None,
    }
}

/// Returns whether a text is a number of at most five characters without a plus.
fn is_short(text: &str) -> bool {
    text.len() < 6 && !text.starts_with('+') && crate::value::is_number(text)
}
