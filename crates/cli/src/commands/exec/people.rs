//! The plan of a line that a person runs, for a state made of the given options.

use std::path::{Path, PathBuf};

use interlock_clients::plugins;
use interlock_confine::{PersonsLine, plan_for_person};
use interlock_core::policy::{CommandEntry, Policy, Stance};
use interlock_project::{Environment, project_root};
use interlock_sandbox::{
    Plan,
    plan::{Column, Network},
};
use interlock_shell::split_entry;

use super::arguments::{Arguments, Permission};

/// Creates the plan of a line in a state of the requested kind.
pub(super) fn plan(arguments: &Arguments) -> Result<Plan, String> {
    let directory = std::env::current_dir()
        .map_err(|error| format!("the current directory cannot be read: {error}"))?;
    let project: PathBuf = match &arguments.project {
        Some(project) => project
            .canonicalize()
            .map_err(|error| format!("`{}` cannot be read: {error}", project.display()))?,
        None => project_root(&directory),
    };
    let policy = policy(arguments)?;
    let environment = Environment::of_process().map_err(|error| error.to_string())?;
    let mut plan = plan_for_person(
        &environment,
        &plugins::in_place(&environment),
        &PersonsLine {
            text: &arguments.line,
            policy: &policy,
            project: &project,
            directory: &directory,
        },
    )?;
    reaches(&mut plan, arguments.network);
    if let Some(require) = arguments.require {
        plan.require = plan.require.max(require);
    }
    let _: &Path = &plan.project;
    Ok(plan)
}

/// No verdict covers the network here: a line that may not write gets it only if the person says so.
fn reaches(plan: &mut Plan, network: bool) {
    if plan.column != Column::NoWrite {
        return;
    }
    if let Some(confinement) = &mut plan.confinement {
        confinement.network = if network {
            Network::Fetch
        } else {
            Network::Off
        };
    }
}

/// Creates the policy of a state of the requested kind.
fn policy(arguments: &Arguments) -> Result<Policy, String> {
    let Permission::Stance(stance) = arguments.wanted else {
        return Err("a ticket has a state of its own".to_owned());
    };
    let tools: Option<&[&str]> = match stance {
        Stance::Free => None,
        Stance::NoWrite => Some(&["Read", "Grep", "Glob", "Bash"]),
        Stance::Writing => Some(&["Read", "Grep", "Glob", "Edit", "Write", "Bash"]),
    };
    let entries = arguments
        .allow
        .iter()
        .map(|text| {
            let words = split_entry(text)
                .ok_or_else(|| format!("`{text}` is not a command: write plain words"))?;
            Ok(CommandEntry {
                text: text.clone(),
                words,
            })
        })
        .collect::<Result<Vec<_>, String>>()?;
    Ok(Policy {
        allowed_tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        allowed_commands: (!entries.is_empty()).then_some(entries),
        ..Policy::default()
    })
}
