//! What each command of `interlock shared` does and prints.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use interlock_core::{names::RunId, visible::visible_lines};
use interlock_shared::{
    Address, ClientCertificate, Database, FORMAT, ImportDone, SharedRuns, Tenant,
};
use interlock_store::{
    EventLog as _, Home, Listed, RunList, RunStore as _, Runs as _, StoreError, Which,
};
use serde_json::{Value, json};

use crate::{
    args::{Cli, Command, Target},
    audits, bundles, login, people, serving,
};

pub(crate) type Done = Result<ExitCode, Box<dyn Error>>;

/// Prints why nothing was done.
pub(crate) fn refused(error: &dyn Error) -> ExitCode {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let more = deeper.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = deeper.source();
    }
    let _ = writeln!(io::stderr(), "interlock: {}", visible_lines(&text));
    ExitCode::FAILURE
}

pub(crate) fn run(cli: Cli) -> Done {
    let target = &cli.target;
    match cli.command {
        Command::Init => init(target),
        Command::Migrate => migrate(target),
        Command::Doctor => doctor(target),
        Command::Runs => runs(target),
        Command::Verify { run } => verify(target, &run),
        Command::Export {
            run,
            local: true,
            output,
        } => {
            let home = home()?;
            let run = home.find_run(Some(&run), &env::current_dir()?)?;
            export(target, output.as_deref(), &mut |to, file| {
                Ok(home.export_run(&run, to, file)?)
            })
        }
        Command::Export { run, output, .. } => {
            let runs = opened(target)?;
            let run = found(&runs, &run)?;
            export(target, output.as_deref(), &mut |to, file| {
                Ok(runs.export(&run, to, file)?)
            })
        }
        Command::Import { file, project } => import(target, &file, project),
        Command::Serve {
            listen,
            behind_proxy,
            keys,
            sign_in,
        } => serving::serve(target, (listen, behind_proxy), &keys, sign_in.as_deref()),
        Command::Join {
            run,
            server,
            token_file,
            project,
            bundle_key,
        } => serving::join(
            target,
            (&run, &server, &token_file),
            project.as_deref(),
            bundle_key.as_deref(),
        ),
        Command::Start(args) => bundles::start(target, &args),
        Command::Audit(command) => audits::audit(target, command),
        Command::Bundle(command) => bundles::bundle(target, command),
        Command::Token(command) => serving::token(target, command),
        Command::People(command) => people::people(target, command),
        Command::Login(login) => login::login(target, &login),
        Command::Exchange(exchange) => login::exchange(target, &exchange),
    }
}

