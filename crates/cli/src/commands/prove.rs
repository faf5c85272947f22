//! `prove`: checks a workflow against every run that it could have.

mod against;
mod report;
mod show;

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow};
use interlock_core::machine::Machine;
use interlock_formats::{
    Diagnostic, Lines, Property, Severity, Source, load, own_properties, properties_file, render,
};
use interlock_prove::{Finding, Proof, ProofOptions, TraceStep, Verdict, prove, written_steps};
use serde_json::{Value, json};

use crate::{
    app::App,
    args::{FindingFormat, GraphFormat, ProveArgs},
    commands::graph,
    failure::{Done, Exit, Failure},
    findings::{Finding as Found, Findings},
    proved::Subject,
};

pub(crate) fn run(app: &App, args: &ProveArgs) -> Done {
    let library = app.library_to_read();
    let wanted = args
        .workflow
        .clone()
        .map_or_else(|| app.own_workflow(), Ok)?;
    let source = library.open(&wanted).map_err(Failure::usage)?;
    let format = args.printed.format();
    let loaded = load(&source, None, &library)
        .map_err(|found| unreadable(app, format, (&found, Exit::Failed)))?;
    if let Some(old) = &args.against {
        return against::run(app, args, (&source, &loaded.machine), old);
    }
    let (properties, file) = properties(app, args, &source, &loaded.machine)?;
    let lines = Lines::of(&source);
    let options = ProofOptions {
        states_max: args.max_states,
        lines: Some(&lines),
    };
    let proof = prove(&loaded.machine, &properties, &options);
    if args.properties.is_none() {
        let subject = Subject {
            source: &source,
            machine: &loaded.machine,
            beside: file.as_ref(),
        };
        remember(app, &subject, &proof);
    }
    match format {
        FindingFormat::Text => show::proof(app, &source, &proof)?,
        FindingFormat::Json => app.output.json(&as_json(&source, &proof))?,
        _ => report::of_proof(&source, &proof).print(app, format)?,
    }
    if let Some(path) = &args.write_test {
        write_test(app, &source, &proof, path)?;
    }
    if let Some(path) = &args.graph {
        draw(app, &loaded.machine, &proof, path)?;
    }
    let has = |is: fn(&Verdict) -> bool| proof.findings.iter().any(|one| is(&one.verdict));
    if has(|verdict| *verdict == Verdict::Fails) {
        return Err(Failure::Said(Exit::Failed));
    }
    if has(|verdict| matches!(verdict, Verdict::Unknown(_) | Verdict::Vacuous(_))) {
        return Err(Failure::Said(Exit::Undecided));
    }
    Ok(())
}

/// Stores the verdicts of a workflow's own properties, for `check`.
fn remember(app: &App, subject: &Subject<'_>, proof: &Proof) {
    let verdict = |one: &Finding| (one.name.clone(), one.verdict.word().to_owned());
    let verdicts: Vec<(String, String)> = proof.findings.iter().map(verdict).collect();
    subject.remember(app, &verdicts);
}

/// Reads the properties in the workflow, and those of the named or neighbouring file, which is returned as well.
fn properties(
    app: &App,
    args: &ProveArgs,
    source: &Source,
    machine: &Machine,
) -> Result<(Vec<Property>, Option<Source>), Failure> {
    let format = args.printed.format();
    let said = |read: Result<Vec<Property>, Vec<Diagnostic>>| {
        read.map_err(|found| unreadable(app, format, (&found, Exit::Usage)))
    };
    let mut all = said(own_properties(source, machine))?;
    let beside = Path::new(&source.name).with_extension("properties.yaml");
    let file = match &args.properties {
        Some(file) => Some(file.clone()),
        None => beside.is_file().then_some(beside),
    };
    let mut read = None;
    if let Some(file) = file {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("`{}` cannot be read", file.display()))
            .map_err(Failure::usage)?;
        let source = Source::new(file.display().to_string(), text);
        all.extend(said(properties_file(&source, machine))?);
        read = Some(source);
    }
    Ok((all, read))
}

