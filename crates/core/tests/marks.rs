//! The marks of an allowed call: each fact that invalidates or provides evidence, alone and with others.

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    command::{Command, CommandKind},
    decide,
    event::Event,
    machine::Machine,
    names::{CallId, Digest},
};
use serde_json::{Value, json};

use crate::support::started::started;

/// Returns a machine of one state without a policy, with these additional fields.
fn machine(beside: &Value) -> Value {
    let mut machine = json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "states": {"work": {"on": {}}},
    });
    for (key, value) in beside.as_object().unwrap() {
        machine[key] = value.clone();
    }
    machine
}

/// Returns a machine that requires this evidence.
fn wants(of: &Value) -> Value {
    machine(&json!({"guards": {"seen": {"evidence": {"of": of, "since": "last_edit"}}}}))
}

fn command(text: &str) -> Value {
    let words: Vec<&str> = text.split(' ').collect();
    json!({"command": {"text": text, "words": words, "exit": 0}})
}

/// Returns the marks of a call with these facts.
fn marks(machine: &Value, kind: CallKind, tool: &str, given: &Value) -> Value {
    let machine: Machine = serde_json::from_value(machine.clone()).unwrap();
    let mut facts = json!(CallFacts::default());
    for (key, value) in given.as_object().unwrap() {
        facts[key] = value.clone();
    }
    let call = ToolCall {
        id: CallId::new("c"),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(facts).unwrap(),
    };
    let ask = CommandKind::Propose(Box::new(call));
    let decision = decide(
        &machine,
        &started(&machine),
        &Command {
            at_ms: 1,
            kind: ask,
        },
    );
    let allowed = decision.events.iter().find_map(|event| match event {
        Event::CallAllowed { marks, .. } => Some(json!(marks)),
        _ => None,
    });
    allowed.unwrap_or_else(|| json!(format!("{:?}", decision.reply)))
}

fn line(commands: &[Value], directories: &[Option<&str>]) -> Value {
    json!({"shell": {"commands": commands}, "directories": directories})
}

/// Returns a command that runs code, so may write anything, and whose exit code is reliable.
fn runs(text: &str, step: usize) -> Value {
    let words: Vec<Value> = text
        .split(' ')
        .map(|word| json!({"literal": word}))
        .collect();
    json!({"words": words, "directory": "/p", "class": "project_code", "opaque": "it runs code",
        "proves_success": true, "proves_exit": true, "step": step})
}

fn write(place: &str, removes: bool) -> Value {
    json!({"path": "/p/a", "relative": "a", "place": place, "by": "x", "removes": removes, "recursive": false,
        "lines": null, "before": null})
}

/// Returns the only piece of evidence in the marks, or null.
fn proof(marks: &Value) -> Value {
    marks["evidence"][0].clone()
}

#[test]
fn every_write_but_one_to_a_temporary_place_ages_what_was_seen() {
    let machine = wants(&command("npm test"));
    for place in ["project", "scratch", "outside", "whole", "unknown"] {
        for removes in [false, true] {
            // No tool can remove a directory that contains protected things.
            if place == "whole" && removes {
                continue;
            }
            let writes = json!([write(place, removes)]);
            let is_edit = place != "scratch";
            for (kind, tool) in [(CallKind::Other, "Copy"), (CallKind::Shell, "Bash")] {
                let mut facts = line(&[], &[]);
                if kind == CallKind::Other {
                    facts = json!({});
                }
                facts["writes"] = writes.clone();
                let found = marks(&machine, kind, tool, &facts);
                assert_eq!(found["writes"], is_edit, "{tool} {place} {removes}");
            }
            let found = marks(&machine, CallKind::Edit, "Edit", &json!({"writes": writes}));
            assert_eq!(found["writes"], true, "an edit {place} {removes}");
            // A check is not evidence if its own line may have changed files after it.
            for several in [false, true] {
                let mut facts = line(&[runs("npm test", 1)], &[Some("")]);
                let mut all = vec![write("scratch", false); usize::from(several)];
                all.push(write(place, removes));
                facts["writes"] = json!(all);
                let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
                let kept = found["after_writes"] == true;
                assert_eq!(kept, !is_edit, "{place} {removes} {several}: {found}");
            }
        }
    }
}

#[test]
fn a_check_proves_and_is_no_edit_in_its_own_directory_alone() {
    let mut of = command("npm test");
    for wanted in ["", "sub", "sub/deep"] {
        of["command"]["directory"] = json!(wanted);
        let machine = wants(&of);
        for place in [Some(""), Some("sub"), Some("sub/deep"), Some("other"), None] {
            let facts = line(&[runs("npm test", 1)], &[place]);
            let found = marks(&machine, CallKind::Shell, "Bash", &facts);
            let is_there = place == Some(wanted);
            assert_eq!(found["writes"], !is_there, "{wanted:?} in {place:?}");
            let success = &proof(&found)["proves_success"];
            assert_eq!(*success == true, is_there, "{wanted:?} in {place:?}");
        }
    }
}

