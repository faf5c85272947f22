//! Tables of protected files and commands. No logic.

use super::list::{Compared, Part};

/// Base directory of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    /// Any directory: a project may lie in another.
    Any,
    /// The person's home directory.
    Home,
    /// The person's configuration directory: `$XDG_CONFIG_HOME`, or `.config` in home.
    Config,
    /// The root of the file system.
    Root,
}

/// One protected file or directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Base directory.
    pub(super) under: Under,
    /// Path components in lower case; the last one may end with `*`.
    pub(super) names: &'static [&'static str],
    /// Names directly below it that are not protected.
    pub(super) but: &'static [&'static str],
    /// Whether everything below it is included.
    pub(super) deep: bool,
    /// Description for people.
    pub(super) what: &'static str,
    /// How it is compared with the run's start.
    pub(super) compared: Compared,
    /// Whether a person's `[protect] allow` may open it.
    pub(super) opens: bool,
}

const fn tree(under: Under, names: &'static [&'static str], what: &'static str) -> Row {
    Row {
        under,
        names,
        but: &[],
        deep: true,
        what,
        compared: Compared::Whole,
        opens: false,
    }
}

const fn file(under: Under, names: &'static [&'static str], what: &'static str) -> Row {
    Row {
        deep: false,
        ..tree(under, names, what)
    }
}

/// Creates a row for a file below the root that the system itself runs and changes.
const fn machine(names: &'static [&'static str]) -> Row {
    tree(Under::Root, names, MACHINE).by(Compared::Not).open()
}

impl Row {
    const fn but(self, but: &'static [&'static str]) -> Self {
        Self { but, ..self }
    }

    const fn by(self, compared: Compared) -> Self {
        Self { compared, ..self }
    }

    /// Lets a person's configuration open the row.
    const fn open(self) -> Self {
        Self {
            opens: true,
            ..self
        }
    }
}

const OWN: &str = "Interlock's files";
const CLIENT: &str = "settings of a client";
const HOOKS: &str = "version control that runs code";
const EDITOR: &str = "runs code later";
const SHELL: &str = "a start-up file of a shell";
const BUILD: &str = "chooses programs of builds";
const PERSON: &str = "the person's own";
const MACHINE: &str = "what the machine runs by itself";

const fn part(name: &'static str, compared: Compared) -> Part {
    Part { name, compared }
}

