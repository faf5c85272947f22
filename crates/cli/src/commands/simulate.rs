//! `simulate`: tries commands on a workflow, without an agent.

use std::{
    fs::File,
    io::{self, BufRead, IsTerminal as _},
};

use anyhow::Context as _;
use interlock_sandbox::Level;
use interlock_simulate::{Scenario, Simulation, input::short_form};
use serde_json::Value;

use crate::{
    app::{App, variable},
    args::SimulateArgs,
    failure::{Done, Failure},
    live,
    output::Style,
};

pub(crate) fn run(app: &App, args: &SimulateArgs) -> Done {
    let workflow = args
        .workflow
        .clone()
        .map_or_else(|| app.own_workflow(), Ok)?;
    let loaded = live::load_to_read(app, &workflow)?;
    if !loaded.warnings.is_empty() {
        app.output.painted_error(&interlock_formats::render(
            &loaded.warnings,
            app.output.colours_errors(),
        ))?;
    }
    let simulation = Simulation::new(loaded.machine, setting(app, args.level));
    match args.steps.as_deref() {
        Some("-") => feed(app, simulation, io::stdin().lock()),
        Some(path) => {
            let file = File::open(path)
                .with_context(|| format!("`{path}` cannot be read"))
                .map_err(Failure::usage)?;
            feed(app, simulation, io::BufReader::new(file))
        }
        None if io::stdin().is_terminal() && !args.json => converse(app, simulation),
        None => feed(app, simulation, io::stdin().lock()),
    }
}

/// Returns the paths by which lines are judged: those of this project and person.
pub(crate) fn setting(app: &App, level: Level) -> Scenario {
    let path = |name: &str| {
        variable(name)
            .and_then(|value| value.into_string().ok())
            .filter(|path| path.starts_with('/'))
    };
    let usual = Scenario::default();
    Scenario {
        project_root: app
            .directory
            .to_str()
            .map_or(usual.project_root, str::to_owned),
        home: path("HOME").unwrap_or(usual.home),
        temporary: path("TMPDIR").unwrap_or(usual.temporary),
        level,
        ..Scenario::default()
    }
}

fn feed(app: &App, mut simulation: Simulation, steps: impl BufRead) -> Done {
    for line in steps.lines() {
        let line = line
            .context("the steps cannot be read")
            .map_err(Failure::usage)?;
        let answer = simulation.step(&line).map_err(Failure::usage)?;
        app.output.json(&answer)?;
    }
    Ok(())
}

/// Reads line after line from a terminal.
fn converse(app: &App, mut simulation: Simulation) -> Done {
    app.output.line("Type an event (READY), a tool call (Bash ls -la), a step as JSON, or an empty line to end.")?;
    app.output.lines(&simulation.briefing())?;
    loop {
        app.output.text(&app.output.styled(Style::Bold, "> "))?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        if read == 0 || line.trim().is_empty() {
            return Ok(());
        }
        let step = match short_form(line.trim()) {
            Ok(step) => step.to_string(),
            Err(message) => {
                app.output.line(&message)?;
                continue;
            }
        };
        match simulation.step(&step) {
            Ok(answer) => {
                let text = serde_json::to_value(&answer)?;
                let get = |key: &str| text.get(key).and_then(Value::as_str).unwrap_or_default();
                let (style, usual) = if text.get("ok") == Some(&Value::Bool(true)) {
                    (Style::Green, "ok")
                } else {
                    (Style::Red, "refused")
                };
                let word = text.get("verdict").map_or(usual, |_| get("verdict"));
                app.output.lines(&format!(
                    "{} {}",
                    app.output.styled(style, word),
                    get("message")
                ))?;
                app.output.lines(&simulation.briefing())?;
            }
            Err(bad) => app.output.lines(&bad.message)?,
        }
    }
}
