//! Proves the properties of a workflow's text; runs that break them are returned as lines for the simulator.

use std::path::Path;

use interlock_core::machine::Machine;
use interlock_formats::{
    Diagnostic, Lines, Property, Source, Workflows as _, own_properties, properties_file,
};
use interlock_prove::{Finding, ProofOptions, Verdict, prove, written_steps};
use serde_json::{Value, json};

use crate::bounded::Bounded;

/// Maximum number of states in the graph of a proof; `interlock prove` goes further.
const STATES_MAX: usize = 50_000;

/// Proves the general properties of workflows, those in the text, and those in the file beside it.
///
/// # Errors
/// The properties cannot be read; the diagnostics name the places.
pub(crate) fn of(
    source: &Source,
    machine: &Machine,
    library: &Bounded<'_>,
) -> Result<Value, Vec<Diagnostic>> {
    let mut properties = own_properties(source, machine)?;
    properties.extend(beside(source, machine, library)?);
    let lines = Lines::of(source);
    let options = ProofOptions {
        states_max: STATES_MAX,
        lines: Some(&lines),
    };
    let proof = prove(machine, &properties, &options);
    let findings: Vec<Value> = proof.findings.iter().map(finding).collect();
    Ok(json!({
        "ok": true,
        "findings": findings,
        "states": proof.states,
        "assumptions": proof.assumptions,
    }))
}

/// Reads the properties in `NAME.properties.yaml` beside the workflow.
fn beside(
    source: &Source,
    machine: &Machine,
    library: &Bounded<'_>,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    let path = Path::new(&source.name).with_extension("properties.yaml");
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    // The file is resolved like references in the text: inside the project, or not at all.
    match library.resolve(source, &format!("./{name}")) {
        Some(Ok(file)) => properties_file(&file, machine),
        _ => Ok(Vec::new()),
    }
}

fn finding(one: &Finding) -> Value {
    let shows = !one.trace.is_empty() && matches!(one.verdict, Verdict::Fails | Verdict::Holds);
    let mut steps = Vec::new();
    for step in one.trace.iter().filter(|_| shows) {
        let lines = written_steps(std::slice::from_ref(step));
        let last = lines.len().saturating_sub(1);
        steps.extend(lines.into_iter().enumerate().map(|(index, line)| {
            let changed: &[String] = if index == last { &step.changed } else { &[] };
            json!({ "line": line, "changed": changed })
        }));
    }
    json!({
        "property": one.name,
        "file": one.at.as_ref().map(|(file, _)| file),
        "line": one.at.as_ref().map(|(_, line)| line),
        "verdict": one.verdict.word(),
        "why": one.verdict.why(),
        "message": one.message,
        "begun": { "data": one.input },
        "steps": steps,
    })
}
