//! `new`: writes a workflow with the project's own commands, and the cases that test it.

mod found;
mod render;

use std::{
    fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use interlock_clients::{ClientId, install::detect};
use interlock_expr::nearest::nearest;
use interlock_formats::{Severity, Source, check, load, properties_file, render as shown};
use interlock_project::Origin;
use interlock_simulate::{Scenario, cases::CaseFile};
use serde_json::json;

use crate::{
    app::App,
    args::NewArgs,
    authority,
    failure::{Done, Exit, Failure},
    output::Style,
};

use found::Found;
use render::Parts;

/// File of the schema, below `.interlock/`.
const SCHEMA: &str = "interlock.schema.json";

/// Default name of a workflow.
const NAME: &str = "work";

pub(crate) fn run(app: &App, args: &NewArgs) -> Done {
    authority::not_below_an_agent(app)?;
    let root = app.project();
    let found = found::look(&root);
    let chosen = choose(app, args, &found)?;
    let files = write_texts(&root, &chosen)?;
    let passed = try_out(app, &files)?;
    if !args.json {
        show_found(app, &found)?;
    }
    if args.dry_run {
        return if args.json {
            told(app, args, &found, (&chosen, &files, passed))
        } else {
            preview(app, &files)
        };
    }
    let written = write(&root, &files)?;
    if args.json {
        return told(app, args, &found, (&chosen, &files, passed));
    }
    for path in written {
        let path = path.strip_prefix(&app.directory).unwrap_or(&path);
        app.output.line(&format!(
            "{} {}",
            app.output.styled(Style::Green, "written"),
            path.display()
        ))?;
    }
    app.output.line(&format!(
        "{} without an error or a warning, {passed} cases passed",
        app.output.styled(Style::Green, "checked")
    ))?;
    next(app, &chosen)
}

/// The requested or detected settings.
#[derive(Debug)]
struct Chosen {
    name: String,
    tests: Vec<String>,
    allowed: Vec<String>,
    clients: Vec<ClientId>,
}

/// The files of a new workflow.
#[derive(Debug)]
struct Files {
    workflow: (PathBuf, String),
    cases: (PathBuf, String),
    properties: (PathBuf, String),
    schema: (PathBuf, String),
}

fn choose(app: &App, args: &NewArgs, found: &[Found]) -> Result<Chosen, Failure> {
    let asks = !args.yes && !args.json && !args.dry_run && io::stdin().is_terminal();
    let name = match &args.name {
        Some(name) => name.clone(),
        None if asks => ask(app, "Name of the workflow", NAME)?,
        None => NAME.to_owned(),
    };
    check_name(app, &name)?;
    let proposed: Vec<String> = found.iter().filter_map(|one| one.test.clone()).collect();
    let tests = if args.tests.is_empty() && asks {
        several(
            &ask(
                app,
                "How is it tested? Several commands: `;` between them",
                &proposed.join("; "),
            )?,
            ';',
        )
    } else if args.tests.is_empty() {
        proposed
    } else {
        args.tests.clone()
    };
    if tests.is_empty() {
        return Err(Failure::usage(anyhow!(
            "nothing in `{}` says how this project is tested: name the command, as in `interlock new --test 'make check'`",
            app.project().display()
        )));
    }
    let mut allowed: Vec<String> = found.iter().flat_map(|one| one.others.clone()).collect();
    allowed.extend(args.allowed.clone());
    allowed.retain(|command| !tests.contains(command));
    let here: Vec<ClientId> = super::init::site(app)
        .map(|site| detect(&site))
        .unwrap_or_default();
    let words: Vec<&str> = here.iter().map(|client| client.word()).collect();
    let clients = if args.clients.is_empty() && asks {
        let answer = ask(
            app,
            "Which agents? With commas between them",
            &words.join(", "),
        )?;
        named(&several(&answer, ','))?
    } else if args.clients.is_empty() {
        here
    } else {
        named(&args.clients)?
    };
    Ok(Chosen {
        name,
        tests,
        allowed,
        clients,
    })
}

fn ask(app: &App, question: &str, usual: &str) -> Result<String, Failure> {
    app.output.text(&format!("{question} [{usual}]: "))?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(anyhow!("nothing was written: there was no answer").into());
    }
    let answer = answer.trim();
    Ok(if answer.is_empty() { usual } else { answer }.to_owned())
}