/// Compared parts of `.claude`: the rest are transcripts, caches and notes.
const CLAUDE: Compared = Compared::Parts(&[
    part("settings.json", Compared::Settings),
    part("settings.local.json", Compared::Settings),
    part("hooks", Compared::Whole),
    part("commands", Compared::Whole),
    part("agents", Compared::Whole),
    part("skills", Compared::Whole),
    part("plugins/config.json", Compared::Whole),
    part("plugins/installed_plugins.json", Compared::Whole),
    part("dev-mods", Compared::Whole),
    part("keybindings.json", Compared::Whole),
]);
const CODEX: Compared = Compared::Parts(&[
    part("config.toml", Compared::Toml),
    part("hooks.json", Compared::Whole),
    part("hooks", Compared::Whole),
    part("prompts", Compared::Whole),
    part("skills", Compared::Whole),
    part("rules", Compared::Whole),
    part("plugins", Compared::Whole),
]);
const GEMINI: Compared = Compared::Parts(&[
    part("settings.json", Compared::Settings),
    part("hooks", Compared::Whole),
    part("commands", Compared::Whole),
    part("extensions", Compared::Whole),
    part("policies", Compared::Whole),
    part(".env", Compared::Whole),
]);
const OPENCODE: Compared = Compared::Parts(&[
    part("opencode.json", Compared::Whole),
    part("opencode.jsonc", Compared::Whole),
    part("command", Compared::Whole),
    part("commands", Compared::Whole),
    part("agent", Compared::Whole),
    part("agents", Compared::Whole),
    part("plugin", Compared::Whole),
    part("plugins", Compared::Whole),
    part("tool", Compared::Whole),
    part("tools", Compared::Whole),
]);
const COPILOT: Compared = Compared::Parts(&[
    part("config.json", Compared::Settings),
    part("settings.json", Compared::Settings),
    part("mcp-config.json", Compared::Whole),
    part("hooks", Compared::Whole),
    part("agents", Compared::Whole),
    part("plugins", Compared::Whole),
    part("installed-plugins", Compared::Whole),
    part("extensions", Compared::Whole),
]);
const VSCODE: Compared = Compared::Parts(&[
    part("tasks.json", Compared::Whole),
    part("launch.json", Compared::Whole),
    part("settings.json", Compared::Whole),
    part("mcp.json", Compared::Whole),
]);
const IDEA: Compared = Compared::Parts(&[
    part("runConfigurations", Compared::Whole),
    part("watcherTasks.xml", Compared::Whole),
]);
const FISH: Compared = Compared::Parts(&[
    part("config.fish", Compared::Whole),
    part("conf.d", Compared::Whole),
    part("functions", Compared::Whole),
]);
/// Compared parts of an editor's directory: the rest are plugins and caches.
const VIM: Compared = Compared::Parts(&[
    part("vimrc", Compared::Whole),
    part("init.vim", Compared::Whole),
    part("init.lua", Compared::Whole),
    part("plugin", Compared::Whole),
]);
const EMACS: Compared = Compared::Parts(&[
    part("init.el", Compared::Whole),
    part("early-init.el", Compared::Whole),
]);
const TMUX: Compared = Compared::Parts(&[part("tmux.conf", Compared::Whole)]);
const SSH: Compared = Compared::Parts(&[
    part("config", Compared::Whole),
    part("authorized_keys", Compared::Whole),
    part("rc", Compared::Whole),
    part("environment", Compared::Whole),
]);
const GIT_INFO: Compared = Compared::Parts(&[
    part("exclude", Compared::Lines),
    part("attributes", Compared::Lines),
]);

