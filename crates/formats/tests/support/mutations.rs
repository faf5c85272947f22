//! Texts that are almost workflows.

use proptest::prelude::*;

/// Cuts, duplicates and replaces pieces of a text, up to `most` times: slightly, by characters, at matches of `marks`,
/// or by one of `words`.
pub(crate) fn mutated(
    text: &'static str,
    marks: &'static str,
    words: &'static [&'static str],
    most: usize,
) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        1 => Just(String::new()),
        1 => "[\\PC\\n\\t]{0,6}",
        1 => marks,
        5 => prop::sample::select(words).prop_map(str::to_owned),
    ];
    let edit = (any::<prop::sample::Index>(), 0..30_usize, piece);
    prop::collection::vec(edit, 1..=most).prop_map(move |edits| {
        let mut letters: Vec<char> = text.chars().collect();
        for (at, length, piece) in edits {
            let start = at.index(letters.len() + 1);
            let end = (start + length).min(letters.len());
            letters.splice(start..end, piece.chars());
        }
        letters.into_iter().collect()
    })
}
