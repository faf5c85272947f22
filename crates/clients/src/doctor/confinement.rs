//! The kernel checks of `doctor`: how far shell lines are confined here, found out by trying.

use std::path::Path;

use interlock_project::{Config, RequiredLevel};
use interlock_sandbox::{Level, Reached, Unconfined, probe};
use interlock_store::{FILES_MAX, has_too_many_files};

use super::{Check, Examination, Health, probe as tries};

/// Checks what the kernel enforces, what is required, and what is configured.
pub(super) fn checks(examination: &Examination) -> Vec<Check> {
    let reached = probe();
    let project = &examination.site.project_root;
    let required = match required(project, examination.configuration.as_deref()) {
        Ok(required) => required,
        Err(why) => {
            return vec![Check::own(
                "[sandbox]",
                Health::Fail,
                why,
                "repair it: every call of a guarded session is denied until then",
            )];
        }
    };
    let mut checks = vec![
        held(
            "without writing",
            reached.no_write,
            &reached.no_write_unconfined,
            required,
        ),
        held(
            "when writing",
            reached.writing,
            &reached.writing_unconfined,
            required,
        ),
    ];
    checks.push(tried(examination, &reached));
    checks.extend(writable(examination));
    checks.extend(compared(examination));
    checks
}

/// Reports if changes that no call made are not detected.
fn compared(examination: &Examination) -> Option<Check> {
    has_too_many_files(&examination.site.project_root).then(|| {
        Check::own(
            "evidence",
            Health::Warn,
            format!(
                "this project has more than {FILES_MAX} files: changes that no call was seen to make are not compared"
            ),
            "let a guard rest on a check that your CI repeats",
        )
    })
}

/// Describes at which level a kind of line is confined, and what is not confined.
fn held(
    what: &'static str,
    level: Level,
    unconfined: &[Unconfined],
    required: Option<RequiredLevel>,
) -> Check {
    let names: Vec<&str> = unconfined.iter().map(|thing| thing.as_str()).collect();
    let seen = if names.is_empty() {
        format!("shell lines are confined at level `{level}`")
    } else {
        format!(
            "shell lines are confined at level `{level}`; not confined: {}",
            names.join(", ")
        )
    };
    match required {
        Some(required) if level < interlock_confine::level(required) => Check::own(
            what,
            Health::Fail,
            format!("{seen}; `[sandbox] require` needs `{}`", required.as_str()),
            "no rewritten line will run: use a kernel that enforces more, or require less",
        ),
        _ if level < Level::Files => Check::own(
            what,
            Health::Warn,
            seen,
            "run the agent in a container where what it starts must not reach the machine",
        ),
        _ => Check::own(what, Health::Ok, seen, ""),
    }
}

/// Starts a line that may not write, and lets it try.
fn tried(examination: &Examination, reached: &Reached) -> Check {
    let mark = examination.state.join("doctor-was-here");
    let wrote = tries::write_confined(
        &examination.site.program,
        &examination.site.project_root,
        &mark,
    );
    // Whatever the result, the file is removed.
    let _ = std::fs::remove_file(&mark);
    match wrote {
        Err(why) => Check::own(
            "confined line",
            Health::Fail,
            why,
            "run `interlock exec -- true` and see what it says",
        ),
        Ok(true) if reached.no_write >= Level::Partial => Check::own(
            "confined line",
            Health::Fail,
            "a line that may not write wrote a file",
            "do not rely on confinement here, and report this",
        ),
        Ok(true) => Check::own(
            "confined line",
            Health::Warn,
            "a line that may not write can write here: it is only parsed, not confined",
            "",
        ),
        Ok(false) => Check::own(
            "confined line",
            Health::Ok,
            "one that may not write tried to, and could not",
            "",
        ),
    }
}

/// Returns the higher level of those that the project and the person require.
fn required(project: &Path, person: Option<&Path>) -> Result<Option<RequiredLevel>, String> {
    let project = Config::of_project(project);
    let person = Config::of_person(person);
    let level = |config: Result<Config, interlock_project::ConfigError>| {
        config
            .map(|config| config.sandbox.require)
            .map_err(|error| error.to_string())
    };
    Ok(level(project)?.max(level(person)?))
}

/// Finds writable paths that have no effect, or that defeat the confinement.
fn writable(examination: &Examination) -> Vec<Check> {
    let person = Config::of_person(examination.configuration.as_deref()).unwrap_or_default();
    let wide = |path: &Path| {
        path == Path::new("/")
            || examination.site.home.starts_with(path)
            || examination.state.starts_with(path)
    };
    let places = person.sandbox.writable.iter();
    places
        .filter_map(|path| {
            let shown = path.display();
            let (seen, advice) = if !path.is_absolute() {
                ("is not absolute and counts for nothing", "write it whole")
            } else if wide(path) {
                (
                    "lets every confined line write what guards it",
                    "name the directories that are needed",
                )
            } else if !path.exists() {
                ("is not there", "")
            } else {
                return None;
            };
            let seen = format!("`writable` names `{shown}`, which {seen}");
            Some(Check::own("[sandbox]", Health::Warn, seen, advice))
        })
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use super::{RequiredLevel, required};

    #[test]
    fn the_higher_of_both_levels_is_required() {
        let room = tempfile::tempdir().unwrap();
        let (project, person) = (room.path().join("p"), room.path().join("c"));
        fs::create_dir_all(project.join(".interlock")).unwrap();
        fs::create_dir_all(&person).unwrap();
        let write = |path: &std::path::Path, level: Option<&str>| {
            let text = level.map(|level| format!("[sandbox]\nrequire = \"{level}\"\n"));
            fs::write(path.join("config.toml"), text.unwrap_or_default()).unwrap();
        };
        for (of_project, of_person, expected) in [
            (None, None, None),
            (Some("files"), None, Some(RequiredLevel::Files)),
            (None, Some("files"), Some(RequiredLevel::Files)),
            (Some("partial"), Some("full"), Some(RequiredLevel::Full)),
            (Some("full"), Some("partial"), Some(RequiredLevel::Full)),
        ] {
            write(&project.join(".interlock"), of_project);
            write(&person, of_person);
            let found = required(&project, Some(&person)).unwrap();
            assert_eq!(found, expected, "{of_project:?} {of_person:?}");
        }
    }
}
