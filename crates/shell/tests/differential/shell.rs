//! Real shells, without any programs, that record the commands they run.
//!
//! `PATH` contains only the shell, so every other name ends in a function that only reports it. In bash, `set -x` shows
//! each simple command after expansion, with the directory it runs in; in zsh, that function records what it was called
//! for. A line cannot start anything on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sets up bash for a line: the trace, the substitute for programs, a time limit.
const PREAMBLE: &str = r#"ulimit -t 2
exec 9>>"$INTERLOCK_TRACE"
BASH_XTRACEFD=9
PS4=$'\001$PWD\002'
command_not_found_handle() { if [ "$1" = "$INTERLOCK_FAILS" ]; then builtin return 7; fi 9>/dev/null; builtin return 0; }
set -x
"#;

/// The same for zsh, which records only programs.
const PREAMBLE_ZSH: &str = r#"ulimit -t 2
command_not_found_handler() {
  builtin emulate -L zsh
  builtin print -rN -- $'\x02' "$PWD" "$@" >>| "$INTERLOCK_TRACE"
  [[ $1 == $INTERLOCK_FAILS ]] && builtin return 7
  builtin return 0
}
"#;

/// A shell that runs lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    Zsh,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
        }
    }

    /// Arguments before the line: no start-up files except the preamble.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["--norc", "--noprofile", "-c"],
            Self::Zsh => &["--no-global-rcs", "-c"],
        }
    }
}

/// A command as the shell ran it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) directory: String,
    pub(crate) words: Vec<String>,
}

/// The effects of a line.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ran: Vec<Ran>,
    pub(crate) code: Option<i32>,
    /// Absolute paths of files that are new or changed.
    pub(crate) written: Vec<String>,
}

/// A folder to run lines in, deep enough that `..` does not leave it.
pub(crate) struct Folder {
    pub(crate) shell: Shell,
    root: tempfile::TempDir,
    runs: usize,
    place: PathBuf,
}

impl Folder {
    pub(crate) fn new(shell: Shell) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("bin")).unwrap();
        let own = root.path().join("bin").join(shell.name());
        std::os::unix::fs::symlink(program(shell.name()), own).unwrap();
        fs::write(root.path().join("preamble"), PREAMBLE).unwrap();
        fs::write(root.path().join(".zshenv"), PREAMBLE_ZSH).unwrap();
        Self {
            shell,
            root,
            runs: 0,
            place: PathBuf::new(),
        }
    }

    /// Returns the folder for the next line; processes left by an earlier one write elsewhere.
    pub(crate) fn next(&mut self) -> String {
        let _ = fs::remove_dir_all(self.root.path().join(self.runs.to_string()));
        self.runs += 1;
        let root = self.root.path().canonicalize().unwrap();
        self.place = root.join(self.runs.to_string()).join("1/2/3/4/5/6/7/8");
        self.place.to_string_lossy().into_owned()
    }

    /// Runs a line from a clean folder; programs return 0, except that `fails` returns 7.
    pub(crate) fn run(&mut self, line: &str, fails: &str) -> Outcome {
        let root = self.root.path();
        let work = root.join(self.runs.to_string());
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(self.place.join("sub")).unwrap();
        fs::write(self.place.join("a"), "1\n").unwrap();
        fs::write(self.place.join("f"), "b c\n").unwrap();
        let before = files(&work);
        let trace = root.join(format!("trace-{}-{fails}", self.runs));
        fs::write(&trace, "").unwrap();
        let status = Command::new(program("timeout"))
            .args(["-s", "KILL", "10"])
            .arg(root.join("bin").join(self.shell.name()))
            .args(self.shell.arguments())
            .arg(line)
            .env_clear()
            .env("PATH", root.join("bin"))
            .env("HOME", &self.place)
            .env("TMPDIR", self.place.join("sub"))
            .env("BASH_ENV", root.join("preamble"))
            .env("ZDOTDIR", root)
            .env("INTERLOCK_TRACE", &trace)
            .env("INTERLOCK_FAILS", fails)
            .current_dir(&self.place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let text = fs::read(&trace).unwrap();
        let _ = fs::remove_file(&trace);
        let after = files(&work);
        Outcome {
            ran: match self.shell {
                Shell::Bash => ran(&String::from_utf8_lossy(&text)),
                Shell::Zsh => programs_ran(&String::from_utf8_lossy(&text)),
            },
            code: status.code(),
            written: after
                .into_iter()
                .filter(|file| !before.contains(file))
                .map(|(path, _)| path)
                .collect(),
        }
    }
}

/// Finds a program on the machine; the lines themselves find none.
fn program(name: &str) -> PathBuf {
    ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        .into_iter()
        .map(|place| Path::new(place).join(name))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("`{name}` is not installed: `cargo xtask setup` installs it"))
}

fn files(place: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![place.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read(&path).unwrap_or_default();
                let path = path.canonicalize().unwrap_or(path);
                found.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    found
}

/// Parses the trace, without the commands of the preamble.
fn ran(trace: &str) -> Vec<Ran> {
    let mut all = Vec::new();
    for record in trace.split('\u{1}').filter(|record| !record.is_empty()) {
        let Some((directory, rest)) = record.split_once('\u{2}') else {
            continue;
        };
        let Some(words) = unquote(rest.trim_end_matches('\n')) else {
            continue;
        };
        let shown: Vec<&str> = words.iter().map(String::as_str).collect();
        let own = matches!(shown.as_slice(), ["builtin", "return", "0" | "7"])
            || matches!(shown.as_slice(), ["[", _, "=", fails, "]"] if INTERLOCK_NAMES.contains(fails))
            || shown.is_empty();
        if !own {
            all.push(Ran {
                directory: directory.to_owned(),
                words,
            });
        }
    }
    all
}

/// Parses zsh's record of the programs that it searched for.
fn programs_ran(trace: &str) -> Vec<Ran> {
    let records = trace.split("\u{2}\0").filter(|record| !record.is_empty());
    records
        .map(|record| {
            let record = record.strip_suffix('\0').unwrap_or(record);
            let mut words = record.split('\0').map(str::to_owned);
            Ran {
                directory: words.next().unwrap_or_default(),
                words: words.collect(),
            }
        })
        .collect()
}

/// The name that means "no program fails".
pub(crate) const INTERLOCK_NAMES: [&str; 1] = ["interlock-none"];

/// Removes the quotes of a trace; returns `None` if it is not a simple command.
fn unquote(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '$' if chars.peek() == Some(&'\'') => {
                chars.next();
                let bytes = ansi(&mut chars)?;
                word.get_or_insert_default()
                    .push_str(&String::from_utf8_lossy(&bytes));
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn ansi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let c = match chars.next()? {
            '\'' => return Some(bytes),
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\u{7}',
                'b' => '\u{8}',
                'v' => '\u{b}',
                'f' => '\u{c}',
                'E' | 'e' => '\u{1b}',
                c @ '0'..='7' => {
                    let mut value = c.to_digit(8)?;
                    for _ in 0..2 {
                        if let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) {
                            value = value * 8 + digit;
                            chars.next();
                        }
                    }
                    bytes.push(u8::try_from(value).ok()?);
                    continue;
                }
                c => c,
            },
            c => c,
        };
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
