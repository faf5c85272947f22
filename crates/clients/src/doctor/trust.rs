//! Whether a client trusts the hooks: it silently skips those that it does not trust.

use std::path::Path;

use super::{Check, Examination, Health, hooks::Hooks};
use crate::{
    app_server::{self, ListedHook},
    client::ClientId,
    install::{
        folders::{self, Trust},
        trust,
    },
    plugins,
    settings::{self, Scope, Site, client_def::ClientDef},
};

const WHAT: &str = "trusted";

/// Checks whether the hooks that were found are trusted; `None` if the client has no such trust.
pub(super) fn check(
    client: &'static ClientDef,
    examination: &Examination,
    hooks: &Hooks,
    checks: &mut Vec<Check>,
) -> Option<bool> {
    if hooks.files.is_empty() {
        return None;
    }
    let (trusted, check) = match client.client {
        ClientId::Codex => codex(client, &examination.site, hooks),
        ClientId::Gemini | ClientId::Copilot => folder(client, examination, hooks),
        ClientId::ClaudeCode | ClientId::Cursor | ClientId::Opencode => return None,
    };
    checks.push(check);
    trusted
}

/// Asks Codex which hooks it would run here.
fn codex(client: &ClientDef, site: &Site, hooks: &Hooks) -> (Option<bool>, Check) {
    let word = client.client.word();
    let Some(program) = client.program(site) else {
        let seen = "not known: `codex` is not on the PATH and cannot be asked";
        return (None, Check::new(word, WHAT, Health::Warn, seen, ""));
    };
    let listed = match listed(&program, site) {
        Ok(listed) => listed,
        Err(why) => {
            let seen = format!("not known: {why}");
            let advice = "see `/hooks` in Codex: it skips hooks that it does not trust";
            return (None, Check::new(word, WHAT, Health::Warn, seen, advice));
        }
    };
    // One file with all hooks trusted is enough to guard, whatever another file lacks.
    let mut worst = Vec::new();
    for (path, scope) in &hooks.files {
        let text = settings::read(path).ok().flatten().unwrap_or_default();
        let mut not = Vec::new();
        let keys = match hooks.of_plugin.contains(path) {
            true => trust::keys_of_plugin(&text, path, site),
            false => trust::keys(&text, path, site),
        };
        for key in keys {
            match listed.iter().find(|hook| hook.key == key) {
                Some(hook) if hook.enabled && is_trusted(&hook.trust) => {}
                Some(hook) if !hook.enabled => not.push("switched off"),
                Some(_) => not.push("not trusted"),
                None => not.push("not seen"),
            }
        }
        if not.is_empty() {
            let seen = format!("every hook of {}", path.display());
            return (Some(true), Check::new(word, WHAT, Health::Ok, seen, ""));
        }
        let mut check = not_enforced(word, path, *scope, &not, site);
        if hooks.of_plugin.contains(path) {
            check.advice = "start Codex and agree to the hooks of the plugin with `/hooks`".into();
        }
        worst.push(check);
    }
    match worst.into_iter().next() {
        Some(check) => (Some(false), check),
        None => (None, Check::new(word, WHAT, Health::Warn, "not known", "")),
    }
}

/// Asks Codex with a copy of the person's configuration, so that the original stays unchanged.
fn listed(program: &Path, site: &Site) -> Result<Vec<ListedHook>, String> {
    let said = |error: std::io::Error| error.to_string();
    let scratch = tempfile::tempdir().map_err(said)?;
    let copy = scratch.path().canonicalize().map_err(said)?;
    let home = site.codex_home.canonicalize();
    let home = home.unwrap_or_else(|_| site.codex_home.clone());
    let (home, copied) = (home.display().to_string(), copy.display().to_string());
    for name in ["config.toml", "hooks.json"] {
        let text =
            settings::read(&site.codex_home.join(name)).map_err(|error| error.to_string())?;
        if let Some(text) = text {
            // Trust is recorded by the path of the file.
            std::fs::write(copy.join(name), text.replace(&home, &copied)).map_err(said)?;
        }
    }
    for plugin in plugins::installed(ClientId::Codex, site) {
        copy_plugin(&plugin.folder, &site.codex_home, &copy).map_err(said)?;
    }
    let listed = app_server::hooks(program, &site.project_root, &copy)?;
    let real = |hook: ListedHook| ListedHook {
        key: hook.key.replace(&copied, &home),
        ..hook
    };
    Ok(listed.into_iter().map(real).collect())
}

