//! The plan of an allowed shell line: what the kernel is to hold it to.

use std::path::{Path, PathBuf};

use interlock_core::{
    Hold,
    facts::{ShellFacts, SimpleCommand},
    machine::Machine,
    policy::Policy,
};
use interlock_facts::{
    CONFIG_KEYS, Compared, Disk, ProtectedPath, RealDisk, SETTINGS_KEYS, Surroundings,
    protected_paths,
};
use interlock_project::{Config, ConfigError, RequiredLevel};
use interlock_sandbox::{
    Asked, Level, Plan, Surroundings as Around,
    plan::{Free, Protected, Start},
};

use crate::{hook::HookSetting, session};

/// The key of a client's settings whose every rule counts while a line runs.
const PERMISSIONS: &str = "permissions";

/// What a person and a project have decided about shell lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decided {
    /// The person's own configuration.
    pub(crate) person: Config,
    /// The stricter required level of the two.
    pub(crate) require: Option<RequiredLevel>,
}

impl Decided {
    /// Reads both configurations.
    pub(crate) fn read(root: &Path, person: Option<&Path>) -> Result<Self, ConfigError> {
        let person = Config::of_person(person)?;
        let project = Config::of_project(root)?;
        Ok(Self {
            require: person.sandbox.require.max(project.sandbox.require),
            person,
        })
    }
}

/// Returns the level by the word that both sides use.
#[must_use]
pub fn level(required: RequiredLevel) -> Level {
    match required {
        RequiredLevel::Environment => Level::Environment,
        RequiredLevel::Partial => Level::Partial,
        RequiredLevel::Files => Level::Files,
        RequiredLevel::Full => Level::Full,
    }
}

/// A line that was allowed, and what is known of the place it runs in.
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) facts: &'a ShellFacts,
    pub(crate) hold: &'a Hold<'a>,
    pub(crate) machine: &'a Machine,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) decided: &'a Decided,
}

/// Makes the plan of a line.
pub(crate) fn plan(line: &Line<'_>, disk: &dyn Disk) -> Plan {
    let covered: Vec<&str> = line
        .hold
        .listed
        .iter()
        .filter_map(|command| program(command))
        .collect();
    let start = Start::Line(line.text.to_owned());
    let asked = Asked {
        policy: line.hold.policy,
        facts: line.facts,
        start: &start,
        directory: Path::new(line.directory),
        covered: &covered,
        person_allows: line.hold.by_person,
    };
    let interrupts = line
        .machine
        .interrupts
        .values()
        .chain(
            line.machine
                .machines
                .values()
                .flat_map(|of| of.interrupts.values()),
        )
        .map(|interrupt| interrupt.file_pattern.to_string())
        .collect();
    let around = around(line.surroundings, line.decided, disk);
    Plan::for_line(
        &asked,
        &Around {
            interrupts,
            ..around
        },
    )
}

/// Tells what of a machine and a person matters to the kernel.
pub(crate) fn around(surroundings: &Surroundings, decided: &Decided, disk: &dyn Disk) -> Around {
    let path = |text: &String| PathBuf::from(text);
    let temporary = ["/tmp", "/var/tmp"].map(str::to_owned);
    let caches = surroundings.caches.iter();
    Around {
        project: path(&surroundings.project_root),
        home: surroundings.home.as_ref().map(path).unwrap_or_default(),
        temporary: temporary
            .iter()
            .chain(&surroundings.temporary)
            .map(path)
            .collect(),
        caches: caches
            .filter(|cache| !temporary.contains(cache))
            .map(path)
            .collect(),
        repository: repository(Path::new(&surroundings.project_root)),
        writable: decided
            .person
            .sandbox
            .writable
            .iter()
            .filter(|path| path.is_absolute())
            .cloned()
            .collect(),
        hidden: surroundings.state_directory.iter().map(path).collect(),
        protected: protected_paths(surroundings, disk)
            .iter()
            .map(protected)
            .collect(),
        interrupts: Vec::new(),
        aside: surroundings
            .state_directory
            .as_ref()
            .map(|state| Path::new(state).join("aside")),
        require: decided.require.map(level),
    }
}

fn protected(found: &ProtectedPath) -> Protected {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let free = match found.compared {
        Compared::Git => Free::GitKeys(texts(CONFIG_KEYS)),
        Compared::Settings => Free::AllBut(
            SETTINGS_KEYS
                .iter()
                .chain(&[PERMISSIONS])
                .map(|key| (*key).to_owned())
                .collect(),
        ),
        _ if !found.but.is_empty() => Free::Below(texts(found.but)),
        _ => Free::Nothing,
    };
    Protected {
        path: PathBuf::from(&found.path),
        free,
    }
}

