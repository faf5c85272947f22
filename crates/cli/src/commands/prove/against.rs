//! `prove --against`: lists what one version of a workflow permits and an older one refuses.

use interlock_core::machine::Machine;
use interlock_formats::{Lines, Source};
use interlock_prove::{Comparison, compare};
use serde_json::{Value, json};

use super::{report, show, step_as_json};
use crate::{
    app::App,
    args::{FindingFormat, ProveArgs},
    failure::{Done, Exit, Failure},
    live,
    output::Style,
};

pub(super) fn run(
    app: &App,
    args: &ProveArgs,
    (source, new): (&Source, &Machine),
    old: &str,
) -> Done {
    let library = app.library_to_read();
    let old_source = library.open(old).map_err(Failure::usage)?;
    let old = live::load_source(app, &library, &old_source)?;
    let lines = Lines::of(source);
    let found = compare(
        new,
        &old.machine,
        args.by.into(),
        args.max_states,
        Some(&lines),
    );
    let format = args.printed.format();
    match format {
        FindingFormat::Text => print(app, source, &old_source, &found)?,
        FindingFormat::Json => app.output.json(&as_json(source, &old_source, &found))?,
        _ => report::of_comparison(source, &old_source, &found).print(app, format)?,
    }
    if found.permitted.is_some() {
        return Err(Failure::Said(Exit::Failed));
    }
    if found.doubt.is_some() {
        return Err(Failure::Said(Exit::Undecided));
    }
    Ok(())
}

/// Returns the result of the comparison in one word.
const fn word(found: &Comparison) -> &'static str {
    if found.permitted.is_some() {
        "permits more"
    } else if found.doubt.is_some() {
        "unknown"
    } else if found.removed.is_empty() {
        "same"
    } else {
        "stricter"
    }
}

fn print(app: &App, new: &Source, old: &Source, found: &Comparison) -> Done {
    let style = match word(found) {
        "permits more" => Style::Red,
        "unknown" => Style::Yellow,
        _ => Style::Green,
    };
    app.output.line(&format!(
        "{} {} against {}",
        app.output.styled(style, word(found)),
        new.name,
        old.name
    ))?;
    if let Some(permission) = &found.permitted {
        app.output
            .line(&format!("         newly permitted: {}", permission.what))?;
        show::trace(app, &permission.input, &permission.trace)?;
        app.output
            .line(&format!("         {}: {}", old.name, permission.refusal))?;
    }
    if let Some(doubt) = found.doubt.as_ref().filter(|_| found.permitted.is_none()) {
        app.output.line(&format!("         {doubt}"))?;
    }
    for removed in &found.removed {
        app.output
            .line(&format!("         no longer permitted: {removed}"))?;
    }
    app.output.line(&format!("{} pairs of states", found.pairs))
}

fn as_json(new: &Source, old: &Source, found: &Comparison) -> Value {
    let permitted = found.permitted.as_ref().map(|permission| {
        let trace: Vec<Value> = permission.trace.iter().map(step_as_json).collect();
        json!({
            "what": permission.what,
            "input": permission.input,
            "trace": trace,
            "refusal": permission.refusal,
        })
    });
    json!({
        "workflow": new.name,
        "against": old.name,
        "verdict": word(found),
        "permitted": permitted,
        "removed": found.removed,
        "why": found.doubt,
        "pairs": found.pairs,
    })
}
