//! Checks of the control server, as each client would start it.

use interlock_project::Config;

use super::{Check, Examination, Health, probe};
use crate::{
    client::ClientId,
    codex::install as codex,
    plugins,
    settings::{
        self, Scope,
        client_def::{ClientDef, ServersAs},
        servers::{TRUSTED_ONLY, gateway_words},
    },
};

/// Finds the server, starts it and lists its tools.
pub(super) fn check(
    client: &'static ClientDef,
    examination: &Examination,
) -> (Option<bool>, Vec<Check>) {
    const WHAT: &str = "control server";
    let word = client.client.word();
    let found = [Scope::Project, Scope::User]
        .into_iter()
        .find_map(|scope| registered(client, examination, scope))
        .or_else(|| of_plugin(client, examination));
    let Some((command, arguments)) = found else {
        let advice = format!("run `interlock init {word}`");
        let missing = examination.missing();
        let check = Check::new(word, WHAT, missing, "not registered", advice);
        return (None, vec![check]);
    };
    match probe::server(&command, &arguments, &examination.site) {
        Ok((took_ms, tools)) => {
            let seen = format!("answers in {took_ms} ms with {tools} tools");
            let check = Check::new(word, WHAT, Health::Ok, seen, "").after(took_ms);
            let mut checks = vec![check];
            checks.extend(switched_off(client, examination));
            let by_trust = arguments.iter().any(|word| word == TRUSTED_ONLY);
            checks.extend(by_trust.then(|| left_out(word, examination)).flatten());
            (Some(true), checks)
        }
        Err(why) => {
            let advice = "run `interlock init` with the program you use";
            let check = Check::new(word, WHAT, Health::Fail, why, advice);
            (Some(false), vec![check])
        }
    }
}

fn registered(
    client: &ClientDef,
    examination: &Examination,
    scope: Scope,
) -> Option<(String, Vec<String>)> {
    let path = (client.server_file)(&examination.site, scope);
    match &client.servers {
        ServersAs::Json(form) => {
            let settings = settings::parsed(&path, form.syntax).ok().flatten()?;
            form.find(&settings)
        }
        ServersAs::Toml => codex::server_in(&settings::read(&path).ok().flatten()?),
    }
}

/// Returns the command with which a plugin starts the control server.
fn of_plugin(client: &ClientDef, examination: &Examination) -> Option<(String, Vec<String>)> {
    let mut plugins = plugins::installed(client.client, &examination.site).into_iter();
    plugins.find(|plugin| plugin.enabled && plugins::is_own(client.client, &plugin.folder))?;
    let words = gateway_words(Scope::User).iter();
    let words = words.map(|word| (*word).to_owned()).collect();
    let program = examination.site.program_named(plugins::NAME);
    Some((
        program.map_or_else(
            || plugins::NAME.to_owned(),
            |path| path.display().to_string(),
        ),
        words,
    ))
}

/// Reports servers of the project that are not started because the project is not trusted.
fn left_out(word: &'static str, examination: &Examination) -> Option<Check> {
    let root = &examination.site.project_root;
    let person = Config::of_person(examination.configuration.as_deref()).ok()?;
    let project = Config::of_project(root).ok()?;
    let (_, names) = Config::trusted_servers(&person, &project, root);
    (!names.is_empty()).then(|| {
        let seen = format!(
            "servers of a project that you do not trust are not started: {}",
            names.join(", ")
        );
        let advice = format!(
            "read `.interlock/config.toml` and, if you agree, add `{}` to `projects` under `[trust]` in your own `config.toml`",
            root.display()
        );
        Check::new(word, "mcp servers", Health::Warn, seen, advice)
    })
}

/// Reports that Claude Code is configured not to start the server.
fn switched_off(client: &ClientDef, examination: &Examination) -> Option<Check> {
    if client.client != ClientId::ClaudeCode {
        return None;
    }
    let file = super::switches::claude_code_files(examination)
        .into_iter()
        .find(|path| {
            let settings = settings::parsed(path, settings::Syntax::Strict);
            let settings = settings.ok().flatten().unwrap_or_default();
            let off = settings.get("disabledMcpjsonServers");
            let mut names = off.and_then(|off| off.as_array()).into_iter().flatten();
            names.any(|name| name == "interlock")
        })?;
    Some(Check::new(
        client.client.word(),
        "control server",
        Health::Warn,
        format!("switched off in {}", file.display()),
        "remove `interlock` from `disabledMcpjsonServers`: the agent cannot ask for a transition",
    ))
}
