//! The protected files, and similar ones that are not protected.

use interlock_core::{call::ToolCall, names::CallId};
use interlock_facts::{
    CallContext, CallSite, EditFields, GivenDisk, Proposal, Shape, facts, protected_paths,
};
use interlock_shell::Dialect;
use serde_json::{Value, json};

const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: None,
    environment: None,
};
const WRITE: Shape = Shape::Write {
    path: "file_path",
    content: "content",
};
const READ: Shape = Shape::Read {
    paths: &["file_path"],
};

fn context() -> CallContext {
    CallContext {
        home: Some("/home/you".to_owned()),
        user: Some("you".to_owned()),
        temporary: Some("/tmp".to_owned()),
        state_directory: Some("/home/you/.local/state/interlock".to_owned()),
        config_directory: Some("/home/you/.config/interlock".to_owned()),
        programs: vec!["/opt/interlock/bin/interlock".to_owned()],
        site: CallSite {
            pid: Some(4242),
            ..CallSite::at("/p")
        },
        ..CallContext::of_project("/p")
    }
}

fn disk() -> GivenDisk {
    GivenDisk::empty()
        .with("/p", ".claude/settings.json", "{}")
        .with("/p", "tools/.vscode/tasks.json", "{}")
        .with("/p", "src/a.rs", "")
        .with("/home/you", ".local/state/interlock/runs/1/run.db", "")
}

fn found(tool: &str, shape: Shape, input: &Value) -> ToolCall {
    found_in(&context(), tool, shape, input)
}

fn found_in(context: &CallContext, tool: &str, shape: Shape, input: &Value) -> ToolCall {
    let proposal = Proposal {
        id: CallId::from("1"),
        tool,
        common: None,
        shape,
        input,
        doubled: None,
        agent: None,
        branch: None,
    };
    facts(proposal, context, &disk())
}

fn in_line(line: &str) -> Option<String> {
    found("Bash", SHELL, &json!({ "command": line }))
        .facts
        .protected
}

fn written(path: &str) -> Option<String> {
    let input = json!({ "file_path": path, "content": "x" });
    found("Write", WRITE, &input).facts.protected
}

#[test]
fn writing_tools_touch_no_protected_file() {
    let protected = [
        ".interlock/workflows/a.yaml",
        ".interlock/config.toml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/agents/x.md",
        ".claude/worktrees/x/.claude/settings.json",
        "./.claude//settings.json",
        "src/../.claude/settings.json",
        "/p/.claude/settings.json",
        ".CLAUDE/Settings.json",
        ".cl\u{200b}aude/settings.json",
        "file:///p/.claude/settings.json",
        "packages/a/.claude/settings.json",
        "~/.claude/settings.json",
        "~/.claude.json",
        ".mcp.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".cursor/hooks.json",
        ".cursor/mcp.json",
        "opencode.json",
        "opencode.jsonc",
        ".opencode/plugins/a.ts",
        ".github/hooks/a.json",
        ".copilot/x",
        ".git",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/info/exclude",
        "vendor/x/.git/hooks/post-checkout",
        ".envrc",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        "~/.bashrc",
        "/home/you/.zshenv",
        "~/.ssh/authorized_keys",
        "~/.gitconfig",
        "~/.config/git/config",
        "~/.config/fish/config.fish",
        "~/.config/interlock/config.toml",
        "~/.local/state/interlock/runs/1/run.db",
        "/opt/interlock/bin/interlock",
        "/etc/claude-code/managed-settings.json",
    ];
    for path in protected {
        assert!(written(path).is_some(), "{path} is not protected");
    }
}

#[test]
fn what_looks_alike_is_free() {
    let free = [
        "src/a.rs",
        ".claude/plans/a.md",
        ".claude/worktrees/x/src/a.rs",
        "claude/settings.json",
        ".claude.jsonl",
        "docs/.mcp.json.md",
        ".cursor/rules/a.mdc",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".git/COMMIT_EDITMSG",
        ".bashrc",
        "home/.ssh/config",
        ".vscodeignore",
        "interlock/a.rs",
        "myopencode.json",
        "~/.config/other/x",
    ];
    for path in free {
        assert_eq!(written(path), None, "{path}");
    }
}

