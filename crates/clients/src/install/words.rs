//! The words of a command line as a shell would read them, for lines without anything but words.

/// Splits a line into its words; `None`: it does more than start one program.
///
/// Variables and `~` stay as they are written.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => word.push(letters.next().filter(|c| "\"\\$`".contains(*c))?),
                        '`' => return None,
                        '(' if word.ends_with('$') => return None,
                        quoted => word.push(quoted),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            _ if "|&;<>()`*?[]#!\n\r".contains(letter) => return None,
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

/// Writes words as one line that a shell splits again.
pub(super) fn joined(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Quotes a word for a shell, where it needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::{joined, split};

    #[test]
    fn words_survive_being_joined() {
        for words in [
            vec!["/opt/interlock", "hook", "claude-code"],
            vec![
                "/My Apps/it's/interlock",
                "hook",
                "$HOME `x`",
                "",
                "\"q\" \\",
            ],
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(split(&joined(&words)), Some(words));
        }
    }

    #[test]
    fn a_line_that_does_more_is_no_list_of_words() {
        for line in [
            "a || true",
            "a; b",
            "$(a) b",
            "\"$(a)\" b",
            "a 'b",
            "a > b",
            "(a)",
            "a # b",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
        assert_eq!(
            split("a\\ b \"c d\"").as_deref(),
            Some(&["a b".to_owned(), "c d".to_owned()][..])
        );
    }
}
