//! The tables of protected things. No logic.

/// Where a row counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    /// Any directory: a project may lie in another.
    Any,
    /// The person's home directory.
    Home,
    /// The root of the file system.
    Root,
}

/// One protected file or directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Where it counts from.
    pub(super) under: Under,
    /// Its names, one below the other, in lower case; `*` ends the last one.
    pub(super) names: &'static [&'static str],
    /// Names directly below it that are not protected.
    pub(super) but: &'static [&'static str],
    /// Whether everything below it is meant.
    pub(super) deep: bool,
    /// What it is.
    pub(super) what: &'static str,
}

const fn tree(under: Under, names: &'static [&'static str], what: &'static str) -> Row {
    Row {
        under,
        names,
        but: &[],
        deep: true,
        what,
    }
}

const fn file(under: Under, names: &'static [&'static str], what: &'static str) -> Row {
    Row {
        under,
        names,
        but: &[],
        deep: false,
        what,
    }
}

const OWN: &str = "Interlock's files";
const CLIENT: &str = "settings of a client";
const HOOKS: &str = "version control that runs code";
const EDITOR: &str = "runs code later";
const SHELL: &str = "a start-up file of a shell";
const PERSON: &str = "the person's own";

/// Every protected file and directory, but for those whose place is a setting.
pub(super) const FILES: &[Row] = &[
    tree(Under::Any, &[".interlock"], OWN),
    Row {
        under: Under::Any,
        names: &[".claude"],
        but: &["plans", "worktrees"],
        deep: true,
        what: CLIENT,
    },
    file(Under::Any, &[".claude.json"], CLIENT),
    file(Under::Any, &[".mcp.json"], CLIENT),
    tree(Under::Any, &[".codex"], CLIENT),
    tree(Under::Any, &[".gemini"], CLIENT),
    file(Under::Any, &[".cursor", "hooks.json"], CLIENT),
    file(Under::Any, &[".cursor", "mcp.json"], CLIENT),
    file(Under::Any, &["opencode.json*"], CLIENT),
    tree(Under::Any, &[".opencode"], CLIENT),
    tree(Under::Any, &[".github", "hooks"], CLIENT),
    tree(Under::Any, &[".copilot"], CLIENT),
    tree(Under::Home, &[".config", "opencode"], CLIENT),
    tree(Under::Home, &[".config", "github-copilot"], CLIENT),
    tree(Under::Root, &["etc", "claude-code"], CLIENT),
    tree(Under::Root, &["etc", "codex"], CLIENT),
    tree(Under::Root, &["etc", "gemini-cli"], CLIENT),
    tree(Under::Root, &["etc", "cursor"], CLIENT),
    tree(Under::Root, &["etc", "opencode"], CLIENT),
    tree(Under::Root, &["etc", "interlock"], OWN),
    tree(
        Under::Root,
        &["library", "application support", "claudecode"],
        CLIENT,
    ),
    tree(
        Under::Root,
        &["library", "application support", "geminicli"],
        CLIENT,
    ),
    tree(
        Under::Root,
        &["library", "application support", "cursor"],
        CLIENT,
    ),
    tree(Under::Root, &["library", "managed preferences"], CLIENT),
    tree(Under::Any, &[".git", "hooks"], HOOKS),
    file(Under::Any, &[".git", "config"], HOOKS),
    file(Under::Any, &[".git", "config.worktree"], HOOKS),
    tree(Under::Any, &[".git", "info"], HOOKS),
    tree(Under::Any, &[".git", "modules"], HOOKS),
    file(Under::Any, &[".envrc"], EDITOR),
    tree(Under::Any, &[".vscode"], EDITOR),
    tree(Under::Any, &[".idea"], EDITOR),
    file(Under::Home, &[".bashrc"], SHELL),
    file(Under::Home, &[".bash_profile"], SHELL),
    file(Under::Home, &[".bash_login"], SHELL),
    file(Under::Home, &[".bash_logout"], SHELL),
    file(Under::Home, &[".bash_aliases"], SHELL),
    file(Under::Home, &[".profile"], SHELL),
    file(Under::Home, &[".inputrc"], SHELL),
    file(Under::Home, &[".zshrc"], SHELL),
    file(Under::Home, &[".zshenv"], SHELL),
    file(Under::Home, &[".zprofile"], SHELL),
    file(Under::Home, &[".zlogin"], SHELL),
    file(Under::Home, &[".zlogout"], SHELL),
    file(Under::Home, &[".kshrc"], SHELL),
    file(Under::Home, &[".mkshrc"], SHELL),
    file(Under::Home, &[".cshrc"], SHELL),
    file(Under::Home, &[".tcshrc"], SHELL),
    file(Under::Home, &[".login"], SHELL),
    file(Under::Home, &[".pam_environment"], SHELL),
    tree(Under::Home, &[".config", "fish"], SHELL),
    tree(Under::Home, &[".config", "environment.d"], SHELL),
    tree(Under::Home, &[".config", "systemd"], PERSON),
    tree(Under::Home, &[".config", "autostart"], PERSON),
    tree(Under::Home, &[".ssh"], PERSON),
    file(Under::Home, &[".gitconfig"], PERSON),
    tree(Under::Home, &[".config", "git"], PERSON),
];