/// Every protected file and directory, except those located by a setting.
pub(super) const FILES: &[Row] = &[
    tree(Under::Any, &[".interlock"], OWN),
    tree(Under::Root, &["etc", "interlock"], OWN),
    tree(Under::Config, &["interlock-held"], OWN).by(Compared::Not),
    // Clients.
    tree(Under::Any, &[".claude"], CLIENT)
        .but(&["plans", "worktrees"])
        .by(CLAUDE),
    file(Under::Any, &[".claude.json"], CLIENT).by(Compared::Settings),
    file(Under::Any, &[".mcp.json"], CLIENT),
    tree(Under::Any, &[".codex"], CLIENT).by(CODEX),
    tree(Under::Any, &[".gemini"], CLIENT).by(GEMINI),
    // Already inside the directory; a variable puts files with this name elsewhere.
    file(Under::Any, &[".gemini", "settings.json"], CLIENT).by(Compared::Not),
    file(Under::Any, &[".cursor", "hooks.json"], CLIENT),
    file(Under::Any, &[".cursor", "mcp.json"], CLIENT),
    file(Under::Any, &[".cursor", "cli.json"], CLIENT),
    // Cursor's own program writes to it, too.
    file(Under::Any, &[".cursor", "cli-config.json"], CLIENT).by(Compared::Not),
    file(Under::Any, &["opencode.json*"], CLIENT),
    tree(Under::Any, &[".opencode"], CLIENT).by(OPENCODE),
    tree(Under::Any, &[".github", "hooks"], CLIENT),
    tree(Under::Any, &[".github", "copilot"], CLIENT),
    tree(Under::Any, &[".github", "extensions"], CLIENT),
    file(Under::Any, &[".github", "mcp.json"], CLIENT),
    tree(Under::Any, &[".copilot"], CLIENT).by(COPILOT),
    tree(Under::Config, &["opencode"], CLIENT).by(OPENCODE),
    // Fetched packages of plugins, and catalogues from which plugins are updated; the clients change them.
    tree(Under::Home, &[".cache", "opencode"], CLIENT).by(Compared::Not),
    tree(Under::Home, &[".cache", "copilot"], CLIENT).by(Compared::Not),
    tree(Under::Config, &["github-copilot"], CLIENT).by(COPILOT),
    tree(Under::Root, &["etc", "claude-code"], CLIENT),
    tree(Under::Root, &["etc", "codex"], CLIENT),
    tree(Under::Root, &["etc", "gemini-cli"], CLIENT),
    tree(Under::Root, &["etc", "cursor"], CLIENT),
    tree(Under::Root, &["etc", "opencode"], CLIENT),
    tree(Under::Root, &["etc", "copilot"], CLIENT),
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
    tree(
        Under::Root,
        &["library", "application support", "opencode"],
        CLIENT,
    ),
    tree(Under::Root, &["library", "managed preferences"], CLIENT),
    // Version control.
    tree(Under::Any, &[".git", "hooks"], HOOKS).open(),
    file(Under::Any, &[".git", "config"], HOOKS)
        .by(Compared::Git)
        .open(),
    file(Under::Any, &[".git", "config.worktree"], HOOKS)
        .by(Compared::Git)
        .open(),
    tree(Under::Any, &[".git", "info"], HOOKS)
        .by(GIT_INFO)
        .open(),
    tree(Under::Any, &[".git", "modules"], HOOKS)
        .by(Compared::Not)
        .open(),
    file(Under::Home, &[".gitconfig"], PERSON)
        .by(Compared::Git)
        .open(),
    tree(Under::Config, &["git"], PERSON).open(),
    file(Under::Root, &["etc", "gitconfig"], PERSON)
        .by(Compared::Git)
        .open(),
    // Editors.
    file(Under::Any, &[".envrc"], EDITOR).open(),
    tree(Under::Any, &[".vscode"], EDITOR).by(VSCODE).open(),
    tree(Under::Any, &[".idea"], EDITOR).by(IDEA).open(),
    file(Under::Any, &[".devcontainer.json"], EDITOR).open(),
    file(Under::Any, &[".devcontainer", "devcontainer.json"], EDITOR).open(),
    file(Under::Any, &[".exrc"], EDITOR).open(),
    file(Under::Any, &[".nvimrc"], EDITOR).open(),
    file(Under::Any, &[".nvim.lua"], EDITOR).open(),
    file(Under::Any, &[".dir-locals.el"], EDITOR).open(),
    file(Under::Any, &[".gdbinit"], EDITOR).open(),
    file(Under::Any, &[".lldbinit"], EDITOR).open(),
    file(Under::Home, &[".vimrc"], EDITOR).open(),
    file(Under::Home, &[".gvimrc"], EDITOR).open(),
    tree(Under::Home, &[".vim"], EDITOR).by(VIM).open(),
    tree(Under::Config, &["nvim"], EDITOR).by(VIM).open(),
    file(Under::Home, &[".emacs"], EDITOR).open(),
    tree(Under::Home, &[".emacs.d"], EDITOR).by(EMACS).open(),
    tree(Under::Config, &["emacs"], EDITOR).by(EMACS).open(),
    // Files from which package managers and builds choose programs.
    file(Under::Any, &[".npmrc"], BUILD).open(),
    file(Under::Any, &[".pnpmfile.cjs"], BUILD).open(),
    file(Under::Any, &[".pnpmfile.mjs"], BUILD).open(),
    file(Under::Any, &[".yarnrc"], BUILD).open(),
    file(Under::Any, &[".yarnrc.yml"], BUILD).open(),
    file(Under::Any, &[".cargo", "config"], BUILD).open(),
    file(Under::Any, &[".cargo", "config.toml"], BUILD).open(),
    file(Under::Any, &[".mvn", "jvm.config"], BUILD).open(),
    file(Under::Any, &[".mvn", "maven.config"], BUILD).open(),
    file(Under::Any, &[".mvn", "extensions.xml"], BUILD).open(),
    // Each installation of packages creates `_` anew.
    tree(Under::Any, &[".husky"], HOOKS).but(&["_"]).open(),
    file(Under::Home, &[".bunfig.toml"], BUILD).open(),
    file(Under::Home, &[".bazelrc"], BUILD).open(),
    tree(Under::Home, &[".gradle", "init.d"], BUILD).open(),
    file(Under::Home, &[".gradle", "init.gradle"], BUILD).open(),
    file(Under::Home, &[".gradle", "init.gradle.kts"], BUILD).open(),
    file(Under::Home, &[".gradle", "gradle.properties"], BUILD).open(),
    file(Under::Home, &[".m2", "settings.xml"], BUILD).open(),
    file(Under::Home, &[".m2", "extensions.xml"], BUILD).open(),
    file(Under::Home, &[".mavenrc"], BUILD).open(),
    file(Under::Home, &[".pip", "pip.conf"], BUILD).open(),
    tree(Under::Config, &["pip"], BUILD).open(),
    // Programs that terminals and pagers run when they start.
    file(Under::Home, &[".tmux.conf"], PERSON).open(),
    tree(Under::Config, &["tmux"], PERSON).by(TMUX).open(),
    file(Under::Home, &[".screenrc"], PERSON).open(),
    file(Under::Home, &[".curlrc"], PERSON).open(),
    file(Under::Home, &[".wgetrc"], PERSON).open(),
    file(Under::Home, &[".lesskey"], PERSON).open(),
    file(Under::Home, &[".psqlrc"], PERSON).open(),
    file(Under::Home, &[".sqliterc"], PERSON).open(),
    file(Under::Home, &[".irbrc"], PERSON).open(),
    file(Under::Home, &[".pryrc"], PERSON).open(),
    file(Under::Any, &[".rprofile"], PERSON).open(),
    // Every file that a shell reads when it starts or ends.
    file(Under::Home, &[".bashrc"], SHELL).open(),
    file(Under::Home, &[".bash_profile"], SHELL).open(),
    file(Under::Home, &[".bash_login"], SHELL).open(),
    file(Under::Home, &[".bash_logout"], SHELL).open(),
    file(Under::Home, &[".bash_aliases"], SHELL).open(),
    file(Under::Home, &[".profile"], SHELL).open(),
    file(Under::Home, &[".inputrc"], SHELL).open(),
    file(Under::Home, &[".zshrc"], SHELL).open(),
    file(Under::Home, &[".zshenv"], SHELL).open(),
    file(Under::Home, &[".zprofile"], SHELL).open(),
    file(Under::Home, &[".zlogin"], SHELL).open(),
    file(Under::Home, &[".zlogout"], SHELL).open(),
    file(Under::Home, &[".kshrc"], SHELL).open(),
    file(Under::Home, &[".mkshrc"], SHELL).open(),
    file(Under::Home, &[".shrc"], SHELL).open(),
    file(Under::Home, &[".shinit"], SHELL).open(),
    file(Under::Home, &[".cshrc"], SHELL).open(),
    file(Under::Home, &[".tcshrc"], SHELL).open(),
    file(Under::Home, &[".login"], SHELL).open(),
    file(Under::Home, &[".logout"], SHELL).open(),
    file(Under::Home, &[".xprofile"], SHELL).open(),
    file(Under::Home, &[".xsessionrc"], SHELL).open(),
    file(Under::Home, &[".pam_environment"], SHELL).open(),
    tree(Under::Config, &["fish"], SHELL).by(FISH).open(),
    tree(Under::Config, &["zsh"], SHELL).open(),
    tree(Under::Config, &["environment.d"], SHELL).open(),
    file(Under::Root, &["etc", "profile"], SHELL).open(),
    tree(Under::Root, &["etc", "profile.d"], SHELL).open(),
    file(Under::Root, &["etc", "bash.bashrc"], SHELL).open(),
    file(Under::Root, &["etc", "bashrc"], SHELL).open(),
    file(Under::Root, &["etc", "inputrc"], SHELL).open(),
    file(Under::Root, &["etc", "environment"], SHELL).open(),
    tree(Under::Root, &["etc", "zsh"], SHELL).open(),
    file(Under::Root, &["etc", "zshenv"], SHELL).open(),
    file(Under::Root, &["etc", "zprofile"], SHELL).open(),
    file(Under::Root, &["etc", "zshrc"], SHELL).open(),
    file(Under::Root, &["etc", "zlogin"], SHELL).open(),
    tree(Under::Root, &["etc", "fish"], SHELL).open(),
    file(Under::Root, &["etc", "csh.cshrc"], SHELL).open(),
    file(Under::Root, &["etc", "csh.login"], SHELL).open(),
    file(Under::Root, &["etc", "ld.so.preload"], SHELL).open(),
    // The person's session.
    tree(Under::Config, &["systemd"], PERSON).open(),
    tree(Under::Config, &["autostart"], PERSON).open(),
    tree(Under::Home, &[".ssh"], PERSON).by(SSH).open(),
    tree(Under::Home, &["library", "launchagents"], PERSON).open(),
    // The system starts and maintains these itself.
    machine(&["etc", "crontab"]),
    machine(&["etc", "anacrontab"]),
    machine(&["etc", "cron.d"]),
    machine(&["etc", "cron.hourly"]),
    machine(&["etc", "cron.daily"]),
    machine(&["etc", "cron.weekly"]),
    machine(&["etc", "cron.monthly"]),
    machine(&["var", "spool", "cron"]),
    machine(&["var", "spool", "at"]),
    machine(&["etc", "systemd"]),
    machine(&["etc", "init.d"]),
    machine(&["etc", "rc.local"]),
    machine(&["etc", "udev"]),
    machine(&["etc", "pam.d"]),
    machine(&["etc", "sudoers"]),
    machine(&["etc", "sudoers.d"]),
    machine(&["etc", "ld.so.conf"]),
    machine(&["etc", "ld.so.conf.d"]),
    machine(&["library", "launchagents"]),
    machine(&["library", "launchdaemons"]),
];

