//! `init`: shows the changes for hooks and the control server, then writes them.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use interlock_clients::{
    ClientId,
    install::{
        BaselineRules, FileChange, Plan, Request, Scope, Site, Summary, apply, detect, diff, plan,
    },
};
use interlock_core::visible::visible_lines;
use interlock_expr::nearest::nearest;
use interlock_project::Library;
use serde_json::{Value, json};

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
    let found = clients(args, &site)?;
    let is_assumed = found.is_none();
    // Without any sign of a client, use the most common one.
    let mut clients = found.unwrap_or_else(|| vec![ClientId::ClaudeCode]);
    let mut plan = planned(app, args, &site, &clients)?;
    if args.json {
        return finish_json(app, args, &clients, &plan);
    }
    if is_assumed && !plan.changes.is_empty() {
        app.output.line(
            "no client was found here: these are the files of Claude Code; to set up another client, name it, as in `interlock init codex`",
        )?;
    }
    loop {
        if plan.changes.is_empty() {
            let state = if args.remove {
                "there is nothing of Interlock to remove"
            } else {
                "everything is in place already"
            };
            app.output.line(state)?;
            return notes(app, &plan);
        }
        show(app, &site, &plan)?;
        if args.diff || args.dry_run {
            page(app, &plan)?;
        }
        if args.dry_run {
            return app.output.line("nothing was changed");
        }
        if args.yes {
            break;
        }
        match asked(app, &clients, &plan)? {
            PlanAnswer::Yes => break,
            PlanAnswer::No => return app.output.line("nothing was changed"),
            PlanAnswer::Show => page(app, &plan)?,
            PlanAnswer::Those(chosen) => {
                clients = chosen;
                plan = planned(app, args, &site, &clients)?;
            }
        }
    }
    apply(&plan)?;
    report(app, args, &plan)
}

fn planned(app: &App, args: &InitArgs, site: &Site, clients: &[ClientId]) -> Result<Plan, Failure> {
    let floor = match &args.floor {
        Some(workflow) => Some(BaselineRules::of(&live::load(app, workflow)?.machine)),
        None => None,
    };
    let request = Request {
        clients,
        scope: scope(args),
        remove: args.remove,
        floor: floor.as_ref(),
        trust: !args.no_trust,
    };
    let mut plan = plan(site, &request)?;
    if let Some(name) = &args.workflow
        && let Some(change) = workflow(app, name)?
    {
        plan.summary.push(Summary {
            client: "Interlock",
            path: change.path.clone(),
            about: vec![format!("the workflow `{name}`")],
        });
        plan.changes.push(change);
    }
    Ok(plan)
}

const fn scope(args: &InitArgs) -> Scope {
    if args.user {
        Scope::User
    } else if args.local {
        Scope::Local
    } else {
        Scope::Project
    }
}

/// Returns the named clients, or those found here, if any; for a removal, all of them.
fn clients(args: &InitArgs, site: &Site) -> Result<Option<Vec<ClientId>>, Failure> {
    if !args.clients.is_empty() {
        return named(args.clients.iter().map(String::as_str)).map(Some);
    }
    let found = if args.remove {
        ClientId::ALL.map(|(_, client)| client).to_vec()
    } else {
        detect(site)
    };
    Ok(Some(found).filter(|found| !found.is_empty()))
}

