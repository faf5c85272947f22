//! `prove`: a workflow against every run that it could have.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow};
use interlock_formats::{
    Diagnostic, Lines, Property, Source, own_properties, properties_file, render,
};
use interlock_prove::{Finding, Proof, ProofOptions, Verdict, prove, written_steps};
use serde_json::{Value, json};

use crate::{
    app::App,
    args::ProveArgs,
    failure::{Done, Exit, Failure},
    live,
    output::Style,
};

pub(crate) fn run(app: &App, args: &ProveArgs) -> Done {
    let library = app.library_to_read();
    let wanted = args
        .workflow
        .clone()
        .map_or_else(|| app.own_workflow(), Ok)?;
    let source = library.open(&wanted).map_err(Failure::usage)?;
    let loaded = live::load_source(app, &library, &source)?;
    let properties = properties(app, args, &source, &loaded.machine)?;
    let lines = Lines::of(&source);
    let options = ProofOptions {
        states_max: args.max_states,
        lines: Some(&lines),
    };
    let proof = prove(&loaded.machine, &properties, &options);
    if args.json {
        app.output.json(&as_json(&source, &proof))?;
    } else {
        show(app, &source, &proof)?;
    }
    if let Some(path) = &args.write_test {
        write_test(app, &source, &proof, path)?;
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

/// Reads the properties in the workflow, and those of the file that is named or lies beside it.
fn properties(
    app: &App,
    args: &ProveArgs,
    source: &Source,
    machine: &interlock_core::machine::Machine,
) -> Result<Vec<Property>, Failure> {
    let mut all = said(app, own_properties(source, machine))?;
    let beside = Path::new(&source.name).with_extension("properties.yaml");
    let file = match &args.properties {
        Some(file) => Some(file.clone()),
        None => beside.is_file().then_some(beside),
    };
    if let Some(file) = file {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("`{}` cannot be read", file.display()))
            .map_err(Failure::usage)?;
        let source = Source::new(file.display().to_string(), text);
        all.extend(said(app, properties_file(&source, machine))?);
    }
    Ok(all)
}

fn said(app: &App, read: Result<Vec<Property>, Vec<Diagnostic>>) -> Result<Vec<Property>, Failure> {
    read.map_err(|found| {
        let text = render(&found, app.output.colours_errors());
        match app.output.painted_error(&text) {
            Ok(()) => Failure::Said(Exit::Usage),
            Err(failure) => failure,
        }
    })
}

fn show(app: &App, source: &Source, proof: &Proof) -> Done {
    for one in &proof.findings {
        let style = match one.verdict {
            Verdict::Holds | Verdict::HoldsWidely(_) => Style::Green,
            Verdict::Fails => Style::Red,
            Verdict::Vacuous(_) | Verdict::Unknown(_) => Style::Yellow,
        };
        let place = one
            .at
            .as_ref()
            .map_or_else(String::new, |(file, line)| format!("  {file}:{line}"));
        app.output.line(&format!(
            "{} {}{}",
            app.output
                .styled(style, &format!("{:<8}", one.verdict.word())),
            one.name,
            app.output.styled(Style::Dim, &place)
        ))?;
        let why = one.verdict.why().map(|why| match one.verdict {
            Verdict::HoldsWidely(_) => format!("over-approximated: {why}"),
            _ => why.to_owned(),
        });
        for text in why.iter().chain(&one.message) {
            app.output.line(&format!("         {text}"))?;
        }
        if one.verdict == Verdict::Fails {
            trace(app, one)?;
        }
    }
    app.output.line(&format!(
        "{}: {} states, {} steps",
        source.name, proof.states, proof.steps
    ))?;
    for assumed in &proof.assumptions {
        app.output.line(
            &app.output
                .styled(Style::Dim, &format!("assumed: {assumed}")),
        )?;
    }
    Ok(())
}

fn trace(app: &App, finding: &Finding) -> Done {
    if !finding.input.is_empty() {
        let input = Value::Object(finding.input.clone());
        app.output.line(&format!("         started with {input}"))?;
    }
    for (number, step) in finding.trace.iter().enumerate() {
        for (index, line) in step.lines.iter().enumerate() {
            let before = match index {
                0 => format!("{:>8} ", number + 1),
                _ => " ".repeat(9),
            };
            app.output.line(&format!("{before}{line}"))?;
        }
        if step.times > 1 {
            let other = if step.files {
                ", each of another file"
            } else {
                ""
            };
            app.output
                .line(&format!("             {} times{other}", step.times))?;
        }
        for changed in &step.changed {
            app.output.line(
                &app.output
                    .styled(Style::Dim, &format!("             {changed}")),
            )?;
        }
    }
    Ok(())
}

fn as_json(source: &Source, proof: &Proof) -> Value {
    let findings: Vec<Value> = proof
        .findings
        .iter()
        .map(|one| {
            let steps: Vec<Value> = one
                .trace
                .iter()
                .map(|step| json!({"lines": step.lines, "times": step.times, "other_files": step.files, "changed": step.changed}))
                .collect();
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

/// Writes each trace as a case that `interlock test` plays.
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

/// Names the workflow as seen from the file of cases.
fn workflow_beside(workflow: &str, cases: &Path) -> String {
    let workflow = Path::new(workflow);
    let same = workflow.parent() == cases.parent();
    match (same, workflow.file_name(), workflow.canonicalize()) {
        (true, Some(name), _) => name.to_string_lossy().into_owned(),
        (_, _, Ok(path)) => path.display().to_string(),
        _ => workflow.display().to_string(),
    }
}
