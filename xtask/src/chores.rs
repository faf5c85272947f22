//! The table of chores; `help` prints it.

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    bench, book, conformance, console, demo, docs, fleet, fuzz, journeys, lint, mutants, package,
    plugins, setup, soak, test, wasm,
};

/// Exit code for wrong usage, as everywhere in the project.
const USAGE: u8 = 2;

/// A chore: its name, its arguments, its description and its function.
struct Chore {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[&str]) -> Result<ExitCode>,
}

const CHORES: &[Chore] = &[
    Chore {
        name: "setup",
        arguments: "",
        about: "install what the tests need, at pinned versions",
        run: setup::run,
    },
    Chore {
        name: "test",
        arguments: "[--quick|--whole]",
        about: "all that a change must pass, of the tests with real clients today's part; --quick: without them; --whole: all",
        run: test::run,
    },
    Chore {
        name: "lint",
        arguments: "",
        about: "formatting, clippy, links, pages of the crates; warnings are errors",
        run: lint::run,
    },
    Chore {
        name: "docs",
        arguments: "",
        about: "check the links and includes of the documentation",
        run: docs::run,
    },
    Chore {
        name: "book",
        arguments: "",
        about: "build the book in `target/book`, and check its pages; builds mdBook first",
        run: book::run,
    },
    Chore {
        name: "console",
        arguments: "",
        about: "check and build the page of the console; what is built is committed",
        run: console::run,
    },
    Chore {
        name: "plugins",
        arguments: "",
        about: "write the plugins of the clients from what `init` writes; what is made is committed",
        run: plugins::run,
    },
    Chore {
        name: "demo",
        arguments: "[--binary FILE] [--to FOLDER]",
        about: "record `interlock demo` for the README: a cast and an animated picture; they are committed",
        run: demo::run,
    },
    Chore {
        name: "package",
        arguments: "[npm|archive|deb|homebrew ...] [--binary FILE] [--target TARGET] [--to FOLDER]",
        about: "make what is published, from a built program, in `target/package`",
        run: package::run,
    },
    Chore {
        name: "bench",
        arguments: "[NAME ...] | fleet [NAME ...] [--json]",
        about: "measure against the targets, as ratios within one run; `fleet`: servers, workers and PostgreSQL",
        run: bench::run,
    },
    Chore {
        name: "journeys",
        arguments: "",
        about: "finish every shipped workflow by every real client; write the table of the book",
        run: journeys::run,
    },
    Chore {
        name: "conformance",
        arguments: "",
        about: "the official MCP suite and our own, directly and through the gateway",
        run: conformance::run,
    },
    Chore {
        name: "load",
        arguments: "",
        about: "runs of a million events, one killed at 500 points, 200 MCP clients and a server killed every second",
        run: conformance::load,
    },
    Chore {
        name: "nemesis",
        arguments: "[--minutes N] [--seed N] [--mutant NAME] [--small-disk] [--json]",
        about: "the log of a fleet while its processes are killed, stopped and cut off; outside CI, where a test does it for two minutes",
        run: fleet::nemesis,
    },
    Chore {
        name: "soak",
        arguments: "[SEQUENCES [SEED]]",
        about: "play the property tests for long, from a seed of today",
        run: soak::run,
    },
    Chore {
        name: "fuzz",
        arguments: "[SECONDS [TARGET]]",
        about: "look for inputs that panic, hang or take too much memory; outside CI",
        run: fuzz::run,
    },
    Chore {
        name: "mutants",
        arguments: "[AREA] [--shard K/N] [--in-diff REVISION]",
        about: "change the code that decides, place by place: which changes does no test notice? outside CI",
        run: mutants::run,
    },
    Chore {
        name: "wasm",
        arguments: "",
        about: "build the engine for wasm32-unknown-unknown",
        run: wasm::run,
    },
    Chore {
        name: "help",
        arguments: "",
        about: "list the chores",
        run: help,
    },
];

/// Runs the chore that `arguments` name.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, rest) = match words.split_first() {
        None | Some((&("-h" | "--help"), _)) => ("help", [].as_slice()),
        Some((name, rest)) => (*name, rest),
    };
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("xtask: there is no chore `{name}`: `cargo xtask help` lists them");
        return Ok(ExitCode::from(USAGE));
    };
    if rest.iter().any(|word| matches!(*word, "-h" | "--help")) {
        println!("{}", usage(chore));
        return Ok(ExitCode::SUCCESS);
    }
    (chore.run)(rest)
}

fn help(_: &[&str]) -> Result<ExitCode> {
    println!("The chores of this project, each one local command:\n");
    for chore in CHORES {
        println!("{}", usage(chore));
    }
    println!("\n`.ci/run` calls `cargo xtask test` and nothing else.");
    Ok(ExitCode::SUCCESS)
}

fn usage(chore: &Chore) -> String {
    let call = format!("{} {}", chore.name, chore.arguments);
    format!("  cargo xtask {call:<24}  {}", chore.about)
}
