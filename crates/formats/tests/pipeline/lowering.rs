//! The translation of a pipeline into a machine.

use interlock_core::machine::{Activity, ModelStage, Outcome, State};
use interlock_formats::{InputKind, NoWorkflows, Source, load};
use serde_json::{Value, json};

use crate::pipeline::loaded;

/// The second example on the format's page.
const LOOP: &str = include_str!(
    "../../../../tests/cases/pipeline/warnings/a_loop_reads_what_may_not_be_there.yaml"
);

const REVIEW: &str = include_str!("../../../../tests/cases/pipeline/valid/code_review.yaml");

/// Returns a stage that continues with `next`, with additional keys.
fn stage(id: &str, next: &str, more: &str) -> String {
    format!(
        "  {id}: {{ body: b, allowedTools: [], completionTool: submit, completionSchema: {{}}, turnCap: 1, next: {next}{more} }}\n"
    )
}

fn file(top: &str, stages: &[String]) -> String {
    format!("id: demo\n{top}stages:\n{}", stages.concat())
}

fn of(state: &State) -> &ModelStage {
    match &state.activity {
        Activity::Stage(stage) => stage,
        other => panic!("{other:?} is not a stage"),
    }
}

/// Writes a part of a machine as JSON.
fn json_of<T: serde::Serialize>(part: &T) -> Value {
    serde_json::to_value(part).unwrap()
}

#[test]
fn each_stage_becomes_a_state_of_its_name() {
    let loaded = loaded("codeReview.yaml", REVIEW);
    let machine = loaded.machine;
    let names: Vec<&str> = machine.states.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["Plan", "Execute", "Review", "end"]);
    assert_eq!(machine.initial.as_str(), "Plan");
    assert!(machine.durable);
    let plan = &machine.states["Plan"];
    assert_eq!(of(plan).turns_max, 20);
    assert_eq!(
        json_of(&of(plan).ending)["tool"]["schema"]["required"],
        json!(["summary", "steps"])
    );
    assert_eq!(
        json_of(&of(plan).assert),
        json!([{
            "guard": { "inline": { "field": { "field": "/steps/0", "from": "output", "op": "exists" } } },
            "else": "retry",
            "message": "the plan has no steps",
        }])
    );
    assert_eq!(plan.retry.as_ref().map(|retry| retry.attempts), Some(2));
    assert_eq!(of(plan).timeout_ms, Some(1_800_000));
    assert_eq!(
        json_of(&of(&machine.states["Review"]).body),
        json!([
            { "plain": "Compare the plan with the diff. Plan: " },
            { "hole": { "value": ["upstream", "Plan"] } },
            { "plain": " Diff: " },
            { "hole": { "value": ["upstream", "Execute", "diff"] } },
        ])
    );
    assert_eq!(loaded.variables, ["task"]);
    let task = &loaded.inputs[0];
    assert_eq!((task.kind, task.required), (InputKind::String, true));
}

#[test]
fn a_fork_becomes_a_state_behind_its_stage() {
    let machine = loaded("checkedChange.yaml", LOOP).machine;
    let names: Vec<&str> = machine.states.keys().map(|name| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Implement",
            "Test",
            "Lint",
            "Review",
            "Implement.fork",
            "end"
        ]
    );
    assert_eq!(
        json_of(&machine.states["Implement"].on["done"])["transitions"][0]["target"],
        json!({ "state": "Implement.fork" })
    );
    assert_eq!(
        json_of(&machine.states["Implement.fork"].activity),
        json!({ "parallel": {
            "over": { "branches": {
                "Test": { "initial": "Test", "terminal": "Review" },
                "Lint": { "initial": "Lint", "terminal": "Review" },
            } },
            "join": "fail_fast",
            "merge": "captured",
            "concurrency": 2,
            "fails_as": "sibling_failed",
        } })
    );
    let rules = machine.stages.unwrap();
    assert_eq!((rules.at_once, rules.executions_max), (2, 20));
}

#[test]
fn an_end_within_a_joined_branch_is_that_of_the_branch() {
    let stages = [
        stage("A", "{ parallel: [B, C], join: J, onFail: fail }", ""),
        stage("B", "end", ""),
        stage("C", "fail", ", on: { CAP: J }"),
        stage("J", "end", ""),
    ];
    let machine = loaded("case.yaml", &file("", &stages)).machine;
    let target = |state: &str, event: &str| {
        json_of(&machine.states[state].on[event])["transitions"][0]["target"].clone()
    };
    assert_eq!(target("B", "done"), json!({ "end": "success" }));
    assert_eq!(target("C", "done"), json!({ "end": "failure" }));
    assert_eq!(target("C", "CAP"), json!({ "state": "J" }));
    assert_eq!(target("J", "done"), json!({ "state": "end" }));
    assert_eq!(target("A.fork", "error"), json!({ "state": "fail" }));
    assert_eq!(
        machine.states["fail"].activity,
        Activity::Final {
            outcome: Outcome::Failure
        }
    );
}

