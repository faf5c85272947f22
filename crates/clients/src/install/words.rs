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

/// Runs the words behind it; whatever is not one JSON document in good order becomes a refusal.
///
/// Some clients run the call when a hook crashes, is missing or prints something
/// else, and some take the code 2 for a refusal only with a sentence beside it.
const CLOSES: &str = "o=$(\"$@\") && case $o in \"{\"*\"}\") printf \"%s\\n\" \"$o\" ;; *) false ;; esac || { \
     echo \"interlock: the hook failed, so the call is refused\" >&2; exit 2; }";
/// What the script is run by, whatever shell the client hands lines to, and its own name.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];
const NAME: &str = "interlock";

/// Writes words as a line that stops the client also where the program is missing, crashes, is killed or babbles.
pub(super) fn closing(words: &[String]) -> String {
    let [shell, option] = SHELL;
    let before = [shell, option, CLOSES, NAME].map(str::to_owned);
    joined(&[before.as_slice(), words].concat())
}

/// Splits a line into its words, and tells whether it stops the client in any case.
pub(super) fn split_closing(line: &str) -> Option<(Vec<String>, bool)> {
    let words = split(line)?;
    match words.as_slice() {
        [shell, option, script, _, inner @ ..] if [shell, option] == SHELL && script == CLOSES => {
            Some((inner.to_vec(), true))
        }
        _ => Some((words, false)),
    }
}

/// Writes a line as a person should see it: without what makes it stop the client.
pub(crate) fn shown(line: &str) -> String {
    split_closing(line).map_or_else(|| line.to_owned(), |(words, _)| joined(&words))
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
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::process::Command;

    use super::{CLOSES, closing, joined, split, split_closing};

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
    fn a_line_that_stops_in_any_case_is_told_apart() {
        let words = vec!["interlock".to_owned(), "hook".to_owned()];
        let line = joined(&words);
        assert_eq!(split_closing(&line), Some((words.clone(), false)));
        let closed = closing(&words);
        assert_eq!(split_closing(&closed), Some((words.clone(), true)));
        let open = closed.replace("exit 2", "exit 0");
        assert_ne!(split_closing(&open), Some((words, true)));
        assert_eq!(split_closing(&format!("true; {closed}")), None);
        assert_eq!(split_closing(&format!("{closed}; true")), None);
    }

    /// Runs a closing line; returns its code, output and complaint.
    fn run(words: &[&str]) -> (Option<i32>, String, String) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ran = Command::new("bash").args(["-c", &closing(&words)]).output();
        let ran = ran.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    }

    #[test]
    fn only_one_document_in_good_order_passes_a_closing_line() {
        for answer in ["{}", "{\"a\": \"\\n\"}"] {
            let (code, printed, complaint) = run(&["printf", "%s", answer]);
            assert_eq!((code, printed.as_str()), (Some(0), &*format!("{answer}\n")));
            assert_eq!(complaint, "");
        }
        for broken in [
            "exit 1",
            "exit 2",
            "printf %s '{\"a\": 1}'; exit 1",
            "kill -9 $$",
            "/nowhere/interlock hook codex",
            "echo '{}'; echo more",
            "echo interlock: no verdict >&2; exit 2",
            "echo hello",
            "true",
        ] {
            let (code, printed, complaint) = run(&["sh", "-c", broken]);
            assert_eq!((code, printed.as_str()), (Some(2), ""), "{broken}");
            assert!(complaint.contains("the call is refused"), "{broken}");
        }
    }

    #[test]
    fn the_script_needs_no_quotes_of_the_kind_it_stands_in() {
        assert!(!CLOSES.contains('\''));
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
