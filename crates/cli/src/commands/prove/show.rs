//! The output of `prove` for people.

use interlock_core::machine::Object;
use interlock_formats::Source;
use interlock_prove::{Proof, TraceStep, Verdict};
use serde_json::Value;

use crate::{app::App, failure::Done, output::Style};

/// Prints every verdict, and the trace of each failure.
pub(super) fn proof(app: &App, source: &Source, proof: &Proof) -> Done {
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
            trace(app, &one.input, &one.trace)?;
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

/// Prints the steps of a trace, each with its effects.
pub(super) fn trace(app: &App, input: &Object, steps: &[TraceStep]) -> Done {
    if !input.is_empty() {
        let input = Value::Object(input.clone());
        app.output.line(&format!("         started with {input}"))?;
    }
    for (number, step) in steps.iter().enumerate() {
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