#[test]
fn a_fork_without_a_join_leads_to_the_end() {
    let stages = [
        stage("A", "{ stages: [B, C], execution: parallel }", ""),
        stage("B", "end", ""),
        stage("C", "{ stages: [], execution: sequential }", ""),
    ];
    let machine = loaded("case.yaml", &file("", &stages)).machine;
    let fork = json_of(&machine.states["A.fork"]);
    assert_eq!(
        fork["activity"]["parallel"]["over"]["branches"]["B"]["terminal"],
        "end"
    );
    assert_eq!(
        fork["on"]["done"]["transitions"][0]["target"],
        json!({ "state": "end" })
    );
    assert_eq!(
        json_of(&machine.states["C"].on["done"])["transitions"][0]["target"],
        json!({ "state": "end" })
    );
}

#[test]
fn settings_hold_where_a_stage_does_not_say() {
    let top = "settings: { mode: allowlist, allowlist: [Read], tools: [Read], model: ollama/qwen3, stageTimeout: 5m, grantTimeout: 90s, retry: { maxAttempts: 4, initialInterval: 2s, backoffFactor: 1.5, maxInterval: 1h }, budget: { tokens: 9, usd: 0.25 }, resultBytes: 77 }\n";
    let stages = [
        stage("A", "B", ""),
        stage(
            "B",
            "end",
            ", retry: { maxAttempts: 2 }, model: openai/gpt-5, approvalBefore: \"Go on with ${ctx.task}?\"",
        ),
    ];
    let machine = loaded("case.yaml", &file(top, &stages)).machine;
    assert_eq!(
        json_of(&machine.stages),
        json!({
            "mode": "allowlist",
            "allowlist": ["Read"],
            "tools": ["Read"],
            "at_once": 4,
            "executions_max": 100,
            "grant_timeout_ms": 90_000,
            "result_bytes": 77,
            "budget": { "tokens": 9, "pico_usd": 250_000_000_000_u64 },
            "model": "ollama/qwen3",
        })
    );
    let (a, b) = (&machine.states["A"], &machine.states["B"]);
    assert_eq!(
        json_of(&a.retry),
        json!({ "attempts": 4, "wait_ms": 2_000, "backoff": "1.5", "wait_max_ms": 3_600_000 })
    );
    assert_eq!(
        json_of(&b.retry),
        json!({ "attempts": 2, "wait_ms": 1_000, "backoff": "2", "wait_max_ms": 60_000 })
    );
    assert_eq!(of(a).timeout_ms, Some(300_000));
    assert_eq!(
        (a.model.as_deref(), b.model.as_deref()),
        (None, Some("openai/gpt-5"))
    );
    assert_eq!(
        json_of(&b.approval_before)["message"],
        json!([{ "plain": "Go on with " }, { "hole": { "value": ["task"] } }, { "plain": "?" }])
    );
}

#[test]
fn a_named_guard_of_a_gate_reads_the_context() {
    let top = "guards: { has_task: { field: task, op: exists } }\n";
    let stages = [stage(
        "A",
        "[{ guard: has_task, target: end }, { target: fail }]",
        ", gate: [ { not: has_task }, { field: task, op: eq, value: x } ]",
    )];
    let machine = loaded("case.yaml", &file(top, &stages)).machine;
    let reads = |from: &str| json!({ "field": { "field": "task", "from": from, "op": "exists" } });
    assert_eq!(json_of(&machine.guards["has_task"]), reads("output"));
    assert_eq!(
        json_of(&of(&machine.states["A"]).gate[0]),
        json!({ "inline": { "not": { "inline": reads("context") } } })
    );
}

#[test]
fn inputs_are_known_with_their_types_and_defaults() {
    let top = "input: { task: { type: string }, count: { type: integer, default: 3, description: how many } }\ncontext: { lang: [rust] }\n";
    let loaded = loaded("case.yaml", &file(top, &[stage("A", "end", "")]));
    assert_eq!(
        json_of(&loaded.machine.context),
        json!({ "task": null, "count": 3, "lang": ["rust"] })
    );
    let count = &loaded.inputs[1];
    assert_eq!(count.default, Some(json!(3)));
    assert!(!count.required);
    assert_eq!(count.description.as_deref(), Some("how many"));
    let plain = crate::pipeline::loaded("case.yaml", &file("", &[stage("A", "end", "")]));
    assert_eq!(plain.inputs[0].name, "task");
    assert!(!plain.inputs[0].required);
}

