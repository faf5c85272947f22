//! Measures proofs: every shipped workflow with its properties, branches with evidence, and a graph of a million
//! states.

pub(crate) mod checkers;

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use anyhow::{Result, anyhow};
use interlock_formats::{Lines, NoWorkflows, Source, load, properties_file};
use interlock_prove::{Proof, ProofOptions, prove};
use interlock_testkit::{room::Room, shipped};

use crate::{arguments::Arguments, memory, sample, table::Table};

/// Time limit for a workflow with all its properties.
const SHIPPED: Duration = Duration::from_millis(100);
const BRANCHES: Duration = Duration::from_secs(2);
const MILLION: Duration = Duration::from_secs(5);
const MILLION_KILOBYTES: u32 = 400 * 1024;
/// Number of states of each of three branches, together a million.
const OF_A_BRANCH: usize = 98;

pub(crate) fn proofs(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    for name in shipped::SHIPPED {
        let path = folder.join(name).with_extension("yaml");
        let text = fs::read_to_string(&path)?;
        let properties = fs::read_to_string(path.with_extension("properties.yaml"))?;
        let proof = proved(&text, &properties)?;
        let took = sample::time(|| proved(&text, &properties));
        let what = format!(
            "prove: {name}, {} states, {} steps",
            proof.states, proof.steps
        );
        table.time(what, took, SHIPPED);
    }
    let text = branches(4, 4, true);
    let proof = proved(&text, "properties: []\n")?;
    let took = sample::time(|| proved(&text, "properties: []\n"));
    let what = format!(
        "prove: three branches, four keys of evidence, {} states, {} steps",
        proof.states, proof.steps
    );
    table.time(what, took, BRANCHES);
    million(arguments, table)
}

/// Measures the program as a process, which reuses nothing of an earlier proof.
fn million(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let room = Room::new()?;
    let file = room.path("million.yaml");
    fs::write(&file, branches(OF_A_BRANCH, 0, false))?;
    let file = file.to_string_lossy().into_owned();
    let call = [
        arguments.interlock.as_str(),
        "prove",
        &file,
        "--max-states",
        "2000000",
    ];
    let peak = memory::peak_of(&mut memory::parent_of(&room, &call)?)?;
    table.time(
        "prove: a million states, ten million steps",
        peak.time,
        MILLION,
    );
    table.kilobytes("prove: its peak", peak.kilobytes, MILLION_KILOBYTES);
    Ok(())
}

fn proved(text: &str, properties: &str) -> Result<Proof> {
    let source = Source::new("bench.yaml", text);
    let machine = load(&source, None, &NoWorkflows)
        .map_err(|found| anyhow!("{found:?}"))?
        .machine;
    let properties = properties_file(&Source::new("bench.properties.yaml", properties), &machine)
        .map_err(|found| anyhow!("{found:?}"))?;
    let lines = Lines::of(&source);
    let options = ProofOptions {
        states_max: 2_000_000,
        lines: Some(&lines),
    };
    Ok(prove(&machine, &properties, &options))
}

/// Writes three branches of `count` states in a row; in some, a command is evidence for the next transition.
fn branches(count: usize, keys: usize, writes: bool) -> String {
    let mut text = String::from("id: bench\ninitial: begin\n");
    for key in 0..keys {
        if key == 0 {
            text.push_str("guards:\n");
        }
        let _ = writeln!(
            text,
            "  seen{key}: {{evidence: {{command: make part{key}}}}}"
        );
    }
    text.push_str("states:\n  begin:\n    allowed_tools: []\n    on:\n      FORK:\n        fork:\n          branches:\n");
    for branch in ["a", "b", "c"] {
        let _ = writeln!(
            text,
            "            {branch}: {{initial: {branch}0, terminal: {branch}_end}}"
        );
    }
    text.push_str("          on_complete: end\n          on_fail: end\n");
    let tools = if writes {
        "[Edit, Read, Bash]"
    } else {
        "[Read]"
    };
    for (index, branch) in ["a", "b", "c"].into_iter().enumerate() {
        for number in 0..count {
            let next = if number + 1 < count {
                format!("{branch}{}", number + 1)
            } else {
                format!("{branch}_end")
            };
            let guard = if keys > 0 && number % 2 == 1 {
                format!("{{target: {next}, guard: seen{}}}", (index + number) % keys)
            } else {
                next
            };
            let _ = writeln!(text, "  {branch}{number}:\n    allowed_tools: {tools}");
            if writes {
                text.push_str(
                    "    allowed_commands: [make part0, make part1, make part2, make part3]\n",
                );
            }
            let _ = writeln!(
                text,
                "    on: {{NEXT: {guard}, AGAIN: {branch}0, HALF: {branch}{}}}",
                number / 2
            );
        }
        let _ = writeln!(text, "  {branch}_end: {{type: final}}");
    }
    text.push_str("  end: {type: final}\n");
    text
}
