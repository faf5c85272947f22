//! Notifies a person that a question is waiting.
//!
//! INVARIANT: nothing waits for a notification, and its failure has no effect. Text that an agent may have written is passed as
//! arguments or variables, never as part of a shell line.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use interlock_core::{
    machine::Machine,
    pending::{Pending, asked_since},
    run::Run,
    visible::visible,
};
use interlock_project::{Config, NotifyConfig};

use crate::{answer::cut, review};

/// Maximum number of characters of a notification.
const BODY_CHARS_MAX: usize = 240;
/// Longest time that a trial notification may take.
const TRY_MAX: Duration = Duration::from_secs(5);
/// Interval between two checks whether it has ended.
const TRY_STEP: Duration = Duration::from_millis(20);

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Short title.
    pub title: String,
    /// The question, in one line.
    pub body: String,
    /// Run that asks; empty if none.
    pub run: String,
    /// Workflow of the run.
    pub workflow: String,
    /// Id of the request.
    pub approval: String,
}

impl Notice {
    fn of(machine: &Machine, run: &Run, pending: &Pending) -> Self {
        let workflow = visible(machine.id.as_str());
        Self {
            title: format!("Interlock: `{workflow}` waits for you"),
            body: review::headline(machine, run, pending),
            run: run.id.to_string(),
            workflow,
            approval: pending.id().to_string(),
        }
    }

    /// Creates a trial notification that asks nothing.
    #[must_use]
    pub fn trial() -> Self {
        Self {
            title: "Interlock: a trial by `interlock doctor`".to_owned(),
            body: "Questions that wait for you are shown like this.".to_owned(),
            run: String::new(),
            workflow: String::new(),
            approval: String::new(),
        }
    }
}

/// A program that shows a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notifier {
    /// Its common name.
    pub name: String,
    program: PathBuf,
    how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    NotifySend,
    AppleScript,
    /// A person's own command with these arguments, which receives the notification in variables.
    Own(Vec<String>),
}

/// Why a kind of notification is unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNotifier {
    /// A person has switched it off.
    Off,
    /// This session has no desktop.
    NoDesktop,
    /// The program does not exist.
    Missing(String),
}

/// Finds the programs that notify a person, as configured.
///
/// A program inside the project does not count: the project is in its agent's hands.
pub fn notifiers(
    config: &NotifyConfig,
    env: &dyn Fn(&str) -> Option<OsString>,
    project: &Path,
) -> Vec<Result<Notifier, NoNotifier>> {
    let mut found = vec![desktop(config, env, project)];
    if let Some((program, words)) = config.command.split_first() {
        found.push(match find(program, env, project) {
            Some(path) => Ok(Notifier {
                name: (*program).to_owned(),
                program: path,
                how: How::Own(words.to_vec()),
            }),
            None => Err(NoNotifier::Missing((*program).to_owned())),
        });
    }
    found
}

fn desktop(
    config: &NotifyConfig,
    env: &dyn Fn(&str) -> Option<OsString>,
    project: &Path,
) -> Result<Notifier, NoNotifier> {
    if config.desktop == Some(false) {
        return Err(NoNotifier::Off);
    }
    let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    let (name, how, is_seen) = if cfg!(target_os = "macos") {
        ("osascript", How::AppleScript, !set("SSH_CONNECTION"))
    } else {
        let screen = set("DISPLAY") || set("WAYLAND_DISPLAY");
        let bus = set("DBUS_SESSION_BUS_ADDRESS")
            || env("XDG_RUNTIME_DIR").is_some_and(|at| Path::new(&at).join("bus").exists());
        ("notify-send", How::NotifySend, screen && bus)
    };
    if !is_seen {
        return Err(NoNotifier::NoDesktop);
    }
    let program = find(name, env, project).ok_or_else(|| NoNotifier::Missing(name.to_owned()))?;
    Ok(Notifier {
        name: name.to_owned(),
        program,
        how,
    })
}

/// Finds a program by its path or on the PATH, but not below the project.
pub fn find(
    program: &str,
    env: &dyn Fn(&str) -> Option<OsString>,
    project: &Path,
) -> Option<PathBuf> {
    let project = project
        .canonicalize()
        .unwrap_or_else(|_| project.to_owned());
    let fits = |path: &Path| {
        path.canonicalize().is_ok_and(|real| {
            real.is_file() && (project.parent().is_none() || !real.starts_with(&project))
        })
    };
    if program.contains('/') {
        let path = PathBuf::from(program);
        return (path.is_absolute() && fits(&path)).then_some(path);
    }
    let path = env("PATH")?;
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|path| fits(path))
}

