//! The translation of each key of a file into the machine.

use interlock_core::machine::{Activity, Machine, OnItemError, State};
use interlock_formats::{Source, load};
use interlock_validate::{Place, Severity, validate};
use serde_json::{Value, json};

use super::{Folder, loaded};

fn machine(text: &str) -> Machine {
    let machine = loaded(text).machine;
    // A pinned machine is read again, and must be the same.
    let again: Machine = serde_json::from_value(serde_json::to_value(&machine).unwrap()).unwrap();
    assert_eq!(again, machine);
    let broken: Vec<_> = validate(&machine)
        .into_iter()
        .filter(|found| found.severity == Severity::Error)
        // A branch ends by itself; no state marks its end.
        .filter(|found| !matches!(found.at.place, Place::BranchTerminal(..)))
        .collect();
    assert_eq!(broken, [], "of {text}");
    machine
}

fn state<'m>(machine: &'m Machine, name: &str) -> &'m State {
    machine
        .states
        .get(name)
        .unwrap_or_else(|| panic!("no state {name} in {:?}", machine.states.keys()))
}

/// Returns the activity of the state `a` as JSON.
fn activity(body: &str) -> Value {
    let text = format!("start-at: a\nvariables: {{x: X}}\nstates:\n  a: {body}\n");
    serde_json::to_value(&state(&machine(&text), "a").activity).unwrap()
}

fn input(body: &str) -> Value {
    let activity = activity(body);
    let input = match activity.get("task") {
        Some(task) => task.get("input"),
        None => activity.get("ask").or_else(|| activity.get("pause")),
    };
    input.unwrap_or_else(|| panic!("{activity}"))["object"].clone()
}

fn plain(text: &str) -> Value {
    json!({ "plain": text })
}

fn hole(key: &str) -> Value {
    json!({ "text": [{ "hole": { "key": key } }] })
}

#[test]
fn a_command_has_its_folder_and_its_settings() {
    let run_dir = json!({ "text": [{ "hole": { "path": [[{ "plain": "./" }], "run_dir"] } }] });
    assert_eq!(
        activity("{tool: bash, arguments: {command: ls}}"),
        json!({ "task": { "kind": { "program": "bash" }, "input": { "object": {
            "command": plain("ls"), "cwd": run_dir,
        } } } })
    );
    let full = input(
        "{tool: bash, arguments: {command: 'echo {{ x }}', timeout: ' 5m ', cwd: '@/{{ x }}', env: {A: '{{ x }}', B: 1.10, C: }}}",
    );
    assert_eq!(
        full["command"],
        json!({ "text": [{ "plain": "echo " }, { "hole": { "key": "x" } }] })
    );
    assert_eq!(full["timeout"], plain("5m"));
    assert_eq!(
        full["cwd"],
        json!({ "text": [{ "hole": { "path": [[{ "plain": "@/" }, { "hole": { "key": "x" } }], "run_dir"] } }] })
    );
    assert_eq!(
        full["env"],
        json!({ "object": { "A": hole("x"), "B": plain("1.10"), "C": plain("") } })
    );
}

#[test]
fn the_folder_of_the_file_is_that_of_its_commands() {
    let text = "start-at: a\ncwd: \"@/\"\nstates:\n  a: {tool: pause, arguments: {reason: r, condition: {command: ls, timeout: 3s}}}\n";
    let machine = machine(text);
    let pause = serde_json::to_value(&state(&machine, "a").activity).unwrap();
    let condition = &pause["pause"]["object"]["condition"]["object"];
    assert_eq!(condition["command"], plain("ls"));
    assert_eq!(condition["timeout"], plain("3s"));
    assert_eq!(
        condition["cwd"],
        json!({ "text": [{ "hole": { "path": [[{ "plain": "@/" }], "run_dir"] } }] })
    );
}

