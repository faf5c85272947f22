//! `export`: writes a run as one HTML file that needs no console.

use std::io::Write as _;

use interlock_console::{Exported, Settings, export};

use crate::{
    app::App,
    args::ExportArgs,
    authority,
    commands::console::{scenario, secrets},
    failure::{Done, Failure},
};

pub(crate) fn run(app: &App, args: &ExportArgs) -> Done {
    // The file contains text from every state of the run, which its agent may not be allowed to read in its present state.
    authority::not_below_an_agent(app)?;
    let home = app.home()?;
    let run = app.find_run(args.run.as_deref())?;
    let settings = Settings {
        scenario: scenario(app),
        secrets: secrets(),
        ..Settings::alone(home, &authority::name())
    };
    let Exported { html, left_out } =
        export(settings, &run).map_err(|message| anyhow::anyhow!(message))?;
    let path = app.directory.join(&args.output);
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options
        .open(&path)
        .and_then(|mut file| file.write_all(html.as_bytes()))
        .map_err(|error| {
            let path = path.display();
            let advice = if error.kind() == std::io::ErrorKind::AlreadyExists {
                "; `--force` writes over it"
            } else {
                ""
            };
            Failure::from(anyhow::anyhow!(
                "`{path}` cannot be written: {error}{advice}"
            ))
        })?;
    let out = app.output;
    out.line(&format!("`{}` holds run `{run}`", args.output.display()))?;
    for sentence in left_out {
        out.line(&format!("left out: {sentence}"))?;
    }
    Ok(())
}