/// Name of Interlock's own command.
pub(super) const PROGRAM: &str = "interlock";
/// Names of the programs behind `interlock shared` and `interlock worker`.
pub(super) const BESIDE: &[&str] = &["interlock-shared", "interlock-worker"];

/// Prefixes of the names of packages that contain Interlock or a plugin of it.
pub(super) const OWN_PACKAGES: &[&str] = &["@interlock-cli/"];

/// Programs that install packages, and so can replace or remove them.
pub(super) const INSTALLERS: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "cargo", "brew", "apt", "apt-get", "aptitude", "dpkg", "dnf",
    "yum", "rpm", "pacman", "apk", "nix", "nix-env", "snap", "port",
];

/// Subcommands of them that only report.
pub(super) const INSTALLER_REPORTS: &[&str] = &[
    "ls",
    "list",
    "view",
    "info",
    "show",
    "search",
    "why",
    "outdated",
    "policy",
    "explain",
    "help",
    "test",
    "run",
    "build",
    "check",
    "clippy",
    "metadata",
    "tree",
    "--version",
    "--help",
];

/// Subcommands of Interlock that only report.
pub(super) const REPORTS: &[&str] = &[
    "status",
    "list",
    "log",
    "check",
    "graph",
    "explain",
    "simulate",
    "test",
    "verify",
    "--version",
    "-V",
    "--help",
    "-h",
];