/// Returns the clients with these names, without duplicates.
fn named<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec<ClientId>, Failure> {
    let mut clients = Vec::new();
    for word in words {
        let client = super::new::client(word)?;
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    Ok(clients)
}

/// Returns the locations of the clients' files.
pub(crate) fn site(app: &App) -> Result<Site, Failure> {
    let home =
        variable("HOME").context("`HOME` is not set: the clients' own settings cannot be found")?;
    let site = Site::new(&app.project(), home.as_ref(), &program()?);
    Ok(Site {
        state: Some(app.home()?.path().to_owned()),
        ..site.moved_by(variable)
    })
}

/// Describes the changes by client: the files, and what each gets.
fn show(app: &App, site: &Site, plan: &Plan) -> Done {
    let mut client = "";
    for line in &plan.summary {
        if line.client != client {
            client = line.client;
            app.output.line(&app.output.styled(Style::Bold, client))?;
        }
        let change = plan.changes.iter().find(|change| change.path == line.path);
        let becomes = match change.map(|change| (&change.before, &change.after)) {
            Some((None, _)) => "new",
            Some((_, None)) => "removed",
            _ => "changed",
        };
        let about = line.about.join(", ");
        let path = short(&line.path, site);
        app.output
            .line(&format!("  {path}  ({becomes}: {about})"))?;
    }
    notes(app, plan)
}

/// Shortens a path relative to the project's root or the person's home.
fn short(path: &Path, site: &Site) -> String {
    if let Ok(below) = path.strip_prefix(&site.project_root) {
        return below.display().to_string();
    }
    match path.strip_prefix(&site.home) {
        Ok(below) => format!("~/{}", below.display()),
        Err(_) => path.display().to_string(),
    }
}

/// Shows the change of each file, in a pager at a terminal.
fn page(app: &App, plan: &Plan) -> Done {
    let text: String = plan.changes.iter().map(diff).collect();
    let text = visible_lines(&text);
    if io::stdout().is_terminal() && paged(&text) {
        return Ok(());
    }
    app.output.text(&text)
}

/// Shows a text in the person's pager; returns `false` if there is none.
fn paged(text: &str) -> bool {
    let pager = variable("PAGER").filter(|pager| !pager.is_empty());
    let pager = pager.unwrap_or_else(|| "less -FRX".into());
    let started = Command::new("/bin/sh")
        .arg("-c")
        .arg(pager)
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut pager) = started else {
        return false;
    };
    // A pager that is left early stops reading.
    if let Some(mut input) = pager.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|ended| ended.success())
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
        app.output.line("Next: test the hooks with `interlock doctor`, and start a workflow for the next session with `interlock start bugfix`.")?;
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
    let about = |change: &FileChange| -> Vec<Value> {
        let lines = plan.summary.iter().filter(|line| line.path == change.path);
        lines
            .map(|line| json!({ "client": line.client, "about": line.about }))
            .collect()
    };
    let files: Vec<_> = plan
        .changes
        .iter()
        .map(|change| {
            json!({
                "path": change.path, "removed": change.after.is_none(),
                "about": about(change), "diff": diff(change),
            })
        })
        .collect();
    let clients: Vec<&str> = clients.iter().map(|client| client.word()).collect();
    app.output.json(&json!({
        "clients": clients,
        "changed": files,
        "trusted_hooks": plan.trusts,
        "trusts_folder": plan.trusts_folder,
        "notes": plan.notes,
        "dry_run": args.dry_run,
    }))
}

/// Plans a copy of a shipped workflow; an existing one stays.
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

/// A person's answer to a plan.
enum PlanAnswer {
    Yes,
    No,
    /// Show the changes, and ask again.
    Show,
    /// Plan only for these clients, and ask again.
    Those(Vec<ClientId>),
}

/// Asks once; the question includes that Codex is told to trust hooks.
fn asked(app: &App, clients: &[ClientId], plan: &Plan) -> Result<PlanAnswer, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "nobody can be asked here: add `--yes` to make these changes, or `--diff` to see them in full"
        )));
    }
    let trusts = match (plan.trusts, plan.trusts_folder) {
        (0, _) => String::new(),
        (count, false) => format!(", and have Codex trust the {count} hooks"),
        (count, true) => format!(", and have Codex trust this folder and the {count} hooks"),
    };
    let choose = if clients.len() > 1 {
        let words: Vec<&str> = clients.iter().map(|client| client.word()).collect();
        format!(", or some of: {}", words.join(" "))
    } else {
        String::new()
    };
    loop {
        app.output.text(&format!(
            "Make these changes{trusts}? [y/N, d shows them{choose}] "
        ))?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" | "Yes" => return Ok(PlanAnswer::Yes),
            "" | "n" | "N" | "no" | "No" => return Ok(PlanAnswer::No),
            "d" | "D" | "diff" => return Ok(PlanAnswer::Show),
            words => match named(words.split([' ', ',']).filter(|word| !word.is_empty())) {
                Ok(clients) => return Ok(PlanAnswer::Those(clients)),
                Err(Failure::Error(_, why)) => app.output.line(&why.to_string())?,
                Err(said) => return Err(said),
            },
        }
    }
}