#[test]
fn reading_is_free_but_for_the_state() {
    let read = |path: &str| {
        let input = json!({ "file_path": path });
        found("Read", READ, &input).facts.protected
    };
    for path in [
        ".claude/settings.json",
        ".interlock/workflows/a.yaml",
        "~/.ssh/config",
    ] {
        assert_eq!(read(path), None, "{path}");
    }
    for path in [
        "~/.local/state/interlock/runs/1/run.db",
        "/home/you/.local/state/interlock",
    ] {
        assert!(read(path).is_some(), "{path}");
    }
}

#[test]
fn shell_lines_touch_no_protected_thing() {
    let protected = [
        "cp x .claude/settings.json",
        "mv .claude old",
        "echo {} > .mcp.json",
        "git config core.hooksPath h",
        "git config --global user.name x",
        "interlock approve 3",
        "timeout 5 sh -c 'interlock send DONE'",
        "kill $PPID",
        "kill -9 $PPID",
        "kill 4242",
        "kill -TERM -1",
        "pkill -f claude",
        "killall interlock",
        "xyz interlock approve 3",
        "python3 -c 'import os; os.system(\"interlock approve 3\")'",
        "python3 -c 'open(\".claude/settings.json\", \"w\")'",
        "node -e 'fs.rmSync(\".interlock\")'",
        "/opt/interlock/bin/interlock token",
        "bash -c \"interlock reject\"",
        "interlock $(echo approve)",
        "interlock hook claude-code",
        "eval \"interlock approve $x\"",
        "echo x >> ~/.bashrc",
        "echo x > $HOME/.zshrc",
        "ln -s /tmp/evil .git/hooks/pre-commit",
        "tee .git/config < x",
        "rm -rf .claude",
        "rm -r .interlock",
        "rm -rf tools",
        "rm -rf .cl*",
        "echo x > .claude/$f",
        "cat ~/.local/state/interlock/runs/1/run.db",
        "rm -rf ~/.local/state",
        "git checkout -- .claude/settings.json",
        "git restore .interlock/workflows/a.yaml",
        "git clean -fd .claude",
        "export INTERLOCK_TOKEN=x",
        "INTERLOCK_TOKEN=x ls",
        "echo $INTERLOCK_TOKEN",
        "claude mcp add evil sh",
        "claude --dangerously-skip-permissions -p x",
        "codex --dangerously-bypass-hook-trust exec x",
        "cd .claude && echo x > settings.json",
        "find .claude -name '*.json' -delete",
        // Three levels below the directory that is protected.
        "find ~ -name run.db -delete",
        "sed -i s/a/b/ .claude/settings.json",
        "chmod 777 ~/.ssh",
    ];
    for line in protected {
        assert!(in_line(line).is_some(), "not protected: {line}");
    }
}

#[test]
fn harmless_lines_are_free() {
    let free = [
        "ls -la .claude",
        "cat .claude/settings.json",
        "grep -rn hooks .claude .mcp.json",
        "interlock status",
        "interlock log --follow",
        "interlock --version",
        "interlock",
        "which interlock",
        "cd interlock && cargo test",
        "cargo test -p interlock",
        "cargo test -p interlock-core approve",
        "echo interlock approve",
        "git config user.name x",
        "git config --get core.hooksPath",
        "git config remote.origin.url x",
        "git checkout src/a.rs",
        "git add .claude/settings.json",
        "git commit -m 'talk about .mcp.json'",
        "git diff .claude/settings.json",
        "rm -rf build",
        "rm src/a.rs",
        "kill %1",
        "kill 999",
        "npm test",
        "echo x > .claude/plans/a.md",
        "touch .claude/worktrees/x/a.rs",
        "cp src/a.rs src/b.rs",
        "claude --version",
        "find . -name '*.json'",
    ];
    for line in free {
        assert_eq!(in_line(line), None, "{line}");
    }
}

