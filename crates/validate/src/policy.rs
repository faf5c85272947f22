//! Policies that contradict themselves or name what does not exist.

use interlock_core::{
    names::StateName,
    policy::{Policy, Stance},
};
use interlock_expr::nearest::nearest;
use interlock_tool_names::{all_names, known as known_tools};

use crate::{Check, FindingCode, Place, tools};

/// Programs that write or remove and nothing else.
const WRITING_PROGRAMS: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "srm", "trash", "cp", "mv", "ln", "install", "touch",
    "mkdir", "mkfifo", "mknod", "truncate", "chmod", "chown", "chgrp", "tee", "dd", "rsync",
    "patch", "sponge",
];

impl Check<'_, '_> {
    /// Checks the policy of every state.
    pub(super) fn policies(&mut self) {
        let machine = self.machine;
        for (name, state) in &machine.states {
            self.contradictions(name, &state.policy);
            self.unknown_tools(name, &state.policy);
            self.useless_commands(name, &state.policy);
            let goes_on = !state.on.is_empty() || state.safe_next.is_some();
            if goes_on
                && matches!(
                    state.activity,
                    interlock_core::machine::Activity::Final { .. }
                )
            {
                self.warning(
                    FindingCode::FinalWithEvents,
                    Place::Events(name.clone()),
                    format!("`{name}` is final, so its events never happen"),
                    "remove the events, or `type: final`",
                );
            }
        }
    }

    fn contradictions(&mut self, name: &StateName, policy: &Policy) {
        let allowed = policy.allowed_tools.iter().flatten();
        let both = policy.disallowed_tools.iter().enumerate();
        for (index, tool) in both.filter(|(_, tool)| allowed.clone().any(|known| known == *tool)) {
            self.error(
                FindingCode::ContradictoryPolicy,
                Place::DisallowedTool(name.clone(), index),
                format!("`{tool}` is both allowed and disallowed in `{name}`"),
                "keep it in one of the two lists",
            );
        }
    }

    fn unknown_tools(&mut self, name: &StateName, policy: &Policy) {
        let allowed = policy.allowed_tools.iter().flatten().enumerate();
        let disallowed = policy.disallowed_tools.iter().enumerate();
        let all = allowed
            .map(|(index, tool)| (tool, Place::AllowedTool(name.clone(), index)))
            .chain(
                disallowed.map(|(index, tool)| (tool, Place::DisallowedTool(name.clone(), index))),
            );
        for (tool, place) in all.filter(|(tool, _)| !tools::may_exist(tool)) {
            if let Some((called, inside)) = rule_of_a_client(tool) {
                self.rule_of_a_client(name, place, tool, (called, inside));
                continue;
            }
            let near = nearest(tool, known_tools())
                .map(|near| format!(": did you mean `{near}`?"))
                .unwrap_or_default();
            self.warning(
                FindingCode::UnknownTool,
                place,
                format!("no known client has a tool `{tool}`{near}"),
                "tools of MCP servers are named `mcp__SERVER__TOOL`",
            );
        }
    }

    /// Says where the inside of a rule such as `Bash(npm test)` belongs.
    fn rule_of_a_client(
        &mut self,
        name: &StateName,
        place: Place,
        tool: &str,
        (called, inside): (&str, &str),
    ) {
        let disallows = matches!(place, Place::DisallowedTool(..));
        if !all_names("Bash").contains(&called) {
            self.warning(
                FindingCode::UnknownTool,
                place,
                format!("`{tool}` names no tool: a list of tools contains only names, such as `{called}`"),
                "`max_files_per_state`, `max_edit_lines` and interrupts limit which files may change, not the name of a tool",
            );
            return;
        }
        let command = inside.trim_end_matches([':', '*', ' ']);
        let help = if disallows {
            format!(
                "list what may run instead: `allowed_commands` of `{name}`, beside `{called}` in `allowed_tools`"
            )
        } else if command.is_empty() {
            format!("write `allowed_tools: [{called}]`")
        } else {
            format!("write `allowed_tools: [{called}]` and `allowed_commands: [{command}]`")
        };
        self.error(
            FindingCode::MisplacedCommand,
            place,
            format!("`{tool}` is not the name of a tool: the commands of a shell belong in `allowed_commands`"),
            &help,
        );
    }

    fn useless_commands(&mut self, name: &StateName, policy: &Policy) {
        if policy.stance() != Stance::NoWrite {
            return;
        }
        for (index, entry) in policy.allowed_commands.iter().flatten().enumerate() {
            let program = entry.words.first().map_or("", String::as_str);
            let program = program.rsplit('/').next().unwrap_or(program);
            if WRITING_PROGRAMS.contains(&program) {
                self.warning(
                    FindingCode::UselessCommand,
                    Place::AllowedCommand(name.clone(), index),
                    format!("`{program}` writes or removes files, but `{name}` allows no tool that writes: the command is refused nevertheless"),
                    "allow a writing tool such as `Edit`, or remove the entry",
                );
            }
        }
    }
}

/// Splits a rule as clients write them, `TOOL(WHAT)`.
fn rule_of_a_client(tool: &str) -> Option<(&str, &str)> {
    let (called, inside) = tool.strip_suffix(')')?.split_once('(')?;
    (!called.is_empty()).then_some((called, inside))
}
