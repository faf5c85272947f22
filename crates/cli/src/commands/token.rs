//! `token`: creates tokens for a person's own scripts, or for an agent of a run.

use crate::{app::App, args::TokenArgs, authority, failure::Done, live};

pub(crate) fn run(app: &App, args: &TokenArgs) -> Done {
    match &args.run {
        Some(run) => of_run(app, run, args.revoke),
        None => of_person(app, args.revoke),
    }
}

fn of_person(app: &App, revoke: bool) -> Done {
    authority::at_a_terminal(app)?;
    let home = app.home()?;
    if revoke {
        home.revoke_token()?;
        return app.output.line("the token is no longer valid");
    }
    let token = home.make_token(authority::ancestors()?)?;
    app.output.error("keep it where no agent can read it; it is not shown again, and older tokens are no longer valid\n")?;
    app.output.line(&token)
}

fn of_run(app: &App, run: &str, revoke: bool) -> Done {
    authority::person(app, None)?;
    let home = app.home()?;
    let live = live::open(app, Some(run))?;
    let id = &live.run.id;
    if revoke {
        let count = home.revoke_credentials(id)?;
        return app
            .output
            .line(&format!("{count} tokens of run `{id}` are no longer valid"));
    }
    if live.run.is_over() {
        return Err(anyhow::anyhow!("run `{id}` is over: it no longer guards anybody").into());
    }
    home.drop_ended_credentials()?;
    let token = home.make_credential(id)?;
    app.output.error("it binds the client that sends it to `interlock serve` to this run; it is not shown again, and is valid until the run ends\n")?;
    app.output.line(&token)
}
