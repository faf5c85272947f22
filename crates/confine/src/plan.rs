//! The plan of an allowed shell line: what the kernel is to enforce for it.

use std::path::{Path, PathBuf};

use interlock_core::{
    LineConfinement, covers,
    facts::{CommandSpan, ShellFacts, SimpleCommand},
    machine::Machine,
    policy::Policy,
};
use interlock_facts::{
    CONFIG_KEYS, CallContext, Compared, Disk, ProtectedPath, RealDisk, SETTINGS_KEYS,
    protected_paths,
};
use interlock_project::Environment;
use interlock_sandbox::{
    JudgedLine, Level, Plan, PlanContext,
    plan::{Column, Free, ProbedSpan, Protected, Start, WritablePlace},
};

use crate::{Decided, call_context, call_site, decided::level, repository::repository};

/// The key of a client's settings whose rules all apply while a line runs.
const PERMISSIONS: &str = "permissions";

/// An allowed line, and what is known about the place where it runs.
#[derive(Debug, Clone, Copy)]
pub struct AllowedLine<'a> {
    /// The line.
    pub text: &'a str,
    /// Where it starts, absolute.
    pub directory: &'a str,
    /// What it would do.
    pub facts: &'a ShellFacts,
    /// What the state in which it runs requires of it.
    pub confinement: &'a LineConfinement<'a>,
    /// The machine, whose interrupts name files that are reported.
    pub machine: &'a Machine,
    /// Where it runs, links resolved.
    pub context: &'a CallContext,
    /// What the person and the project have decided.
    pub decided: &'a Decided,
}

