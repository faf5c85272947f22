//! `mutants`: mutates the deciding code, one place at a time, and reports the mutants that no test detects.
//!
//! `tests/mutants/survivors.txt` lists the accepted survivors with the reason why no test can detect them. An
//! interrupted run resumes where it stopped, and `--shard K/N` distributes the mutants over several machines.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::tools;

/// The version of cargo-mutants that the list of survivors is for.
const VERSION: &str = "27.1.0";
/// The accepted survivors and their reasons.
const SURVIVORS: &str = "tests/mutants/survivors.txt";
/// Minimum timeout in seconds for the tests of one mutant.
const TIMEOUT_S: &str = "120";
/// Number of sequences of the engine's property test for one mutant.
const SEQUENCES: &str = "3000";

/// Packages that other builds optimize: here each mutant is built once and its tests run once.
const OPTIMIZED: &[&str] = &["core", "expr", "judge", "machine", "run", "shell"];

/// Deciding code, and the packages whose tests check it.
struct Area {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
    /// A filter that selects some of these tests; `None` for all.
    filter: Option<&'static str>,
}

const AREAS: &[Area] = &[
    Area {
        name: "guards",
        package: "interlock-judge",
        files: &["crates/judge/src/holds.rs", "crates/judge/src/holds/*.rs"],
        tests: &["interlock-judge", "interlock-core", "interlock-simulate"],
        filter: Some(ENGINE),
    },
    Area {
        name: "judge",
        package: "interlock-judge",
        files: &[
            "crates/judge/src/address.rs",
            "crates/judge/src/judge.rs",
            "crates/judge/src/judge/**/*.rs",
        ],
        tests: &["interlock-judge", "interlock-core", "interlock-simulate"],
        filter: Some(ENGINE),
    },
    Area {
        name: "decide",
        package: "interlock-core",
        files: &[
            "crates/core/src/decide.rs",
            "crates/core/src/decide/**/*.rs",
            "crates/core/src/evolve.rs",
            "crates/core/src/evolve/*.rs",
        ],
        tests: &["interlock-core", "interlock-simulate"],
        filter: Some(ENGINE),
    },
    Area {
        name: "shell",
        package: "interlock-shell",
        files: &["crates/shell/src/**/*.rs"],
        tests: &["interlock-shell", "interlock-simulate"],
        filter: Some("not test(/^differential::/) and not test(/^properties::/)"),
    },
    Area {
        name: "facts",
        package: "interlock-facts",
        files: &["crates/facts/src/**/*.rs"],
        tests: &["interlock-facts", "interlock-clients"],
        filter: None,
    },
    Area {
        name: "tickets",
        package: "interlock-store",
        files: &["crates/store/src/tickets.rs", "crates/store/src/records.rs"],
        tests: &["interlock-store"],
        filter: None,
    },
    Area {
        name: "authority",
        package: "interlock",
        files: &[
            "crates/cli/src/authority.rs",
            "crates/cli/src/authority/*.rs",
        ],
        tests: &["interlock"],
        filter: Some("test(/^persons_door::/) or test(/^approvals::/)"),
    },
    Area {
        name: "gateway",
        package: "interlock-gateway",
        files: &[
            "crates/gateway/src/govern/*.rs",
            "crates/gateway/src/downstream/http/guard.rs",
            "crates/gateway/src/downstream/http/believed.rs",
        ],
        tests: &["interlock-gateway"],
        filter: None,
    },
    Area {
        name: "sandbox",
        package: "interlock-sandbox",
        files: &["crates/sandbox/src/plan.rs", "crates/sandbox/src/plan/*.rs"],
        tests: &["interlock-sandbox", "interlock-confine"],
        filter: None,
    },
];

/// Tests of the engine that are fast enough to run for each mutant.
const ENGINE: &str = "not (package(interlock-simulate) \
    and test(/^(properties|shell_tables|made_up_lines|habits)::/))";

/// The parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    area: Option<String>,
    shard: Option<String>,
    diff: Option<String>,
}

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let wanted = wanted(arguments)?;
    let mut reasons = reasons(&tools::read(&tools::root().join(SURVIVORS))?)?;
    let installed = tools::answer(&mut tools::cargo(&["mutants", "--version"]));
    let is_pinned = installed.is_some_and(|said| said.ends_with(VERSION));
    ensure!(
        is_pinned,
        "cargo-mutants {VERSION} is not installed: `cargo install cargo-mutants --version {VERSION} --locked`"
    );
    let diff = wanted.diff.as_deref().map(diff_since).transpose()?;
    let areas = AREAS.iter().filter(|area| {
        let named = wanted.area.as_deref();
        named.is_none_or(|named| named == area.name)
    });
    let mut unexplained = Vec::new();
    let mut tried = 0;
    for area in areas {
        println!("== {}: {}", area.name, area.files.join(", "));
        let output = output_of(area, &wanted);
        mutate(area, &wanted, diff.as_deref(), &output)?;
        let outcomes = output.join("mutants.out");
        tried += lines(&outcomes.join("caught.txt"))?.len();
        for line in lines(&outcomes.join("missed.txt"))? {
            tried += 1;
            match reasons.get_mut(&without_place(&line)) {
                Some(left) if *left > 0 => *left -= 1,
                _ => unexplained.push(line),
            }
        }
    }
    for mutant in &unexplained {
        println!("no test notices: {mutant}");
    }
    println!(
        "{tried} mutants tried, {} that no test notices and `{SURVIVORS}` has no reason for",
        unexplained.len()
    );
    if unexplained.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "write a test that fails with each, or add it to the file with the reason behind ` # `"
    );
    Ok(ExitCode::FAILURE)
}

