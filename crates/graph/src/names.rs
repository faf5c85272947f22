//! Ids of nodes in a text, made from their titles.

use std::collections::BTreeMap;

/// The ids given so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    given: BTreeMap<String, usize>,
}

impl Names {
    /// Returns an id that begins with `prefix`, resembles `title` and has not been given before.
    ///
    /// It consists of ASCII letters, digits and `_` only. The prefix keeps it from being a
    /// keyword of the language it is written in.
    pub(crate) fn give(&mut self, prefix: &str, title: &str) -> String {
        let word: String = title
            .chars()
            .take(40)
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '_'
                }
            })
            .collect();
        let wanted = if word.is_empty() {
            prefix.to_owned()
        } else {
            format!("{prefix}_{word}")
        };
        let mut id = wanted.clone();
        loop {
            let count = self.given.entry(id.clone()).or_default();
            *count += 1;
            if *count == 1 {
                return id;
            }
            let number = self.given.get(&wanted).copied().unwrap_or_default();
            id = format!("{wanted}_{number}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn no_id_is_given_twice() {
        let mut names = Names::default();
        let given: Vec<String> = ["a b", "a_b", "a-b", "a_b_2", "é", ""]
            .iter()
            .map(|title| names.give("s", title))
            .collect();
        assert_eq!(
            given,
            ["s_a_b", "s_a_b_2", "s_a_b_3", "s_a_b_2_2", "s__", "s"]
        );
    }
}
