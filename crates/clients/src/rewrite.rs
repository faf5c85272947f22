//! Whether an allowed shell line goes through `interlock exec`, and what the client is told then.
//!
//! INVARIANT: rewriting never widens what the client would have asked.

use std::path::PathBuf;

use interlock_core::{Hold, policy::Stance};

use crate::{
    claude_code::{
        Input, Mode,
        rules::{Effect, Rules, Settings},
    },
    hook::HookSetting,
    session::Guarded,
};

/// The settings that whoever manages the machine gives the client.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// What becomes of an allowed shell line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewriting {
    /// It stays as it is.
    Keep,
    /// `interlock exec` carries it, and the client asks nobody.
    Allow,
    /// `interlock exec` carries it, once the client's person says yes.
    Ask,
}

/// Tells whether a person answers what the client asks.
///
/// A client that runs without a person says so in its own variables.
pub(crate) fn is_attended(setting: &HookSetting, input: &Input) -> bool {
    let variable = |name: &str| setting.variable(name);
    let alone = match variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref() {
        Some("0") => true,
        Some(_) => false,
        // Older versions name only how they were entered: `cli`, or `sdk-cli` for `-p`.
        None => variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry.starts_with("sdk")),
    };
    input.mode.asks() && !alone
}

/// Decides what becomes of a line that is held as `hold` says.
pub(crate) fn rewriting(
    setting: &HookSetting,
    input: &Input,
    hold: &Hold<'_>,
    rules: Option<Effect>,
) -> Rewriting {
    let free = hold.stance == Stance::Free && hold.policy.env_overrides.is_empty();
    if setting.program.is_none() || hold.nothing || free {
        return Rewriting::Keep;
    }
    let ask = if is_attended(setting, input) {
        Rewriting::Ask
    } else {
        Rewriting::Keep
    };
    match (rules, input.mode) {
        // The client refuses or asks by the line as it is, which a rewritten one would hide.
        (Some(Effect::Deny), _) => Rewriting::Keep,
        (Some(Effect::Ask), _) => ask,
        (_, Mode::Bypass) => Rewriting::Allow,
        // There the client lets lines pass by reading them itself, whatever a hook allows.
        (_, Mode::Plan) if hold.reads => Rewriting::Keep,
        (_, Mode::Plan) => ask,
        // Nobody would have been asked about the line as it is.
        (Some(Effect::Allow), _) => Rewriting::Allow,
        (None, _) if hold.reads || !hold.listed.is_empty() => Rewriting::Allow,
        (None, _) => ask,
    }
}

/// Reads the client's own rules about shell lines.
pub(crate) fn rules(setting: &HookSetting, guarded: &Guarded, attended: bool) -> Rules {
    let directory = |name: &str| setting.variable(name).map(PathBuf::from);
    let own = directory("CLAUDE_CONFIG_DIR")
        .or_else(|| directory("HOME").map(|home| home.join(".claude")));
    let project = directory("CLAUDE_PROJECT_DIR")
        .unwrap_or_else(|| guarded.binding.project_root.clone())
        .join(".claude");
    let own = own.map(|own| (own.join("settings.json"), true));
    // A client at which a person sits has asked them whether they trust the folder.
    let of_project =
        ["settings.json", "settings.local.json"].map(|name| (project.join(name), attended));
    let managed = MANAGED.map(|path| (PathBuf::from(path), true));
    let files: Vec<Settings> = own
        .into_iter()
        .chain(of_project)
        .chain(managed)
        .map(|(path, may_allow)| Settings { path, may_allow })
        .collect();
    Rules::read(&files)
}
