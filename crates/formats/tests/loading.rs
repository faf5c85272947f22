//! Valid workflows are loaded as the machines they describe.

use std::{collections::BTreeMap, fs, path::Path};

use interlock_core::{
    guard::GuardRef,
    machine::{Activity, Join, Machine, Outcome, Target},
    names::{MachineId, StateName},
};
use interlock_formats::{
    Diagnostic, Loaded, NoWorkflows, Severity, Source, Workflows, check, load, render, schema,
    workflow_names,
};
use serde_json::{Value, json};

/// Workflows by id, in place of a disk.
#[derive(Default)]
struct Shelf(BTreeMap<&'static str, Result<&'static str, &'static str>>);

impl Workflows for Shelf {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        let found = self.0.get(id)?;
        Some(
            found
                .map(|text| Source::new(format!("{id}.yaml"), text))
                .map_err(str::to_owned),
        )
    }
}

fn loaded(text: &str) -> Loaded {
    loaded_with(text, None, &NoWorkflows)
}

fn loaded_with(text: &str, which: Option<&str>, others: &dyn Workflows) -> Loaded {
    load(&Source::new("w.yaml", text), which, others)
        .unwrap_or_else(|said| panic!("{}", render(&said, false)))
}

fn refused(text: &str, which: Option<&str>, others: &dyn Workflows) -> Vec<Diagnostic> {
    load(&Source::new("w.yaml", text), which, others).unwrap_err()
}

fn state<'m>(machine: &'m Machine, name: &str) -> &'m interlock_core::machine::State {
    machine
        .states
        .get(name)
        .unwrap_or_else(|| panic!("no state {name}"))
}

/// Returns the target of an event's first transition.
fn leads(machine: &Machine, from: &str, event: &str) -> Target {
    state(machine, from).on[event].transitions[0].target.clone()
}

fn to(name: &str) -> Target {
    Target::State(StateName::new(name))
}

#[test]
fn the_examples_of_the_reference_page_have_nothing_wrong_with_them() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/pages");
    for name in ["minimal.json", "full.json", "complete.json"] {
        let text = fs::read_to_string(pages.join(name)).unwrap();
        let said = check(&Source::new(name, text.clone()), &NoWorkflows);
        assert!(said.is_empty(), "{}", render(&said, false));
        // JSON is also YAML: both readers give the same machine.
        let as_json = load(&Source::new(name, text.clone()), None, &NoWorkflows).unwrap();
        assert_eq!(as_json.machine, loaded(&text).machine);
    }
}

