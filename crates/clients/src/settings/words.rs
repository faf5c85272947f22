//! The words of a command line as a shell would split them, for lines of plain words.

/// Splits a line into its words; returns `None` if it does more than start one program.
///
/// Variables and `~` are not expanded.
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

/// Script that runs the following words and turns everything but one valid JSON document into a refusal.
///
/// Some clients run the call when a hook crashes, is missing or prints something else, and some accept exit code 2 as a refusal
/// only with a sentence.
const CLOSES: &str = "o=$(\"$@\") && case $o in \"{\"*\"}\") printf \"%s\\n\" \"$o\" ;; *) false ;; esac || { \
     echo \"interlock: the hook failed, so the call is refused\" >&2; exit 2; }";
/// Finds the program on the `PATH`, outside the folder that the client works in, the project around it and any `node_modules`,
/// because the agent controls those.
const FINDS: &str = concat!(
    r#"p=$(command -v "$1"); c=$CLAUDE_PROJECT_DIR; [ -n "$c" ] || c=$PWD; "#,
    r#"case $p in "$PWD"/*|"$c"/*|[!/]*|*/node_modules/.bin/*) p= ;; esac; "#,
    r#"for d in "$PWD" "$c"; do while [ -n "$d" ] && [ "$d" != "$HOME" ]; do "#,
    r#"if [ -e "$d/.git" ] || [ -e "$d/.interlock" ]; then case $p in "$d"/*) p= ;; esac; break; fi; d=${d%/*}; done; done; "#,
    r#"[ -n "$p" ] || { "#,
);
/// Refuses a call if the program is not found.
const MISSING: &str = "echo \"interlock is not on the PATH here, so the call is refused: install Interlock, or take its hooks \
     (interlock hook) out of the settings of this project\" >&2; exit 2; }; ";
/// Determines, with the shell alone, whether a run may guard the session: a run that is bound to its id or works in this folder,
/// a run that waits for a session here, or a workflow that the project names. Then the call is refused.
const GUARDED: &str = concat!(
    r#"i=; while IFS= read -r l || [ -n "$l" ]; do i=$i$l; done; "#,
    r#"s=$XDG_STATE_HOME; [ -n "$s" ] || s=$HOME/.local/state; g=; h=$(pwd -P); "#,
    r#"for f in "$s"/interlock/sessions/*.json "$s"/interlock/projects/*.json; do [ -e "$f" ] || continue; "#,
    r#"j=; while IFS= read -r l || [ -n "$l" ]; do j=$j$l; done < "$f" || g=1; [ -n "$j" ] || g=1; "#,
    r#"n=${j#*\"session\":\"}; [ "$n" = "$j" ] || { n=${n%%\"*}; case $i in *"\"$n\""*) g=1 ;; esac; }; "#,
    r#"for d in "$h" "$c"; do while [ -n "$d" ]; do case $j in *"\"project_root\":\"$d\""*) g=1 ;; esac; d=${d%/*}; done; done; done; "#,
    r#"for d in "$h" "$c"; do while [ -n "$d" ]; do f=$d/.interlock/config.toml; d=${d%/*}; [ -e "$f" ] || continue; "#,
    r#"while IFS= read -r l || [ -n "$l" ]; do case $l in *workflow*) g=1 ;; esac; done < "$f" || g=1; done; done; "#,
    r#"[ -n "$g" ] || { echo "{}"; exit 0; }; "#,
);
/// Refuses a call of a guarded session if a plugin does not find the program.
const GONE: &str = concat!(
    r#"echo "interlock is not on the PATH here, and a run may guard this session, so the call is refused: put "#,
    r#"interlock on the PATH of this client, or uninstall its plugin" >&2; exit 2; }; "#,
);
/// Tells the person what a plugin is missing, and passes events that block nothing.
const TELLS: &str = concat!(
    r#"echo "{\"systemMessage\":\"Interlock guards nothing here: its plugin is installed, and the program "#,
    r#"interlock is not on the PATH. Install it, or uninstall the plugin.\"}"; exit 0; }; exec "$@""#,
);
/// Passes events that block nothing.
const PASSES: &str = "echo \"{}\"; exit 0; }; exec \"$@\"";
/// Runs the following words.
const RUNS: &str = "exec \"$@\"";