#[test]
fn safe_commands_carry_their_values_as_variables() {
    let safe = input(
        "{tool: bash, arguments: {shell-safe: true, command: 'echo {{ x }} \"{{ quote(x) }}\" $(({{ x }}))', env: {Y: z}}}",
    );
    assert_eq!(
        safe["command"],
        json!({ "text": [
            { "plain": "echo \"${IL_1}\" \"${IL_2}\" $((" },
            { "hole": { "integer": { "key": "x" } } },
            { "plain": "))" },
        ] })
    );
    assert_eq!(
        safe["env"],
        json!({ "object": { "Y": plain("z"), "IL_1": hole("x"), "IL_2": hole("x") } })
    );
    // Messages use the file's names for values.
    assert_eq!(
        safe["env-names"],
        json!({ "object": { "IL_1": plain("x"), "IL_2": plain("x") } })
    );
    assert!(safe.get("shell-safe").is_none());
}

#[test]
fn the_tools_that_ask_models_and_people_have_their_defaults() {
    assert_eq!(
        input(
            "{tool: claude, arguments: {prompt: hi, allowed-tools: [Read, '{{ x }}'], capture: both, guard: native}}"
        ),
        json!({
            "prompt": plain("hi"),
            "allowed-tools": { "list": [plain("Read"), hole("x")] },
            "capture": plain("both"),
            "guard": plain("native"),
            "timeout": plain("5m"),
        })
    );
    assert_eq!(
        input("{tool: codex, arguments: {prompt: }}")["prompt"],
        plain("")
    );
    assert_eq!(
        input("{tool: gemini, arguments: {prompt: p, timeout: ~}}")["timeout"],
        plain("5m")
    );
    assert_eq!(
        input("{tool: claude-code, arguments: {prompt: hi, model: m}}"),
        json!({ "prompt": plain("hi"), "model": plain("m") })
    );
    assert_eq!(
        input(
            "{tool: ask-user, arguments: {question: q, multiline: Yes, options: [1, {value: b, description: B}]}}"
        ),
        json!({
            "question": plain("q"),
            "multiline": plain("true"),
            "options": { "list": [
                { "object": { "value": plain("1") } },
                { "object": { "value": plain("b"), "description": plain("B") } },
            ] },
            "allow-custom": plain("false"),
        })
    );
    assert_eq!(
        input("{tool: get-gh-issue, arguments: {issue-number: 007}}"),
        json!({ "issue-number": plain("007") })
    );
}

#[test]
fn what_may_have_written_is_asked_about_after_a_crash() {
    for (tool, wanted) in [
        ("{tool: bash, arguments: {command: ls}}", "\"ask\""),
        ("{tool: claude-code, arguments: {prompt: p}}", "\"ask\""),
        (
            "{tool: get-gh-issue, arguments: {issue-number: 1}}",
            "\"retry\"",
        ),
        ("{tool: ask-user, arguments: {question: q}}", "\"retry\""),
        (
            "{tool: bash, arguments: {command: ls}, on-crash: fail}",
            "\"fail\"",
        ),
        (
            "{tool: bash, arguments: {command: ls}, on-crash: retry}",
            "\"retry\"",
        ),
    ] {
        let machine = machine(&format!("start-at: a\nstates:\n  a: {tool}\n"));
        let rule = serde_json::to_string(&state(&machine, "a").on_crash).unwrap();
        assert_eq!(rule, wanted, "{tool}");
    }
}

#[test]
fn tests_look_at_two_texts_or_one() {
    assert_eq!(
        activity("{tool: if-greater-equal, arguments: {left: '{{ x }}', right: }}"),
        json!({ "test": { "left": [{ "hole": { "key": "x" } }], "op": "greater_equal", "right": [] } })
    );
    assert_eq!(
        activity("{tool: if-not-empty, arguments: {value: null}}"),
        json!({ "test": { "left": [], "op": "not_empty", "right": [] } })
    );
}