/// Makes the plan of an allowed line.
#[must_use]
pub fn plan(line: &AllowedLine<'_>, disk: &dyn Disk) -> Plan {
    let covered: Vec<&str> = line
        .confinement
        .listed
        .iter()
        .filter_map(|command| program(command))
        .collect();
    let start = Start::Line(line.text.to_owned());
    let asked = JudgedLine {
        policy: line.confinement.policy,
        facts: line.facts,
        start: &start,
        directory: Path::new(line.directory),
        covered: &covered,
        person_allows: line.confinement.by_person,
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
    let context = plan_context(line.context, line.decided, disk);
    let span = |span: &CommandSpan| ProbedSpan {
        start: span.start,
        end: span.end,
    };
    // What was allowed because the kernel confines it does not start without that.
    let least = line.confinement.contained.then_some(Level::Files);
    let project = context.project.clone();
    let mut plan = Plan {
        probes: line.confinement.probes.iter().map(span).collect(),
        ..Plan::for_line(
            &asked,
            &PlanContext {
                interrupts,
                require: context.require.max(least),
                ..context
            },
        )
    };
    let is_listed = plan.column == Column::Matched;
    if let Some(confinement) = plan.confinement.as_mut().filter(|_| is_listed) {
        let places = report_places(line.machine, &project);
        confinement.writable.extend(places);
    }
    plan
}

/// Returns the directories of the reports that guards ask for, which a listed command may write even where nothing else is
/// writable.
///
/// The project as a whole is not one of them: a report at its root is written only where the state may write.
fn report_places(machine: &Machine, project: &Path) -> Vec<WritablePlace> {
    let reports = machine
        .evidence_guards()
        .filter_map(|guard| guard.report.as_ref());
    let directories = reports.filter_map(|report| {
        let (directory, _) = report.source.path.rsplit_once('/')?;
        let plain = |part: &str| !matches!(part, "" | "." | ".." | "~");
        directory.split('/').all(plain).then(|| WritablePlace {
            path: project.join(directory),
            made_beside: Some(".".to_owned()),
            within: Some(project.to_owned()),
        })
    });
    directories.collect()
}

/// Returns what the kernel has to know about a machine and a person.
fn plan_context(context: &CallContext, decided: &Decided, disk: &dyn Disk) -> PlanContext {
    let path = |text: &String| PathBuf::from(text);
    let temporary = ["/tmp", "/var/tmp"].map(str::to_owned);
    let caches = context.caches.iter();
    PlanContext {
        project: path(&context.project_root),
        home: context.home.as_ref().map(path).unwrap_or_default(),
        temporary: temporary
            .iter()
            .chain(&context.temporary)
            .map(path)
            .collect(),
        caches: caches
            .filter(|cache| !temporary.contains(cache))
            .map(path)
            .collect(),
        repository: repository(Path::new(&context.project_root)),
        writable: decided
            .person
            .sandbox
            .writable
            .iter()
            .filter(|path| path.is_absolute())
            .cloned()
            .collect(),
        sockets: decided.person.sandbox.sockets.clone(),
        consoles: context.consoles.clone(),
        hidden: context.state_directory.iter().map(path).collect(),
        protected: protected_paths(context, disk)
            .iter()
            .map(protected)
            .collect(),
        interrupts: Vec::new(),
        aside: context
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

/// Returns the last part of a command's first word.
fn program(command: &SimpleCommand) -> Option<&str> {
    command.words.first()?.literal()?.rsplit('/').next()
}

/// A line run by a person.
#[derive(Debug, Clone, Copy)]
pub struct PersonsLine<'a> {
    /// The line.
    pub text: &'a str,
    /// The policy that applies to it.
    pub policy: &'a Policy,
    /// The project.
    pub project: &'a Path,
    /// Where it starts.
    pub directory: &'a Path,
}

/// Makes the plan of a line run by a person; `plugins` is as in [`call_context`].
///
/// # Errors
/// A configuration cannot be read, or the directory is not text.
pub fn plan_for_person(
    environment: &Environment,
    plugins: &[PathBuf],
    asked: &PersonsLine<'_>,
) -> Result<Plan, String> {
    let disk = RealDisk;
    let directory = asked
        .directory
        .to_str()
        .ok_or("the current directory is not text")?;
    let decided = Decided::read(asked.project, environment.configuration())
        .map_err(|error| error.to_string())?;
    let mut here = call_context(
        environment,
        plugins,
        asked.project,
        call_site(environment, directory, None),
    );
    decided.apply(&mut here);
    let here = here.resolved(&disk);
    let facts = interlock_shell::read(
        asked.text,
        &interlock_shell::ShellContext {
            dialect: interlock_shell::Dialect::Bash,
            directory: here.site.cwd.clone(),
            project_root: here.project_root.clone(),
            home: here.home.clone(),
            temporary: here.temporary.clone(),
            user: here.user.clone(),
            transparent: here.transparent.clone(),
            variables: here.variables.clone(),
        },
    );
    let covered: Vec<&str> = facts
        .commands
        .iter()
        .filter(|command| covers(asked.policy, command))
        .filter_map(program)
        .collect();
    let start = Start::Line(asked.text.to_owned());
    let line = JudgedLine {
        policy: asked.policy,
        facts: &facts,
        start: &start,
        directory: Path::new(&here.site.cwd),
        covered: &covered,
        person_allows: false,
    };
    Ok(Plan::for_line(&line, &plan_context(&here, &decided, &disk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_of_a_protected_place_follows_from_how_it_is_compared() {
        let free = |compared: Compared, but: &'static [&'static str]| {
            let found = ProtectedPath {
                path: "/p/x".to_owned(),
                what: "a place",
                deep: true,
                but,
                compared,
            };
            protected(&found).free
        };
        let plans: &[&str] = &["plans"];
        let below = || Free::Below(vec!["plans".to_owned()]);
        assert_eq!(free(Compared::Whole, &[]), Free::Nothing);
        assert_eq!(free(Compared::Not, &[]), Free::Nothing);
        assert_eq!(free(Compared::Whole, plans), below());
        assert_eq!(free(Compared::Not, plans), below());
        for but in [&[], plans] {
            assert!(matches!(free(Compared::Git, but), Free::GitKeys(keys) if !keys.is_empty()));
            assert!(matches!(free(Compared::Settings, but), Free::AllBut(keys) if keys.len() > 1));
        }
    }
}
