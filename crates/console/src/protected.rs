//! Protected things, and tools of servers, that changed in a run: a person looks at them, and says whether they may stay as they are.

use interlock_core::{event::ToolChange, names::Digest, run::Run, text_digest, visible::visible};
use serde_json::{Value, json};

/// Names the request about protected things; requests of the engine have other names.
pub(crate) const REQUEST: &str = "protected";
/// Changes that are listed.
const LISTED_MAX: usize = 50;

/// Tells whether a run stands still because of protected things that changed.
pub(crate) fn waits(run: &Run) -> bool {
    !run.is_over() && run.paused.is_some() && !run.changed.is_empty()
}

/// Counts what waits for a person beside the requests of the run.
pub(crate) fn count(run: &Run) -> usize {
    let tools = if run.is_over() {
        0
    } else {
        run.tools_changed.len()
    };
    usize::from(waits(run)) + tools
}

/// Returns the digest of what a yes accepts.
pub(crate) fn digest(run: &Run) -> Digest {
    text_digest(&json!(run.changed).to_string())
}

/// Describes what waits, as the inbox shows it; `name` is what commands call the run.
pub(crate) fn requests(run: &Run, name: &str, at_ms: u64) -> Vec<Value> {
    let mut all = Vec::new();
    if waits(run) {
        all.push(of_changes(run, at_ms));
    }
    if !run.is_over() {
        let tools = run.tools_changed.iter().take(LISTED_MAX);
        all.extend(tools.map(|change| of_tool(run, change, name, at_ms)));
    }
    all
}

fn of_changes(run: &Run, at_ms: u64) -> Value {
    let mut rows = vec![row(
        "asks",
        "may the run go on with these protected files as they are now?",
        false,
    )];
    let mut name = "changed";
    for change in run.changed.iter().take(LISTED_MAX) {
        rows.push(row(name, &change.sentence(), true));
        name = "";
    }
    if let Some(more @ 1..) = run.changed.len().checked_sub(LISTED_MAX) {
        rows.push(row("", &format!("and {more} more"), true));
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