#[test]
fn tools_nobody_knows_write_no_protected_file() {
    let other = |tool: &str, input: Value| found(tool, Shape::Other, &input).facts.protected;
    let path = |path: &str| json!({ "path": path, "content": "x" });
    assert!(other("mcp__fs__write_file", path(".claude/settings.json")).is_some());
    assert!(
        other(
            "mcp__fs__edit",
            json!({"edits": [{"uri": "file:///p/.mcp.json"}]})
        )
        .is_some()
    );
    assert!(other("mcp__fs__read_file", path("~/.local/state/interlock/x")).is_some());
    assert!(other("FutureWrite", path(".interlock/config.toml")).is_some());
    assert_eq!(
        other("mcp__fs__read_file", path(".claude/settings.json")),
        None
    );
    assert_eq!(other("mcp__fs__write_file", path("src/a.rs")), None);
    assert_eq!(
        other("WebSearch", json!({"query": ".claude/settings.json"})),
        None
    );
}

#[test]
fn a_tool_nobody_knows_with_a_command_line_is_a_shell() {
    let call = found(
        "Terminal",
        Shape::Other,
        &json!({ "command": "interlock approve" }),
    );
    assert!(call.facts.shell.is_some() && call.facts.protected.is_some());
    let call = found("mcp__x__run", Shape::Other, &json!({ "command": "ls" }));
    assert!(call.facts.shell.is_none());
    let call = found("Bash ", Shape::Other, &json!({ "command": ["rm", "-rf"] }));
    assert!(call.facts.malformed.is_some());
}

#[test]
fn edits_are_looked_at_under_both_names() {
    let edit = Shape::Edit {
        path: "file_path",
        fields: EditFields::SNAKE,
    };
    let input = json!({"file_path": ".mcp.json", "old_string": "a", "new_string": "b"});
    assert!(found("Edit", edit, &input).facts.protected.is_some());
    let patch = Shape::Patch { text: "command" };
    let text = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: .envrc\n+x\n*** End Patch";
    assert!(
        found("apply_patch", patch, &json!({ "command": text }))
            .facts
            .protected
            .is_some()
    );
}

#[test]
fn a_line_too_long_to_search_is_refused_unsearched() {
    assert_eq!(in_line(&"ls ".repeat(30_000)), None);
    assert!(in_line(&"ls ".repeat(100_000)).is_some());
}

#[test]
fn the_plugins_of_clients_are_as_protected_as_their_settings() {
    for path in [
        "/home/you/.claude/plugins/installed_plugins.json",
        "/home/you/.claude/plugins/cache/interlock/interlock/0.1.0/hooks/hooks.json",
        "/home/you/.codex/plugins/cache/interlock/interlock/0.1.0/hooks/hooks.json",
        "/home/you/.gemini/extensions/extension-enablement.json",
        "/home/you/.gemini/extensions/interlock/hooks/hooks.json",
        "/home/you/.copilot/installed-plugins/interlock/interlock/hooks/hooks.json",
        "/home/you/.copilot/config.json",
        "/home/you/.cache/copilot/marketplaces/x/plugins/copilot/hooks/hooks.json",
        "/home/you/.cache/opencode/packages/@interlock-cli/opencode@latest/node_modules/@interlock-cli/opencode/interlock.ts",
        "/srv/market/plugins/claude-code/hooks/hooks.json",
    ] {
        let moved = CallContext {
            moved: vec![(
                ".interlock".to_owned(),
                "/srv/market/plugins/claude-code".to_owned(),
            )],
            ..context()
        };
        let input = json!({ "file_path": path, "content": "{}" });
        let proposal = Proposal {
            id: CallId::from("1"),
            tool: "Write",
            common: None,
            shape: WRITE,
            input: &input,
            doubled: None,
            agent: None,
            branch: None,
        };
        let call = facts(proposal, &moved, &disk());
        assert!(call.facts.protected.is_some(), "{path}");
    }
    assert_eq!(written("/home/you/.cache/pip/x"), None);
    let cached = disk().with("/home/you", ".cache/opencode/packages/x.ts", "");
    let input = json!({ "command": "rm -rf ~/.cache" });
    let proposal = Proposal {
        id: CallId::from("1"),
        tool: "Bash",
        common: None,
        shape: SHELL,
        input: &input,
        doubled: None,
        agent: None,
        branch: None,
    };
    let call = facts(proposal, &context(), &cached);
    assert!(call.facts.protected.is_some());
}