/// Subcommands that do more; they are searched for in unparsed text.
pub(super) const ACTS: &[&str] = &[
    "approve",
    "attest",
    "cancel",
    "console",
    "convert",
    "demo",
    "doctor",
    "edit",
    "exec",
    "fs",
    "gateway",
    "hook",
    "init",
    "pause",
    "reject",
    "resume",
    "run",
    "schema",
    "send",
    "serve",
    "shared",
    "start",
    "telemetry",
    "token",
    "tools",
    "watch",
    "worker",
];

/// Subcommands among them that only a person may use.
pub(super) const ANSWERS: &[&str] = &[
    "approve", "attest", "reject", "resume", "cancel", "token", "tools",
];

/// Names of clients' programs.
pub(super) const CLIENTS: &[&str] = &[
    "claude",
    "codex",
    "gemini",
    "copilot",
    "cursor",
    "cursor-agent",
    "opencode",
];

/// Parts of the names of packages that contain a client.
pub(super) const CLIENT_PACKAGES: &[&str] = &[
    "anthropic-ai/claude-code",
    "openai/codex",
    "google/gemini-cli",
    "github/copilot",
    "claude-code/cli.js",
    "opencode-ai",
];

/// Variables that make a client read other settings; `*` matches any ending.
pub(super) const CLIENT_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "XDG_*",
    "CLAUDE_*",
    "CLAUDECODE",
    "ANTHROPIC_*",
    "CODEX_*",
    "GEMINI_*",
    "COPILOT_*",
    "OPENCODE_*",
    "CURSOR_*",
    "NODE_OPTIONS",
    "LD_*",
];

