//! The consequences of an allowed call for its run, as recorded in its event.

use interlock_core::event::Event;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, Simulation};
use serde_json::{Value, json};

const WORKFLOW: &str = r#"
id: w
initial: work
guards:
  tested: {evidence: {command: npm test}}
  again: {evidence: {command: npm test, since: run_start}}
  asked: {evidence: {tool: AskUserQuestion}}
  read: {evidence: {tool: Read, path: docs/a.md}}
  failed: {evidence: {command: make check, exit: 2}}
  whole: {all: [tested, again, asked, read, failed]}
interrupts:
  schema: {trigger: {file_pattern: "db/*.sql"}, target: review}
states:
  work:
    allowed_tools: [Read, Edit, Write, Bash, AskUserQuestion, Agent]
    on: {DONE: {target: end, guard: whole}}
  review: {allowed_tools: [Read], on: {BACK: $return}}
  end: {type: final}
"#;

/// Returns the marks of each allowed call in `lines`.
fn marks(lines: &[Value]) -> Vec<Value> {
    let machine = load(&Source::new("w.yaml", WORKFLOW), None, &NoWorkflows)
        .unwrap()
        .machine;
    let setting = Scenario {
        allowed_by_person: vec!["sudo systemctl restart db".to_owned()],
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(machine, setting);
    for line in lines {
        simulation.step(&line.to_string()).unwrap();
    }
    let allowed = simulation.events().iter().filter_map(|event| match event {
        Event::CallAllowed { marks, .. } => Some(json!(marks)),
        _ => None,
    });
    allowed.collect()
}

#[test]
fn a_call_is_marked_with_all_that_follows_from_it() {
    let bash = |line: &str| json!({"tool": "Bash", "input": {"command": line}});
    for (line, wanted) in [
        (
            json!({"tool": "Read", "input": {"file_path": "docs/a.md"}}),
            json!({"counts": true, "writes": false, "shell": false, "evidence": [
                {"key": "tool:Read:docs/a.md", "proves_success": true, "proves_exit": true},
            ]}),
        ),
        // A conversation with a person counts against no limit, but is evidence.
        (
            json!({"tool": "AskUserQuestion", "input": {}, "agent": "a1"}),
            json!({"counts": false, "writes": false, "shell": false, "agent": "a1", "evidence": [
                {"key": "tool:AskUserQuestion:*", "proves_success": true, "proves_exit": true},
            ]}),
        ),
        (
            json!({"tool": "Write", "input": {"file_path": "db/x.sql", "content": "a"}, "agent": "a1"}),
            json!({"counts": true, "writes": true, "shell": false, "agent": "a1",
                "files": ["/project/db/x.sql"],
                "hits": [{"interrupt": "schema", "file": "db/x.sql"}],
            }),
        ),
        // Two guards require the same call: it is one piece of evidence.
        (
            bash("npm test"),
            json!({"counts": true, "writes": false, "shell": true, "evidence": [
                {"key": "command:npm test", "proves_success": true, "proves_exit": true,
                    "probes": [{"at": 0, "exit": true}], "after_writes": true},
            ]}),
        ),
        (
            bash("npm test && make check"),
            json!({"counts": true, "writes": false, "shell": true, "evidence": [
                {"key": "command:npm test", "proves_success": true, "proves_exit": false,
                    "probes": [{"at": 0, "exit": true}], "after_writes": true},
                {"key": "command:make check", "proves_success": true, "proves_exit": false,
                    "probes": [{"at": 12, "exit": true}], "after_writes": true},
            ]}),
        ),
        // Without the option that names it, it is the check if the directory is the same, and another one elsewhere.
        (
            bash("make -C . check -s"),
            json!({"counts": true, "writes": false, "shell": true, "evidence": [
                {"key": "command:make check", "proves_success": true, "proves_exit": true,
                    "probes": [{"at": 0, "exit": true}], "after_writes": true},
            ]}),
        ),
        (
            bash("make -C sub check"),
            json!({"counts": true, "writes": true, "shell": true}),
        ),
        (
            bash("sudo systemctl restart db"),
            json!({"counts": true, "writes": false, "shell": true,
                "by_person": "sudo systemctl restart db"}),
        ),
        (
            bash("echo x > db/y.sql; echo x > src.py"),
            json!({"counts": true, "writes": true, "shell": true,
                "files": ["/project/db/y.sql", "/project/src.py"],
                "hits": [{"interrupt": "schema", "file": "db/y.sql"}],
                "watched": [{"path": "/project/db/y.sql", "relative": "db/y.sql", "before": "absent"}],
            }),
        ),
        (
            bash("echo x > /tmp/z"),
            json!({"counts": true, "writes": false, "shell": true}),
        ),
    ] {
        assert_eq!(marks(std::slice::from_ref(&line)), [wanted], "{line}");
    }
}
