//! Measures the fleet, and tries it under faults: `cargo xtask bench fleet`, `cargo xtask nemesis`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to whoever called it"
)]

use std::{path::PathBuf, process::ExitCode, time::Duration};

use interlock_fleet_trials::{Programs, bench, nemesis};

const USAGE: &str = "Usage: interlock-fleet-trials [--programs FOLDER] bench [NAME ...] [--json]
       interlock-fleet-trials [--programs FOLDER] nemesis [--minutes N] [--seed N] [--mutant NAME]
                                                    [--without-workers] [--small-disk] [--json]

bench    measures the fleet: all figures, or those that are named
nemesis  has clients work while processes are killed, stopped and cut off, and checks what they saw

--programs FOLDER  where interlock, interlock-shared and interlock-worker are; default: beside this program
--minutes N        how long the faults go on; default: 60
--seed N           the seed of the plan of faults; default: from the clock
--mutant NAME      breaks the log on purpose, which has to be noticed: no-epoch, no-command-id, late-commit, stale-read
--without-workers  tries only servers and PostgreSQL
--small-disk       gives the database a file system of 1 GiB in memory, which is filled; as root
--json             prints one JSON document";

/// Exit code for wrong usage, as everywhere in the project.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() || words.iter().any(|word| word == "-h" || word == "--help") {
        println!("{USAGE}\n\nThe figures: {}", bench::names().join(", "));
        return ExitCode::SUCCESS;
    }
    match run(&mut words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            eprintln!("interlock-fleet-trials: {wrong}");
            ExitCode::from(WRONG_USAGE)
        }
    }
}

fn run(words: &mut Vec<String>) -> Result<bool, String> {
    let json = flag(words, "--json");
    let folder = value(words, "--programs")?.map(PathBuf::from);
    let programs = Programs::in_folder(folder)?;
    let rest: Vec<&str> = words.iter().map(String::as_str).collect();
    match *rest {
        ["bench", ref names @ ..] => bench::run(&programs, names, json),
        ["nemesis", ..] => {
            let mut rest: Vec<String> = words.drain(1..).collect();
            let settings = nemesis::Settings {
                small_disk: flag(&mut rest, "--small-disk"),
                workers: !flag(&mut rest, "--without-workers"),
                time: Duration::from_secs(60 * number(&mut rest, "--minutes")?.unwrap_or(60)),
                seed: number(&mut rest, "--seed")?.unwrap_or_else(nemesis::seed_of_now),
                mutant: value(&mut rest, "--mutant")?
                    .map(|name| nemesis::Mutant::named(&name))
                    .transpose()?,
            };
            if let Some(word) = rest.first() {
                return Err(format!("`nemesis` takes no `{word}`: see --help"));
            }
            let report = nemesis::run(&programs, &settings);
            report.print(json);
            Ok(report.is_good())
        }
        _ => Err(format!("there is no trial of this name\n\n{USAGE}")),
    }
}

fn flag(words: &mut Vec<String>, name: &str) -> bool {
    let before = words.len();
    words.retain(|word| word != name);
    words.len() < before
}

fn value(words: &mut Vec<String>, name: &str) -> Result<Option<String>, String> {
    let Some(at) = words.iter().position(|word| word == name) else {
        return Ok(None);
    };
    let mut taken = words.drain(at..words.len().min(at + 2)).skip(1);
    match taken.next() {
        Some(value) => Ok(Some(value)),
        None => Err(format!("`{name}` needs a value")),
    }
}

fn number(words: &mut Vec<String>, name: &str) -> Result<Option<u64>, String> {
    let Some(word) = value(words, name)? else {
        return Ok(None);
    };
    let number = word.parse();
    number
        .map(Some)
        .map_err(|_| format!("`{name}` takes a number, not `{word}`"))
}
