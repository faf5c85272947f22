//! Conversations of regions: how outputs and people change them, and what templates can read from them.

use std::collections::BTreeMap;

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Answer, Command, CommandKind},
    conversation::{output_before, stage_model},
    decide,
    dialogue::{Conversation, RunInput},
    event::{About, Cause, Event},
    evolve,
    machine::Machine,
    names::{FramePath, RunId},
    refusal::Code,
    run::{DurableRun, Frame, Phase, Run},
};
use serde_json::{Value, json};

/// Returns the question before the state of a frame begins.
fn asked_at(frame: &Frame) -> String {
    match &frame.stay.request().unwrap().about {
        About::Entry { message } => message.clone(),
        other => panic!("{other:?}"),
    }
}

/// A run to which the test sends one command after the other.
struct Driven {
    machine: Machine,
    run: Run,
    now_ms: u64,
    events: Vec<Event>,
}

impl Driven {
    fn begin(machine: Value, input: &str) -> Self {
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let mut driven = Self {
            machine,
            run: Run::new(RunId::new("r1")),
            now_ms: 0,
            events: Vec::new(),
        };
        let reply = driven.ask(CommandKind::Start {
            input: Default::default(),
            by: "ana".to_owned(),
            durable: Some(DurableRun {
                input: Some(RunInput {
                    text: input.to_owned(),
                    attached: Vec::new(),
                }),
                ..DurableRun::default()
            }),
        });
        assert_eq!(reply, Reply::Accepted);
        driven
    }