#[test]
fn a_line_of_several_runs_proves_what_each_of_them_would() {
    let machine = wants(&command("npm test"));
    let probe = |at: usize, exit: bool| json!({"span": {"start": at, "end": at + 8}, "success": true, "exit": exit});
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        let both = first && second;
        for field in ["proves_success", "proves_exit"] {
            let mut commands = [runs("npm test", 1), runs("npm test", 2)];
            commands[0][field] = json!(first);
            commands[1][field] = json!(second);
            let facts = line(&commands, &[Some(""), Some("")]);
            let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
            assert_eq!(found[field], both, "{field} {first} {second}");
        }
        // Two at one place, as in a loop: an observation there may belong to either.
        let mut commands = [runs("npm test", 1), runs("npm test", 2)];
        commands[0]["probe"] = probe(4, first);
        commands[1]["probe"] = probe(4, second);
        let facts = line(&commands, &[Some(""), Some("")]);
        let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
        let wanted = json!([{"at": 4, "exit": both}]);
        assert_eq!(found["probes"], wanted, "{first} {second}");
        // If one is not probed, an observation of the other is not evidence.
        commands[usize::from(second)]["probe"] = json!(null);
        let facts = line(&commands, &[Some(""), Some("")]);
        let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
        assert_eq!(found.get("probes"), None, "{first} {second}");
    }
    // Code that runs before all of them has ended when one begins; code after the first may change what the next one
    // checks.
    for (own, wanted) in [(0, true), (1, false), (2, false), (3, false)] {
        let other = runs("./build.sh", own);
        for commands in [
            [other.clone(), runs("npm test", 1), runs("npm test", 2)],
            [runs("npm test", 2), other.clone(), runs("npm test", 1)],
        ] {
            let facts = line(&commands, &[Some(""), Some(""), Some("")]);
            let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
            assert_eq!(found["after_writes"] == true, wanted, "{own}: {found}");
        }
    }
}

#[test]
fn what_cannot_be_read_proves_nothing_that_it_names() {
    let machine = wants(&command("npm test"));
    let mut facts = line(&[runs("npm test", 1)], &[Some("")]);
    let found = proof(&marks(&machine, CallKind::Shell, "Bash", &facts));
    assert_eq!(found["proves_success"], true);
    facts["shell"]["unreadable"] = json!("an alias may stand there");
    let found = marks(&machine, CallKind::Shell, "Bash", &facts);
    assert_eq!(found["writes"], true);
    let found = proof(&found);
    assert_ne!(found["proves_success"], true);
    assert_ne!(found["after_writes"], true);
    assert_eq!(found.get("probes"), None);
}

#[test]
fn a_tool_is_seen_on_each_path_that_it_touches() {
    let of = |path: &str| json!({"tool": {"tool": "Read", "path": path}});
    let at = |path: &str| {
        let mut write = write("project", false);
        write["relative"] = json!(path);
        write
    };
    let facts = json!({"reads": ["a", "b", "c/d"], "writes": [at("e"), at("f")]});
    for (path, wanted) in [
        ("a", true),
        ("b", true),
        ("c/d", true),
        ("./c/d", true),
        ("e", true),
        ("f", true),
        ("d", false),
        ("c", false),
        ("A", false),
    ] {
        let found = marks(&wants(&of(path)), CallKind::Other, "Read", &facts);
        assert_eq!(!proof(&found).is_null(), wanted, "{path}: {found}");
    }
}

#[test]
fn evidence_is_kept_wherever_a_guard_may_name_it() {
    let evidence = json!({"evidence": {"of": {"tool": {"tool": "Check", "path": null}}, "since": "run_start"}});
    let inline = json!({"inline": evidence});
    let asked = |guards: Value| json!({"on": {"GO": {"branched": false, "transitions": [{"target": {"state": "work"}, "guards": guards}]}}});
    let stage = |field: &str, value: Value| {
        let mut stage = json!({"body": [], "ending": {"tool": {"name": "submit", "schema": {}}}, "turns_max": 3});
        stage[field] = value;
        json!({"activity": {"stage": stage}, "on": {}})
    };
    let work = json!({"on": {}});
    let states = |state: Value| json!({"states": {"work": work, "there": state}});
    let assertion = json!([{"guard": inline, "otherwise": "fail", "message": ""}]);
    let within = |word: &str, guard: Value| json!([{"inline": {word: guard}}]);
    let mut places = vec![
        ("by a name", json!({"guards": {"g": evidence}})),
        ("in place", states(asked(json!([inline])))),
        (
            "in `all`",
            states(asked(within("all", json!([{"named": "x"}, inline])))),
        ),
        (
            "in `any`",
            states(asked(within("any", json!([inline, {"named": "x"}])))),
        ),
        ("in `not`", states(asked(within("not", inline.clone())))),
        ("in a gate", states(stage("gate", json!([inline])))),
        ("in an assertion", states(stage("assert", assertion))),
    ];
    let called: Vec<(&str, Value)> = places
        .iter()
        .map(|(place, beside)| {
            let mut inner = machine(beside);
            inner["id"] = json!("inner");
            (*place, json!({"machines": {"inner": inner}}))
        })
        .collect();
    places.extend(called);
    for (place, beside) in places {
        let machine = machine(&beside);
        let found = marks(&machine, CallKind::Other, "Check", &json!({}));
        assert_eq!(
            proof(&found)["key"],
            "tool:Check:*",
            "{place} in {machine}: {found}"
        );
    }
}
