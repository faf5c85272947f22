//! Changes of protected things and of servers' tools in a run, which a person reviews and accepts.

use interlock_core::{event::ToolChange, names::Digest, run::Run, text_digest, visible::visible};
use serde_json::{Value, json};

/// Id of the request about protected things; the engine's requests have other ids.
pub(crate) const REQUEST: &str = "protected";
/// Maximum number of tools that are listed.
const TOOLS_MAX: usize = 50;

/// Returns whether a run is paused because protected things changed.
pub(crate) fn waits(run: &Run) -> bool {
    !run.is_over() && run.paused.is_some() && !run.changed.is_empty()
}

/// Returns the number of these requests, in addition to those of the engine.
pub(crate) fn count(run: &Run) -> usize {
    let tools = if run.is_over() {
        0
    } else {
        run.tools_changed.len()
    };
    usize::from(waits(run)) + tools
}

/// Returns the digest of the changes that a yes accepts.
pub(crate) fn digest(run: &Run) -> Digest {
    text_digest(&json!(run.changed).to_string())
}

/// Describes the requests for the inbox; `name` is the run's name in commands.
pub(crate) fn requests(run: &Run, name: &str, at_ms: u64) -> Vec<Value> {
    let mut all = Vec::new();
    if waits(run) {
        all.push(of_changes(run, at_ms));
    }
    if !run.is_over() {
        let tools = run.tools_changed.iter().take(TOOLS_MAX);
        all.extend(tools.map(|change| of_tool(run, change, name, at_ms)));
    }
    all
}

fn of_changes(run: &Run, at_ms: u64) -> Value {
    let mut rows = vec![row(
        "asks",
        "may the run continue with these protected files in their present form?",
        false,
    )];
    let mut name = "changed";
    // INVARIANT: all changes are listed, so that a yes accepts nothing that the card does not show.
    for change in &run.changed {
        rows.push(row(name, &change.sentence(), true));
        name = "";
    }
    let headline = match run.changed.len() {
        1 => "a protected file was changed".to_owned(),
        many => format!("{many} protected files were changed"),
    };
    described(
        run,
        (REQUEST, "protected", &headline),
        &digest(run),
        rows,
        at_ms,
    )
}

fn of_tool(run: &Run, change: &ToolChange, name: &str, at_ms: u64) -> Value {
    let shown = [change.server.as_str(), &change.tool].join(" ");
    let shown = shown.trim();
    let what = if change.found.as_str().is_empty() {
        "its server does not list it any more".to_owned()
    } else {
        format!(
            "other than when the run saw it first: {}",
            change.parts.join(", ")
        )
    };
    let rows = vec![
        row("tool", shown, false),
        row("changed", &what, true),
        row("answer", "at a terminal:", false),
    ];
    let id = format!("tool {shown}");
    let headline = format!("the tool {shown} was changed");
    let mut found = described(run, (&id, "tool", &headline), &change.found, rows, at_ms);
    if let Value::Object(fields) = &mut found {
        let word = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let line = format!(
            "interlock tools {name} --accept {} {}",
            word(&change.server),
            word(&change.tool)
        );
        let command = json!({ "line": line, "says": "takes the tool as it is defined now" });
        fields.insert("commands".to_owned(), json!([command]));
    }
    found
}

fn described(
    run: &Run,
    (id, kind, headline): (&str, &str, &str),
    digest: &Digest,
    rows: Vec<Value>,
    at_ms: u64,
) -> Value {
    json!({
        "id": id,
        "kind": kind,
        "path": "",
        "title": headline,
        "headline": headline,
        "by": "interlock",
        "asked_ms": at_ms,
        "digest": digest,
        "seen_seq": run.seq,
        "in_prompt": false,
        "rows": rows,
    })
}

fn row(name: &str, text: &str, warns: bool) -> Value {
    json!({ "name": name, "text": visible(text), "warns": warns })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use interlock_core::{
        event::{Event, ProtectedChange, ProtectedFate},
        evolve,
        names::RunId,
    };

    use super::*;

    #[test]
    fn every_change_that_a_yes_accepts_is_listed() {
        let change = |number: usize| ProtectedChange {
            path: format!("/p/{number}/.envrc"),
            what: "settings of a program".to_owned(),
            fate: ProtectedFate::Changed,
            digest: None,
            undone: false,
        };
        let changes = (0..400).map(change).collect();
        let run = Run::new(RunId::new("r"));
        let run = evolve(run, &Event::ProtectedChanged { changes });
        let listed = of_changes(&run, 0).get("rows").cloned().unwrap();
        assert!(run.changed.len() > 200, "{}", run.changed.len());
        for change in &run.changed {
            let sentence = change.sentence();
            let is_told = |row: &Value| row.get("text").and_then(Value::as_str) == Some(&sentence);
            assert!(listed.as_array().unwrap().iter().any(is_told), "{sentence}");
        }
    }
}