/// Subcommands of a client that change its settings or what guards it.
pub(super) const CLIENT_SETTINGS: &[&str] = &[
    "config",
    "mcp",
    "plugin",
    "plugins",
    "plug",
    "hooks",
    "settings",
    "install",
    "uninstall",
    "update",
    "upgrade",
    "extensions",
    "extension",
    "features",
    "setup-token",
    "migrate-installer",
    // A server that changes settings on request.
    "app-server",
    "remote-control",
];

/// Further words that only report.
pub(super) const CLIENT_REPORTS: &[&str] = &["list", "ls", "get", "show", "help", "status"];

/// Options of a client that disable what guards it.
pub(super) const CLIENT_OPTIONS: &[&str] = &[
    "--settings",
    "--setting-sources",
    "--mcp-config",
    "--strict-mcp-config",
    "--plugin-dir",
    "--plugin-dir-no-mcp",
    "--plugin-url",
    "--extensions",
    "--additional-mcp-config",
    "--bare",
    "--safe-mode",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--permission-prompt-tool",
    "--yolo",
    "--full-auto",
    "--allow-all-tools",
    "--allow-all-paths",
    "--allow-all",
    "--approval-mode",
    "--config",
    "--enable",
    "--disable",
    "--profile",
    "--ignore-user-config",
    "--pure",
    "--skip-trust",
    "--trust-folder",
    "--extension-sdk-path",
];

/// Short options with the same effect, by program.
pub(super) const CLIENT_SHORT_OPTIONS: &[(&str, &[&str])] = &[
    ("cursor-agent", &["-f", "--force"]),
    ("gemini", &["-y", "-e"]),
    ("gemini-cli", &["-y", "-e"]),
];

/// Values of a client's options with the same effect.
pub(super) const CLIENT_VALUES: &[&str] = &["bypassPermissions", "danger-full-access"];

/// Git commands that restore or remove files of the work tree.
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
    "clone",
    "init",
    "submodule",
    "worktree",
    "archive",
    "bundle",
    "format-patch",
    "merge-file",
    "fast-export",
    "read-tree",
    "difftool",
    "mergetool",
];

/// Those that affect all files of the work tree if they name none.
pub(super) const RESTORE_ALL: &[&str] = &[
    "checkout",
    "restore",
    "stash",
    "reset",
    "switch",
    "checkout-index",
];

/// Words after a subcommand that only report.
pub(super) const GIT_REPORTS: &[&str] =
    &["list", "show", "status", "verify", "list-heads", "summary"];

/// Configuration keys of git that run nothing; `*` is one part.
pub const CONFIG_KEYS: &[&str] = &[
    "user.*",
    "color.*",
    "color.*.*",
    "branch.*",
    "branch.*.*",
    "pull.*",
    "push.*",
    "remote.*.url",
];

/// Parts of a tool's name that suggest that it only reads.
pub(super) const READERS: &[&str] = &[
    "read", "get", "list", "search", "view", "find", "grep", "glob", "fetch", "stat", "tree",
    "info", "show", "describe", "query", "open",
];

/// Programs that list processes.
pub(super) const PROCESS_LISTERS: &[&str] =
    &["ps", "pgrep", "pidof", "pidwait", "top", "lsof", "fuser"];

/// Programs that send signals by name.
pub(super) const SIGNALLERS: &[&str] = &["pkill", "killall", "killall5", "skill", "snice"];
