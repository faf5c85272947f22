//! What `interlock worker` does.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    process::{self, ExitCode},
    thread,
    time::Duration,
};

use interlock_core::visible::visible_lines;
use interlock_project::Environment;
use interlock_shared::{Address, Database, Tenant};
use interlock_worker::{Note, Projects, Stopper, WorkerSettings, register, work};
use serde_json::json;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{
    args::Cli,
    companion, notes,
    secrets::{self, Secrets},
};

type Done = Result<(), Box<dyn Error>>;

/// Exit code of a process that was interrupted twice.
const INTERRUPTED: i32 = 130;

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
    if let Some(word) = &cli.companion_of {
        return Ok(companion::watch(word)?);
    }
    if cli.register_only {
        return register_only(&cli);
    }
    let projects = match (&cli.project, &cli.projects) {
        (Some(project), _) => Projects::One(project.clone()),
        (None, Some(projects)) => Projects::Each(projects.clone()),
        (None, None) => {
            return Err(
                "where do runs work? Name the project with `--project DIR`, or a folder with one for each run with `--projects DIR`"
                    .into(),
            );
        }
    };
    let database = database(&cli)?;
    let settings = WorkerSettings {
        listen: cli.listen,
        advertise: cli.advertise,
        restate: cli.restate,
        restate_admin: cli.restate_admin,
        identity_keys: cli.identity_key,
        projects,
        workspace_limit: cli.workspace_limit << 20,
        lease: Duration::from_secs(cli.lease),
        slots: usize::from(cli.slots),
        environment: environment()?,
    };
    let stopper = Stopper::default();
    stop_on_signals(stopper.clone())?;
    let companion = companion::begin(stopper.clone())?;
    let json = cli.json;
    work(database, settings, &stopper, move |note: &Note| {
        notes::print(note, json);
    })?;
    if companion.was_killed() {
        return Err("the process that would end its programs was killed, so the worker has stopped: start it again".into());
    }
    Ok(())
}

fn register_only(cli: &Cli) -> Done {
    let (Some(admin), Some(advertise)) = (&cli.restate_admin, &cli.advertise) else {
        return Err("`--register-only` needs `--restate-admin` and `--advertise`".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(register(admin, advertise))?;
    let line = if cli.json {
        json!({ "event": "registered", "advertise": advertise }).to_string()
    } else {
        format!("workers at {advertise}: registered")
    };
    Ok(writeln!(io::stdout(), "{line}")?)
}

fn database(cli: &Cli) -> Result<Database, Box<dyn Error>> {
    let Secrets {
        address,
        password,
        certificate,
    } = secrets::take(cli)?;
    let Some(address) = address else {
        return Err(
            "no database: set INTERLOCK_DATABASE, or name it with `--shared postgres://USER@HOST:PORT/DATABASE`"
                .into(),
        );
    };
    let address = Address::new(&address, password.as_deref())?.with_certificate(certificate)?;
    Ok(Database::open(address, Tenant::new(&cli.tenant)?)?)
}

/// Returns the environment of this process, with `interlock` as its program: that one confines the lines of stages.
fn environment() -> Result<Environment, Box<dyn Error>> {
    let mut environment = Environment::of_process()?;
    let own = env::current_exe()?;
    let program = own.with_file_name("interlock");
    if !program.is_file() {
        return Err(format!(
            "`{}` does not exist: install `interlock` of the same version beside this program",
            program.display()
        )
        .into());
    }
    environment.program = Some(program);
    Ok(environment)
}

/// Stops the worker on the first signal, and the process on the second.
fn stop_on_signals(stopper: Stopper) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watching = thread::Builder::new().name("signals".to_owned());
    let watched = watching.spawn(move || {
        for (count, _) in signals.forever().enumerate() {
            if count > 0 {
                process::exit(INTERRUPTED);
            }
            stopper.stop();
        }
    });
    watched.map(drop)
}