/// Prints the errors of a workflow or its properties.
fn unreadable(app: &App, format: FindingFormat, (found, exit): (&[Diagnostic], Exit)) -> Failure {
    let mut findings = Findings::of("prove");
    let all: Vec<Found> = found.iter().map(Found::from).collect();
    if let Some(first) = all.first() {
        findings.add_file(&first.file, "prove", &all, Severity::Error);
    }
    findings.add_all(all);
    let said = app
        .output
        .painted_error(&render(found, app.output.colours_errors()))
        .and_then(|()| findings.print(app, format));
    match said {
        Ok(()) => Failure::Said(exit),
        Err(failure) => failure,
    }
}

/// Writes one step of a trace.
fn step_as_json(step: &TraceStep) -> Value {
    json!({"lines": step.lines, "times": step.times, "other_files": step.files, "changed": step.changed})
}

fn as_json(source: &Source, proof: &Proof) -> Value {
    let findings: Vec<Value> = proof
        .findings
        .iter()
        .map(|one| {
            let steps: Vec<Value> = one.trace.iter().map(step_as_json).collect();
            json!({
                "property": one.name,
                "file": one.at.as_ref().map(|(file, _)| file),
                "line": one.at.as_ref().map(|(_, line)| line),
                "verdict": one.verdict.word(),
                "exact": matches!(one.verdict, Verdict::Holds | Verdict::Fails),
                "why": one.verdict.why(),
                "message": one.message,
                "input": one.input,
                "trace": steps,
            })
        })
        .collect();
    json!({
        "workflow": source.name,
        "states": proof.states,
        "steps": proof.steps,
        "findings": findings,
        "assumptions": proof.assumptions,
    })
}

/// Draws the first failure: the entered states, the transitions taken, and where it ends.
fn draw(app: &App, machine: &Machine, proof: &Proof, path: &Path) -> Done {
    let fails = |one: &&Finding| one.verdict == Verdict::Fails;
    let mut failing = proof.findings.iter().filter(fails);
    let found = failing.find_map(|one| Some((one, one.played.as_ref()?)));
    let Some((finding, played)) = found else {
        app.output.remark(&format!(
            "nothing fails with a trace, so `{}` is not written\n",
            path.display()
        ));
        return Ok(());
    };
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        Some("dot") => GraphFormat::Dot,
        Some("mmd") => GraphFormat::Mermaid,
        _ => GraphFormat::Svg,
    };
    let text = graph::draw(machine, Some(&played.run), &played.events, format);
    fs::write(path, text).with_context(|| format!("`{}` cannot be written", path.display()))?;
    app.output.remark(&format!(
        "`{}` shows the run that breaks `{}`\n",
        path.display(),
        finding.name
    ));
    Ok(())
}

/// Writes each trace as a case for `interlock test`.
fn write_test(app: &App, source: &Source, proof: &Proof, path: &Path) -> Done {
    let mut cases = Vec::new();
    for one in proof.findings.iter().filter(|one| !one.trace.is_empty()) {
        if !one.input.is_empty() {
            app.output.remark(&format!(
                "`{}` is not written: a case cannot start a run with data\n",
                one.name
            ));
            continue;
        }
        let mut steps = written_steps(&one.trace);
        for step in &mut steps {
            if let Some(step) = step.as_object_mut() {
                // A call that a person grants is not `ok: false`, so nothing of the trace is refused.
                step.insert("expect".to_owned(), json!({"ok": true}));
            }
        }
        cases
            .push(json!({"name": format!("{}: {}", one.verdict.word(), one.name), "steps": steps}));
    }
    if cases.is_empty() {
        return Err(anyhow!("there is no trace to write to `{}`", path.display()).into());
    }
    let workflow = workflow_beside(&source.name, path);
    let text = serde_json::to_string_pretty(&json!({"workflow": workflow, "cases": cases}))?;
    fs::write(path, format!("{text}\n"))
        .with_context(|| format!("`{}` cannot be written", path.display()))?;
    Ok(())
}

/// Returns the path of the workflow relative to the file of cases.
fn workflow_beside(workflow: &str, cases: &Path) -> String {
    let workflow = Path::new(workflow);
    let same = workflow.parent() == cases.parent();
    match (same, workflow.file_name(), workflow.canonicalize()) {
        (true, Some(name), _) => name.to_string_lossy().into_owned(),
        (_, _, Ok(path)) => path.display().to_string(),
        _ => workflow.display().to_string(),
    }
}
