//! `soak`: runs for long the property tests, the shell against bash and zsh, every trick at every level and every case
//! through every client's hook, from a seed that changes each day.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::{steps::Steps, tools};

/// Number of sequences of the engine's test; more than a hundred times those of a normal test run.
const SEQUENCES: u64 = 1_000_000;
/// Distance between the seeds of two days, larger than any number of sequences.
const SEEDS_A_DAY: u64 = 1_000_000_000;
/// Number of the engine's sequences per case of the other property tests, which are slower.
const SEQUENCES_A_CASE: u64 = 1_000;

/// Number of the engine's sequences per line of shell that bash runs, and another that zsh runs, for comparison with
/// the reader.
const SEQUENCES_A_LINE: u64 = 20;

/// Number of the engine's sequences per small machine with a graph, and six runs of it.
const SEQUENCES_A_GRAPH: u64 = 60;

/// Number of the engine's sequences per edit of a workflow.
const SEQUENCES_AN_EDIT: u64 = 100;

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let (sequences, seed) = match *arguments {
        [] => (SEQUENCES, tools::days_since_1970()? * SEEDS_A_DAY),
        [sequences] => (number(sequences)?, tools::days_since_1970()? * SEEDS_A_DAY),
        [sequences, seed] => (number(sequences)?, number(seed)?),
        _ => bail!("`soak` takes a number of sequences and a seed, and nothing more"),
    };
    println!("to play the same again: cargo xtask soak {sequences} {seed}\n");
    let mut steps = Steps::default();
    for package in ["interlock-core", "interlock-simulate"] {
        let mut test = tools::tests_of(package, "properties");
        test.env("INTERLOCK_SEQUENCES", sequences.to_string())
            .env("INTERLOCK_SEED", seed.to_string())
            .env(
                "PROPTEST_CASES",
                (sequences / SEQUENCES_A_CASE).max(1).to_string(),
            )
            .env("PROPTEST_RNG_SEED", seed.to_string());
        steps.command("soak", test);
    }
    // The engine and the runner in a simulated world.
    let mut simulation = tools::tests_of("interlock-runner", "simulation");
    simulation
        .env("INTERLOCK_SCHEDULES", sequences.to_string())
        .env("INTERLOCK_SEED", seed.to_string());
    steps.command("simulate", simulation);
    // Random runs against the graphs of `prove`: six or seven for each seed.
    let mut runs = tools::cargo(&["test", "--locked", "-p", "interlock-prove", "by_chance"]);
    runs.env(
        "INTERLOCK_RUNS",
        (sequences / SEQUENCES_A_GRAPH).max(1).to_string(),
    )
    .env("INTERLOCK_SEED", seed.to_string())
    .env("INTERLOCK_WHOLE", "1");
    steps.command("prove", runs);
    // Each step of the graphs by a run, and the graphs, monitors and values of `prove` against other programs.
    for test in ["::edges::", "::monitors::", "::cells::", "::checkers::"] {
        let mut whole = tools::cargo(&["test", "--locked", "-p", "interlock-prove", "--lib", test]);
        whole.env("INTERLOCK_WHOLE", "1");
        steps.command("prove", whole);
    }
    // Every known shell line, by its class and by the engine.
    let mut classes = tools::cargo(&["test", "--locked", "-p", "interlock-backtest", "--lib"]);
    classes.env("INTERLOCK_WHOLE", "1");
    steps.command("backtest", classes);
    // Shell lines against real bash and zsh: one of each for every twenty sequences.
    let mut shell = tools::tests_of("interlock-shell", "differential");
    shell
        .env(
            "INTERLOCK_LINES",
            (sequences / SEQUENCES_A_LINE).max(1).to_string(),
        )
        .env("INTERLOCK_SEED", seed.to_string());
    steps.command("shell", shell);
    let mut edits = tools::tests_of("interlock-edit", "random");
    edits.env(
        "INTERLOCK_EDITS",
        (sequences / SEQUENCES_AN_EDIT).max(1).to_string(),
    );
    steps.command("edit", edits);
    // Every trick at every confinement level, every row with bash, every case through every client's hook, every model
    // run with each provider, and all tests with real clients.
    for (package, test) in [
        ("interlock", "kernel_alone"),
        ("interlock-simulate", "shell_tables"),
        ("interlock-prove", "mutants"),
        ("interlock", "corpus_through_hook"),
        ("interlock", "model_runs"),
        ("interlock", "flowstate_runs"),
        ("interlock", "stages::races"),
        ("interlock", "fuzz_targets"),
        ("interlock", "e2e_clients"),
    ] {
        let mut whole = tools::tests_of(package, test);
        whole.env("INTERLOCK_WHOLE", "1");
        steps.command(test, whole);
    }
    Ok(steps.finish())
}

fn number(word: &str) -> Result<u64> {
    word.parse()
        .with_context(|| format!("`{word}` is not a number of sequences or seed"))
}
