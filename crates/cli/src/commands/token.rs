//! `token`: what lets a person's own scripts answer for the person.

use crate::{app::App, args::TokenArgs, authority, failure::Done};

pub(crate) fn run(app: &App, args: &TokenArgs) -> Done {
    authority::at_a_terminal(app)?;
    let home = app.home()?;
    if args.revoke {
        home.revoke_token()?;
        return app.output.line("the token is worthless now");
    }
    let token = home.make_token(authority::ancestors()?)?;
    app.output.error("keep it where no agent can read it; it is not shown again, and an older one is worthless now\n")?;
    app.output.line(&token)
}
