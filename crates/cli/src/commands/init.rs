//! `init`: hooks and the control server, shown first, then written.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::{Context as _, anyhow};
use interlock_clients::{
    ClientId,
    install::{FileChange, Floor, Plan, Request, Scope, Site, apply, detect, diff, plan},
};
use interlock_core::nearest::nearest;
use interlock_project::Library;
use serde_json::json;

use crate::{
    app::{App, program, variable},
    args::InitArgs,
    authority,
    failure::{Done, Failure},
    live,
    output::Style,
};

pub(crate) fn run(app: &App, args: &InitArgs) -> Done {
    authority::not_below_an_agent(app)?;
    let site = site(app)?;
    let clients = clients(args, &site)?;
    let floor = match &args.floor {
        Some(workflow) => Some(Floor::of(&live::load(app, workflow)?.machine)),
        None => None,
    };
    let mut plan = plan(
        &site,
        &Request {
            clients: &clients,
            scope: scope(args),
            remove: args.remove,
            floor: floor.as_ref(),
            trust: !args.no_trust,
        },
    )?;
    if let Some(name) = &args.workflow {
        plan.changes.extend(workflow(app, name)?);
    }
    if args.json {
        return finish_json(app, args, &clients, &plan);
    }
    if plan.changes.is_empty() {
        let state = if args.remove {
            "nothing of Interlock's is there"
        } else {
            "everything is in place already"
        };
        app.output.line(state)?;
        return notes(app, &plan);
    }
    show(app, &clients, &plan)?;
    if args.dry_run || !args.yes && !agreed(app, &plan)? {
        return app.output.line("nothing was changed");
    }
    apply(&plan)?;
    report(app, args, &plan)
}

const fn scope(args: &InitArgs) -> Scope {
    if args.user {
        Scope::User
    } else {
        Scope::Project
    }
}

/// Returns the clients that were named, or those that are here; to remove, all of them.
fn clients(args: &InitArgs, site: &Site) -> Result<Vec<ClientId>, Failure> {
    if args.clients.is_empty() {
        let found = if args.remove {
            ClientId::ALL.map(|(_, client)| client).to_vec()
        } else {
            detect(site)
        };
        // Nothing to go by: the client that most have.
        return Ok(if found.is_empty() {
            vec![ClientId::ClaudeCode]
        } else {
            found
        });
    }
    let mut clients = Vec::new();
    for word in &args.clients {
        let client = super::new::client(word)?;
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    Ok(clients)
}

/// Returns where the clients' files lie.
pub(crate) fn site(app: &App) -> Result<Site, Failure> {
    let home =
        variable("HOME").context("`HOME` is not set: the clients' own settings cannot be found")?;
    let site = Site::new(&app.project(), home.as_ref(), &program()?);
    Ok(Site {
        state: Some(app.home()?.path().to_owned()),
        ..site.moved_by(variable)
    })
}

fn show(app: &App, clients: &[ClientId], plan: &Plan) -> Done {
    let words: Vec<&str> = clients.iter().map(|client| client.word()).collect();
    app.output.line(&format!("for {}:", words.join(", ")))?;
    for change in &plan.changes {
        app.output.text(&diff(change))?;
    }
    notes(app, plan)
}

fn notes(app: &App, plan: &Plan) -> Done {
    for note in &plan.notes {
        app.output.line(&format!(
            "{} {note}",
            app.output.styled(Style::Yellow, "note:")
        ))?;
    }
    Ok(())
}

fn report(app: &App, args: &InitArgs, plan: &Plan) -> Done {
    for change in &plan.changes {
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

fn finish_json(app: &App, args: &InitArgs, clients: &[ClientId], plan: &Plan) -> Done {
    if !args.yes && !args.dry_run && !plan.changes.is_empty() {
        return Err(Failure::usage(anyhow!(
            "`--json` cannot ask: add `--yes`, or `--dry-run` to see the changes"
        )));
    }
    if !args.dry_run {
        apply(plan)?;
    }
    let files: Vec<_> = plan
        .changes
        .iter()
        .map(|change| json!({ "path": change.path, "removed": change.after.is_none(), "diff": diff(change) }))
        .collect();
    let clients: Vec<&str> = clients.iter().map(|client| client.word()).collect();
    app.output.json(&json!({
        "clients": clients,
        "changed": files,
        "trusted_hooks": plan.trusts,
        "notes": plan.notes,
        "dry_run": args.dry_run,
    }))
}

/// Plans a copy of a shipped workflow; one that is there stays.
fn workflow(app: &App, name: &str) -> Result<Option<FileChange>, Failure> {
    let text = Library::shipped(name).ok_or_else(|| {
        let known = Library::shipped_names();
        let near = nearest(name, known.iter().copied())
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_else(|| format!("; there are {}", known.join(", ")));
        Failure::usage(anyhow!("no shipped workflow is named `{name}`{near}"))
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

/// Asks once; that Codex is told to trust hooks is part of the question.
fn agreed(app: &App, plan: &Plan) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "nobody can be asked here: add `--yes` to make these changes"
        )));
    }
    let question = if plan.trusts == 0 {
        "Make these changes? [y/N] ".to_owned()
    } else {
        format!(
            "Make these changes, and have Codex trust the {} hooks shown (`trusted_hash`)? [y/N] ",
            plan.trusts
        )
    };
    app.output.text(&question)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}