/// Prints a text for people, or the same as JSON.
pub(crate) fn say(target: &Target, text: &str, value: &Value) -> io::Result<()> {
    let mut to = io::stdout().lock();
    let said = if target.json {
        writeln!(to, "{value}")
    } else {
        writeln!(to, "{}", visible_lines(text))
    };
    match said {
        // A reader that went away ends the program quietly.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

pub(crate) fn home() -> Result<Home, Box<dyn Error>> {
    Ok(Home::locate(|name| env::var_os(name))?)
}

pub(crate) fn person_home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

fn address(target: &Target) -> Result<(Address, Tenant), Box<dyn Error>> {
    let text = target.database.as_deref().ok_or(
        "no database is named: set `INTERLOCK_DATABASE`, or say `--database postgres://USER@HOST/DATABASE`",
    )?;
    let password = env::var("PGPASSWORD").ok();
    let certificate = ClientCertificate::of_environment(|name| env::var_os(name))?;
    let address = Address::new(text, password.as_deref())?.with_certificate(certificate)?;
    Ok((address, Tenant::new(&target.tenant)?))
}

/// Returns the database, whatever is in it.
pub(crate) fn database(target: &Target) -> Result<Database, Box<dyn Error>> {
    let (address, tenant) = address(target)?;
    Ok(Database::at(address, tenant)?)
}

/// Opens the log as the tenant sees it.
pub(crate) fn log(target: &Target) -> Result<Database, Box<dyn Error>> {
    let (address, tenant) = address(target)?;
    Ok(Database::open(address, tenant)?)
}

/// Opens the log.
pub(crate) fn opened(target: &Target) -> Result<SharedRuns, Box<dyn Error>> {
    let database = log(target)?;
    let home = home()?;
    let person = person_home();
    Ok(SharedRuns::new(database, home.path(), person.as_deref()))
}

/// Finds the run that is meant.
pub(crate) fn found(runs: &SharedRuns, wanted: &str) -> Result<RunId, Box<dyn Error>> {
    match runs.find(Some(wanted), &env::current_dir()?) {
        Err(StoreError::NoSuchRun { wanted, .. }) => {
            let tenant = runs.database().tenant();
            let shows = "`interlock shared runs` shows them all";
            Err(format!("no run of tenant `{tenant}` is called `{wanted}`: {shows}").into())
        }
        found => Ok(found?),
    }
}

fn init(target: &Target) -> Done {
    let database = database(target)?;
    let done = database.init()?;
    let (place, tenant) = (database.place(), database.tenant());
    let made = |made: bool| if made { "made" } else { "there already" };
    let text = format!(
        "log in {place}: {}\ntenant {tenant}: {}",
        made(done.made_tables),
        made(done.made_tenant)
    );
    let value = json!({
        "database": place, "tenant": tenant.as_str(), "format": FORMAT,
        "made_tables": done.made_tables, "made_tenant": done.made_tenant,
    });
    say(target, &text, &value)?;
    Ok(ExitCode::SUCCESS)
}

fn migrate(target: &Target) -> Done {
    let database = database(target)?;
    let from = database.migrate()?;
    let place = database.place();
    let text = if from == FORMAT {
        format!("log in {place}: has format {FORMAT} already")
    } else {
        format!("log in {place}: from format {from} to {FORMAT}")
    };
    say(
        target,
        &text,
        &json!({ "database": place, "from": from, "to": FORMAT }),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn doctor(target: &Target) -> Done {
    let checks = database(target)?.doctor();
    let mut lines = Vec::new();
    for check in &checks {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        lines.push(format!("{mark} {:<11} {}", check.check, check.seen));
        if let Some(advice) = &check.advice {
            lines.push(format!("     {:<11} {advice}", ""));
        }
    }
    say(target, &lines.join("\n"), &json!(checks))?;
    Ok(if checks.iter().all(|check| check.ok) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn runs(target: &Target) -> Done {
    for run in opened(target)?.list(Which::ALL, &mut RunList::default())? {
        let (text, value) = match &run.listed {
            Listed::Known(card) => {
                let name = card.name.as_deref().unwrap_or("-");
                let text = format!(
                    "{} {} {name} {} {} events",
                    run.id,
                    card.workflow,
                    json!(card.status).as_str().unwrap_or_default(),
                    card.events
                );
                let mut value = json!(card);
                if let Some(fields) = value.as_object_mut() {
                    fields.insert("run".to_owned(), json!(run.id));
                }
                (text, value)
            }
            Listed::Damaged { why } | Listed::Unreachable { why } => {
                let text = format!("{} damaged: {why}", run.id);
                (text, json!({ "run": run.id, "damaged": why }))
            }
        };
        say(target, &text, &value)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(target: &Target, wanted: &str) -> Done {
    let runs = opened(target)?;
    let run = found(&runs, wanted)?;
    let log = runs.open_run(&run)?;
    let events = log.verify()?;
    let last = log.events(events.saturating_sub(1)).next().transpose()?;
    let hash = last.map(|last| last.hash.to_string()).unwrap_or_default();
    let text =
        format!("run {run}: {events} events, as they were recorded; the last hash is {hash}");
    say(
        target,
        &text,
        &json!({ "run": run, "events": events, "hash": hash }),
    )?;
    Ok(ExitCode::SUCCESS)
}

type WriteRun<'a> = &'a mut dyn FnMut(
    &mut dyn Write,
    &Path,
) -> Result<interlock_store::record::Imported, Box<dyn Error>>;

fn export(target: &Target, output: Option<&Path>, write: WriteRun<'_>) -> Done {
    let Some(path) = output else {
        write(&mut io::stdout().lock(), Path::new("standard output"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut done = None;
    write_new(path, |file| {
        done = Some(write(file, path)?);
        Ok(())
    })?;
    let done = done.ok_or("nothing was written")?;
    let text = format!(
        "run {}: {} events in {}; the last hash is {}",
        done.run,
        done.events,
        path.display(),
        done.hash
    );
    say(target, &text, &json!(done))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that only its owner can read, whole or not at all. An existing file is replaced, never written into.
pub(crate) fn write_new(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    // Whoever reads the file gets all of it.
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let failed = |error: io::Error| format!("cannot write `{}`: {error}", path.display());
    // A log may contain secrets.
    let _ = fs::remove_file(&beside);
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let mut file = BufWriter::new(options.open(&beside).map_err(failed)?);
    let written = write(&mut file).and_then(|()| {
        file.flush().map_err(failed)?;
        file.get_ref().sync_all().map_err(failed)?;
        Ok(fs::rename(&beside, path).map_err(failed)?)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn import(target: &Target, file: &Path, project: Option<PathBuf>) -> Done {
    let runs = opened(target)?;
    let project = match project {
        Some(project) => std::path::absolute(project)?,
        None => env::current_dir()?,
    };
    let person = person_home();
    let done = if file == Path::new("-") {
        let name = Path::new("standard input");
        runs.import(&mut io::stdin().lock(), name, &project, person.as_deref())?
    } else {
        let opened = File::open(file)
            .map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
        let mut from = BufReader::new(opened);
        runs.import(&mut from, file, &project, person.as_deref())?
    };
    let (done, made) = match done {
        ImportDone::Made(done) => (done, true),
        ImportDone::There(done) => (done, false),
    };
    let text = format!(
        "run {}: {} events, {}; the last hash is {}",
        done.run,
        done.events,
        if made { "imported" } else { "there already" },
        done.hash
    );
    let mut value = json!(done);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("imported".to_owned(), json!(made));
    }
    say(target, &text, &value)?;
    Ok(ExitCode::SUCCESS)
}
