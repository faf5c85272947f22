//! `doctor`: tests the installation and reports what is enforced.

use interlock_clients::{
    ClientId,
    doctor::{Check, Examination, Found, Health, Report, Row, UnknownMod, examine, unknown_mods},
    forget_markers,
    install::set_up,
    notify::{NoNotifier, Notifier, notifiers},
    tools::lacks,
};
use interlock_project::Config;
use serde_json::json;

use crate::{
    app::{self, App, variable},
    args::DoctorArgs,
    authority,
    commands::init,
    failure::{Done, Exit, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &DoctorArgs) -> Done {
    if let Some(run) = &args.forget {
        return forget(app, run, args.json);
    }
    let policy = Config::of_project(&app.project())?.workflow;
    let examination = examination(app, policy.is_some())?;
    if args.accept {
        accept(app, &examination, args.json)?;
    }
    let mut report = examine(&examination);
    if let Some(workflow) = &policy {
        report.checks.extend(offer(app, workflow)?);
    }
    report.checks.extend(notifications(app, &examination)?);
    let failed = report.fails();
    if args.json {
        let Report { clients, checks } = report;
        app.output
            .json(&json!({ "ok": !failed, "clients": clients, "checks": checks }))?;
    } else {
        table(app, &report.clients)?;
        for check in &report.checks {
            line(app, check)?;
        }
    }
    if failed {
        Err(Failure::Said(Exit::Failed))
    } else {
        Ok(())
    }
}

/// Returns what to examine from here.
pub(crate) fn examination(app: &App, policy: bool) -> Result<Examination, Failure> {
    let state = app.home()?.path().to_owned();
    Ok(Examination {
        configuration: app::configuration(),
        ..Examination::new(init::site(app)?, state, policy)
    })
}

/// Removes the markers of guarded sessions.
fn forget(app: &App, named: &str, as_json: bool) -> Done {
    authority::person(app, None)?;
    let configuration = app::configuration();
    let count =
        forget_markers(configuration.as_deref(), named).map_err(|why| anyhow::anyhow!(why))?;
    if as_json {
        return app.output.json(&json!({ "ok": true, "forgotten": count }));
    }
    app.output.line(&format!(
        "{count} marks of `{named}` were removed: no session is refused because of them any more"
    ))
}

/// Compares the project's policy with the tools of the clients here.
fn offer(app: &App, workflow: &str) -> Result<Vec<Check>, Failure> {
    let library = app.library_to_read();
    let loaded = library
        .open(workflow)
        .ok()
        .and_then(|source| interlock_formats::load(&source, None, &library).ok());
    let Some(loaded) = loaded else {
        return Ok(Vec::new());
    };
    let clients = set_up(&init::site(app)?);
    let of = |client: ClientId| {
        lacks(client, &loaded.machine)
            .into_iter()
            .map(move |lack| Check {
                of: client.word(),
                what: "workflow",
                health: Health::Warn,
                seen: lack.what,
                advice: lack.instead,
                took_ms: None,
            })
    };
    Ok(clients.into_iter().flat_map(of).collect())
}

/// Tests each way in which a person is notified of a question.
fn notifications(app: &App, examination: &Examination) -> Result<Vec<Check>, Failure> {
    let config = Config::of_person(examination.configuration.as_deref())?.notify;
    let found = notifiers(&config, &|name| variable(name), &app.project());
    let check = |found: Result<Notifier, NoNotifier>| {
        let (health, seen, advice) = match found {
            Ok(notifier) => match notifier.try_out() {
                Ok(()) => (Health::Ok, format!("`{}` has shown one", notifier.name), ""),
                Err(why) => (
                    Health::Warn,
                    format!("`{}`: {why}", notifier.name),
                    "`[notify]` in your own `config.toml` sets the command",
                ),
            },
            Err(NoNotifier::Off) => (
                Health::Ok,
                "desktop notifications are switched off (`[notify] desktop`)".to_owned(),
                "",
            ),
            Err(NoNotifier::NoDesktop) => (Health::Ok, "no desktop in this session".to_owned(), ""),
            Err(NoNotifier::Missing(program)) => (
                Health::Warn,
                format!("`{program}` was not found outside the project"),
                "install it, or set `command` under `[notify]` in your own `config.toml`",
            ),
        };
        Check {
            of: "interlock",
            what: "notifications",
            health,
            seen,
            advice: advice.to_owned(),
            took_ms: None,
        }
    };
    Ok(found.into_iter().map(check).collect())
}

/// Accepts the present mods, each in its present form.
fn accept(app: &App, examination: &Examination, quiet: bool) -> Done {
    authority::person(app, None)?;
    let home = app.home()?;
    for UnknownMod { found, .. } in unknown_mods(examination)? {
        if !found.is_whole() {
            // The following check reports this, with the reason.
            continue;
        }
        home.accept_mod(&found)?;
        if !quiet {
            app.output
                .line(&format!("accepted {} ({})", found.path, found.digest))?;
        }
    }
    Ok(())
}

/// Prints one line per client.
fn table(app: &App, rows: &[Row]) -> Done {
    let head = [
        "client", "version", "hooks", "trusted", "answers", "gateway",
    ];
    app.output
        .line(&app.output.styled(Style::Bold, &columns(&head)))?;
    for row in rows {
        let answers = row.answers_ms.map(|took| format!("{took} ms"));
        let cells = [
            row.client,
            row.version.as_deref().unwrap_or("-"),
            match row.hooks {
                Found::All => "all",
                Found::Some => "some",
                Found::None => "none",
            },
            yes_or_no(row.trusted),
            answers.as_deref().unwrap_or("-"),
            match row.gateway {
                Some(true) => "reached",
                Some(false) => "broken",
                None => "-",
            },
        ];
        app.output.line(&columns(&cells))?;
    }
    app.output.line("")
}

fn columns(cells: &[&str; 6]) -> String {
    let [client, version, hooks, trusted, answers, gateway] = cells;
    format!("{client:<12} {version:<12} {hooks:<6} {trusted:<8} {answers:<9} {gateway}")
}

const fn yes_or_no(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "-",
    }
}

fn line(app: &App, check: &Check) -> Done {
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
    ))
}