#[test]
fn no_client_is_told_to_load_other_plugins_and_no_package_of_interlock_goes() {
    for line in [
        "claude plugin uninstall interlock@interlock",
        "claude --plugin-url https://example.com/p.zip -p hi",
        "claude --plugin-dir-no-mcp x -p hi",
        "codex plugin remove interlock@interlock",
        "codex app-server",
        "printf '{}' | codex app-server",
        "gemini extension uninstall interlock",
        "gemini extensions disable interlock",
        "gemini -e none -p hi",
        "gemini --extensions none -p hi",
        "copilot plugin disable interlock@interlock",
        "copilot --additional-mcp-config x -p hi",
        "opencode plug other",
        "npm uninstall -g interlock",
        "npm rm --global @interlock-cli/linux-x64",
        "npm install -g interlock@0.0.1",
        "bun remove -g interlock",
        "cargo uninstall interlock",
        "brew unlink interlock",
        "apt-get remove -y interlock",
        "dpkg -r interlock",
        "dpkg --purge interlock",
    ] {
        assert!(in_line(line).is_some(), "{line}");
    }
    for line in [
        "claude plugin list",
        "gemini extensions list",
        "npm ls interlock",
        "npm view interlock version",
        "npm uninstall -h interlock",
        "cargo uninstall --help interlock",
        "brew unlink --version interlock",
        "npm install interlocking",
        "npm install left-pad",
        "cargo test -p interlock",
        "cargo build --package interlock",
        "apt-get install -y jq",
    ] {
        assert_eq!(in_line(line), None, "{line}");
    }
}

#[test]
fn an_entry_of_the_person_opens_what_it_names_and_what_is_below() {
    let hook = "/p/.git/hooks/pre-commit";
    let git = "~/.config/git/config";
    for (entry, path, opens) in [
        (".git/hooks", hook, true),
        (".git/hooks/", hook, true),
        (".git/hooks/*", hook, true),
        (".git/hooks/**", hook, true),
        (".GIT/Hooks/*", hook, true),
        (".git/hooks/pre-commit", hook, true),
        (".git/hooks/pre-push", hook, false),
        (".git/hook", hook, false),
        (".git/hook*", hook, false),
        ("/p/.git/hooks", hook, true),
        ("/p/.git/hooks/*", hook, true),
        ("/q/.git/hooks/*", hook, false),
        ("~/.git/hooks/*", hook, false),
        ("~/.config/git", git, true),
        ("~/.config/git/", git, true),
        ("~/.config/git/*", git, true),
        ("~/.config/git/**", git, true),
        ("~/.config/git/other", git, false),
        // Interlock's own files and those of clients stay protected.
        (".claude/*", "/p/.claude/settings.json", false),
        (".interlock/**", "/p/.interlock/config.toml", false),
    ] {
        let context = CallContext {
            opened: vec![entry.to_owned()],
            ..context()
        };
        let input = json!({ "file_path": path, "content": "x" });
        let call = found_in(&context, "Write", WRITE, &input);
        assert_eq!(call.facts.protected.is_none(), opens, "{entry}: {path}");
    }
}

#[test]
fn the_list_of_protected_places_has_those_of_every_base() {
    let context = CallContext {
        site: CallSite::at("/p/sub"),
        ..context()
    };
    let listed = protected_paths(&context, &disk());
    for path in [
        "/p/.claude",
        "/p/sub/.claude",
        "/home/you/.claude",
        "/p/.mcp.json",
        "/home/you/.mcp.json",
        "/p/opencode.jsonc",
        "/home/you/.bashrc",
        "/home/you/.config/git",
        "/etc/interlock",
        "/home/you/.local/state/interlock",
        "/home/you/.config/interlock",
        "/opt/interlock/bin/interlock",
    ] {
        let found = listed.iter().filter(|found| found.path == path).count();
        assert_eq!(found, 1, "{path}");
    }
}