#[test]
fn every_field_of_a_state_arrives() {
    let machine = loaded(
        r#"
id: w
initial: a
context: {big: 9007199254740993, rate: 1.10}
states:
  a:
    allowed_tools: [Read, Bash, Edit]
    disallowed_tools: [Glob]
    on_denied: ask
    instructions: |
      Two
      lines.
    max_iterations: 3
    max_edit_lines: 4
    max_files_per_state: 5
    context_budget_bytes: 6
    allowed_commands: [npm test, "cargo *"]
    deny_env: [SECRET]
    env: {NODE_ENV: test}
    model: m
    thinking_level: high
    safe_next: end
    on: {ZULU: end, ALPHA: end}
  end: {type: final}
  bad: {type: final, outcome: failure}
  blocked: {type: final}
  error: {type: final, outcome: success}
  ways: {allowed_tools: [Read], on: {A: bad, B: blocked, C: error}}
interrupts: {i: {trigger: {file_pattern: "*.sql"}, target: ways}}
"#,
    )
    .machine;
    let a = serde_json::to_value(state(&machine, "a")).unwrap();
    assert_eq!(a["policy"]["on_denied"], "ask");
    assert_eq!(a["policy"]["iterations_max"], 3);
    assert_eq!(a["policy"]["edit_lines_max"], 4);
    assert_eq!(a["policy"]["files_max"], 5);
    assert_eq!(a["policy"]["result_bytes_max"], 6);
    assert_eq!(a["policy"]["blocked_env"], json!(["SECRET"]));
    assert_eq!(a["policy"]["env_overrides"], json!({"NODE_ENV": "test"}));
    let entries = state(&machine, "a")
        .policy
        .allowed_commands
        .iter()
        .flatten();
    let entries: Vec<_> = entries.map(|entry| (&*entry.text, &*entry.words)).collect();
    assert_eq!(
        entries,
        [
            ("npm test", &["npm".to_owned(), "test".to_owned()][..]),
            ("cargo *", &["cargo".to_owned()][..])
        ]
    );
    assert_eq!(a["instructions"], "Two\nlines.\n");
    assert_eq!(a["model"], "m");
    assert_eq!(a["thinking_level"], "high");
    assert_eq!(a["safe_next"], "end");
    let events: Vec<&str> = state(&machine, "a")
        .on
        .keys()
        .map(|event| event.as_str())
        .collect();
    assert_eq!(events, ["ZULU", "ALPHA"]);
    let context = serde_json::to_string(&machine.context).unwrap();
    assert_eq!(context, r#"{"big":9007199254740993,"rate":1.10}"#);
    let outcome = |name: &str| match state(&machine, name).activity {
        Activity::Final { outcome } => outcome,
        _ => panic!("{name} is not final"),
    };
    assert_eq!(outcome("end"), Outcome::Success);
    assert_eq!(outcome("bad"), Outcome::Failure);
    assert_eq!(outcome("blocked"), Outcome::Failure);
    assert_eq!(outcome("error"), Outcome::Success);
}

const FORKED: &str = r#"
id: w
initial: building
context: {ok: true}
guards: {ready: {field: ok, op: eq, value: true}}
states:
  building:
    allowed_tools: [Read]
    on:
      BUILD_DONE:
        guards: [{field: ok, op: exists}]
        guard: ready
        requires_approval: true
        approval_message: Sure?
        fork:
          branches:
            types: {initial: t, terminal: types_done}
            lint: {initial: l, terminal: lint_done}
          join: any
          on_complete: end
  building#BUILD_DONE: {allowed_tools: [Read], on: {X: end}}
  t: {allowed_tools: [Read], safe_next: building#BUILD_DONE, on: {OK: types_done}}
  l: {allowed_tools: [Read], on: {OK: lint_done}}
  types_done: {}
  lint_done: {}
  end: {type: final}
"#;

#[test]
fn a_fork_becomes_a_state_of_its_own_shown_as_the_one_that_forked() {
    let machine = loaded(FORKED).machine;
    // The most obvious name is already in use.
    let name = "building#BUILD_DONE#";
    assert_eq!(leads(&machine, "building", "BUILD_DONE"), to(name));
    let transition = &state(&machine, "building").on["BUILD_DONE"].transitions[0];
    assert_eq!(
        transition.approval.as_ref().unwrap().message.as_deref(),
        Some("Sure?")
    );
    assert_eq!(transition.guards[0], GuardRef::Named("ready".into()));
    assert!(matches!(transition.guards[1], GuardRef::Inline(_)));
    let forked = state(&machine, name);
    assert_eq!(forked.shown_as, Some(StateName::new("building")));
    assert_eq!(leads(&machine, name, "done"), to("end"));
    assert!(!forked.on.contains_key("error"));
    assert_eq!(forked.activity.parallel().unwrap().join, Join::Any);
    let branches = forked.activity.branches().unwrap();
    assert_eq!(branches.keys().collect::<Vec<_>>(), ["types", "lint"]);
    assert_eq!(machine.states.last().unwrap().0.as_str(), name);
}

const CALLER: &str = r#"
id: outer
initial: a
machines:
  suite:
    initial: x
    states:
      x: {allowed_tools: [Read], on: {OK: y, AGAIN: {invoke: suite, on_complete: y}, UP: {invoke: outer, on_complete: y}, IN: {invoke: inner, on_complete: y}}}
      y: {type: final}
    machines:
      inner: {id: deep, initial: x, states: {x: {type: final}}}
  inner: {initial: z, states: {z: {type: final}}}
states:
  a:
    allowed_tools: [Read]
    on:
      RUN: {invoke: suite, input: {n: 1}, output: [n], on_complete: end, on_fail: a}
      IN: {invoke: inner, on_complete: end}
  end: {type: final}
"#;

fn call<'m>(machine: &'m Machine, name: &str) -> &'m interlock_core::machine::Call {
    match &state(machine, name).activity {
        Activity::Call(call) => call,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn machines_are_found_from_the_inside_out_and_kept_by_keys_of_their_own() {
    let machine = loaded(CALLER).machine;
    let run = call(&machine, "a#RUN");
    assert_eq!(run.machine, MachineId::new("suite"));
    assert_eq!(serde_json::to_value(&run.input).unwrap(), json!({"n": 1}));
    assert_eq!(run.output, Some(vec!["n".to_owned()]));
    assert_eq!(leads(&machine, "a#RUN", "error"), to("a"));

    let suite = &machine.machines["suite"];
    assert_eq!(suite.id, MachineId::new("suite"));
    assert_eq!(call(suite, "x#AGAIN").machine, MachineId::new("suite"));
    // Of two machines with one name, the nearer one is called, and each has its own key.
    let near = &call(suite, "x#IN").machine;
    let far = &call(&machine, "a#IN").machine;
    assert_ne!(near, far);
    assert_eq!(machine.machines[near].id, MachineId::new("deep"));
    assert_eq!(machine.machines[far].initial, StateName::new("z"));
    // The outermost can be called, too, as a copy of itself.
    let up = &machine.machines[&call(suite, "x#UP").machine];
    assert_eq!((&up.id, &up.states), (&machine.id, &machine.states));
    assert!(
        machine
            .machines
            .values()
            .all(|called| called.machines.is_empty())
    );
}

#[test]
fn machines_of_other_files_are_read_once_and_may_call_each_other() {
    let shelf = Shelf(BTreeMap::from([
        (
            "ping",
            Ok(
                "{id: ping, initial: a, states: {a: {allowed_tools: [Read], on: {GO: {invoke: pong, on_complete: b}}}, b: {type: final}}}",
            ),
        ),
        (
            "pong",
            Ok(
                "definition: {id: pong, initial: a, states: {a: {allowed_tools: [Read], on: {GO: {invoke: ping, on_complete: b}}}, b: {type: final}}}",
            ),
        ),
    ]));
    let machine = loaded_with(
        "{id: w, initial: a, states: {a: {allowed_tools: [Read], on: {GO: {invoke: ping, on_complete: b}}}, b: {type: final}}}",
        None,
        &shelf,
    )
    .machine;
    assert_eq!(
        machine
            .machines
            .keys()
            .map(MachineId::as_str)
            .collect::<Vec<_>>(),
        ["ping", "pong"]
    );
    assert_eq!(
        call(&machine.machines["pong"], "a#GO").machine,
        MachineId::new("ping")
    );
}

#[test]
fn mistakes_in_other_files_are_told_by_their_names() {
    let shelf = Shelf(BTreeMap::from([
        (
            "bad",
            Ok("id: bad\ninitial: a\nstates: {a: {on: {X: gone}}, b: {type: final}}"),
        ),
        ("torn", Err("permission denied")),
        ("broken", Ok("id: [")),
        ("pipe", Ok("stages: {}")),
    ]));
    let said = refused(
        "id: w\ninitial: a\nstates:\n  a: {allowed_tools: [Read], on: {A: {invoke: bad, on_complete: b}, B: {invoke: torn, on_complete: b}, C: {invoke: broken, on_complete: b}, D: {invoke: pipe, on_complete: b}}}\n  b: {type: final}\n",
        None,
        &shelf,
    );
    let errors: Vec<(&str, usize, &str)> = said
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| (found.file.as_str(), found.line, found.code))
        .collect();
    assert_eq!(
        errors,
        [
            ("w.yaml", 4, "unreadable_workflow"),
            ("w.yaml", 4, "undefined_machine"),
            ("bad.yaml", 3, "undefined_state"),
            ("bad.yaml", 3, "unreachable_state"),
            ("broken.yaml", 1, "syntax"),
        ],
        "{}",
        render(&said, false)
    );
}

const GATEWAY: &str = r#"
workflows:
  first: {id: one, initial: a, states: {a: {allowed_tools: [Read], on: {GO: {invoke: second, on_complete: b}, TWO: {invoke: two, on_complete: b}}}, b: {type: final}}}
  second: {id: two, initial: c, states: {c: {allowed_tools: [Read], on: {GO: {invoke: first, on_complete: d}}}, d: {type: final}}}
default: second
upstream_servers: {fs: {command: x}}
"#;

#[test]
fn a_gateway_configuration_holds_workflows_that_find_each_other() {
    let source = Source::new("w.yaml", GATEWAY);
    assert_eq!(workflow_names(&source), ["first", "second"]);
    let by_default = loaded(GATEWAY);
    assert_eq!(by_default.machine.id, MachineId::new("two"));
    assert_eq!(by_default.name.as_deref(), Some("second"));
    assert_eq!(
        by_default.upstream_servers,
        Some(json!({"fs": {"command": "x"}}))
    );
    let first = loaded_with(GATEWAY, Some("first"), &NoWorkflows).machine;
    let go = &call(&first, "a#GO").machine;
    assert_eq!(go, &call(&first, "a#TWO").machine);
    let back = &call(&first.machines[go], "c#GO").machine;
    assert_eq!(first.machines[back].id, MachineId::new("one"));
    let said = refused(GATEWAY, Some("frist"), &NoWorkflows);
    assert_eq!(
        said[0].message,
        "there is no workflow `frist` below `workflows`: did you mean `first`?"
    );
}

#[test]
fn one_of_several_workflows_has_to_be_named() {
    let several = GATEWAY.replace("default: second\n", "");
    let said = refused(&several, None, &NoWorkflows);
    assert_eq!(said[0].code, "no_choice");
    assert_eq!(
        said[0].help.as_deref(),
        Some("name one of `first`, `second`, or add `default`")
    );
    // For a check, this is not an error: it checks all of them.
    let said = check(&Source::new("w.yaml", several), &NoWorkflows);
    assert!(said.is_empty(), "{}", render(&said, false));
    let only = "workflows: {w: {id: x, initial: a, states: {a: {type: final}}}}";
    assert_eq!(loaded(only).name.as_deref(), Some("w"));
}

#[test]
fn a_wrapper_keeps_its_servers_and_a_plain_file_answers_to_its_id() {
    let plain = "{id: x, initial: a, states: {a: {type: final}}}";
    let wrapped = format!("{{definition: {plain}, upstream_servers: [{{name: fs}}]}}");
    assert_eq!(
        loaded(&wrapped).upstream_servers,
        Some(json!([{"name": "fs"}]))
    );
    assert_eq!(loaded(&wrapped).machine, loaded(plain).machine);
    assert_eq!(loaded_with(plain, Some("x"), &NoWorkflows).name, None);
    assert_eq!(refused(plain, Some("y"), &NoWorkflows)[0].code, "no_choice");
}

#[test]
fn the_hash_is_of_the_content_alone() {
    let yaml = "id: x\ninitial: a\nstates:\n  a: {on: {X: b, Y: c}}\n  b: {type: final}\n  c: {type: final}\n";
    let json = r#"{"initial": "a", "states": {"a": {"on": {"X": "b", "Y": "c"}}, "b": {"type": "final"}, "c": {"type": "final"}}, "id": "x"}"#;
    let hash = loaded(yaml).machine.hash;
    assert_eq!(hash.len(), 64);
    assert_eq!(
        load(&Source::new("x.json", json), None, &NoWorkflows)
            .unwrap()
            .machine
            .hash,
        hash
    );
    assert_eq!(loaded(&format!("# a comment\n{yaml}")).machine.hash, hash);
    // The order is significant.
    assert_ne!(
        loaded(&yaml.replace("X: b, Y: c", "Y: c, X: b"))
            .machine
            .hash,
        hash
    );
    assert_ne!(loaded(&yaml.replace("id: x", "id: y")).machine.hash, hash);
}

#[test]
fn warnings_come_with_the_machine_and_errors_with_the_warnings() {
    let warned = "id: w\ninitial: a\nstates:\n  a: {allowed_tools: [Raed], on: {X: b}}\n  b: {type: final}\n";
    assert_eq!(loaded(warned).warnings[0].code, "unknown_tool");
    let said = refused(
        &warned.replace("X: b}", "X: b}, colour: red"),
        None,
        &NoWorkflows,
    );
    let codes: Vec<&str> = said.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["unknown_tool", "unknown_field"]);
}

