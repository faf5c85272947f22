//! Whether a project's files apply to a run: the person is asked on first use.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::Path,
};

use anyhow::anyhow;
use interlock_core::{command::CommandKind, names::Digest};
use interlock_project::Config;
use interlock_store::TrustWord;
use serde_json::{Map, Value, json};

use crate::{app::App, authority, failure::Failure, live::now_ms};

/// A person's answer about a project.
enum Word {
    /// Its files apply from now on.
    Trust,
    /// They apply to this run.
    ThisTime,
    /// The run continues without them.
    No,
    /// There is no run.
    Stop,
}

/// The question that a person was asked at this start, with the answer.
#[derive(Debug, Clone)]
pub(super) struct TrustAnswer {
    project: String,
    word: &'static str,
    digest: Digest,
}

impl TrustAnswer {
    /// Converts it to a command for the run.
    pub(super) fn ask(&self) -> CommandKind {
        CommandKind::DecideTrust {
            project: self.project.clone(),
            word: self.word.to_owned(),
            digest: self.digest.clone(),
            by: authority::name(),
        }
    }
}

/// Returns the part of the project's configuration that applies, and the question that a person was asked.
///
/// Restrictions always apply.
pub(super) fn counted(
    app: &App,
    root: &Path,
    person: &Config,
    project: Config,
    headless: bool,
) -> Result<(Config, Option<TrustAnswer>), Failure> {
    let widens = widening(&project, root);
    if widens == json!({}) || person.trusts(root) {
        return Ok((project, None));
    }
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = app.home()?;
    let known = home.trust_word(&root)?;
    if let Some(word) = known.as_ref().filter(|word| word.widens == widens) {
        let counted = if word.trusted {
            project
        } else {
            project.narrowed()
        };
        return Ok((counted, None));
    }
    if headless || !io::stdin().is_terminal() {
        return Err(anyhow!(
            "the project's `{}` widens what an agent may do, and you have not said that you trust it: \
             start it once at a terminal, or add `{}` to `projects` under `[trust]` in your own `config.toml`",
            root.join(".interlock/config.toml").display(),
            root.display()
        )
        .into());
    }
    authority::not_below_an_agent(app)?;
    let word = ask(app, &root, known.as_ref(), &widens)?;
    let said = |word| TrustAnswer {
        project: root.to_string_lossy().into_owned(),
        word,
        digest: interlock_facts::control_digest(&widens),
    };
    let trusted = match word {
        Word::ThisTime => return Ok((project, Some(said("this_time")))),
        Word::Stop => return Err(anyhow!("stopped: nothing was started").into()),
        Word::Trust => true,
        Word::No => false,
    };
    let told = said(if trusted { "trust" } else { "no" });
    home.keep_trust_word(&TrustWord {
        project: root.to_string_lossy().into_owned(),
        trusted,
        widens,
        at_ms: now_ms(),
        by: authority::name(),
    })?;
    let counted = if trusted { project } else { project.narrowed() };
    Ok((counted, Some(told)))
}

/// Returns whether the person trusts the project at `root`, according to this or an earlier answer.
pub(super) fn is_given(
    app: &App,
    root: &Path,
    person: &Config,
    said: Option<&TrustAnswer>,
) -> Result<bool, Failure> {
    if person.trusts(root) || said.is_some_and(|said| said.word == "this_time") {
        return Ok(true);
    }
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let known = app.home()?.trust_word(&root)?;
    Ok(known.is_some_and(|word| word.trusted))
}

/// Returns the parts of a project's configuration that can widen what an agent may do; `{}` if there are none.
fn widening(project: &Config, root: &Path) -> Value {
    let mut widens = Map::new();
    if let Some(mode) = project.stages.mode {
        widens.insert("mode".to_owned(), json!(mode));
    }
    if !project.stages.allowlist.is_empty() {
        let list = json!(project.stages.allowlist);
        widens.insert("allowlist".to_owned(), list);
    }
    for (name, server) in &project.mcp {
        // Of a server, only whether it is the same: its start parameters may contain secrets.
        let digest = interlock_facts::control_digest(&json!(format!("{server:?}")));
        widens.insert(format!("mcp.{name}"), json!(digest));
    }
    // Where the requests are sent, and the configured price.
    if let Some(model) = &project.default_model {
        widens.insert("default_model".to_owned(), json!(model));
    }
    for (name, model) in &project.models {
        widens.insert(format!("models.{name}"), json!(model));
    }
    for (model, price) in &project.prices {
        widens.insert(format!("prices.{model}"), json!(format!("{price:?}")));
    }
    widens.extend(of_assets(project, root));
    Value::Object(widens)
}

/// Returns what CodeMie files of the project may access through its configuration.
///
/// A folder of the project itself adds nothing.
fn of_assets(project: &Config, root: &Path) -> Map<String, Value> {
    let digest = |shown: String| json!(interlock_facts::control_digest(&json!(shown)));
    let servers = project.mcp_servers.iter();
    let servers = servers.filter(|(_, server)| server.is_enabled());
    let servers = servers.map(|(id, server)| {
        let shown = format!("{:?}", server.work(id));
        (format!("mcp_servers.{id}"), digest(shown))
    });
    let integrations = project.integrations.iter();
    let integrations = integrations.filter(|(_, one)| one.takes_environment());
    let integrations = integrations.map(|(id, one)| {
        (
            format!("integrations.{id}"),
            digest(format!("{:?}", one.env.written())),
        )
    });
    let outside = |path: &Path| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        !real(&root.join(path)).starts_with(real(root))
    };
    let places = [
        ("datasources", &project.datasources),
        ("skills", &project.skills),
    ];
    let places = places.into_iter().flat_map(|(table, places)| {
        let places = places.iter().filter(|(_, place)| outside(&place.path));
        places.map(move |(id, place)| (format!("{table}.{id}"), json!(place.path)))
    });
    servers.chain(integrations).chain(places).collect()
}

fn ask(app: &App, root: &Path, known: Option<&TrustWord>, widens: &Value) -> Result<Word, Failure> {
    let mut text = format!(
        "interlock: `{}` sets what can widen what an agent may do:\n",
        root.join(".interlock/config.toml").display()
    );
    let before = known.map(|word| &word.widens);
    for (key, value) in widens.as_object().into_iter().flatten() {
        let was = before.and_then(|before| before.get(key));
        let note = match (before, was) {
            (Some(_), Some(was)) if was != value => format!(" (was {was})"),
            (Some(_), None) => " (new)".to_owned(),
            _ => String::new(),
        };
        text.push_str(&format!("  {key} = {value}{note}\n"));
    }
    app.output.remark(&text);
    loop {
        app.output
            .remark("Do you trust this project? [t]rust, this ti[m]e, [n]o, [s]top > ");
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Word::Stop);
        }
        match line.trim().to_lowercase().as_str() {
            "t" | "trust" => return Ok(Word::Trust),
            "m" | "this time" => return Ok(Word::ThisTime),
            "n" | "no" => return Ok(Word::No),
            "s" | "stop" => return Ok(Word::Stop),
            _ => {}
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests;