impl Notifier {
    fn command(&self, notice: &Notice) -> Command {
        let mut command = Command::new(&self.program);
        let body = cut(&notice.body, BODY_CHARS_MAX);
        match &self.how {
            How::NotifySend => {
                // The body may be parsed as markup.
                let body = body
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;");
                command.args([
                    "--app-name=Interlock",
                    "--",
                    notice.title.as_str(),
                    body.as_str(),
                ]);
            }
            How::AppleScript => {
                command.args([
                    "-e",
                    "on run argv",
                    "-e",
                    "display notification (item 2 of argv) with title (item 1 of argv)",
                    "-e",
                    "end run",
                    notice.title.as_str(),
                    body.as_str(),
                ]);
            }
            How::Own(words) => {
                command.args(words);
            }
        }
        command
            .env("INTERLOCK_NOTIFY_TITLE", &notice.title)
            .env("INTERLOCK_NOTIFY_BODY", &body)
            .env("INTERLOCK_NOTIFY_RUN", &notice.run)
            .env("INTERLOCK_NOTIFY_WORKFLOW", &notice.workflow)
            .env("INTERLOCK_NOTIFY_APPROVAL", &notice.approval)
            .env_remove("INTERLOCK_TOKEN")
            .env_remove(crate::GUARD)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Not in the client's process group: it outlives the hook.
            command.process_group(0);
        }
        command
    }

    /// Notifies a person without waiting.
    fn send(&self, notice: &Notice) {
        let Ok(mut child) = self.command(notice).spawn() else {
            return;
        };
        // This keeps no zombie in a long-lived process.
        let wait = move || drop(child.wait());
        drop(thread::Builder::new().name("notice".to_owned()).spawn(wait));
    }

    /// Notifies a person and waits until the program has ended.
    ///
    /// # Errors
    /// The program cannot be started, fails or takes too long.
    pub fn try_out(&self) -> Result<(), String> {
        let mut child: Child = self
            .command(&Notice::trial())
            .spawn()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("it failed ({status})")),
                Ok(None) if began.elapsed() < TRY_MAX => thread::sleep(TRY_STEP),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("it had not ended after {} s", TRY_MAX.as_secs()));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Notifies a person of the requests opened since the run had `before` events.
///
/// Failures are ignored.
pub fn tell(
    configuration: Option<&Path>,
    project: &Path,
    (machine, run): (&Machine, &Run),
    before: u64,
) {
    let asked = asked_since(machine, run, before);
    if asked.is_empty() {
        return;
    }
    let Ok(person) = Config::of_person(configuration) else {
        return;
    };
    let env = |name: &str| std::env::var_os(name);
    for notifier in notifiers(&person.notify, &env, project)
        .into_iter()
        .flatten()
    {
        for pending in &asked {
            notifier.send(&Notice::of(machine, run, pending));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]

    use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt as _, path::Path};

    use interlock_project::NotifyConfig;

    use super::{NoNotifier, Notice, find, notifiers};

    fn program(directory: &Path, name: &str) {
        fs::create_dir_all(directory).unwrap();
        let path = directory.join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_of_the_project_is_never_started() {
        let room = tempfile::tempdir().unwrap();
        let project = room.path().join("project");
        let inside = project.join("node_modules/.bin");
        let outside = room.path().join("bin");
        program(&inside, "bell");
        std::os::unix::fs::symlink(&inside, room.path().join("linked")).unwrap();
        let path = |parts: &[&Path]| {
            let path = std::env::join_paths(parts).unwrap();
            move |name: &str| (name == "PATH").then(|| path.clone())
        };
        let linked = room.path().join("linked");
        let env = path(&[&inside, &linked, Path::new("node_modules/.bin")]);
        assert_eq!(find("bell", &env, &project), None);
        let own = inside.join("bell");
        assert_eq!(find(own.to_str().unwrap(), &env, &project), None);
        program(&outside, "bell");
        let env = path(&[&inside, &outside]);
        assert_eq!(find("bell", &env, &project), Some(outside.join("bell")));
    }

    #[test]
    fn without_a_desktop_or_by_a_persons_word_there_is_no_notifier() {
        let none = |_: &str| -> Option<OsString> { None };
        let project = Path::new("/project");
        let off = NotifyConfig {
            desktop: Some(false),
            ..NotifyConfig::default()
        };
        assert_eq!(notifiers(&off, &none, project), [Err(NoNotifier::Off)]);
        if cfg!(not(target_os = "macos")) {
            let empty = |name: &str| name.starts_with("D").then(OsString::new);
            for env in [&none as &dyn Fn(&str) -> Option<OsString>, &empty] {
                let found = notifiers(&NotifyConfig::default(), env, project);
                assert_eq!(found, [Err(NoNotifier::NoDesktop)]);
            }
        }
    }

    #[test]
    fn what_is_told_is_an_argument_of_its_own() {
        let room = tempfile::tempdir().unwrap();
        program(room.path(), "notify-send");
        let path = room.path().as_os_str().to_owned();
        let env = move |name: &str| match name {
            "PATH" => Some(path.clone()),
            "DISPLAY" | "DBUS_SESSION_BUS_ADDRESS" => Some("here".into()),
            _ => None,
        };
        let found = notifiers(&NotifyConfig::default(), &env, Path::new("/project"));
        let notifier = found.into_iter().next().unwrap().unwrap();
        let notice = Notice {
            body: "--expire-time=1 <b>$(touch x)</b> `id`; & so on".to_owned(),
            ..Notice::trial()
        };
        let command = notifier.command(&notice);
        let words: Vec<&str> = command
            .get_args()
            .map(|word| word.to_str().unwrap())
            .collect();
        assert_eq!(
            words,
            [
                "--app-name=Interlock",
                "--",
                notice.title.as_str(),
                "--expire-time=1 &lt;b&gt;$(touch x)&lt;/b&gt; `id`; &amp; so on"
            ]
        );
    }
}