#[test]
fn a_diagnostic_is_plain_data_for_programs() {
    let said = refused(
        "id: w\ninitial: a\nstates:\n  a: {tpye: final}\n",
        None,
        &NoWorkflows,
    );
    assert_eq!(
        serde_json::to_value(&said).unwrap(),
        json!([{
            "severity": "error",
            "code": "unknown_field",
            "message": "unknown field `tpye`: did you mean `type`?",
            "help": "write `type`, or remove it",
            "file": "w.yaml",
            "line": 4,
            "column": 7,
            "span": {"start": 31, "end": 35},
            "excerpt": "  a: {tpye: final}",
        }])
    );
}

/// Calls `look` with every object below `value`.
fn walk(value: &Value, look: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            look(object);
            object.values().for_each(|value| walk(value, look));
        }
        Value::Array(items) => items.iter().for_each(|value| walk(value, look)),
        _ => {}
    }
}

#[test]
fn the_schema_refers_to_nothing_that_is_not_there() {
    let schema = schema();
    let mut count = 0;
    walk(&schema, &mut |object| {
        if let Some(Value::String(to)) = object.get("$ref") {
            count += 1;
            let pointer = to.strip_prefix('#').unwrap();
            assert!(schema.pointer(pointer).is_some(), "{to}");
        }
    });
    assert!(count > 10);
    let state = &schema["$defs"]["state"];
    assert_eq!(state["properties"]["max_iterations"]["minimum"], 1);
    assert_eq!(
        state["properties"]["deny_env"],
        state["properties"]["blocked_env"]
    );
    assert_eq!(state["additionalProperties"], false);
    assert_eq!(schema["$defs"]["meta"]["additionalProperties"], true);
    assert_eq!(
        schema["$defs"]["workflow"]["required"],
        json!(["id", "initial", "states"])
    );
}

#[test]
fn a_key_of_the_context_is_known_however_a_pointer_has_to_write_it() {
    let letters = ["~", "/", "0", "1"];
    let two = letters
        .iter()
        .flat_map(|one| letters.map(|two| format!("{one}{two}")));
    let keys: Vec<String> = two
        .clone()
        .chain(two.flat_map(|key| letters.map(|three| format!("{key}{three}"))))
        .collect();
    for key in keys {
        let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        for (field, known) in [(pointer.clone(), true), (format!("{pointer}x"), false)] {
            let workflow = json!({
                "id": "w", "initial": "a", "context": { key.as_str(): 1 },
                "guards": {"g": {"field": field, "op": "exists"}},
                "states": {
                    "a": {"on": {"GO": {"target": "b", "guard": "g"}}},
                    "b": {"type": "final"},
                },
            });
            let found = loaded(&workflow.to_string());
            let codes: Vec<&str> = found.warnings.iter().map(|one| one.code).collect();
            assert_eq!(
                codes.contains(&"unset_key"),
                !known,
                "`{key}` {field}: {codes:?}"
            );
        }
    }
}
