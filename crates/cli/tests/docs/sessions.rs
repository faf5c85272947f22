//! Every command that a page tells a person to type is run as printed, at a terminal, and prints what the page shows.
//!
//! Each page has its own project and home, and its commands are run one after the other. `sessions/PAGE.yaml` lists, in
//! the order of the page, what some of them need in addition: files, keys, an exit code. A command that no test can run
//! is listed there with the reason, or with the test that runs it.

mod agent;
mod normal;
mod script;
mod services;
mod shell;

use std::path::Path;

use super::pages::{Block, blocks, pages, repository};
use normal::Normal;
pub(crate) use script::expect_test;
use script::{NotRun, Script, Shown, Step};
use shell::Shell;

/// A command on a page, and its printed output.
#[derive(Debug)]
struct Typed {
    line: usize,
    command: String,
    printed: Vec<String>,
}

/// Parses the commands of a block; returns `None` if it does not contain commands.
fn typed(block: &Block) -> Option<Vec<Typed>> {
    let of_console = match &*block.language {
        "console" => true,
        "" | "sh" => false,
        "text" | "yaml" | "json" | "toml" | "lua" => return None,
        other => unreachable!("line {}: what is `{other}`?", block.line),
    };
    let mut found: Vec<Typed> = Vec::new();
    for (nth, line) in block.text.lines().enumerate() {
        let command = match of_console {
            true => line.strip_prefix("$ "),
            false => Some(line),
        };
        match (command, found.last_mut()) {
            (Some(command), _) => found.push(Typed {
                line: block.line + 1 + nth,
                command: command
                    .split(" # ")
                    .next()
                    .unwrap_or_default()
                    .trim_end()
                    .to_owned(),
                printed: Vec::new(),
            }),
            (None, Some(last)) => last.printed.push(line.to_owned()),
            (None, None) => unreachable!("line {}: a session begins with a command", block.line),
        }
    }
    Some(found)
}

/// Runs the commands of a page, and returns the differences.
fn play(name: &str, text: &str, script: Script) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut steps = script.steps.into_iter().peekable();
    if script.not_run.is_some() {
        return wrong;
    }
    let mut shell = Shell::new(&script.prepare);
    let mut shown = script.shown.into_iter();
    for block in blocks(text) {
        shell.place(&block);
        if block.language == "text"
            && let Err(error) = compare(&shell, shown.next(), &block)
        {
            wrong.push(format!("{name}:{}: {error}", block.line));
        }
        for typed in typed(&block).into_iter().flatten() {
            let step = steps.next_if(|step| step.at == typed.command);
            let step = step.unwrap_or_default();
            if step.fresh {
                shell.begin_anew(&script.prepare);
            }
            if step.not_run.is_none()
                && let Err(error) = run(&mut shell, &step, &typed)
            {
                let place = format!("{name}:{}", typed.line);
                wrong.push(format!("{place}: `{}`\n{error}", typed.command));
            }
        }
        shell.leave();
    }
    let left = steps
        .map(|step| step.at)
        .chain(shown.map(|shown| shown.from));
    let gone = |what: String| format!("{name}: `{what}` is not on the page, or not there");
    wrong.extend(left.map(gone).take(1));
    wrong
}

/// Compares a text with its source.
fn compare(shell: &Shell, shown: Option<Shown>, block: &Block) -> Result<(), String> {
    let shown = shown.ok_or("nothing is said to print this text")?;
    if shown.not_run.is_some() {
        return Ok(());
    }
    let normal = Normal::new(&shell.room);
    let printed = shell.printed(&shown.from);
    let lines: Vec<String> = printed
        .lines()
        .map(|line| normal.line(line.trim()))
        .collect();
    for line in block.text.lines().map(|line| normal.line(line)) {
        if !lines.iter().any(|is| normal::is_like(is, &line)) {
            return Err(format!("`{line}` is not in\n{printed}"));
        }
    }
    Ok(())
}

/// Runs one command, and compares its exit code and output.
fn run(shell: &mut Shell, step: &Step, typed: &Typed) -> Result<(), String> {
    shell.prepare(&step.prepare)?;
    let command = shell.filled(&typed.command, step);
    let (code, screen) = shell.run(&command, step)?;
    if code != step.exit {
        return Err(format!("exit code {code}, not {}:\n{screen}", step.exit));
    }
    if typed.printed.is_empty() {
        return Ok(());
    }
    let normal = Normal::new(&shell.room);
    let lines: Vec<String> = screen.lines().map(|line| normal.line(line)).collect();
    let printed: Vec<String> = typed.printed.iter().map(|line| normal.line(line)).collect();
    match normal::fits(&lines, &printed) {
        true => Ok(()),
        false => Err(format!(
            "prints\n{screen}\nnot\n{}\nas\n{}",
            typed.printed.join("\n"),
            lines.join("\n")
        )),
    }
}

