//! One change to one file, in both directions.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    baseline_rules::{self, Rules},
    ignored,
    record::Added,
    trust::{self, Trusted},
};
use crate::codex::install as codex;
use crate::settings::{
    EditError, MARK, Scope, Site,
    client_def::{ClientDef, HooksAs, ServersAs},
};

/// One change to one file.
#[derive(Debug)]
pub(super) struct Edit {
    /// The file.
    pub(super) path: PathBuf,
    /// Scope of the file.
    pub(super) scope: Scope,
    /// What changes.
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The hooks.
    Hooks(&'static ClientDef),
    /// The control server.
    Server(&'static ClientDef, Scope),
    /// Rules of the client's own.
    BaselineRules(Rules),
    /// A whole file of Interlock; `None` removes it.
    Own(Option<String>),
    /// Private files of a person in the project, relative to its root.
    Ignored(Vec<String>),
    /// A folder that Codex trusts, as named in its configuration.
    Folder(String),
    /// Hooks of this file that a person trusts, in Codex's configuration.
    Trust(PathBuf, Vec<Trusted>),
}

impl Edit {
    /// Returns the edits of a client's hooks and of its control server.
    pub(super) fn of(client: &'static ClientDef, site: &Site, scope: Scope) -> Vec<Self> {
        let edit = |path, what| Self { path, scope, what };
        let hooks = match &client.hooks {
            HooksAs::Json(_) => What::Hooks(client),
            HooksAs::Plugin(text) => What::Own(Some(text(site))),
        };
        let server = What::Server(client, scope);
        let files = (client.files)(site, scope).into_iter();
        [
            edit((client.hook_file)(site, scope), hooks),
            edit((client.server_file)(site, scope), server),
        ]
        .into_iter()
        .chain(files.map(|(path, text)| edit(path, What::Own(Some(text)))))
        .collect()
    }

    /// Describes the edit for a person.
    pub(super) fn about(&self) -> String {
        match &self.what {
            What::Hooks(client) => {
                let count = client.form().map_or(0, |form| form.events.len());
                format!("{count} hooks")
            }
            What::Server(..) => "the server `interlock`".to_owned(),
            What::BaselineRules(_) => "rules of the client's own".to_owned(),
            What::Own(_) => "Interlock's own".to_owned(),
            What::Ignored(_) => "keeps these files out of git".to_owned(),
            What::Folder(_) => "trust in this folder".to_owned(),
            What::Trust(..) => "trust in these hooks".to_owned(),
        }
    }

    /// Applies the edit to a text; what goes into lists of others is added to `added`.
    pub(super) fn put(
        &self,
        text: Option<&str>,
        site: &Site,
        added: &mut Vec<Added>,
    ) -> Result<Option<String>, EditError> {
        let put = match &self.what {
            What::Hooks(client) => match client.form() {
                Some(form) => form.put(text, site)?,
                None => return Ok(text.map(str::to_owned)),
            },
            What::Server(client, scope) => match &client.servers {
                ServersAs::Json(form) => form.put(text, &(client.server)(site, *scope))?,
                ServersAs::Toml => codex::put_server(text, site, *scope)?,
            },
            What::BaselineRules(rules) if rules.is_empty() => return Ok(text.map(str::to_owned)),
            What::BaselineRules(rules) => rules.put(text, added)?,
            What::Own(None) => {
                return Ok(text.filter(|text| !is_own(text)).map(str::to_owned));
            }
            What::Own(Some(own)) => match text {
                Some(text) if !text.trim().is_empty() && !is_own(text) => {
                    let reason = "somebody else's file has this name".to_owned();
                    return Err(EditError::at(text, 0, reason));
                }
                _ => own.clone(),
            },
            What::Ignored(files) if files.is_empty() => return Ok(text.map(str::to_owned)),
            What::Ignored(files) => ignored::put(text, files),
            What::Folder(folder) => trust::put_folder(text, folder, added)?,
            What::Trust(_, trusted) => trust::put(text, trusted)?,
        };
        Ok(Some(put))
    }

    /// Reverts the edit in a text; returns `None` if nothing is left.
    pub(super) fn take(
        &self,
        text: &str,
        site: &Site,
        added: &[Added],
    ) -> Result<Option<String>, EditError> {
        match &self.what {
            What::Hooks(client) => match client.form() {
                Some(form) => form.take(text, site),
                None => Ok(Some(text.to_owned())),
            },
            What::Server(client, _) => match &client.servers {
                ServersAs::Json(form) => form.take(text),
                ServersAs::Toml => codex::take_server(text),
            },
            What::BaselineRules(rules) => baseline_rules::take(text, rules.language, added),
            What::Own(_) => Ok((!is_own(text)).then(|| text.to_owned())),
            What::Ignored(_) => Ok(ignored::take(text)),
            What::Folder(folder) => trust::take_folder(text, folder, added),
            What::Trust(hooks, trusted) => trust::take(text, hooks, trusted),
        }
    }
}

/// Returns whether a file was written entirely by `init`.
fn is_own(text: &str) -> bool {
    let described = serde_json::from_str::<Value>(text)
        .is_ok_and(|value| value.get("description").is_some_and(|it| it == MARK.trim()));
    if described {
        return true;
    }
    let first = text.lines().next().unwrap_or_default();
    let signs = ["//", "#"].iter();
    signs
        .filter_map(|sign| first.strip_prefix(sign))
        .any(|behind| behind == MARK)
}

/// Returns the value of a list or an object under `keys`.
pub(super) fn pointed<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}
