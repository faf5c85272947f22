//! All shipped workflows, with the properties beside them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test panics, and the cases are files"
)]

use std::path::{Path, PathBuf};

use interlock_formats::{Lines, NoWorkflows, Source, load, own_properties, properties_file};
use interlock_prove::{Proof, ProofOptions, Verdict, prove};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn proved(path: &Path) -> Proof {
    let source = Source::new(
        path.display().to_string(),
        std::fs::read_to_string(path).unwrap(),
    );
    let machine = match load(&source, None, &NoWorkflows) {
        Ok(loaded) => loaded.machine,
        Err(found) => panic!("{}: {found:#?}", path.display()),
    };
    let mut properties = own_properties(&source, &machine).unwrap();
    let beside = path.with_extension("properties.yaml");
    if beside.exists() {
        let text = std::fs::read_to_string(&beside).unwrap();
        let read = properties_file(&Source::new(beside.display().to_string(), text), &machine);
        properties.extend(read.unwrap());
    }
    let lines = Lines::of(&source);
    let options = ProofOptions {
        states_max: 20_000,
        lines: Some(&lines),
    };
    prove(&machine, &properties, &options)
}

fn holds(name: &str) {
    let path = root().join("workflows").join(format!("{name}.yaml"));
    assert!(path.with_extension("properties.yaml").exists());
    for one in proved(&path).findings {
        let holds = matches!(one.verdict, Verdict::Holds | Verdict::HoldsWidely(_));
        assert!(holds, "{name}: {one:#?}");
    }
}

#[test]
fn bugfix_keeps_its_promises() {
    holds("bugfix");
}

#[test]
fn feature_keeps_its_promises() {
    holds("feature");
}

#[test]
fn migration_keeps_its_promises() {
    holds("migration");
}

#[test]
fn refactor_keeps_its_promises() {
    holds("refactor");
}

#[test]
fn release_keeps_its_promises() {
    holds("release");
}

#[test]
fn research_keeps_its_promises() {
    holds("research");
}

#[test]
fn review_keeps_its_promises() {
    holds("review");
}

/// Each has an unexplored run that violates its property, so nothing may be reported as proved.
#[test]
fn nothing_is_said_to_hold_where_more_may_happen_than_is_tried() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doubted");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let proof = proved(&path);
        let asked = proof.findings.iter().filter(|one| one.at.is_some());
        for one in asked {
            assert!(
                matches!(one.verdict, Verdict::Unknown(_) | Verdict::Fails),
                "{}: {one:#?}",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 14, "{seen}");
}

/// Each has an unexplored run that satisfies its property, so nothing may be reported as failed.
#[test]
fn nothing_is_said_to_fail_where_more_may_happen_than_is_tried() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perhaps");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for one in &proved(&path).findings {
            let certain = matches!(one.verdict, Verdict::Fails | Verdict::Vacuous(_));
            assert!(!certain, "{}: {one:#?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen}");
}

/// Workflows of steps are not supported yet, and never reported as proved.
#[test]
fn the_examples_are_unknown_with_a_reason() {
    let mut seen = 0;
    for folder in std::fs::read_dir(root().join("examples")).unwrap() {
        let folder = folder.unwrap().path();
        let Some(name) = folder.file_name().filter(|_| folder.is_dir()) else {
            continue;
        };
        let path = folder.join(name).with_extension("yaml");
        let proof = proved(&path);
        for one in &proof.findings {
            assert!(
                matches!(&one.verdict, Verdict::Unknown(why) if why.contains("does not read yet")),
                "{}: {one:#?}",
                path.display()
            );
        }
        assert!(!proof.findings.is_empty());
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}