/// Returns a page's name from its path: `README` or `docs/src/commands`.
fn name(path: &Path) -> String {
    let below = path.strip_prefix(repository()).unwrap();
    below.with_extension("").to_string_lossy().into_owned()
}

#[test]
fn every_command_of_every_page_goes_as_printed() {
    let only = std::env::var("INTERLOCK_PAGE").ok();
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        let name = name(&path);
        let is_of_program = |block: &Block| block.language == "text" || typed(block).is_some();
        let has_commands = blocks(&text).iter().any(is_of_program);
        let script = Script::read(&name);
        assert!(
            has_commands || script.is_none(),
            "{name} has no commands, but a script"
        );
        if has_commands && only.as_ref().is_none_or(|only| name.ends_with(only)) {
            wrong.extend(play(&name, &text, script.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Returns the commands of a page.
fn all_typed(text: &str) -> Vec<Typed> {
    blocks(text).iter().filter_map(typed).flatten().collect()
}

#[test]
fn what_is_not_run_here_has_a_reason_and_where_it_says_so_a_test() {
    let (mut commands, mut left_out) = (0, 0);
    for (path, text) in pages() {
        let name = name(&path);
        let page = all_typed(&text).len();
        commands += page;
        let script = Script::read(&name).unwrap_or_default();
        // A page that another test runs as printed is not left out.
        let is_left_out = |page: &&NotRun| page.tests.is_empty();
        left_out += script.not_run.iter().filter(is_left_out).count() * page;
        let of_steps = script.steps.iter().filter_map(|step| step.not_run.as_ref());
        let of_texts = script
            .shown
            .iter()
            .filter_map(|shown| shown.not_run.as_ref());
        left_out += of_steps.clone().count();
        for not_run in script.not_run.iter().chain(of_steps).chain(of_texts) {
            assert!(!not_run.because.is_empty(), "{name}: no reason");
            for test in &not_run.tests {
                expect_test(&name, test);
            }
        }
    }
    // Most commands that are not run here are run by the tests of a separate page.
    assert!(commands > 240, "only {commands} commands were found");
    assert!(
        left_out * 2 < commands,
        "{left_out} of {commands} are left out"
    );
}

#[test]
fn every_chore_that_a_page_names_is_there() {
    let chores = std::fs::read_to_string(repository().join("xtask/src/chores.rs")).unwrap();
    let mut seen = 0;
    for (path, text) in pages() {
        for typed in all_typed(&text) {
            let Some(words) = typed.command.strip_prefix("cargo xtask ") else {
                continue;
            };
            seen += 1;
            let chore = words.split(' ').next().unwrap_or_default();
            assert!(
                chores.contains(&format!("name: \"{chore}\"")),
                "{}: `{}`",
                name(&path),
                typed.command
            );
        }
    }
    assert!(seen > 10, "only {seen} chores were found");
}

#[test]
fn every_package_and_test_that_a_page_names_is_there() {
    let mut seen = 0;
    for (path, text) in pages() {
        for typed in all_typed(&text) {
            let words: Vec<&str> = typed.command.split(' ').collect();
            let place = format!("{}: `{}`", name(&path), typed.command);
            let named = words.iter().position(|word| *word == "-p");
            let Some(package) = named.and_then(|at| words.get(at + 1)) else {
                continue;
            };
            seen += 1;
            let folder = match package.strip_prefix("interlock-") {
                Some(name) => format!("crates/{name}"),
                None => "crates/cli".to_owned(),
            };
            let folder = repository().join(folder);
            assert!(folder.is_dir(), "{place}: no `{package}`");
            for module in words.iter().filter_map(|word| word.strip_suffix("::")) {
                let file = folder.join(format!("tests/{module}.rs"));
                assert!(file.is_file(), "{place}: no tests `{module}`");
            }
        }
    }
    assert!(seen > 3, "only {seen} packages were found");
}

#[test]
fn a_page_that_is_not_true_is_found() {
    let page = |block: &str| {
        let script = Script::default();
        play("page", &format!("```console\n{block}\n```\n"), script)
    };
    assert_eq!(page("$ echo one\none"), Vec::<String>::new());
    assert_eq!(page("$ interlock runs"), Vec::<String>::new());
    assert_eq!(page("$ echo one\ntwo").len(), 1);
    assert_eq!(page("$ printf 'one\\ntwo\\n'\none").len(), 1);
    assert_eq!(
        page("$ printf 'one\\ntwo\\n'\none\n…"),
        Vec::<String>::new()
    );
    assert_eq!(page("$ interlock check nowhere.yaml").len(), 1);
    assert_eq!(page("$ interlock start bugfix\nstarted 01m7y46c4vzmerz3a7mrg4yna2 of `review` stands in `planning`\n…").len(), 1);
}