    fn ask(&mut self, command: CommandKind) -> Reply {
        let command = Command {
            at_ms: self.now_ms,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in &decision.events {
            // Events are folded as they are read back from the log.
            let text = serde_json::to_string(event).unwrap();
            let event: Event = serde_json::from_str(&text).unwrap();
            self.run = evolve(self.run.clone(), &event);
        }
        let kept: Run = serde_json::from_str(&serde_json::to_string(&self.run).unwrap()).unwrap();
        assert_eq!(kept, self.run, "a snapshot gives the run back");
        self.events.extend(decision.events);
        decision.reply
    }

    fn ends(&mut self, path: Option<&str>, output: &str) {
        let reply = self.ask(CommandKind::EndActivity {
            path: path.map(str::to_owned),
            outcome: ActivityOutcome::done(output),
        });
        assert_eq!(reply, Reply::Accepted);
    }

    fn at(&self) -> &str {
        self.run.root.at.as_str()
    }

    fn context(&self) -> Value {
        Value::Object((*self.run.root.line.context).clone())
    }

    fn said(&self) -> Vec<&str> {
        let dialogue = self.run.root.line.dialogue.as_ref().unwrap();
        let texts = dialogue.history.iter().map(|said| said.text.as_str());
        texts.collect()
    }

    fn notes(&self) -> Vec<(&str, &str)> {
        let notes = self.events.iter().filter_map(|event| match event {
            Event::Noted { code, message, .. } => Some((code.as_str(), message.as_str())),
            _ => None,
        });
        notes.collect()
    }

    fn failure(&self) -> Option<&Cause> {
        match &self.run.phase {
            Phase::Ended { cause, .. } => cause.as_ref(),
            _ => None,
        }
    }
}

/// Returns a machine of states that run a task each; `states` override `{activity, data}`.
fn machine(initial: &str, strict: bool, states: Value) -> Value {
    let mut all = BTreeMap::new();
    for (name, state) in states.as_object().unwrap() {
        let mut whole =
            json!({ "activity": { "task": { "kind": { "program": "any" } } }, "data": {} });
        for (key, value) in state.as_object().unwrap() {
            whole[key] = value.clone();
        }
        all.insert(name.clone(), whole);
    }
    json!({
        "id": "m", "initial": initial, "states": all, "durable": true,
        "conversation": { "strict": strict },
    })
}

fn to(target: &str) -> Value {
    json!({ "done": { "transitions": [{ "target": { "state": target } }] } })
}

fn end() -> Value {
    json!({ "activity": { "final": { "outcome": "success" } }, "data": null })
}

/// A transition to `then` if the output's `count` is over 3, otherwise to `otherwise`.
fn guarded(then: &str, otherwise: &str) -> Value {
    json!({ "done": { "transitions": [
        { "guards": [{ "inline": { "field": { "field": "count", "op": "gt", "value": 3, "from": "output" } } }],
          "target": { "state": then } },
        { "target": { "state": otherwise } },
    ] } })
}

#[test]
fn an_input_that_is_an_object_fills_the_context_and_is_the_first_message() {
    let states = json!({ "a": { "on": to("end") }, "end": end() });
    let driven = Driven::begin(machine("a", false, states.clone()), r#"{"count": 4}"#);
    assert_eq!(driven.context(), json!({ "count": 4 }));
    assert_eq!(driven.said(), [r#"{"count": 4}"#]);
    for input in ["[1]", "prose"] {
        let driven = Driven::begin(machine("a", false, states.clone()), input);
        assert_eq!(driven.context(), json!({}));
        assert_eq!(driven.said(), [input]);
    }
    let driven = Driven::begin(machine("a", false, states), "");
    assert!(driven.said().is_empty());
}

#[test]
fn an_output_is_read_and_kept_before_the_way_on_is_chosen() {
    let states = json!({
        "a": { "on": guarded("b", "end") }, "b": { "on": to("end") }, "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, "Here it is:\n```json\n{\"count\": 5}\n```");
    assert_eq!(driven.at(), "b");
    assert_eq!(driven.context(), json!({ "count": 5 }));
    assert_eq!(driven.said().len(), 2);
    driven.ends(None, "prose");
    assert_eq!(
        driven.run.root.line.dialogue.as_ref().unwrap().task,
        json!("prose")
    );
    assert!(driven.run.is_over());
}

#[test]
fn a_block_without_a_value_is_noted_or_fails() {
    let task = json!({ "kind": { "program": "any" }, "input": { "object": {
        "text": { "template": "{{ count }} and {{ missing }} and {{ task }}" },
    } } });
    let states = json!({
        "a": { "activity": { "task": task }, "on": to("end") }, "end": end(),
    });
    let driven = Driven::begin(machine("a", false, states.clone()), r#"{"count": 4}"#);
    let given = driven.run.root.stay.effect().unwrap().input.clone();
    assert_eq!(given["text"], r#"4 and {{ missing }} and {"count": 4}"#);
    let notes = driven.notes();
    assert!(
        notes.len() == 1 && notes[0].0 == "template_left",
        "{notes:?}"
    );
    assert!(notes[0].1.contains("`{{ missing }}`"), "{notes:?}");
    let strict = Driven::begin(machine("a", true, states), r#"{"count": 4}"#);
    assert_eq!(strict.failure().unwrap().code, "template_error");
}

#[test]
fn an_edit_takes_the_output_back_and_the_way_on_is_chosen_again() {
    let gate = json!({ "message": [], "no": "cancels" });
    let states = json!({
        "a": { "on": guarded("big", "small"), "data": { "output_key": "kept" } },
        "big": { "on": to("end"), "approval_before": gate },
        "small": { "on": to("end"), "approval_before": gate },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, r#"{"count": 1, "old": true}"#);
    assert_eq!(driven.at(), "small");
    let asked = asked_at(&driven.run.root);
    assert!(asked.contains(r#"{"count": 1, "old": true}"#), "{asked}");

    let answer = |edit: Option<&str>, message: Option<&str>| Answer {
        by: "ana".to_owned(),
        edit: edit.map(str::to_owned),
        message: message.map(str::to_owned),
        ..Answer::default()
    };
    let before = driven.run.clone();
    let reply = driven.ask(CommandKind::Approve(answer(Some(" "), None)));
    assert!(matches!(reply, Reply::Refused(refusal) if refusal.code == Code::InvalidArguments));
    assert_eq!(driven.run.root, before.root);

    driven.ask(CommandKind::Approve(answer(Some(r#"{"count": 9}"#), None)));
    assert_eq!(driven.at(), "big");
    assert_eq!(
        driven.context(),
        json!({ "count": 9, "kept": { "count": 9 } })
    );
    assert_eq!(driven.said(), ["go", r#"{"count": 9}"#]);
    assert!(
        driven.run.root.stay.entry_request().is_some(),
        "the other state is asked about, too"
    );

    // The same state does not need a second approval.
    let mut same = driven.run.clone();
    std::mem::swap(&mut driven.run, &mut same);
    driven.ask(CommandKind::Approve(answer(Some(r#"{"count": 10}"#), None)));
    assert!(driven.at() == "big" && driven.run.root.stay.effect().is_some());
    driven.run = same;

    driven.ask(CommandKind::Approve(answer(
        None,
        Some(r#"{"mood": "calm"}"#),
    )));
    assert_eq!(driven.said().last(), Some(&r#"{"mood": "calm"}"#));
    assert_eq!(driven.context()["mood"], "calm");
    assert!(
        driven.run.root.stay.effect().is_some(),
        "the state has begun"
    );
}

#[test]
fn the_input_can_be_edited_before_the_first_state() {
    let gate = json!({ "message": [], "no": "cancels" });
    let states = json!({
        "a": { "on": to("end"), "approval_before": gate }, "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), r#"{"count": 1}"#);
    driven.ask(CommandKind::Approve(Answer {
        by: "ana".to_owned(),
        edit: Some(r#"{"other": 2}"#.to_owned()),
        ..Answer::default()
    }));
    assert_eq!(driven.context(), json!({ "other": 2 }));
    assert_eq!(driven.said(), [r#"{"other": 2}"#]);
    assert!(
        driven.run.root.stay.effect().is_some(),
        "{:?}",
        driven.run.root
    );
}

#[test]
fn where_lines_met_the_output_of_each_can_be_edited() {
    let branch = |name: &str| json!({ "initial": name, "terminal": "end" });
    let states = json!({
        "a": { "on": to("after") },
        "after": {
            "activity": { "parallel": { "over": { "branches": { "b": branch("b"), "c": branch("c") } }, "join": "converge", "merge": "conversation" } },
            "data": null, "on": to("end"),
        },
        "b": { "on": guarded("d", "d"), "data": { "output_key": "b" } },
        "c": { "on": to("d"), "data": { "output_key": "c" } },
        "d": { "on": to("end"), "approval_before": { "message": [], "no": "cancels" } },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, "begun");
    driven.ends(Some("b"), "from b");
    driven.ends(Some("c"), "from c");
    let line = FramePath::root().child("b");
    assert!(
        driven
            .run
            .frame(&line)
            .unwrap()
            .stay
            .entry_request()
            .is_some()
    );
    let edit = |of: Option<&str>| Answer {
        by: "ana".to_owned(),
        edit: Some("corrected".to_owned()),
        of: of.map(str::to_owned),
        ..Answer::default()
    };
    let before = driven.run.root.clone();
    for of in [None, Some("a")] {
        let reply = driven.ask(CommandKind::Approve(edit(of)));
        let told = format!("{reply:?}");
        assert!(
            told.contains("Refused") && told.contains("`b` or `c`"),
            "{told}"
        );
        assert_eq!(driven.run.root, before);
    }
    assert_eq!(
        driven.ask(CommandKind::Approve(edit(Some("c")))),
        Reply::Accepted
    );
    let frame = driven.run.frame(&line).unwrap();
    assert!(
        frame.at.as_str() == "d" && frame.stay.effect().is_some(),
        "{frame:?}"
    );
    let context = Value::Object((*frame.line.context).clone());
    assert_eq!(context, json!({ "b": "from b", "c": "corrected" }));
    let dialogue = frame.line.dialogue.as_ref().unwrap();
    assert_eq!(dialogue.task, json!(["from b", "corrected"]));
    let said: Vec<&str> = dialogue
        .history
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(said, ["go", "begun", "from b", "corrected"]);
}

#[test]
fn an_edit_is_for_its_own_line_where_lines_have_not_met() {
    let branch = |name: &str| json!({ "initial": name, "terminal": "end" });
    let states = json!({
        "a": { "on": to("after") },
        "after": {
            "activity": { "parallel": { "over": { "branches": { "b": branch("b"), "c": branch("c") } }, "join": "settled", "merge": "conversation" } },
            "data": null, "on": to("end"),
        },
        "b": { "on": to("d") },
        "c": { "on": to("d") },
        "d": { "on": to("end"), "approval_before": { "message": [], "no": "cancels" } },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, "begun");
    driven.ends(Some("b"), "from b");
    driven.ends(Some("c"), "from c");
    let [line, beside] = ["b", "c"].map(|name| FramePath::root().child(name));
    let reply = driven.ask(CommandKind::Approve(Answer {
        by: "ana".to_owned(),
        path: Some(line.to_string()),
        edit: Some("corrected".to_owned()),
        ..Answer::default()
    }));
    assert_eq!(reply, Reply::Accepted);
    for (path, waits) in [(line, false), (beside, true)] {
        let frame = driven.run.frame(&path).unwrap();
        let asked = frame.stay.entry_request().is_some();
        assert_eq!((frame.at.as_str(), asked), ("d", waits), "{path}");
        assert_eq!(frame.stay.effect().is_some(), !waits, "{path}");
    }
}

#[test]
fn what_a_region_removes_is_gone_after_the_join() {
    let branch = |name: &str| json!({ "initial": name, "terminal": "end" });
    let states = json!({
        "a": { "on": to("after") },
        "after": {
            "activity": { "parallel": { "over": { "branches": { "b": branch("b"), "c": branch("c") } }, "join": "converge", "merge": "conversation" } },
            "data": null, "on": to("last"),
        },
        "b": { "on": to("end"), "data": { "reset": ["old"] } },
        "c": { "on": to("end") },
        "last": { "on": to("end") },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, r#"{"old": 1, "kept": 2}"#);
    driven.ends(Some("b"), r#"{"new": 3}"#);
    driven.ends(Some("c"), "nothing");
    assert_eq!(driven.at(), "last");
    assert_eq!(driven.context(), json!({ "kept": 2, "new": 3 }));
}

#[test]
fn each_state_has_its_own_model_and_a_summary_that_of_the_last_speaker() {
    let states = json!({
        "a": { "on": to("b"), "model": "one", "speaks": true },
        "b": { "on": to("sum"), "model": "two", "speaks": true },
        "sum": { "on": to("end"), "model": "three", "ends_lines": true },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    let mut models = Vec::new();
    for text in ["hello", "hello again", "in short"] {
        let model = stage_model(&driven.machine, &driven.run, &FramePath::root());
        models.push((driven.at().to_owned(), model.map(str::to_owned)));
        driven.ends(None, text);
    }
    let of = |state: &str, model: &str| (state.to_owned(), Some(model.to_owned()));
    assert_eq!(models, [of("a", "one"), of("b", "two"), of("sum", "two")]);
}

#[test]
fn the_names_of_files_that_came_along_are_in_the_context() {
    let states = json!({ "a": { "on": to("end") }, "end": end() });
    for attached in [Vec::new(), vec!["a.txt".to_owned(), "b.txt".to_owned()]] {
        let mut driven = Driven::begin(machine("a", false, states.clone()), "x");
        driven.run = Run::new(RunId::new("r2"));
        driven.ask(CommandKind::Start {
            input: Default::default(),
            by: "ana".to_owned(),
            durable: Some(DurableRun {
                input: Some(RunInput {
                    text: "look at them".to_owned(),
                    attached: attached.clone(),
                }),
                ..DurableRun::default()
            }),
        });
        let wanted = (!attached.is_empty()).then(|| json!(attached));
        assert_eq!(driven.context().get("file_names").cloned(), wanted);
    }
}

#[test]
fn what_an_item_brings_stays_with_it_unless_its_line_puts_out_another() {
    let states = json!({
        "list": {
            "activity": { "parallel": { "over": { "items": {
                "items": ".", "initial": "work", "without_items": "after",
            } }, "join": "converge" } },
            "on": to("after"), "data": null,
        },
        "work": { "on": to("after") },
        "after": { "on": to("end") },
        "end": end(),
    });
    for (output, wanted) in [("done", None), (r#"{"k": 2}"#, Some(json!(2)))] {
        let mut driven = Driven::begin(machine("list", false, states.clone()), r#"[{"k": 1}]"#);
        driven.ends(None, output);
        assert_eq!(driven.at(), "after", "{output}");
        assert_eq!(driven.context().get("k").cloned(), wanted, "{output}");
    }
}

#[test]
fn what_is_listed_of_an_output_is_a_list_an_object_or_its_text() {
    for (output, listed) in [
        (json!("plain"), json!("plain")),
        (json!("[1, 2]"), json!([1, 2])),
        (json!("{\"a\": 1}"), json!({"a": 1})),
        // A text with a single value stays as it was written.
        (json!("5"), json!("5")),
        (json!("true"), json!("true")),
        (json!("null"), json!("null")),
        (json!("\"a\""), json!("\"a\"")),
        (json!(5), json!(5)),
        (json!([1]), json!([1])),
    ] {
        assert_eq!(Conversation::listed(&output), listed, "{output}");
    }
}

/// Returns a run whose state `a` has ended; its branches `b` and `c` wait for a person before they begin.
fn before_two_branches() -> Driven {
    let branch = |name: &str| json!({ "initial": name, "terminal": "end" });
    let states = json!({
        "a": { "on": to("after") },
        "after": {
            "activity": { "parallel": { "over": { "branches": { "b": branch("b"), "c": branch("c") } }, "join": "converge", "merge": "conversation" } },
            "data": null, "on": to("end"),
        },
        "b": { "on": to("end"), "approval_before": { "message": [], "no": "cancels" } },
        "c": { "on": to("end"), "approval_before": { "message": [], "no": "cancels" } },
        "end": end(),
    });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.ends(None, "begun");
    driven
}

#[test]
fn before_its_branches_begin_an_output_is_meant_by_the_name_of_its_state_alone() {
    let driven = before_two_branches();
    let line = FramePath::root().child("b");
    for (of, is_meant) in [
        (None, true),
        (Some("a"), true),
        (Some(""), false),
        (Some("b"), false),
        (Some("after"), false),
    ] {
        let found = output_before(&driven.machine, &driven.run, &line, of);
        let state = found.map(|one| one.state.to_string());
        assert_eq!(state, is_meant.then(|| "a".to_owned()), "{of:?}");
    }
}

#[test]
fn once_one_of_its_branches_is_at_work_an_output_is_edited_no_more() {
    let mut driven = before_two_branches();
    let line = FramePath::root().child("b");
    let may = |driven: &Driven| output_before(&driven.machine, &driven.run, &line, None).is_some();
    assert!(may(&driven));
    let yes = Answer {
        by: "ana".to_owned(),
        path: Some("c".to_owned()),
        ..Answer::default()
    };
    assert_eq!(driven.ask(CommandKind::Approve(yes)), Reply::Accepted);
    assert!(!may(&driven));
}
