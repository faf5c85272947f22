//! `fuzz`: fills the corpora from the case files and runs cargo-fuzz.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};

use crate::{steps::Steps, tools};

/// Default time for each target, in seconds.
const SECONDS: &str = "600";
/// Limits for every target: no input over a second, none over 200 MB.
const BOUNDS: [&str; 3] = ["-timeout=1", "-rss_limit_mb=200", "-print_final_stats=1"];

/// A fuzz target: its name, its maximum input length, and its seeds.
struct Target {
    name: &'static str,
    length_max: &'static str,
    seeds: fn() -> Result<Vec<String>>,
}

const TARGETS: [Target; 6] = [
    Target {
        name: "shell",
        length_max: "-max_len=8192",
        seeds: lines,
    },
    Target {
        name: "workflow",
        length_max: "-max_len=16384",
        seeds: workflows,
    },
    Target {
        name: "edit",
        length_max: "-max_len=16384",
        seeds: workflows,
    },
    Target {
        name: "template",
        length_max: "-max_len=4096",
        seeds: templates,
    },
    Target {
        name: "play",
        length_max: "-max_len=16384",
        seeds: test_files,
    },
    Target {
        name: "hook_input",
        length_max: "-max_len=16384",
        seeds: hook_inputs,
    },
];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let (seconds, wanted) = match *arguments {
        [] => (SECONDS, None),
        [seconds] => (seconds, None),
        [seconds, target] => (seconds, Some(target)),
        _ => bail!("`fuzz` takes a number of seconds and a target, and nothing more"),
    };
    if !seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        bail!("`{seconds}` is not a number of seconds");
    }
    if !tools::cargo_has("fuzz") {
        bail!("`cargo fuzz` is not installed: `cargo install cargo-fuzz`");
    }
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| wanted.is_none_or(|wanted| wanted == target.name))
        .collect();
    if chosen.is_empty() {
        bail!("there is no target `{}`", wanted.unwrap_or_default());
    }
    let mut steps = Steps::default();
    let time = format!("-max_total_time={seconds}");
    for target in chosen {
        plant(target)?;
        let mut fuzz = tools::cargo(&["fuzz", "run", "--sanitizer", "none", target.name, "--"]);
        fuzz.args([&time, target.length_max]).args(BOUNDS);
        steps.command(target.name, fuzz);
    }
    Ok(steps.finish())
}

/// Writes the seeds of a target into its corpus.
fn plant(target: &Target) -> Result<()> {
    let corpus = tools::root().join("fuzz/corpus").join(target.name);
    fs::create_dir_all(&corpus)
        .with_context(|| format!("`{}` cannot be made", corpus.display()))?;
    for (at, seed) in (target.seeds)()?.iter().enumerate() {
        let file = corpus.join(format!("seed-{at}"));
        fs::write(&file, seed)
            .with_context(|| format!("`{}` cannot be written", file.display()))?;
    }
    Ok(())
}

/// Returns the lines of the shell's case files.
fn lines() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for file in files(&tools::root().join("crates/shell/tests/cases"), "txt")? {
        for row in tools::read(&file)?.lines() {
            if let Some((line, _)) = row.rsplit_once('⇒')
                && !row.starts_with("# ")
            {
                lines.push(line.trim_end().replace('⏎', "\n").replace('␉', "\t"));
            }
        }
    }
    Ok(lines)
}

/// Returns the shipped workflows, the examples, and the files of the diagnostics.
fn workflows() -> Result<Vec<String>> {
    let root = tools::root();
    let mut texts = Vec::new();
    for (place, ending) in [
        ("workflows", "yaml"),
        ("tests/cases", "yaml"),
        ("tests/cases", "json"),
    ] {
        for file in files(&root.join(place), ending)? {
            texts.push(tools::read(&file)?);
        }
    }
    Ok(texts)
}

/// Returns the lines of workflow files that contain a template block.
fn templates() -> Result<Vec<String>> {
    let texts = workflows()?;
    let lines = texts.iter().flat_map(|text| text.lines());
    let blocks = lines.filter(|line| ["{{", "{%", "{#"].iter().any(|mark| line.contains(mark)));
    Ok(blocks.map(|line| line.trim().to_owned()).collect())
}

/// Returns the test files that contain their workflow.
fn test_files() -> Result<Vec<String>> {
    let texts = files(&tools::root().join("tests/cases"), "yaml")?;
    let texts = texts.iter().map(|file| tools::read(file));
    let texts: Vec<String> = texts.collect::<Result<_>>()?;
    let plays = |text: &String| text.contains("\ncases:");
    Ok(texts.into_iter().filter(plays).collect())
}

/// Returns hook inputs with a call of every tool, and with shell lines of the case files.
fn hook_inputs() -> Result<Vec<String>> {
    let input = |tool: &str, arguments: &str| {
        format!(
            r#"{{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","permission_mode":"default","tool_use_id":"t","tool_name":"{tool}","tool_input":{arguments}}}"#
        )
    };
    let mut inputs = vec![
        input("Read", r#"{"file_path":"src/a.rs"}"#),
        input(
            "Edit",
            r#"{"file_path":"src/a.rs","old_string":"main","new_string":"run","replace_all":true}"#,
        ),
        input(
            "MultiEdit",
            r#"{"file_path":"src/a.rs","edits":[{"old_string":"fn","new_string":"pub fn"}]}"#,
        ),
        input("Write", r#"{"file_path":"/p/b","content":"a\nb\n"}"#),
        input(
            "NotebookEdit",
            r#"{"notebook_path":"notes.ipynb","new_source":"x","cell_id":"1","edit_mode":"insert"}"#,
        ),
        input(
            "apply_patch",
            r#"{"input":"*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn main() {}\n+fn run() {}\n*** End Patch\n"}"#,
        ),
        input("Glob", r#"{"pattern":"**/*.rs","path":"src"}"#),
        input("mcp__x__write", r#"{"path":"../.claude/settings.json"}"#),
        input("Task", r#"{"prompt":"go","subagent_type":"x"}"#),
    ];
    for line in lines()?.iter().step_by(9) {
        let text = line
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\t', "\\t");
        inputs.push(input("Bash", &format!(r#"{{"command":"{text}"}}"#)));
    }
    Ok(inputs)
}

/// Returns the files below a directory with this extension, sorted.
fn files(place: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![place.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("`{}` cannot be read", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension() == Some(OsStr::new(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
