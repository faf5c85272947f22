//! `completions` and `man`: generated from the same table as `--help`.

use clap::CommandFactory as _;

use crate::{app::App, args::Cli, complete, failure::Done};

pub(crate) fn completions(app: &App, shell: clap_complete::Shell) -> Done {
    complete::script(app, &shell.to_string())
}

pub(crate) fn manual(app: &App) -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    app.output.document(&String::from_utf8(page)?)
}
