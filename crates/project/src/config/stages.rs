//! `[stages]`: what becomes of calls in model stages that list no tools.

use interlock_core::machine::{Mode, ModeRules};
use serde::Deserialize;

use super::Config;

/// What becomes of calls in model stages that list no tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StagesConfig {
    /// How such calls are decided: a person is asked once for each kind of call, calls on the list are allowed, or all calls are allowed. A project's mode can only be stricter than yours.
    pub mode: Option<Mode>,
    /// Kinds of calls that the mode `allowlist` allows, such as `Read` or `Bash:git *`.
    pub allowlist: Vec<String>,
}

/// The modes that are said for a run, the strongest word first.
#[derive(Debug, Clone, Copy)]
pub struct Modes<'a> {
    /// On the command line.
    pub said: Option<Mode>,
    /// Of the person.
    pub person: &'a Config,
    /// Of the project, as far as it counts.
    pub project: &'a Config,
    /// Of the workflow; `None`: it says nothing.
    pub workflow: (Option<Mode>, &'a [String]),
}

/// Entries of allow lists where no mode would read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is an `allowlist`, and no level says `mode = \"allowlist\"`: set the mode, or take the list out"
)]
pub struct UnreadEntries;

impl Modes<'_> {
    /// Decides the mode of a run.
    ///
    /// Project and workflow tighten what the person set, and never loosen it:
    /// their `yolo` counts only where the person says so too.
    ///
    /// # Errors
    /// There are entries, and no level has the mode that reads them.
    pub fn of_run(&self) -> Result<ModeRules, UnreadEntries> {
        let (of_workflow, entries) = self.workflow;
        let lists = [
            self.person.stages.allowlist.as_slice(),
            self.project.stages.allowlist.as_slice(),
            entries,
        ];
        let by_person = self.said.or(self.person.stages.mode);
        let tighter = self.project.stages.mode.into_iter().chain(of_workflow);
        let mode = tighter.fold(by_person.unwrap_or_default(), Mode::min);
        let reads = |mode: Option<Mode>| mode == Some(Mode::Allowlist);
        let read = reads(by_person) || reads(self.project.stages.mode) || reads(of_workflow);
        if !read && lists.iter().any(|list| !list.is_empty()) {
            return Err(UnreadEntries);
        }
        let mut allow: Vec<String> = lists.concat();
        let mut seen = std::collections::BTreeSet::new();
        allow.retain(|entry| seen.insert(entry.clone()));
        Ok(ModeRules { mode, allow })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn config(mode: Option<Mode>, allowlist: &[&str]) -> Config {
        Config {
            stages: StagesConfig {
                mode,
                allowlist: allowlist.iter().map(ToString::to_string).collect(),
            },
            ..Config::default()
        }
    }

    #[test]
    fn project_and_workflow_tighten_and_never_loosen() {
        use Mode::{Allowlist, Ask, Yolo};
        for (said, person, project, workflow, wanted) in [
            (None, None, None, None, Ask),
            (None, None, None, Some(Ask), Ask),
            (None, None, None, Some(Yolo), Ask),
            (None, None, Some(Yolo), Some(Yolo), Ask),
            (None, None, Some(Allowlist), Some(Ask), Allowlist),
            (None, None, None, Some(Allowlist), Allowlist),
            (Some(Yolo), None, None, None, Yolo),
            (Some(Yolo), None, None, Some(Ask), Ask),
            (Some(Yolo), None, Some(Ask), Some(Yolo), Ask),
            (Some(Yolo), None, Some(Yolo), Some(Yolo), Yolo),
            (Some(Yolo), Some(Ask), None, None, Yolo),
            (Some(Ask), Some(Yolo), Some(Yolo), Some(Yolo), Ask),
            (None, Some(Yolo), None, None, Yolo),
            (None, Some(Yolo), None, Some(Yolo), Yolo),
            (None, Some(Yolo), None, Some(Ask), Ask),
            (None, Some(Yolo), None, Some(Allowlist), Allowlist),
            (None, Some(Allowlist), Some(Yolo), Some(Yolo), Allowlist),
        ] {
            let (person, project) = (config(person, &[]), config(project, &[]));
            let modes = Modes {
                said,
                person: &person,
                project: &project,
                workflow: (workflow, &[]),
            };
            let rules = modes.of_run().unwrap();
            assert_eq!(rules.mode, wanted, "{modes:?}");
        }
    }

    #[test]
    fn entries_of_all_levels_count_where_one_level_reads_them() {
        let (person, project) = (
            config(None, &["Read"]),
            config(Some(Mode::Allowlist), &["Bash:git *"]),
        );
        let entries = ["Read".to_owned(), "Glob:*".to_owned()];
        let modes = Modes {
            said: None,
            person: &person,
            project: &project,
            workflow: (None, &entries),
        };
        assert_eq!(
            modes.of_run().unwrap().allow,
            ["Read", "Bash:git *", "Glob:*"]
        );
        let nobody = Modes {
            project: &config(None, &[]),
            ..modes
        };
        assert!(nobody.of_run().is_err());
    }
}