/// Returns the directories of a repository that keeps them elsewhere, as a worktree does.
///
/// A line could have written where they are. So they count only where they say that they
/// belong to this project.
fn repository(project: &Path) -> Vec<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().ok();
    let pointer = std::fs::read_to_string(project.join(".git")).unwrap_or_default();
    let own = pointer
        .trim()
        .strip_prefix("gitdir: ")
        .and_then(|own| real(project.join(own)));
    let (Some(own), Some(project)) = (own, real(project.to_owned())) else {
        return Vec::new();
    };
    worktree(&own, &project).unwrap_or_else(|| {
        let is_submodule = submodule_of(&own) == Some(project);
        if is_submodule { vec![own] } else { Vec::new() }
    })
}

/// Returns a worktree's own directory and the one it shares, where both name `project`.
fn worktree(own: &Path, project: &Path) -> Option<Vec<PathBuf>> {
    let says = |name: &str| std::fs::read_to_string(own.join(name)).ok();
    let back = own.join(says("gitdir")?.trim()).canonicalize().ok()?;
    let common = own.join(says("commondir")?.trim()).canonicalize().ok()?;
    let belongs = back == project.join(".git") && own.parent()? == common.join("worktrees");
    belongs.then(|| vec![own.to_owned(), common])
}

/// Returns the work tree that a submodule's directory is configured for.
fn submodule_of(own: &Path) -> Option<PathBuf> {
    let config = std::fs::read_to_string(own.join("config")).ok()?;
    let (_, tree) = config
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "worktree")?;
    own.join(tree.trim()).canonicalize().ok()
}

/// Returns the last part of a command's first word.
fn program(command: &SimpleCommand) -> Option<&str> {
    command.words.first()?.literal()?.rsplit('/').next()
}

/// Makes the plan of a line that a person runs from `directory`, held to `policy`.
///
/// # Errors
/// A configuration cannot be read.
pub fn plan_for_person(
    setting: &HookSetting,
    policy: &Policy,
    (project, directory): (&Path, &Path),
    line: &str,
) -> Result<Plan, String> {
    let disk = RealDisk;
    let directory = directory
        .to_str()
        .ok_or("the current directory is no text")?;
    let decided = Decided::read(project, setting.configuration.as_deref())
        .map_err(|error| error.to_string())?;
    let here = session::surroundings(setting, project, directory, None).resolved(&disk);
    let facts = interlock_shell::read(
        line,
        &interlock_shell::Setting {
            dialect: interlock_shell::Dialect::Bash,
            directory: here.working_directory.clone(),
            project_root: here.project_root.clone(),
            home: here.home.clone(),
            temporary: here.temporary.clone(),
            user: here.user.clone(),
        },
    );
    let covered: Vec<&str> = facts
        .commands
        .iter()
        .filter(|command| policy.covers(command))
        .filter_map(program)
        .collect();
    let start = Start::Line(line.to_owned());
    let asked = Asked {
        policy,
        facts: &facts,
        start: &start,
        directory: Path::new(&here.working_directory),
        covered: &covered,
        person_allows: false,
    };
    Ok(Plan::for_line(&asked, &around(&here, &decided, &disk)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(path: &Path, text: &str) {
        let made = path.parent().map(fs::create_dir_all);
        assert!(made.is_some_and(|made| made.is_ok()));
        assert!(fs::write(path, text).is_ok());
    }

    #[test]
    fn a_repository_elsewhere_must_name_the_project() {
        let room =
            tempfile::tempdir().map(|room| room.path().canonicalize().map(|real| (room, real)));
        let Ok(Ok((_kept, room))) = room else {
            return assert!(room.is_ok_and(|inner| inner.is_ok()), "no directory");
        };
        let (tree, main, other) = (room.join("w"), room.join("m/.git"), room.join("other"));
        let own = main.join("worktrees/w");
        write(&tree.join(".git"), &format!("gitdir: {}\n", own.display()));
        write(&own.join("commondir"), "../..\n");
        write(
            &own.join("gitdir"),
            &format!("{}\n", tree.join(".git").display()),
        );
        write(&other.join("f"), "");
        assert_eq!(repository(&tree), [own.clone(), main.clone()]);

        // What shares another directory is no worktree of it.
        write(&own.join("commondir"), &other.display().to_string());
        assert!(repository(&tree).is_empty());
        // Nor is a directory that knows nothing of the project.
        write(
            &tree.join(".git"),
            &format!("gitdir: {}\n", other.display()),
        );
        assert!(repository(&tree).is_empty());

        let module = room.join("p/.git/modules/s");
        let inside = room.join("p/s");
        write(&inside.join(".git"), "gitdir: ../.git/modules/s\n");
        write(&module.join("config"), "[core]\n\tworktree = ../../../s\n");
        assert_eq!(repository(&inside), std::slice::from_ref(&module));
        write(&module.join("config"), "[core]\n\tworktree = ../../../t\n");
        assert!(repository(&inside).is_empty());
    }
}
