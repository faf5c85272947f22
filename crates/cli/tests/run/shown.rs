//! Output during a run and afterwards.

use crate::run::place::Place;

const FLOW: &str = "start-at: a
states:
  a: {tool: bash, arguments: {command: 'echo shown; echo warned >&2'}, next: b}
  b: {tool: bash, arguments: {command: 'echo kept; echo warned too >&2'}, output: var(v), next: c}
  c: {tool: bash, arguments: {command: 'echo \"got {{ v }}\"'}}
";

#[test]
fn what_is_captured_is_not_shown_and_what_is_warned_always_is() {
    let place = Place::with("flow", FLOW);
    let said = place.call(&["run", "flow"]).ended(0);
    assert_eq!(said.out, "shown\ngot kept\n");
    let said = said.says(&["warned\n", "warned too\n"]);
    assert!(!said.out.contains("warned"));
}

#[test]
fn json_lines_tell_everything_in_order() {
    let place = Place::with("flow", FLOW);
    let lines = place.call(&["run", "flow", "--json"]).ended(0).lines();
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!(
        (&first["event"], &first["name"]),
        (&"Run".into(), &"flow-1".into())
    );
    assert_eq!(
        (&last["event"], &last["code"]),
        (&"Halted".into(), &0.into())
    );
    assert_eq!(last["status"], "completed");
    let recorded = place.call(&["log", "flow-1", "--json"]).lines();
    let streamed: Vec<_> = lines.iter().filter(|line| line["seq"].is_u64()).collect();
    assert_eq!(streamed, recorded.iter().collect::<Vec<_>>());
    let at = |wanted: &dyn Fn(&serde_json::Value) -> bool| lines.iter().position(wanted).unwrap();
    let started = at(&|line| line["event"] == "EffectStarted");
    let printed = at(&|line| line["text"] == "shown\n" && line["path"] == "a");
    let ended = at(&|line| line["event"] == "ActivityEnded");
    assert!(started < printed && printed < ended, "{lines:#?}");
    let kept = lines.iter().any(|line| line["text"] == "kept\n");
    assert!(!kept);
}

#[test]
fn json_lines_end_with_what_the_run_waits_for() {
    let place = Place::with(
        "wait",
        "start-at: p\nstates:\n  p: {tool: pause, arguments: {reason: later}}\n",
    );
    let lines = place
        .call(&["run", "wait", "-n", "w", "--json"])
        .ended(75)
        .lines();
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["status"], &last["code"]),
        (&"waiting".into(), &75.into())
    );
    assert_eq!(last["waits"][0]["message"], "later");
    let again = place.by_person(&["resume", "w", "--json"]).ended(0).lines();
    assert_eq!(again[0]["event"], "Run");
    // Only new events.
    assert_ne!(again[1]["event"], "RunStarted");
    assert_eq!(again.last().unwrap()["status"], "completed");
    let refused = place.by_person(&["resume", "w", "--json"]).ended(1).lines();
    assert_eq!(refused[0]["code"], "run_over");
}

#[test]
fn list_names_workflows_and_open_runs() {
    let place = Place::with("flow", FLOW);
    place.flow("child", "extends: flow\n");
    place.flow("orphan", "extends: nobody\n");
    place.flow("flow/index", FLOW);
    place
        .room
        .write(
            ".interlock/workflows/native.yaml",
            "id: native\ninitial: a\nstates: {a: {type: final}}\n",
        )
        .unwrap();
    let text = place.call(&["list"]).ended(0).out;
    for line in [
        "child (extends flow)  .flowstate/child.yaml\n",
        "flow  .flowstate/flow/index.yaml  hides `.flowstate/flow.yaml`\n",
        "orphan (extends nobody, which is missing)",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("native"), "{text}");
    place.call(&["run", "flow", "-n", "f"]).ended(0);
    assert!(!place.call(&["list"]).out.contains("completed"));
    assert!(place.call(&["list", "--all"]).out.contains("(f)"));
}

#[test]
fn status_shows_branches_tries_and_items() {
    let place = Place::with(
        "many",
        "start-at: each
states:
  each:
    tool: for-each
    arguments:
      items-from: 'printf \"a\\nb\\nc\"'
      start-at: one
      states:
        one: {tool: switch, arguments: {value: '{{ item }}'}, goto: {b: stop, _: fine}}
        stop: {tool: pause, arguments: {reason: 'at {{ item }}'}}
        fine: {tool: bash, arguments: {command: 'true'}}
",
    );
    place.call(&["run", "many", "-n", "m"]).ended(75);
    let status = place.status("m");
    assert_eq!(status["waits"][0]["message"], "at b");
    assert_eq!(status["waits"][0]["path"], "each/1/stop");
    assert_eq!(
        (&status["items"][0]["ended"], &status["items"][0]["all"]),
        (&1.into(), &3.into())
    );
    let text = place.call(&["status", "m"]).ended(0).out;
    for word in ["items:", "1 of 3 at `each`", "waits:", "`each/1/stop`"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    place.by_person(&["resume", "m"]).ended(0);
}

#[test]
fn the_log_can_be_followed() {
    let place = Place::with("flow", FLOW);
    place.call(&["run", "flow", "-n", "f"]).ended(0);
    let text = place.call(&["log", "f", "--follow"]).ended(0).out;
    for word in [
        "EffectStarted bash",
        "ActivityEnded into `v`",
        "RunCompleted success",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}
