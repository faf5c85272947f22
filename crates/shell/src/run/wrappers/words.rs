//! The words of a wrapper itself, and what it adds to those of its command.

use crate::options::{self, Spec};
use crate::value::{Arg, Dynamic};

/// Counts the words before the inner command; anything uncertain among them is refused.
pub(super) fn own_words(
    name: &str,
    args: &[Arg],
    spec: &Spec,
    operands: usize,
) -> Result<usize, String> {
    let mut at = 1;
    while let Some(word) = args.get(at) {
        match word {
            Arg::Literal(text) if text == "--" => {
                at += 1;
                break;
            }
            Arg::Literal(text) if text.len() > 1 && text.starts_with('-') => {
                let with_value = args.get(at..).unwrap_or_default();
                let sorted = options::sort(
                    with_value
                        .get(..2.min(with_value.len()))
                        .unwrap_or_default(),
                    spec,
                );
                let alone = options::sort(std::slice::from_ref(word), spec);
                if let Some(option) = alone.unknown {
                    return Err(format!("`{name} {option}` is not known"));
                }
                let takes_next =
                    sorted.operands.is_empty() && with_value.len() > 1 && takes_value(text, spec);
                if takes_next && with_value.get(1).is_some_and(divides) {
                    return Err(format!("`{name}` with a word of unknown length"));
                }
                at += if takes_next { 2 } else { 1 };
            }
            Arg::Literal(_) => break,
            Arg::Dynamic(_) if word.may_be_option() => {
                return Err(format!("`{}` may be an option of `{name}`", word.shown()));
            }
            Arg::Dynamic(_) => break,
        }
    }
    let own = args.get(at..at + operands).unwrap_or_default();
    if own.iter().any(|word| word.may_be_option() || divides(word))
        && operands > 0
        && args.get(at).is_some_and(|word| word.literal().is_none())
    {
        return Err(format!("`{name}` with a word that is not known"));
    }
    Ok((at + operands).min(args.len()))
}

fn divides(word: &Arg) -> bool {
    matches!(word, Arg::Dynamic(dynamic) if !dynamic.is_single && !dynamic.is_number)
}

/// Returns whether an option takes the next word as its value.
fn takes_value(text: &str, spec: &Spec) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        return !long.contains('=')
            && spec
                .long
                .iter()
                .filter(|known| known.trim_end_matches(['=', '?']).starts_with(long))
                .any(|known| known.ends_with('='));
    }
    let letters = text.strip_prefix('-').unwrap_or(text);
    for (at, letter) in letters.char_indices() {
        if spec.attached.contains(letter) {
            return false;
        }
        if spec.valued.contains(letter) {
            return at + letter.len_utf8() == letters.len();
        }
    }
    false
}

/// Splits the text of `env -S` if it contains nothing that `env` would treat specially.
pub(super) fn plain_words(text: &str) -> Option<Vec<Arg>> {
    let is_plain = !text.contains(['\\', '"', '\'', '$', '#', '\n']);
    is_plain.then(|| {
        text.split([' ', '\t'])
            .filter(|word| !word.is_empty())
            .map(Arg::text)
            .collect()
    })
}

/// Replaces a placeholder by an unknown text.
pub(in crate::run) fn put_in(word: &Arg, mark: &str, start: &str) -> Arg {
    let shown = word.shown();
    if mark.is_empty() || !shown.contains(mark) {
        return word.clone();
    }
    let before = word.start().split(mark).next().unwrap_or_default();
    let begins = if before.is_empty() {
        start.to_owned()
    } else {
        before.to_owned()
    };
    Arg::Dynamic(Dynamic {
        start: begins,
        source: shown.to_owned(),
        is_single: true,
        ..Dynamic::default()
    })
}
