//! `doctor`: tries what is installed and says what holds.

use interlock_clients::doctor::{Examination, Health, examine, fails};
use interlock_project::{Config, configuration_directory};
use serde_json::json;

use crate::{
    app::{App, variable},
    args::JsonArgs,
    commands::init,
    failure::{Done, Exit, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &JsonArgs) -> Done {
    let policy = Config::of_project(&app.project())?.workflow.is_some();
    let state = app.home()?.path().to_owned();
    let checks = examine(&Examination {
        configuration: configuration_directory(variable),
        ..Examination::new(init::site(app)?, state, policy)
    });
    let failed = fails(&checks);
    if args.json {
        app.output
            .json(&json!({ "ok": !failed, "checks": checks }))?;
    } else {
        for check in &checks {
            let (style, word) = match check.health {
                Health::Ok => (Style::Green, "ok  "),
                Health::Warn => (Style::Yellow, "warn"),
                Health::Fail => (Style::Red, "FAIL"),
            };
            let advice = if check.advice.is_empty() {
                String::new()
            } else {
                format!(" ({})", check.advice)
            };
            app.output.line(&format!(
                "{} {:<12} {:<16} {}{advice}",
                app.output.styled(style, word),
                check.of,
                check.what,
                check.seen
            ))?;
        }
    }
    if failed {
        Err(Failure::Said(Exit::Failed))
    } else {
        Ok(())
    }
}