fn several(text: &str, between: char) -> Vec<String> {
    let parts = text.split(between).map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn named(words: &[String]) -> Result<Vec<ClientId>, Failure> {
    words.iter().map(|word| client(word)).collect()
}

/// Returns the client named `word`.
pub(super) fn client(word: &str) -> Result<ClientId, Failure> {
    ClientId::named(word).ok_or_else(|| {
        let known = ClientId::ALL.map(|(word, _)| word);
        let near = nearest(word, known)
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_else(|| format!("; there are `{}`", known.join("`, `")));
        Failure::usage(anyhow!("no client is called `{word}`{near}"))
    })
}

/// Refuses an invalid name, or one that a workflow of the project already has.
fn check_name(app: &App, name: &str) -> Done {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.starts_with('-') {
        return Err(Failure::usage(anyhow!(
            "`{name}` is not a valid name for a workflow: use letters, digits, `-` and `_`"
        )));
    }
    let same = app.library_to_read().list().into_iter();
    match same.filter(|entry| entry.origin == Origin::Project).find(|entry| entry.name == name) {
        Some(entry) => Err(anyhow!(
            "the project has a workflow `{name}` already{}: give the new one another name, as in `interlock new {name}2`",
            entry.path.map(|path| format!(" (`{}`)", path.display())).unwrap_or_default()
        )
        .into()),
        None => Ok(()),
    }
}

fn write_texts(root: &Path, chosen: &Chosen) -> Result<Files, Failure> {
    let own = root.join(".interlock");
    let folder = own.join("workflows");
    let schema = format!("../{SCHEMA}");
    let parts = Parts {
        name: &chosen.name,
        tests: &chosen.tests,
        allowed: &chosen.allowed,
        patches: chosen.clients.contains(&ClientId::Codex),
        schema: &schema,
    };
    let name = &chosen.name;
    Ok(Files {
        workflow: (
            folder.join(format!("{name}.yaml")),
            render::workflow(&parts),
        ),
        cases: (
            folder.join(format!("{name}.test.yaml")),
            render::cases(&parts),
        ),
        properties: (
            folder.join(format!("{name}.properties.yaml")),
            render::properties(&parts),
        ),
        schema: (
            own.join(SCHEMA),
            format!(
                "{}\n",
                serde_json::to_string_pretty(&interlock_formats::schema())?
            ),
        ),
    })
}

/// Checks the workflow and plays its cases, before anything is written; returns the number of cases.
fn try_out(app: &App, files: &Files) -> Result<usize, Failure> {
    let library = app.library();
    let (path, text) = &files.workflow;
    let source = Source::new(path.display().to_string(), text);
    let found = check(&source, &library);
    if found.iter().any(|one| one.severity != Severity::Note) {
        app.output
            .painted_error(&shown(&found, app.output.colours_errors()))?;
        app.output
            .error("interlock: nothing was written, because of what is wrong above\n")?;
        return Err(Failure::Said(Exit::Failed));
    }
    let loaded = load(&source, None, &library)
        .map_err(|_| anyhow!("the new workflow cannot be read: nothing was written"))?;
    let properties = Source::new(
        files.properties.0.display().to_string(),
        &files.properties.1,
    );
    properties_file(&properties, &loaded.machine)
        .map_err(|_| anyhow!("the new properties cannot be read: nothing was written"))?;
    let cases = CaseFile::parse(&files.cases.1).map_err(|error| {
        anyhow!("the new cases cannot be read, so nothing was written: {error}")
    })?;
    for case in &cases.cases {
        let outcome = case.play(&loaded.machine, &Scenario::default());
        if let Some(failure) = outcome.failure {
            let differs: Vec<String> = failure
                .differences
                .iter()
                .map(ToString::to_string)
                .collect();
            return Err(anyhow!(
                "nothing was written: with these commands `{}` does not hold: {}: {}",
                outcome.name,
                failure.line,
                differs.join("; ")
            )
            .into());
        }
    }
    Ok(cases.cases.len())
}

/// Writes the files without overwriting any.
fn write(root: &Path, files: &Files) -> Result<Vec<PathBuf>, Failure> {
    let folder = root.join(".interlock").join("workflows");
    fs::create_dir_all(&folder)
        .with_context(|| format!("`{}` cannot be made", folder.display()))?;
    let mut written: Vec<PathBuf> = Vec::new();
    for (path, text) in [
        &files.workflow,
        &files.cases,
        &files.properties,
        &files.schema,
    ] {
        let may_be_there = *path == files.schema.0;
        match create(path, text) {
            Ok(()) => written.push(path.clone()),
            Err(error) if may_be_there && error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                for done in &written {
                    let _ = fs::remove_file(done);
                }
                return Err(anyhow!(
                    "`{}` cannot be written, so nothing was: {error}",
                    path.display()
                )
                .into());
            }
        }
    }
    Ok(written)
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    let done = file.write_all(text.as_bytes());
    if done.is_err() {
        let _ = fs::remove_file(path);
    }
    done
}

fn show_found(app: &App, found: &[Found]) -> Done {
    for one in found {
        let test = match &one.test {
            Some(test) => format!("tested with `{test}`"),
            None => "without a command that tests it".to_owned(),
        };
        app.output.line(&format!(
            "{} {} ({}), {test}",
            app.output.styled(Style::Bold, "found"),
            one.kind,
            one.file
        ))?;
    }
    Ok(())
}

fn preview(app: &App, files: &Files) -> Done {
    for (path, text) in [&files.workflow, &files.cases, &files.properties] {
        app.output.line(
            &app.output
                .styled(Style::Bold, &format!("--- {}", path.display())),
        )?;
        app.output.text(text)?;
    }
    app.output.line("nothing was written")
}

fn told(
    app: &App,
    args: &NewArgs,
    found: &[Found],
    (chosen, files, passed): (&Chosen, &Files, usize),
) -> Done {
    let clients: Vec<&str> = chosen.clients.iter().map(|client| client.word()).collect();
    let paths = [
        &files.workflow.0,
        &files.cases.0,
        &files.properties.0,
        &files.schema.0,
    ];
    app.output.json(&json!({
        "workflow": chosen.name,
        "files": paths,
        "found": found,
        "tests": chosen.tests,
        "allowed": chosen.allowed,
        "clients": clients,
        "cases": passed,
        "dry_run": args.dry_run,
    }))
}

fn next(app: &App, chosen: &Chosen) -> Done {
    let name = &chosen.name;
    let words: Vec<&str> = chosen.clients.iter().map(|client| client.word()).collect();
    let clients = words.join(" ");
    app.output.line("")?;
    app.output.line("Next:")?;
    for (command, about) in [
        (
            format!("interlock init {clients}"),
            "once, so that the agents ask before each call",
        ),
        (
            format!("interlock simulate {name}"),
            "try it without an agent",
        ),
        (
            format!("interlock prove {name}"),
            "check what it promises against every run it could have",
        ),
        (
            format!("interlock start {name}"),
            "guard the next session with it",
        ),
    ] {
        app.output
            .line(&format!("  {:<28}  {about}", command.trim_end()))?;
    }
    Ok(())
}