#[test]
fn codes_and_outputs_lead_on_in_order() {
    let text = "
start-at: a
states:
  a:
    tool: bash
    arguments: {command: ls, retry: {attempts: 3, wait: 2s, backoff: 1.5, max-wait: 1m, codes: [1, 2]}}
    output: file(./out/{{ error.code }}.txt)
    on-error: {_: b, 3: c, 1: b}
    next: c
  b:
    tool: switch
    arguments: {value: x}
    goto: {_: c, ' Yes ': a, 1.10: b}
  c:
    tool: if-empty
    arguments: {value: x}
    output: var(empty)
    goto: {true: b}
    next: d
  d: {tool: bash, arguments: {command: ls, retry: 4}}
";
    let machine = machine(text);
    let json = |name: &str| serde_json::to_value(state(&machine, name)).unwrap();
    let to = |name: &str| json!({ "state": name });
    let on = |guard: Value, name: &str| {
        if guard.is_null() {
            return json!({ "target": to(name) });
        }
        json!({ "guards": [{ "inline": guard }], "target": to(name) })
    };
    let a = json("a");
    assert_eq!(
        a["on"]["done"]["transitions"],
        json!([on(Value::Null, "c")])
    );
    assert_eq!(
        a["on"]["error"]["transitions"],
        json!([
            on(json!({"code": 3}), "c"),
            on(json!({"code": 1}), "b"),
            on(json!("uncancelled"), "b")
        ])
    );
    assert_eq!(
        a["retry"],
        json!({ "attempts": 3, "wait_ms": 2000, "backoff": "1.5", "wait_max_ms": 60000, "codes": [1, 2] })
    );
    assert_eq!(
        a["capture"],
        json!({ "file": [{ "plain": "./out/" }, { "hole": { "error": "code" } }, { "plain": ".txt" }] })
    );
    assert_eq!(
        json("b")["on"]["done"]["transitions"],
        json!([
            on(json!({"output": "Yes"}), "a"),
            on(json!({"output": "1.10"}), "b"),
            on(Value::Null, "c")
        ])
    );
    let c = json("c");
    assert_eq!(
        c["on"]["done"]["transitions"],
        json!([on(json!({"output": "true"}), "b"), on(Value::Null, "d")])
    );
    assert_eq!(c["capture"], json!({ "key": "empty" }));
    let d = json("d");
    assert_eq!(
        d["on"]["done"]["transitions"],
        json!([{ "target": { "end": "success" } }])
    );
    assert_eq!(d["on"].get("error"), None);
    assert_eq!(d["retry"]["attempts"], 4);
    assert_eq!(d["retry"]["wait_ms"], 1000);
}

#[test]
fn tasks_become_branches_with_states_of_their_own() {
    let text = "
start-at: p
max-transitions: 50
states:
  p:
    tool: parallel
    on-crash: retry
    arguments:
      max-concurrency: 2
      tasks:
        - {tool: bash, arguments: {command: ls}, output: var(x)}
        - {name: again, tool: parallel, arguments: {fail-fast: yes, tasks: [{tool: bash, arguments: {command: ls}}]}}
        - name: loop
          tool: for-each
          arguments: {items-from: ls, start-at: s, states: {s: {tool: bash, arguments: {command: 'echo {{ index }}'}}}}
    next: q
  q: {tool: bash, arguments: {command: 'echo \"{{ x }}\"'}}
";
    let machine = machine(text);
    assert_eq!(machine.limits.states_max, Some(50));
    assert_eq!(machine.limits.call_depth_max, 16);
    let names: Vec<&str> = machine.states.keys().map(|name| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "p",
            "q",
            "p/0",
            "p/again/0",
            "p/again",
            "p/loop/each",
            "p/loop"
        ]
    );
    let fork = serde_json::to_value(&state(&machine, "p").activity).unwrap();
    assert_eq!(
        fork,
        json!({ "parallel": {
            "over": { "branches": {
                "0": { "initial": "p/0", "terminal": "" },
                "again": { "initial": "p/again", "terminal": "" },
                "loop": { "initial": "p/loop", "terminal": "" },
            } },
            "join": "settled",
            "merge": "captured",
            "concurrency": 2,
        } })
    );
    let inner = serde_json::to_value(&state(&machine, "p/again").activity).unwrap();
    assert_eq!(inner["parallel"]["join"], "fail_fast");
    assert_eq!(inner["parallel"]["concurrency"], 64);
    for generated in ["p/0", "p/again", "p/again/0", "p/loop", "p/loop/each"] {
        assert_eq!(
            state(&machine, generated)
                .shown_as
                .as_ref()
                .unwrap()
                .as_str(),
            ""
        );
    }
    let first = serde_json::to_value(state(&machine, "p/0")).unwrap();
    assert_eq!(first["capture"], json!({ "key": "x" }));
    assert_eq!(
        first["on"]["done"]["transitions"][0]["target"],
        json!({ "end": "success" })
    );
    assert!(
        first.get("on_crash").is_none(),
        "the rule of the state is that of its tasks: {first}"
    );
}

