//! `passkey`: manages the person's passkeys, for approvals that must be signed.

use interlock_clients::guarded::open_guarded_run;
use interlock_console::Enrolment;
use interlock_core::{instant::utc, visible::visible};
use interlock_store::Home;
use serde_json::json;

use crate::{
    app::App,
    args::{PasskeyArgs, PasskeyCommand},
    authority,
    commands::console,
    failure::{Done, Failure},
};

/// Maximum number of characters of a name.
const NAME_CHARS_MAX: usize = 60;

pub(crate) fn run(app: &App, args: PasskeyArgs) -> Done {
    match args.command {
        PasskeyCommand::Add {
            name,
            port,
            no_open,
        } => add(app, name, (port, !no_open)),
        PasskeyCommand::List { json } => list(app, json),
        PasskeyCommand::Remove { name } => remove(app, &name),
    }
}

fn add(app: &App, name: String, (port, opens): (u16, bool)) -> Done {
    let home = allowed(app)?;
    let is_long = name.chars().count() > NAME_CHARS_MAX;
    if name.trim().is_empty() || is_long || visible(&name) != name {
        return Err(Failure::usage(anyhow::anyhow!(
            "a passkey's name has 1 to {NAME_CHARS_MAX} characters that show"
        )));
    }
    if home.passkeys()?.iter().any(|one| one.name == name) {
        return Err(Failure::usage(anyhow::anyhow!(
            "another passkey is called `{name}`: choose another name, or remove it first"
        )));
    }
    let out = app.output;
    out.line(&format!(
        "The passkey `{name}` is made on the page, once you have let it in here."
    ))?;
    let enrolment = Enrolment {
        name,
        // The page says it, too, if this cannot be written.
        done: Box::new(move |message| drop(out.line(message))),
    };
    console::serve(app, home, (port, "#/passkey", opens), Some(enrolment))
}

fn list(app: &App, as_json: bool) -> Done {
    authority::not_below_an_agent(app)?;
    let all = app.home()?.passkeys()?;
    if as_json {
        for one in &all {
            app.output.json(&json!({
                "name": one.name,
                "enrolled_ms": one.enrolled_ms,
                "used_ms": one.used_ms,
                "id": one.credential,
            }))?;
        }
        return Ok(());
    }
    if all.is_empty() {
        return app
            .output
            .line("no passkey is enrolled: `interlock passkey add NAME` enrols one");
    }
    for one in &all {
        let used = one
            .used_ms
            .map_or_else(|| "never used".to_owned(), |at| format!("used {}", utc(at)));
        let (name, enrolled) = (visible(&one.name), utc(one.enrolled_ms));
        app.output
            .line(&format!("{name}  enrolled {enrolled}, {used}"))?;
    }
    Ok(())
}

fn remove(app: &App, name: &str) -> Done {
    if allowed(app)?.remove_passkey(name)? {
        return app.output.line(&format!(
            "`{}` is no longer one of your passkeys; answers that it has signed stay valid",
            visible(name)
        ));
    }
    Err(anyhow::anyhow!(
        "no passkey is called `{}`: `interlock passkey list` shows all",
        visible(name)
    )
    .into())
}

/// Refuses unless a person uses a terminal and no run guards an agent, which could be the caller.
fn allowed(app: &App) -> Result<Home, Failure> {
    authority::at_a_terminal(app)?;
    let home = app.home()?;
    match open_guarded_run(&home)? {
        None => Ok(home),
        Some(run) => Err(anyhow::anyhow!(
            "passkeys stay as they are while run `{run}` guards an agent: end it first, or `interlock cancel {run}`"
        )
        .into()),
    }
}