/// What happens to a call whose hook does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The client decides.
    Plain,
    /// The call is refused.
    Closes,
    /// The call is refused if the program is not found on the `PATH`; otherwise the client decides.
    Found,
    /// Like `Found`, and also refused if the program fails.
    FoundAndCloses,
    /// The call passes if the program is not found; otherwise the client decides.
    FoundOrPasses,
    /// The call passes if the program is not found, and the person is told.
    FoundOrTells,
    /// Like `FoundAndCloses`, but the call passes if the program is not found and no run may guard the session.
    FoundOrUnguarded,
}

impl Ending {
    const ALL: [Self; 7] = [
        Self::Plain,
        Self::Closes,
        Self::Found,
        Self::FoundAndCloses,
        Self::FoundOrPasses,
        Self::FoundOrTells,
        Self::FoundOrUnguarded,
    ];

    /// Returns the script for this ending; empty if it needs none.
    pub(crate) fn script(self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Closes => CLOSES.to_owned(),
            Self::Found => [FINDS, MISSING, RUNS].concat(),
            Self::FoundAndCloses => [FINDS, MISSING, CLOSES].concat(),
            Self::FoundOrPasses => [FINDS, PASSES].concat(),
            Self::FoundOrTells => [FINDS, TELLS].concat(),
            Self::FoundOrUnguarded => [FINDS, GUARDED, GONE, CLOSES].concat(),
        }
    }
}

/// Shell that runs the script, whatever shell the client uses for lines.
pub(crate) const SHELL: [&str; 2] = ["/bin/sh", "-c"];
pub(crate) const NAME: &str = "interlock";

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

/// Splits a line into its words and its ending.
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

/// Writes a line for people, without the script around it.
pub(crate) fn shown(line: &str) -> String {
    split_line(line).map_or_else(|| line.to_owned(), |(words, _)| joined(&words))
}