#[test]
fn an_input_takes_values_of_its_type_alone() {
    for (kind, text, wanted) in [
        (InputKind::String, "7", Some(json!("7"))),
        (InputKind::Number, "7.5", Some(json!(7.5))),
        (InputKind::Number, "seven", None),
        (InputKind::Integer, " 7 ", Some(json!(7))),
        (InputKind::Integer, "7.5", None),
        (
            InputKind::Integer,
            "9007199254740993",
            Some(json!(9_007_199_254_740_993_u64)),
        ),
        (InputKind::Boolean, "true", Some(json!(true))),
        (InputKind::Boolean, "yes", None),
        (InputKind::Array, "[1]", Some(json!([1]))),
        (InputKind::Array, "{}", None),
        (InputKind::Object, "{\"a\":1}", Some(json!({ "a": 1 }))),
        (InputKind::Object, "", None),
    ] {
        assert_eq!(kind.parse(text), wanted, "{kind:?} {text}");
    }
}

#[test]
fn a_body_from_a_file_is_in_the_bundle() {
    let text = file(
        "",
        &[stage("A", "end", "").replace("body: b", "bodyFile: plan.md")],
    );
    let loaded = loaded("case.yaml", &text);
    let files: Vec<&str> = loaded
        .bundle
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(files, ["case.yaml", "plan.md"]);
    // The pinned pipeline is read again from the bundle alone.
    let again = load(&Source::new("case.yaml", text), None, &loaded.bundle).unwrap();
    assert_eq!(again.machine.hash, loaded.machine.hash);
    let body = json_of(&of(&again.machine.states["A"]).body);
    assert_eq!(body[2]["plain"], "\nCost: ${ctx.x} ${HOME}\n");
}

/// The native stage in the specification, as a file.
const NATIVE: &str = r#"{"id": "w", "initial": "plan", "context": {"task": null}, "states": {
  "plan": {"type": "stage", "body": "Plan: ${ctx.task}", "allowed_tools": ["Read", "Grep", "Glob"], "turn_cap": 20,
    "completion_tool": "submit_plan", "completion_schema": {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}},
    "assert": [{"field": "/steps/0", "op": "exists", "else": "retry"}], "retry": {"max_attempts": 2},
    "on": {"done": [{"guard": {"field": "steps", "op": "exists", "from": "output"}, "target": "execute"}, {"target": "failed"}], "CAP": "failed", "FAIL": "failed", "ERROR": "failed"}},
  "execute": {"allowed_tools": ["Edit"], "max_iterations": 5, "on": {"DONE": "end"}},
  "end": {"type": "final"}, "failed": {"type": "final"}}}"#;

#[test]
fn a_native_state_may_be_a_stage() {
    let loaded = load(&Source::new("w.json", NATIVE), None, &NoWorkflows).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let plan = &loaded.machine.states["plan"];
    assert_eq!(of(plan).turns_max, 20);
    assert_eq!(plan.retry.as_ref().map(|retry| retry.attempts), Some(2));
    assert_eq!(
        json_of(&of(plan).assert[0].guard),
        json!({ "inline": { "field": { "field": "/steps/0", "from": "output", "op": "exists" } } })
    );
    assert!(!loaded.machine.durable);
}

#[test]
fn a_native_stage_is_checked_like_any() {
    let codes = |text: &str| {
        let found = interlock_formats::check(&Source::new("w.json", text), &NoWorkflows);
        let codes: Vec<String> = found
            .iter()
            .map(|found| format!("{} {}", found.severity, found.code))
            .collect();
        codes
    };
    for (from, to, wanted) in [
        ("ctx.task", "ctx.taks", "warning ctx_unresolved"),
        ("ctx.task", "ctx.upstream.execute.x", "error ctx_unresolved"),
        (
            "ctx.task",
            "ctx.upstream.plan.stepz",
            "error ctx_unresolved",
        ),
        ("\"turn_cap\"", "\"turnCap\"", "error unknown_field"),
        ("\"submit_plan\"", "\"Bash\"", "error taken_name"),
        (
            "{\"max_attempts\": 2}",
            "{\"maxAttempts\": 2}",
            "error unknown_field",
        ),
        (
            "\"type\": \"array\"",
            "\"type\": \"list\"",
            "error invalid_schema",
        ),
        (
            "\"from\": \"output\"",
            "\"from\": \"ctx\"",
            "error wrong_value",
        ),
        (
            "\"body\": \"Plan: ${ctx.task}\", ",
            "",
            "error missing_field",
        ),
    ] {
        let found = codes(&NATIVE.replacen(from, to, 1));
        assert_eq!(found.last().map(String::as_str), Some(wanted), "{to}");
    }
}
