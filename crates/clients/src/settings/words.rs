//! The words of a command line as a shell would read them, for lines without anything but words.

/// Splits a line into its words; `None`: it does more than start one program.
///
/// Variables and `~` stay as they are written.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
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
/// Finds the program on the `PATH`, outside of the folder that the client works in: what lies there is the agent's.
const FINDS: &str = "p=$(command -v \"$1\") && case $p in \"$PWD\"/*|[!/]*) false ;; esac || { ";
/// Refuses a call where it is not found.
const MISSING: &str = "echo \"interlock is not on the PATH here, so the call is refused: install Interlock, or take its hooks \
     (interlock hook) out of the settings of this project\" >&2; exit 2; }; ";
/// Lets pass what stops nothing.
const PASSES: &str = "echo \"{}\"; exit 0; }; exec \"$@\"";
/// Runs the words behind it.
const RUNS: &str = "exec \"$@\"";

/// What becomes of a call whose hook does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// What the client makes of it.
    Plain,
    /// It is refused.
    Closes,
    /// It is refused where the program is not found on the `PATH`; else what the client makes of it.
    Found,
    /// As `Found`, and refused where the program fails.
    FoundAndCloses,
    /// It passes where the program is not found; else what the client makes of it.
    FoundOrPasses,
}

impl Ending {
    const ALL: [Self; 5] = [
        Self::Plain,
        Self::Closes,
        Self::Found,
        Self::FoundAndCloses,
        Self::FoundOrPasses,
    ];

    /// Returns the script that does so; empty: none.
    fn script(self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Closes => CLOSES.to_owned(),
            Self::Found => [FINDS, MISSING, RUNS].concat(),
            Self::FoundAndCloses => [FINDS, MISSING, CLOSES].concat(),
            Self::FoundOrPasses => [FINDS, PASSES].concat(),
        }
    }
}

/// What the script is run by, whatever shell the client hands lines to, and its own name.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];
const NAME: &str = "interlock";

/// Writes words as a line that a client starts, with this ending.
pub(crate) fn line(words: &[String], ending: Ending) -> String {
    let script = ending.script();
    if script.is_empty() {
        return joined(words);
    }
    let [shell, option] = SHELL;
    let before = [shell, option, &script, NAME].map(str::to_owned);
    joined(&[before.as_slice(), words].concat())
}

/// Splits a line into its words, and tells its ending.
pub(crate) fn split_line(line: &str) -> Option<(Vec<String>, Ending)> {
    let words = split(line)?;
    if let [shell, option, script, _, inner @ ..] = words.as_slice()
        && [shell, option] == SHELL
    {
        let mut endings = Ending::ALL.into_iter();
        let ending = endings.find(|ending| ending.script() == *script);
        return Some(match ending {
            Some(ending) => (inner.to_vec(), ending),
            None => (words, Ending::Plain),
        });
    }
    Some((words, Ending::Plain))
}

/// Writes a line as a person should see it: without what makes it stop the client.
pub(crate) fn shown(line: &str) -> String {
    split_line(line).map_or_else(|| line.to_owned(), |(words, _)| joined(&words))
}

/// Writes words as one line that a shell splits again.
pub(crate) fn joined(words: &[String]) -> String {
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

    use std::{os::unix::fs::PermissionsExt, path::Path, process::Command};

    use super::{Ending, joined, line, split, split_line};

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
        for ending in Ending::ALL {
            let written = line(&words, ending);
            assert_eq!(split_line(&written), Some((words.clone(), ending)));
            assert_eq!(split_line(&format!("true; {written}")), None);
            assert_eq!(split_line(&format!("{written}; true")), None);
        }
        let open = line(&words, Ending::Closes).replace("exit 2", "exit 0");
        assert!(split_line(&open).unwrap().0 != words);
    }

    /// Runs a closing line; returns its code, output and complaint.
    fn run(words: &[&str]) -> (Option<i32>, String, String) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ran = Command::new("bash")
            .args(["-c", &line(&words, Ending::Closes)])
            .output();
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
        for ending in Ending::ALL {
            assert!(!ending.script().contains('\''), "{ending:?}");
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

    /// Runs a line that looks for `interlock` on this `PATH`, in a folder; returns its code, output and complaint.
    fn find(path: &Path, folder: &Path, ending: Ending) -> (Option<i32>, String, String) {
        let words = ["interlock", "hook"].map(str::to_owned);
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &line(&words, ending)])
            .current_dir(folder);
        let ran = shell.env("PATH", path).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    }

    #[test]
    fn a_program_is_found_on_the_path_or_the_call_is_refused() {
        let room = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = room.path().canonicalize().unwrap().join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (empty, tools, project) = (folder("empty"), folder("tools"), folder("project"));
        for place in [&tools, &project.join("bin")] {
            std::fs::create_dir_all(place).unwrap();
            let program = place.join("interlock");
            std::fs::write(&program, "#!/bin/sh\necho \"{\\\"$1\\\": 1}\"\n").unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        for ending in [Ending::Found, Ending::FoundAndCloses] {
            let (code, said, _) = find(&tools, &project, ending);
            assert_eq!(
                (code, said.trim()),
                (Some(0), "{\"hook\": 1}"),
                "{ending:?}"
            );
            for missing in [&empty, &project.join("bin"), Path::new("bin")] {
                let (code, said, why) = find(missing, &project, ending);
                assert_eq!(
                    (code, &*said),
                    (Some(2), ""),
                    "{ending:?} {}",
                    missing.display()
                );
                assert!(why.contains("install Interlock"), "{why}");
            }
        }
        let passes = Ending::FoundOrPasses;
        assert_eq!(find(&empty, &project, passes).1.trim(), "{}");
        assert_eq!(find(&tools, &project, passes).1.trim(), "{\"hook\": 1}");
    }
}
