//! `init`: hooks and the control server, shown first, then written.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::{Context as _, anyhow};
use interlock_clients::install::{FileChange, Scope, Site, apply, diff, plan};
use interlock_project::Library;
use serde_json::json;

use crate::{
    app::{App, program, variable},
    args::InitArgs,
    authority,
    failure::{Done, Failure},
    output::Style,
};

pub(crate) fn run(app: &App, args: &InitArgs) -> Done {
    authority::not_below_an_agent(app)?;
    let scope = if args.user {
        Scope::User
    } else {
        Scope::Project
    };
    let mut changes = plan(&site(app)?, scope, args.remove)?;
    if let Some(name) = &args.workflow {
        changes.extend(workflow(app, name)?);
    }
    if args.json {
        return finish_json(app, args, &changes);
    }
    if changes.is_empty() {
        let state = if args.remove {
            "nothing of Interlock's is there"
        } else {
            "everything is in place already"
        };
        return app.output.line(state);
    }
    for change in &changes {
        app.output.text(&diff(change))?;
    }
    if !args.yes && !agreed(app)? {
        return app.output.line("nothing was changed");
    }
    apply(&changes)?;
    for change in &changes {
        let word = if change.after.is_some() {
            "written"
        } else {
            "removed"
        };
        app.output.line(&format!(
            "{} {}",
            app.output.styled(Style::Green, word),
            change.path.display()
        ))?;
    }
    if !args.remove {
        app.output.line("Next: `interlock doctor` tries it, `interlock start bugfix` holds the next session to a workflow.")?;
    }
    Ok(())
}

/// Returns where the client's files lie.
pub(crate) fn site(app: &App) -> Result<Site, Failure> {
    let home =
        variable("HOME").context("`HOME` is not set: the client's own settings cannot be found")?;
    Ok(Site {
        project_root: app.project(),
        home: home.into(),
        program: program()?,
    })
}

fn finish_json(app: &App, args: &InitArgs, changes: &[FileChange]) -> Done {
    if !args.yes && !changes.is_empty() {
        return Err(Failure::usage(anyhow!("`--json` cannot ask: add `--yes`")));
    }
    apply(changes)?;
    let files: Vec<_> = changes
        .iter()
        .map(|change| json!({ "path": change.path, "removed": change.after.is_none(), "diff": diff(change) }))
        .collect();
    app.output.json(&json!({ "changed": files }))
}

/// Plans a copy of a shipped workflow; one that is there stays.
fn workflow(app: &App, name: &str) -> Result<Option<FileChange>, Failure> {
    let text = Library::shipped(name).ok_or_else(|| {
        let known: Vec<String> = app
            .library()
            .list()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        Failure::usage(anyhow!(
            "no shipped workflow is named `{name}`; there are {}",
            known.join(", ")
        ))
    })?;
    let path = app
        .project()
        .join(".interlock")
        .join("workflows")
        .join(format!("{name}.yaml"));
    if path.exists() {
        return Ok(None);
    }
    Ok(Some(FileChange {
        path,
        before: None,
        after: Some(text.to_owned()),
    }))
}

fn agreed(app: &App) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "nobody can be asked here: add `--yes` to make these changes"
        )));
    }
    app.output.text("Make these changes? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}