#[test]
fn a_loop_is_a_list_and_a_machine_for_each_item() {
    let text = "
start-at: l
states:
  l:
    tool: for-each
    start-at: one
    states:
      one: {tool: bash, arguments: {command: 'echo {{ index }}'}, output: var(last), next: two}
      two:
        tool: for-each
        start-at: deep
        states: {deep: {tool: bash, arguments: {command: 'echo \"{{ last }}\"'}}}
        arguments: {items-from: ls}
    arguments: {items-from: 'ls -1', on-empty: fail, on-iteration-error: continue}
    on-error: {_: b, 130: c}
    next: b
  b: {tool: bash, arguments: {command: ls}}
  c: {tool: bash, arguments: {command: ls}}
";
    let machine = machine(text);
    let items = serde_json::to_value(state(&machine, "l")).unwrap();
    assert_eq!(items["activity"]["task"]["kind"]["program"], "bash");
    assert_eq!(
        items["activity"]["task"]["input"]["object"]["command"],
        plain("ls -1")
    );
    assert_eq!(
        items["on"]["done"]["transitions"][0]["target"],
        json!({ "state": "l/each" })
    );
    // The failure of the list has code 1, whatever the exit code of its program.
    let errors = &items["on"]["error"]["transitions"];
    assert_eq!(errors[0]["guards"][0]["inline"], json!({ "code": 130 }));
    assert_eq!(errors[1]["guards"][0]["inline"], json!("uncancelled"));
    assert_eq!(errors[1]["target"], json!({ "state": "b" }));
    let each = state(&machine, "l/each");
    assert_eq!(each.shown_as.as_ref().unwrap().as_str(), "l");
    let on_error = |activity: &Activity| activity.parallel().unwrap().on_error;
    assert_eq!(on_error(&each.activity), OnItemError::Skip);
    let each = each.activity.lines().unwrap();
    assert!(each.wants_items);
    let body = &machine.machines[&each.machine];
    assert_eq!(body.initial.as_str(), "one");
    let inner = &state(body, "two/each").activity;
    assert_eq!(on_error(inner), OnItemError::Fail);
    let inner = inner.lines().unwrap();
    assert!(!inner.wants_items);
    assert_ne!(inner.machine, each.machine);
    assert!(machine.machines.contains_key(&inner.machine));
    assert!(
        machine
            .machines
            .values()
            .all(|called| called.machines.is_empty())
    );
}

#[test]
fn a_call_passes_texts_and_brings_variables_back_by_name() {
    let text = "
start-at: a
variables: {x: X}
states:
  a: {tool: sub-flow, arguments: {workflow: ./checks.yaml, variables: {depth: '{{ x }}'}}, output: var(out), next: b}
  b: {tool: sub-flow, arguments: {workflow: checks, as: again}, next: c}
  c: {tool: bash, arguments: {command: 'echo \"{{ checks::result }} {{ again::depth }} {{ out }}\"'}}
";
    let machine = machine(text);
    let call = serde_json::to_value(&state(&machine, "a").activity).unwrap();
    assert_eq!(
        call,
        json!({ "call": {
            "machine": "checks", "input": {}, "namespace": "checks",
            "passed": { "depth": [{ "hole": { "key": "x" } }] },
        } })
    );
    let again = serde_json::to_value(&state(&machine, "b").activity).unwrap();
    assert_eq!(again["call"]["namespace"], "again");
    assert_eq!(
        again["call"]["machine"], "checks",
        "one file is one machine"
    );
    let called = &machine.machines["checks"];
    assert_eq!(
        called.context,
        serde_json::from_value(json!({ "depth": "1" })).unwrap()
    );
    assert_eq!(called.id.as_str(), "checks");
}

