//! Planted faults, each beside the correct workflow: the one is found, the other is clean.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test panics, and the cases are files"
)]

use std::path::Path;

use interlock_formats::{Lines, NoWorkflows, Source, load, own_properties};
use interlock_prove::{Finding, Proof, ProofOptions, Verdict, prove};

fn proved(path: &Path) -> (String, Proof) {
    let text = std::fs::read_to_string(path).unwrap();
    let source = Source::new(path.display().to_string(), text.clone());
    let machine = match load(&source, None, &NoWorkflows) {
        Ok(loaded) => loaded.machine,
        Err(found) => panic!("{}: {found:#?}", path.display()),
    };
    let properties = own_properties(&source, &machine).unwrap();
    let lines = Lines::of(&source);
    let options = ProofOptions {
        states_max: 20_000,
        lines: Some(&lines),
    };
    (text, prove(&machine, &properties, &options))
}

fn files(ending: &str) -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    found.sort();
    assert!(found.len() >= 30, "{found:?}");
    found
}

fn failing(proof: &Proof) -> Vec<&Finding> {
    let fails = |one: &&Finding| one.verdict == Verdict::Fails;
    proof.findings.iter().filter(fails).collect()
}

#[test]
fn every_planted_fault_is_found_and_nothing_else() {
    let mut otherwise = Vec::new();
    for path in files(".broken.yaml") {
        let (text, proof) = proved(&path);
        let wanted = text
            .lines()
            .next()
            .unwrap()
            .trim_start_matches("# fails: ")
            .to_owned();
        let found: Vec<&str> = failing(&proof)
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        if found != [wanted.as_str()] {
            otherwise.push(format!(
                "{}: wanted {wanted}, {:#?}",
                path.display(),
                proof.findings
            ));
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
}

#[test]
fn every_mended_twin_is_clean() {
    let mut otherwise = Vec::new();
    for path in files(".mended.yaml") {
        let (_, proof) = proved(&path);
        for one in &proof.findings {
            let holds = matches!(one.verdict, Verdict::Holds | Verdict::HoldsWidely(_));
            if !holds {
                otherwise.push(format!("{}: {one:#?}", path.display()));
            }
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
}

#[test]
fn a_trace_is_shortest_and_says_what_changed_with_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let (_, proof) = proved(&folder.join("approval_on_one_of_two_ways.broken.yaml"));
    let failing = failing(&proof);
    let trace = &failing.first().unwrap().trace;
    let lines: Vec<String> = trace
        .iter()
        .flat_map(|step| &step.lines)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines,
        [r#"{"transition":"CHECK"}"#, r#"{"transition":"FINE"}"#]
    );
    let changed: Vec<&String> = trace.iter().flat_map(|step| &step.changed).collect();
    assert!(
        changed
            .iter()
            .any(|text| text.contains("`FINE` from `checking`, without a guard (line 16)")),
        "{changed:#?}"
    );
    assert!(
        changed
            .iter()
            .any(|text| text.contains("state: checking → published")),
        "{changed:#?}"
    );
}

#[test]
fn a_bound_is_said_and_nothing_holds_behind_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/missing_guard.mended.yaml");
    let source = Source::new("f.yaml", std::fs::read_to_string(path).unwrap());
    let machine = load(&source, None, &NoWorkflows).unwrap().machine;
    let properties = own_properties(&source, &machine).unwrap();
    let options = ProofOptions {
        states_max: 3,
        lines: None,
    };
    let proof = prove(&machine, &properties, &options);
    for one in &proof.findings {
        assert!(
            matches!(&one.verdict, Verdict::Unknown(why) if why.contains("bound"))
                || one.verdict == Verdict::Fails,
            "{one:#?}"
        );
    }
    assert!(failing(&proof).is_empty(), "{proof:#?}");
}

#[test]
fn a_guard_that_nothing_asks_tells_no_states_apart() {
    let states = |guards: &str, asked: &str, properties: &str| {
        let text = format!(
            "id: w\ninitial: a\nguards:\n  read: {{evidence: {{command: make}}}}\n{guards}\
             states:\n  a:\n    allowed_tools: [Edit, Bash]\n    allowed_commands: [make, ls]\n    \
             on: {{NEXT: {{target: end, guard: {asked}}}}}\n  end: {{type: final}}\n{properties}"
        );
        let source = Source::new("w.yaml", text);
        let machine = load(&source, None, &NoWorkflows).unwrap().machine;
        let properties = own_properties(&source, &machine).unwrap();
        let options = ProofOptions {
            states_max: 10_000,
            lines: None,
        };
        prove(&machine, &properties, &options).states
    };
    let alone = states("", "read", "");
    let unread = "  unread: {field: n, op: gt, value: 3}\n  of_unread: {not: unread}\n";
    assert_eq!(states(unread, "read", ""), alone);
    // A property may ask what no transition asks, and a guard may be a part of one that is asked.
    let property = "properties:\n  - {name: small, possible: {guard: of_unread}}\n";
    assert!(states(unread, "read", property) > alone);
    let both = format!("{unread}  both: {{all: [read, of_unread]}}\n");
    assert!(states(&both, "both", "") > alone);
}