/// The name of Interlock's own command.
pub(super) const PROGRAM: &str = "interlock";

/// First words after it that only report.
pub(super) const REPORTS: &[&str] = &[
    "status",
    "list",
    "log",
    "check",
    "graph",
    "explain",
    "simulate",
    "test",
    "--version",
    "-V",
    "--help",
    "-h",
];

/// First words after it that do more: what is looked for where only text is known.
pub(super) const ACTS: &[&str] = &[
    "approve", "cancel", "convert", "demo", "doctor", "exec", "gateway", "hook", "init", "pause",
    "reject", "resume", "run", "schema", "send", "serve", "start", "token", "watch",
];

/// Names of the programs of clients.
pub(super) const CLIENTS: &[&str] = &[
    "claude",
    "codex",
    "gemini",
    "copilot",
    "cursor",
    "cursor-agent",
    "opencode",
];

/// First words of a client's program that change its settings or what guards it.
pub(super) const CLIENT_SETTINGS: &[&str] = &[
    "config",
    "mcp",
    "plugin",
    "plugins",
    "hooks",
    "settings",
    "install",
    "update",
    "extensions",
    "features",
    "setup-token",
];

/// Options of a client's program that switch off what guards it.
pub(super) const CLIENT_OPTIONS: &[&str] = &[
    "--settings",
    "--setting-sources",
    "--mcp-config",
    "--bare",
    "--safe-mode",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--yolo",
    "--allow-all-tools",
];

/// Version control commands that bring files of the work tree back or take them away.
pub(super) const RESTORERS: &[&str] = &[
    "checkout",
    "restore",
    "stash",
    "clean",
    "apply",
    "am",
    "rm",
    "mv",
    "reset",
    "switch",
    "checkout-index",
    "update-index",
    "sparse-checkout",
];

/// Keys of the version control configuration that run nothing; `*` is one part.
pub(super) const CONFIG_KEYS: &[&str] = &[
    "user.*",
    "color.*",
    "color.*.*",
    "branch.*",
    "branch.*.*",
    "pull.*",
    "push.*",
    "remote.*.url",
];

/// Parts of a tool's name that say it only reads.
pub(super) const READERS: &[&str] = &[
    "read", "get", "list", "search", "view", "find", "grep", "glob", "fetch", "stat", "tree",
    "info", "show", "describe", "query", "open",
];

/// Programs that send signals by name.
pub(super) const SIGNALLERS: &[&str] = &["pkill", "killall", "killall5", "skill", "snice"];