#[test]
fn custom_tools_keep_their_texts_for_later() {
    let text = "
start-at: a
variables: {x: X}
tools:
  count:
    command: [head, -n, '{{ lines }}', '{{ path }}']
    arguments: {type: object, required: [path], properties: {path: {type: string}, lines: {type: integer, default: 10}}}
    env: {P: '{{ path }}'}
    stdin: '{{ path }}'
    timeout: 5s
states:
  a: {tool: count, arguments: {path: './{{ x }}', lines: 007, env: {E: '{{ x }}'}, retry: 2}}
";
    let machine = machine(text);
    let a = serde_json::to_value(state(&machine, "a")).unwrap();
    assert_eq!(a["retry"]["attempts"], 2);
    let input = &a["activity"]["task"]["input"]["object"];
    assert_eq!(a["activity"]["task"]["kind"]["program"], "custom");
    assert_eq!(input["tool"], plain("count"));
    let key = |key: &str| json!([{ "hole": { "key": key } }]);
    assert_eq!(
        input["command"],
        json!({ "plain": [[{ "plain": "head" }], [{ "plain": "-n" }], key("lines"), key("path")] })
    );
    assert_eq!(
        input["arguments"],
        json!({ "object": {
            "path": { "text": [{ "plain": "./" }, { "hole": { "key": "x" } }] },
            "lines": plain("007"),
        } })
    );
    assert_eq!(input["env"], json!({ "plain": { "P": key("path") } }));
    assert_eq!(input["extra-env"], json!({ "object": { "E": hole("x") } }));
    assert_eq!(input["stdin"], json!({ "plain": key("path") }));
    assert_eq!(input["timeout"], json!({ "plain": [{ "plain": "5s" }] }));
    assert_eq!(
        input["schema"]["plain"]["properties"]["lines"]["default"],
        10
    );
}

#[test]
fn a_child_has_what_it_writes_and_its_parents_rest() {
    let machine = machine(
        "extends: parent\nvariables: {more: x}\nstates:\n  second: {tool: bash, arguments: {command: 'echo \"{{ more }}\"'}}\n",
    );
    assert_eq!(machine.id.as_str(), "parent");
    assert_eq!(machine.initial.as_str(), "first");
    assert_eq!(
        Value::Object(machine.context.clone()),
        json!({ "greeting": "hello", "more": "x" })
    );
    let second = serde_json::to_value(&state(&machine, "second").activity).unwrap();
    assert_eq!(
        second["task"]["input"]["object"]["command"]["text"][1],
        json!({ "hole": { "key": "more" } })
    );
}

#[test]
fn a_workflow_can_be_read_again_from_what_it_was_read_from() {
    let text = "extends: parent\nstates:\n  second: {tool: sub-flow, arguments: {workflow: \"@/checks.yaml\"}, next: third}\n  third: {tool: claude, arguments: {prompt: p, guard: native}}\n";
    let first = loaded(text);
    let names: Vec<&str> = first
        .bundle
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["case.yaml", "parent.yaml", "checks.yaml", "native.yaml"]
    );
    let written = serde_json::to_string(&first.bundle).unwrap();
    let bundle: interlock_formats::Bundle = serde_json::from_str(&written).unwrap();
    let again = load(&bundle.files[0], None, &bundle).unwrap();
    assert_eq!(again.machine, first.machine);
    assert_eq!(again.machine.hash.len(), 64);
}

#[test]
fn a_workflow_that_calls_itself_is_its_own_machine() {
    let source = Source::new(
        "self.yaml",
        "start-at: a\nstates:\n  a: {tool: sub-flow, arguments: {workflow: ./self.yaml}}\n",
    );
    let machine = load(&source, None, &Folder).unwrap().machine;
    let Activity::Call(call) = &state(&machine, "a").activity else {
        panic!()
    };
    assert_eq!(machine.machines[&call.machine].states, machine.states);
}

#[test]
fn the_engine_finds_nothing_undefined_in_what_is_lowered() {
    for path in super::corpus::cases(super::CASES, "warnings") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let machine = load(&Source::new(name, text), None, &Folder)
            .unwrap()
            .machine;
        let undefined: Vec<_> = validate(&machine)
            .into_iter()
            .filter(|finding| finding.code.as_str().starts_with("undefined"))
            // A branch ends by itself; no state marks its end.
            .filter(|finding| !matches!(finding.at.place, Place::BranchTerminal(..)))
            .collect();
        assert!(undefined.is_empty(), "{}: {undefined:?}", path.display());
    }
}
