//! `test`: runs everything that a change must pass. `.ci/run` runs this and nothing else.

use std::{fs, path::Path, process::ExitCode, thread};

use anyhow::{Context as _, Result, bail};

use crate::{
    console,
    lint::{self, Compiler},
    scratch::Scratch,
    setup,
    steps::Steps,
    tools,
};

/// Prefixes of the tests that run real clients, browsers and servers, or every trick in a kernel.
///
/// They take longer than all others together: each day runs one part of them, and `--quick` skips them.
const END_TO_END: &[&str] = &[
    "e2e_",
    "hook_process::",
    "kernel_alone::",
    "mcp_conformance::",
    "mcp_inspector::",
    "mcp_load::",
    "packages::",
];
/// Number of days in which each of [`END_TO_END`] runs once.
const PARTS: u64 = 12;
/// The folders that `interlock test` runs.
const CASES: &[&str] = &["tests/cases", "workflows"];

/// The selection of tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Played {
    /// Everything except [`END_TO_END`].
    Quick,
    /// Everything, with today's part of [`END_TO_END`].
    Part,
    Whole,
}

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let played = match *arguments {
        [] => Played::Part,
        ["--quick"] => Played::Quick,
        ["--whole"] => Played::Whole,
        _ => bail!("`test` takes `--quick` or `--whole`, and nothing else"),
    };
    let mut steps = Steps::default();
    // In parallel, because this waits for the network, and lint for the compiler.
    let others = (played != Played::Quick).then(|| {
        thread::spawn(|| {
            let setup = setup::install();
            (setup, console::check())
        })
    });
    let compiler = lint::with_build(&mut steps);
    if let Some(others) = others {
        let (setup, console) = others
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        steps.own("setup", "what the tests need", || setup);
        steps.own("console", "the built page is that of its sources", || {
            console
        });
    }
    tests(&mut steps, played, compiler)?;
    cases(&mut steps)?;
    Ok(steps.finish())
}

fn tests(steps: &mut Steps, played: Played, compiler: Compiler) -> Result<()> {
    let scratch = Scratch::new()?;
    // Another profile or other features would build everything a second time.
    let call = ["--locked", "--workspace", "--no-fail-fast"];
    if tools::cargo_has("nextest") {
        // Many tests wait for a client or a server, so one more runs than there are cores.
        let threads = thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
        let run = |filter: &str| {
            let mut run = tools::cargo(&["nextest", "run"]);
            run.args(call)
                .args(["--test-threads", &threads.to_string(), "-E", filter])
                .env("TMPDIR", scratch.path());
            compiler.compile(&mut run);
            run
        };
        let end_to_end = format!("kind(test) & test(/^({})/)", END_TO_END.join("|"));
        match played {
            Played::Quick => {
                steps.command("tests", run(&format!("not ({end_to_end})")));
            }
            Played::Part => {
                steps.command("tests", run(&format!("not ({end_to_end})")));
                let part = tools::days_since_1970()? % PARTS + 1;
                let mut todays = run(&end_to_end);
                todays.args(["--partition", &format!("hash:{part}/{PARTS}")]);
                steps.command("end to end", todays);
            }
            Played::Whole => {
                steps.command("tests", run("all()"));
            }
        }
        // They require another build of all libraries.
        if has_examples(&tools::root().join("crates"))? {
            let doc = ["test", "--locked", "--workspace", "--no-fail-fast", "--doc"];
            steps.command("doctests", tools::cargo(&doc));
        }
        return Ok(());
    }
    let mut run = tools::cargo(&["test"]);
    run.args(call).env("TMPDIR", scratch.path());
    compiler.compile(&mut run);
    if played == Played::Quick {
        run.arg("--");
        run.args(END_TO_END.iter().flat_map(|name| ["--skip", name]));
    }
    steps.command("tests", run);
    Ok(())
}

/// Returns whether a source below `folder` has a compiled example in its docs.
fn has_examples(folder: &Path) -> Result<bool> {
    let unreadable = || format!("`{}` cannot be read", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let found = if path.is_dir() {
            has_examples(&path)?
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("`{}` cannot be read", path.display()))?;
            begins_example(&text)
        } else {
            false
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn begins_example(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(language) = doc.and_then(|doc| doc.trim_start().strip_prefix("```")) else {
            continue;
        };
        let words = ["text", "json", "yaml", "toml", "sh", "ignore"];
        if !inside && !words.contains(&language.trim()) {
            return true;
        }
        inside = !inside;
    }
    false
}

/// Runs the cases with the program that the tests have built.
fn cases(steps: &mut Steps) -> Result<()> {
    let program = tools::built("debug")?.join("interlock");
    let mut call = tools::program(&program.to_string_lossy(), &["test"]);
    call.args(CASES);
    steps.command("cases", call);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_of_the_docs_is_seen() {
        for (text, seen) in [
            ("/// Words.\n/// ```\n/// one();\n/// ```\n", true),
            ("    //! ```no_run\n    //! one();\n    //! ```\n", true),
            ("/// ```text\n/// one\n/// ```\nfn one() {}\n", false),
            ("let text = \"```\";\n// ```\n", false),
        ] {
            assert_eq!(begins_example(text), seen, "{text}");
        }
    }

    #[test]
    fn what_quick_leaves_out_is_there() {
        let crates = tools::root().join("crates");
        let mut modules = String::new();
        for path in fs::read_dir(crates).into_iter().flatten().flatten() {
            let path = path.path().join("tests/main.rs");
            modules.push_str(&fs::read_to_string(path).unwrap_or_default());
        }
        for name in END_TO_END {
            let module = format!("\nmod {}", name.replace("::", ";"));
            assert!(modules.contains(&module), "no test has the name {name}");
        }
    }
}