/// Joins words into one line that a shell splits again.
pub(crate) fn joined(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Quotes a word for a shell, if necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

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

    /// Runs a closing line; returns its exit code, output and error output.
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

    /// Runs a line that looks for `interlock` on this `PATH`, in a folder; returns its exit code, output and error output.
    fn find(path: &Path, folder: &Path, ending: Ending) -> (Option<i32>, String, String) {
        let words = ["interlock", "hook"].map(str::to_owned);
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &line(&words, ending)])
            .current_dir(folder);
        shell.env_remove("CLAUDE_PROJECT_DIR");
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
        // Below a project, the agent controls everything, including installed packages.
        let (deep, packages) = (
            folder("project/deep/er"),
            folder("elsewhere/node_modules/.bin"),
        );
        folder("project/.git");
        std::fs::copy(tools.join("interlock"), packages.join("interlock")).unwrap();
        for ending in [Ending::Found, Ending::FoundAndCloses] {
            for missing in [&project.join("bin"), &packages] {
                let (code, said, _) = find(missing, &deep, ending);
                assert_eq!((code, &*said), (Some(2), ""), "{}", missing.display());
            }
            assert_eq!(find(&tools, &deep, ending).0, Some(0));
        }
        // A project inside a larger repository has its own root: a program next to it is not one of its files.
        folder(".git");
        for ending in [Ending::Found, Ending::FoundAndCloses] {
            assert_eq!(find(&tools, &deep, ending).0, Some(0), "{ending:?}");
        }
        let passes = Ending::FoundOrPasses;
        assert_eq!(find(&empty, &project, passes).1.trim(), "{}");
        assert_eq!(find(&tools, &project, passes).1.trim(), "{\"hook\": 1}");
    }

    #[test]
    fn a_plugin_without_the_program_refuses_what_a_run_may_guard_and_nothing_else() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        let folder = |name: &str| {
            let path = base.join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (empty, project, other) = (folder("empty"), folder("p/deep"), folder("other"));
        let root = base.join("p");
        let write = |name: &str, text: String| {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let words = ["interlock", "hook"].map(str::to_owned);
        let written = line(&words, Ending::FoundOrUnguarded);
        let ask = |shell: &str, folder: &Path, session: &str| {
            let input = format!("{{\"session_id\": \"{session}\",\n \"cwd\": \"/\"}}");
            let mut ran = Command::new(shell);
            ran.args(["-c", &written]).current_dir(folder);
            ran.env("PATH", &empty).env("HOME", base.join("home"));
            ran.env_remove("CLAUDE_PROJECT_DIR");
            ran.env("XDG_STATE_HOME", base.join("state"));
            ran.stdin(std::process::Stdio::piped());
            ran.stdout(std::process::Stdio::piped());
            ran.stderr(std::process::Stdio::piped());
            let mut ran = ran.spawn().unwrap();
            std::io::Write::write_all(&mut ran.stdin.take().unwrap(), input.as_bytes()).unwrap();
            let ended = ran.wait_with_output().unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            let (said, why) = (text(ended.stdout), text(ended.stderr));
            match ended.status.code() {
                Some(0) if said.trim() == "{}" && why.is_empty() => true,
                Some(2) if said.is_empty() && why.contains("uninstall its plugin") => false,
                other => panic!("{other:?} {said} {why}"),
            }
        };
        let passes = |folder: &Path, session: &str| {
            let [one, two] = ["/bin/sh", "/bin/bash"].map(|shell| ask(shell, folder, session));
            assert_eq!(one, two);
            one
        };
        // Nothing is known of any run.
        assert!(passes(&project, "S-1"));
        // Some clients start the hooks of a plugin in its own folder, and name the project.
        let named = |session: &str| {
            let mut ran = Command::new("/bin/sh");
            ran.args(["-c", &written]).current_dir(&other);
            ran.env("PATH", &empty).env("CLAUDE_PROJECT_DIR", &project);
            ran.env("XDG_STATE_HOME", base.join("state"));
            let input = base.join("input");
            std::fs::write(&input, format!("{{\"session_id\":\"{session}\"}}")).unwrap();
            ran.stdin(std::fs::File::open(input).unwrap());
            ran.output().unwrap().status.code() == Some(0)
        };
        assert!(named("S-2"));
        // A session is bound by its id, wherever it works, and so is each in the folder.
        let bound = |root: &Path| {
            let root = root.display();
            format!(
                r#"{{"version":1,"content":{{"run":"r","session":{{"client":"claude-code","session":"S-1"}},"project_root":"{root}"}}}}"#
            )
        };
        write("state/interlock/sessions/a.json", bound(&root));
        assert!(!passes(&project, "S-1"));
        assert!(!passes(&other, "S-1"));
        assert!(!passes(&project, "S-2"));
        assert!(!named("S-2"));
        assert!(passes(&other, "S-2"));
        assert!(passes(&other, "S-10"));
        // An unreadable record may be for this session.
        write("state/interlock/sessions/b.json", String::new());
        assert!(!passes(&other, "S-2"));
        std::fs::remove_dir_all(base.join("state")).unwrap();
        // A run waits for a session of the project.
        let waits = format!(
            r#"{{"version":1,"content":{{"run":"r","project_root":"{}"}}}}"#,
            root.display()
        );
        write("state/interlock/projects/a.json", waits);
        assert!(!passes(&project, "S-2"));
        assert!(passes(&other, "S-2"));
        std::fs::remove_dir_all(base.join("state")).unwrap();
        // The project names a workflow.
        write(
            "p/.interlock/config.toml",
            "[shell]\nallow = []\n".to_owned(),
        );
        assert!(passes(&project, "S-2"));
        write(
            "p/.interlock/config.toml",
            "# ours\nworkflow = \"bugfix\"".to_owned(),
        );
        assert!(!passes(&project, "S-2"));
        assert!(passes(&other, "S-2"));
    }
}
