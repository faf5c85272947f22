//! `demo`: the animated demo, recorded from a real session of `interlock demo`.

mod cast;
mod screen;
mod svg;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// Folder of the recording that the README and the book show.
const IMAGES: &str = "docs/src/images";
/// The beginning of the session's output after the log of the run, which is too long for a picture.
const BEHIND: &str = "Its graph (Mermaid):";
/// Number of columns of the terminal.
const COLUMNS: usize = 100;
/// Number of rows of the terminal.
const ROWS: usize = 30;

/// A line of the session and the time when it appears.
#[derive(Debug)]
struct Line {
    /// Milliseconds since the beginning.
    at_ms: u64,
    /// The line with its color codes, as printed.
    text: String,
}

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let (mut binary, mut to) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match *word {
            "--binary" => &mut binary,
            "--to" => &mut to,
            other => bail!("`{other}` means nothing here: there are `--binary` and `--to`"),
        };
        let value = words.next();
        *place = Some(value.with_context(|| format!("`{word}` needs a value"))?);
    }
    let binary = match binary {
        Some(binary) => PathBuf::from(binary),
        None => tools::built("debug")?.join("interlock"),
    };
    let to = to.map_or_else(|| tools::root().join(IMAGES), PathBuf::from);
    let lines = session(&binary)?;
    fs::create_dir_all(&to).with_context(|| format!("`{}` cannot be made", to.display()))?;
    for (name, text) in [
        ("demo.cast", cast::write(&lines)),
        ("demo.svg", svg::write(&lines)),
    ] {
        let path = to.join(name);
        fs::write(&path, text)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the demo, and gives each of its lines a time that lets it be read.
fn session(binary: &std::path::Path) -> Result<Vec<Line>> {
    let program = binary.to_string_lossy();
    let mut demo = tools::program(&program, &["--color", "always", "demo"]);
    let output = demo.output();
    let output = output.with_context(|| format!("`{program}` cannot be started"))?;
    if !output.status.success() {
        bail!("`{program} demo` ended with {}", output.status);
    }
    let text = String::from_utf8(output.stdout).context("the demo prints what is not text")?;
    let mut at_ms = 400;
    let mut lines = vec![Line {
        at_ms,
        text: "\u{1b}[2m$\u{1b}[0m interlock demo".to_owned(),
    }];
    let shown = text.lines().take_while(|line| !line.contains(BEHIND));
    let mut shown: Vec<&str> = shown.collect();
    while shown.last().is_some_and(|line| line.is_empty()) {
        shown.pop();
    }
    for line in shown {
        at_ms += pause_ms(line);
        lines.push(Line {
            at_ms,
            text: line.to_owned(),
        });
    }
    Ok(lines)
}

/// Returns the pause before a line: longer before an action of the agent, shorter before an explanation of it.
fn pause_ms(line: &str) -> u64 {
    let says = |word: &str| line.contains(word);
    if says("denied\u{1b}") || says("refused\u{1b}") || says("you\u{1b}") {
        1_500
    } else if says("allowed\u{1b}") || says("adds\u{1b}") {
        900
    } else if line.is_empty() {
        1_200
    } else {
        120
    }
}
