//! The explanations of shell lines: the facts, the verdict, the rule.

use interlock_core::machine::Machine;
use interlock_facts::GivenDisk;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, explain};
use serde_json::json;

const WORKFLOW: &str = r"
id: w
initial: reads
states:
  reads:
    allowed_tools: [Read, Grep, Glob, Bash]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: tests}
  tests:
    allowed_tools: [Read, Bash]
    allowed_commands: [pytest, cargo test, npm test]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: writes}
  writes:
    allowed_tools: [Read, Edit, Write, Bash]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: {invoke: sub, on_complete: end, on_fail: end}, BUILD: builds}
  builds:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [./build.sh]
    on: {NEXT: end}
  end: {type: final}
machines:
  sub:
    initial: inner
    states:
      inner: {allowed_tools: [Bash], on: {NEXT: over}}
      over: {type: final}
";

fn machine() -> Machine {
    load(&Source::new("w.yaml", WORKFLOW), None, &NoWorkflows)
        .unwrap()
        .machine
}

#[test]
fn every_line_of_the_table_is_told_what_it_says() {
    let machine = machine();
    let letter = |state: &str, line: &str| {
        let told = explain(
            &machine,
            state,
            line,
            &Scenario::default(),
            &GivenDisk::empty(),
        )
        .unwrap();
        match told.code.map(|code| code.as_str()) {
            None => "+",
            Some("shell_unreadable") => "U",
            Some("shell_write") => "S",
            Some("command_not_allowed") => "C",
            Some("env_blocked") => "E",
            Some("protected") => "P",
            Some(other) => other,
        }
    };
    let mut wrong = Vec::new();
    let table = include_str!("data/shell_verdicts.txt");
    let rows = table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# ") && *row != "#");
    for row in rows {
        let (wanted, line) = row.split_once("  ").unwrap();
        let line = line.replace('⏎', "\n");
        let told = ["reads", "tests", "writes"].map(|state| letter(state, &line));
        if told.join(" ") != wanted {
            wrong.push(format!("{row}   is told: {}", told.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_facts_come_in_the_shape_of_the_contract() {
    let told = |state: &str, line: &str| {
        let told = explain(
            &machine(),
            state,
            line,
            &Scenario::default(),
            &GivenDisk::empty(),
        )
        .unwrap();
        serde_json::to_value(told).unwrap()
    };
    let answer = told("writes", "npm test > out.txt && cat \"$x\" src/a.rs");
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    let order = [
        "verdict",
        "code",
        "message",
        "commands",
        "writes",
        "reads",
        "unreadable",
    ];
    assert_eq!(keys.get(..order.len()).unwrap(), order);
    let part = |key: &str| answer.get(key).unwrap().clone();
    assert_eq!(part("verdict"), json!("allow"));
    assert_eq!(part("code"), json!(null));
    assert_eq!(part("writes"), json!(["out.txt"]));
    assert_eq!(part("unreadable"), json!(null));
    assert_eq!(
        part("commands").get(0),
        Some(&json!(["npm", "test"])),
        "{answer}"
    );
    let unreadable = told("reads", "echo 'open");
    assert!(unreadable.get("unreadable").unwrap().is_string());
    assert_eq!(unreadable.get("code"), Some(&json!("shell_unreadable")));
}

#[test]
fn every_kind_of_state_can_be_asked() {
    let code = |state: &str| {
        explain(
            &machine(),
            state,
            "rm -rf build",
            &Scenario::default(),
            &GivenDisk::empty(),
        )
        .map(|told| told.code.map(|code| code.as_str()))
        .map_err(|error| error.to_string())
    };
    assert_eq!(code("end"), Ok(None));
    assert_eq!(code("sub/inner"), Ok(Some("shell_write")));
    assert_eq!(code("writes/sub/inner"), Ok(Some("shell_write")));
    assert_eq!(
        code("nowhere"),
        Err("`w` has no state `nowhere`; it has reads, tests, writes, builds, end".to_owned())
    );
}

/// Returns whether the documentation has a row with a rule's number and subject.
fn is_of_the_page(number: u8, about: &str) -> bool {
    let page = include_str!("../../../docs/src/format.md");
    let begins = format!("| {number} | ");
    let row = page.lines().find(|line| line.starts_with(&begins)).unwrap();
    let mut words = about.split(' ').filter(|word| word.len() > 4).peekable();
    words.peek().is_some() && words.all(|word| row.contains(word))
}

#[test]
fn the_rule_that_decided_is_named_with_what_would_pass() {
    let told = |state: &str, line: &str| {
        let told = explain(
            &machine(),
            state,
            line,
            &Scenario::default(),
            &GivenDisk::empty(),
        )
        .unwrap();
        let number = told.rule.as_ref().map(|rule| {
            assert!(is_of_the_page(rule.number, rule.about), "{rule:?}");
            rule.number
        });
        (number, told.instead.unwrap_or_default())
    };
    for (state, line, number, instead) in [
        ("reads", "ls", None, ""),
        ("reads", "interlock approve 3", Some(1), "a person"),
        ("reads", "echo 'open", Some(2), "write every command name"),
        ("tests", "cat f", Some(3), "Read tool"),
        ("tests", "PATH=. npm test", Some(4), "leave it out"),
        ("reads", "make check", Some(5), "`make check`"),
        ("tests", "npm test --prefix=x", Some(5), "`--prefix=x`"),
        ("writes", "sudo ls", Some(6), "a person"),
        ("reads", "ls > out", Some(7), "redirection"),
        ("writes", "rm -rf /", Some(7), "below the project"),
        ("reads", "curl -s https://example.com", Some(8), "WebFetch"),
        ("reads", "echo $PROD_DB_URL", Some(9), "leave it out"),
    ] {
        let (found, said) = told(state, line);
        assert_eq!(found, number, "{state}: {line}: {said}");
        assert!(said.contains(instead), "{state}: {line}: {said}");
    }
}

#[test]
fn a_person_reads_the_facts_on_lines_of_their_own() {
    let told = explain(
        &machine(),
        "tests",
        "cd src && cargo test -q 2>&1 | tail -20 > out",
        &Scenario::default(),
        &GivenDisk::empty(),
    )
    .unwrap();
    let text = told.render(false);
    for part in [
        "deny (shell_write)",
        "rule     7",
        "listed as `cargo test`",
        "from a pipe",
        "writes   src/out",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert!(told.render(true).contains("\u{1b}[31;1mdeny"));
}

#[test]
fn entries_of_the_person_open_privilege_and_system_where_tools_may_write() {
    let setting = Scenario {
        allowed_by_person: vec![
            "sudo systemctl restart app".to_owned(),
            "apt-get install".to_owned(),
            "make deploy".to_owned(),
        ],
        ..Scenario::default()
    };
    let code = |state: &str, line: &str, setting: &Scenario| {
        explain(&machine(), state, line, setting, &GivenDisk::empty())
            .unwrap()
            .code
            .map(|code| code.as_str())
    };
    let refused = Some("command_not_allowed");
    for line in ["sudo systemctl restart app", "apt-get install -y jq"] {
        assert_eq!(code("writes", line, &setting), None, "{line}");
        assert_eq!(
            code("writes", line, &Scenario::default()),
            refused,
            "{line}"
        );
        assert_eq!(code("tests", line, &setting), refused, "{line}");
    }
    for line in ["sudo systemctl stop app", "sudo ls", "apt-get remove jq"] {
        assert_eq!(code("writes", line, &setting), refused, "{line}");
    }
    // The whole line runs unconfined, and a listed command may do anything.
    for (line, expected) in [
        ("./build.sh", None),
        ("sudo systemctl restart app", None),
        ("sudo systemctl restart app; ./build.sh", refused),
    ] {
        assert_eq!(code("builds", line, &setting), expected, "{line}");
    }
    // Such an entry permits nothing else.
    assert_eq!(
        code("reads", "make deploy", &setting),
        Some("shell_unreadable")
    );
}