fn wanted(arguments: &[&str]) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || {
            let value = rest.next().map(|value| (*value).to_owned());
            value.with_context(|| format!("`{word}` wants a value behind it"))
        };
        match *word {
            "--shard" => wanted.shard = Some(value()?),
            "--in-diff" => wanted.diff = Some(value()?),
            area if AREAS.iter().any(|known| known.name == area) => {
                wanted.area = Some(area.to_owned());
            }
            other => {
                let names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
                bail!("there is no area `{other}`: {}", names.join(", "));
            }
        }
    }
    Ok(wanted)
}

/// Writes the changes since a revision into a file for cargo-mutants.
fn diff_since(revision: &str) -> Result<PathBuf> {
    let mut git = tools::program("git", &["diff", revision, "--", "crates"]);
    let diff = git.output().context("`git diff` cannot be started")?;
    ensure!(
        diff.status.success(),
        "`git diff {revision}` failed: {}",
        String::from_utf8_lossy(&diff.stderr).trim()
    );
    let path = tools::root().join("target/mutants.diff");
    fs::write(&path, diff.stdout)
        .with_context(|| format!("`{}` cannot be written", path.display()))?;
    Ok(path)
}

/// Returns the output directory of an area; a run with the same arguments resumes there.
fn output_of(area: &Area, wanted: &Wanted) -> PathBuf {
    let part = match (&wanted.shard, &wanted.diff) {
        (Some(shard), _) => format!("{}-{}", area.name, shard.replace('/', "-of-")),
        (None, Some(_)) => format!("{}-diff", area.name),
        (None, None) => area.name.to_owned(),
    };
    tools::root().join("target/mutants").join(part)
}

fn mutate(area: &Area, wanted: &Wanted, diff: Option<&Path>, output: &Path) -> Result<()> {
    fs::create_dir_all(output).with_context(|| format!("`{}` cannot be made", output.display()))?;
    let mut call = tools::cargo(&["mutants", "--package", area.package]);
    for file in area.files {
        call.args(["--file", file]);
    }
    call.args(["--test-package", &area.tests.join(",")]);
    call.args(["--no-shuffle", "--iterate", "--colors", "never"]);
    call.args(["--minimum-test-timeout", TIMEOUT_S]);
    call.arg("--output").arg(output);
    for package in OPTIMIZED {
        let plain = format!("profile.dev.package.interlock-{package}.opt-level=0");
        call.arg(format!("--cargo-arg=--config={plain}"));
    }
    if let Some(shard) = &wanted.shard {
        call.args(["--shard", shard]);
    }
    if let Some(diff) = diff {
        call.arg("--in-diff").arg(diff);
    }
    if tools::cargo_has("nextest") {
        call.args(["--test-tool", "nextest"]);
        if let Some(filter) = area.filter {
            call.args(["--", "-E", filter]);
        }
    }
    call.env("INTERLOCK_SEQUENCES", SEQUENCES);
    let status = call.status().context("cargo-mutants cannot be started")?;
    // 2: some were missed; 3: some timed out, which counts as detected.
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        _ => bail!("cargo-mutants ended with {status}"),
    }
}

/// Returns the lines of a list of mutants; empty if the file does not exist.
fn lines(path: &Path) -> Result<Vec<String>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(tools::read(path)?.lines().map(str::to_owned).collect())
}

/// Removes line and column from `FILE:LINE:COLUMN: WHAT`, because they change with every edit above.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(line), Some(column), Some(what))
            if is_number(line) && is_number(column) =>
        {
            format!("{file}:{what}")
        }
        _ => mutant.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses `FILE: WHAT # REASON` lines; returns how many lines excuse each mutant, because each line excuses one.
fn reasons(text: &str) -> Result<BTreeMap<String, usize>> {
    let mut reasons = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (mutant, _) = line
            .split_once(" # ")
            .filter(|(_, reason)| !reason.trim().is_empty())
            .with_context(|| {
                format!(
                    "{SURVIVORS}:{}: a mutant without ` # ` and a reason",
                    at + 1
                )
            })?;
        *reasons.entry(mutant.trim_end().to_owned()).or_default() += 1;
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_wherever_it_stands() {
        let mutant =
            "crates/judge/src/holds.rs:120:5: replace check -> Result<(), Unmet> with Ok(())";
        let known = "crates/judge/src/holds.rs: replace check -> Result<(), Unmet> with Ok(())";
        assert_eq!(without_place(mutant), known);
        assert_eq!(without_place(known), known);
    }

    #[test]
    fn a_survivor_has_a_reason() -> Result<()> {
        let line = "a.rs: replace x with y # it cannot be seen\n";
        let read = reasons(&format!("# about\n\n{line}{line}"))?;
        assert_eq!(read.get("a.rs: replace x with y"), Some(&2));
        for bare in ["a.rs: replace x with y", "a.rs: replace x with y # "] {
            assert!(reasons(bare).is_err(), "{bare}");
        }
        Ok(())
    }

    #[test]
    fn the_file_of_survivors_is_in_order() -> Result<()> {
        reasons(&tools::read(&tools::root().join(SURVIVORS))?)?;
        Ok(())
    }

    #[test]
    fn every_area_is_there() {
        let root = tools::root();
        for area in AREAS {
            for file in area.files {
                let fixed = file.split('*').next().unwrap_or_default();
                assert!(root.join(fixed).exists(), "{}: {file}", area.name);
            }
        }
        assert_eq!(
            wanted(&["guards", "--shard", "1/4"]).ok(),
            Some(Wanted {
                area: Some("guards".to_owned()),
                shard: Some("1/4".to_owned()),
                diff: None,
            })
        );
        assert!(wanted(&["gards"]).is_err());
        assert!(wanted(&["--shard"]).is_err());
    }
}
