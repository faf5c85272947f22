//! `completions` and `man`: made from the same table as `--help`.

use clap::CommandFactory as _;

use crate::{app::App, args::Cli, failure::Done};

pub(crate) fn completions(app: &App, shell: clap_complete::Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "interlock", &mut script);
    app.output.text(&String::from_utf8(script)?)
}

pub(crate) fn manual(app: &App) -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    app.output.text(&String::from_utf8(page)?)
}
