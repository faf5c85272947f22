//! Text kept short and on one line.

/// Cuts `text` to at most `max` characters, marking the cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars()
        .take(max.saturating_sub(1))
        .chain((max > 0).then_some('…'))
        .collect()
}

/// Puts `text` on one line: every control character becomes a space.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Joins as many items as fit into `max` characters and counts the rest.
pub(super) fn listed(items: impl ExactSizeIterator<Item = String>, max: usize) -> String {
    // Room for `, and 1000 more`.
    let tail = 16;
    let total = items.len();
    let mut text = String::new();
    let mut used = 0;
    for (index, item) in items.enumerate() {
        let last = index + 1 == total;
        let room = max.saturating_sub(if last { 0 } else { tail });
        let separator = if index == 0 { "" } else { ", " };
        let length = item.chars().count() + separator.len();
        if index > 0 && used + length > room {
            return format!("{text}, and {} more", total - index);
        }
        text.push_str(separator);
        text.push_str(&cut(&item, room.max(1)));
        used += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{cut, listed, plain};

    #[test]
    fn a_cut_text_has_exactly_the_room_it_was_given() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcd", 0), "");
    }

    #[test]
    fn items_that_do_not_fit_are_counted() {
        let items = || {
            ["alpha", "beta", "gamma", "delta"]
                .map(String::from)
                .into_iter()
        };
        assert_eq!(listed(items(), 40), "alpha, beta, gamma, delta");
        assert_eq!(listed(items(), 24), "alpha, and 3 more");
        assert_eq!(listed(items().take(1), 3), "al…");
    }

    #[test]
    fn control_characters_never_reach_the_agent() {
        assert_eq!(plain("a\nb\u{1b}c"), "a b c");
    }
}