/// Copies the manifest and the hooks of a plugin into another configuration directory.
fn copy_plugin(plugin: &Path, home: &Path, copy: &Path) -> std::io::Result<()> {
    let Ok(below) = plugin.strip_prefix(home) else {
        return Ok(());
    };
    for name in [".codex-plugin/plugin.json", plugins::HOOKS] {
        let (from, to) = (plugin.join(name), copy.join(below).join(name));
        if let (true, Some(folder)) = (from.is_file(), to.parent()) {
            std::fs::create_dir_all(folder)?;
            std::fs::copy(from, to)?;
        }
    }
    Ok(())
}

fn is_trusted(status: &str) -> bool {
    matches!(status, "trusted" | "managed")
}

fn not_enforced(word: &'static str, path: &Path, scope: Scope, not: &[&str], site: &Site) -> Check {
    let mut kinds: Vec<&str> = not.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    let seen = format!(
        "not enforced: {} of the hooks in {} are {}, and Codex skips them",
        not.len(),
        path.display(),
        kinds.join(" or ")
    );
    let advice = if scope == Scope::Project && kinds.contains(&"not seen") {
        format!(
            "start Codex in {} and trust the project, then run `interlock init codex` again",
            site.project_root.display()
        )
    } else {
        "run `interlock init codex`, or agree to them with `/hooks` in Codex".to_owned()
    };
    Check::new(word, WHAT, Health::Fail, seen, advice)
}

/// Looks for the folder among those that the person trusts.
fn folder(client: &ClientDef, examination: &Examination, hooks: &Hooks) -> (Option<bool>, Check) {
    let site = &examination.site;
    let word = client.client.word();
    let well = |seen: String| (Some(true), Check::new(word, WHAT, Health::Ok, seen, ""));
    let of_person = hooks.files.iter().find(|(_, scope)| *scope == Scope::User);
    if let Some((path, _)) = of_person {
        return well(format!("{} counts in every folder", path.display()));
    }
    let system = examination.managed(
        "/etc/gemini-cli/settings.json",
        "/Library/Application Support/GeminiCli/settings.json",
    );
    match folders::trust(client.client, site, Some(&system)) {
        Trust::Folder(path) => well(format!("the folder {}", path.display())),
        Trust::NotAsked => well("folders are not asked about".to_owned()),
        Trust::Variable(name) => {
            let seen = format!("by `{name}`: only where that is set as it is here");
            let advice = format!(
                "start {} without it and trust the folder, so that its trust does not depend on a variable",
                client.title
            );
            (
                Some(true),
                Check::new(word, WHAT, Health::Warn, seen, advice),
            )
        }
        Trust::Refused(name) => {
            let seen = format!(
                "not enforced: by `{name}` {} trusts no folder",
                client.title
            );
            let advice = format!("unset the variable, or run `interlock init {word} --user`");
            (
                Some(false),
                Check::new(word, WHAT, Health::Fail, seen, advice),
            )
        }
        Trust::Missing => {
            let seen = format!(
                "not enforced: {} does not trust {} and skips its hooks",
                client.title,
                site.project_root.display()
            );
            let advice = format!(
                "start {} there and trust the folder, or run `interlock init {word} --user`",
                client.title
            );
            (
                Some(false),
                Check::new(word, WHAT, Health::Fail, seen, advice),
            )
        }
    }
}
