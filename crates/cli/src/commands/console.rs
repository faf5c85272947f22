//! `console`: serves a local web page that shows every run and accepts a person's answers.

use std::{
    io::{IsTerminal as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
};

use interlock_clients::{doctor::examine, notify::find};
use interlock_confine::shell_of_person;
use interlock_console::{Console, Enrolment, Settings, Workplace};
use interlock_project::Config;
use interlock_sandbox::Level;
use interlock_simulate::Scenario;
use interlock_store::Home;
use interlock_tools::Secrets;
use rustix::termios::{QueueSelector, tcflush};

use crate::{
    answer,
    app::{self, App, variable},
    args::ConsoleArgs,
    authority,
    commands::{doctor::examination, simulate::setting},
    failure::{Done, Failure},
    output::Style,
};

/// Programs that open an address in the person's browser.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

pub(crate) fn run(app: &App, args: &ConsoleArgs) -> Done {
    authority::at_a_terminal(app)?;
    let home = app.home()?;
    let fragment = match &args.project {
        Some(project) => {
            let folder = app.directory.join(project);
            if !folder.is_dir() {
                let folder = folder.display();
                return Err(Failure::usage(anyhow::anyhow!(
                    "`{folder}` is not a folder"
                )));
            }
            let root = interlock_project::project_root(&folder);
            let root = root.to_string_lossy();
            let encoded: String = form_urlencoded::byte_serialize(root.as_bytes()).collect();
            format!("#/runs?project={encoded}")
        }
        None => String::new(),
    };
    let opens = !args.no_open;
    serve(app, home, (args.port, &fragment, opens), None)
}

/// Serves the runs of `home` until Ctrl-C, until the terminal is closed, or until the requested passkey is enrolled; the page
/// opens at `fragment`.
pub(crate) fn serve(
    app: &App,
    home: Home,
    (port, fragment, opens): (u16, &str, bool),
    enrolment: Option<Enrolment>,
) -> Done {
    let examination = examination(app, has_policy(app))?;
    let mut console = Console::start(Settings {
        home,
        person: authority::name(),
        port,
        workplace: Workplace {
            project: app.project(),
            library: Box::new(App::library_of_project),
        },
        scenario: scenario(app),
        doctor: Box::new(move || examine(&examination)),
        secrets: secrets(),
        enrolment,
        changed: Box::new(answer::after),
    })
    .map_err(Failure::usage)?;
    let address = format!("{}{fragment}", console.address());
    let out = app.output;
    out.line(&format!(
        "The console is at {}",
        out.styled(Style::Bold, &address)
    ))?;
    if cfg!(not(target_os = "linux")) {
        out.line("On this system, the console cannot tell which process asks.")?;
    }
    if opens && !open(&address, &app.project()) {
        out.line("Open it in a browser on this machine.")?;
    }
    out.line("It ends with Ctrl-C. Pages that ask to be let in show a number, and this terminal asks about it.")?;
    while let Some(request) = console.next_pairing() {
        if !request.is_waiting() {
            continue;
        }
        forget_typed();
        out.text(&format!(
            "\nA page asks to be let in. It shows the number {}. Is it yours? [y/N] ",
            out.styled(Style::Bold, &request.number)
        ))?;
        std::io::stdout().flush()?;
        let Some(word) = typed()? else {
            out.line("")?;
            return Ok(());
        };
        let yes = matches!(word.trim().to_lowercase().as_str(), "y" | "yes");
        let said = match (yes, request.answer(yes)) {
            (true, true) => "The page is in: for as long as it is open and used.",
            (true, false) => {
                "That page is no longer waiting: answer the number that your page shows now."
            }
            (false, _) => "It was not let in.",
        };
        out.line(said)?;
    }
    Ok(())
}

/// Returns the values to mask: those of variables whose names suggest secrets.
pub(crate) fn secrets() -> Secrets {
    Secrets::of_environment(
        std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }),
    )
}

/// Returns the scenario in which shell lines are judged here.
pub(crate) fn scenario(app: &App) -> Scenario {
    // Runs are shown even if the configuration has errors, which `doctor` reports.
    let person = Config::of_person(app::configuration().as_deref());
    let person = person.map(|config| config.shell).unwrap_or_default();
    let level = if interlock_confine::kernel_holds() {
        Level::Files
    } else {
        Level::Environment
    };
    Scenario {
        shell: shell_of_person(|name| variable(name)?.into_string().ok()),
        allowed_by_person: person.allow,
        transparent: person.transparent,
        ..setting(app, level)
    }
}

/// Returns whether the project names a workflow that guards every session.
fn has_policy(app: &App) -> bool {
    Config::of_project(&app.project()).is_ok_and(|config| config.workflow.is_some())
}

/// Discards input typed before the question is shown, because nobody had seen it.
fn forget_typed() {
    let input = std::io::stdin();
    if input.is_terminal() {
        let _ = tcflush(&input, QueueSelector::IFlush);
    }
}

/// Reads a line; returns `None` at the end of the input.
fn typed() -> Result<Option<String>, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}

/// Opens an address in the person's browser; returns `false` if no program for it is found.
fn open(address: &str, project: &Path) -> bool {
    let env = |name: &str| variable(name);
    // Without a graphical screen, a text browser would take over this terminal.
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| variable(name).is_some());
    let program = OPENERS.iter().find_map(|name| find(name, &env, project));
    let Some(program) = program.filter(|_| has_screen) else {
        return false;
    };
    let started = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C here is not meant for the browser.
        .process_group(0)
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    std::thread::spawn(move || child.wait());
    true
}
