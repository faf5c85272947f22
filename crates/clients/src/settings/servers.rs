//! The control server among a client's MCP servers, in JSON.

use serde_json::Value;

use super::{
    EditError, Scope,
    json::{At, Syntax, Text},
};

/// The name under which the control server is registered.
pub(crate) const SERVER: &str = "interlock";

/// Option that starts a project's servers only if the person trusts the project.
///
/// For a server registered in a project, the client has asked its person about it; for one registered for all projects, it has
/// not.
pub(crate) const TRUSTED_ONLY: &str = "--trusted-only";

/// Returns the arguments with which the program starts the control server.
pub(crate) const fn gateway_words(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::Project | Scope::Local => &["gateway"],
        Scope::User => &["gateway", TRUSTED_ONLY],
    }
}

/// How a client writes MCP servers in JSON.
#[derive(Debug)]
pub(crate) struct ServerForm {
    /// Member that contains all servers.
    pub(crate) under: &'static str,
    /// Syntax that the client accepts.
    pub(crate) syntax: Syntax,
}

impl ServerForm {
    /// Registers the server; additions of others stay.
    pub(crate) fn put(&self, text: Option<&str>, wanted: &Value) -> Result<String, EditError> {
        let (mut text, _) = Text::of_file(text, self.syntax)?;
        text.object_at(&[self.under])?;
        let path = [At::Key(self.under), At::Key(SERVER)];
        match text.value(&path) {
            None => text.add_member(&path[..1], SERVER, wanted),
            Some(found) if is_our_server(&found) => mend(&mut text, &path, &found, wanted),
            Some(_) => {
                let reason = format!("`{}.{SERVER}` is another server", self.under);
                return Err(text.fault(&path, reason));
            }
        }
        Ok(text.into_string())
    }

    /// Removes the server; returns `None` if nothing is left.
    pub(crate) fn take(&self, before: &str) -> Result<Option<String>, EditError> {
        let (mut text, _) = Text::of_file(Some(before), self.syntax)?;
        let path = [At::Key(self.under), At::Key(SERVER)];
        if !text.value(&path).is_some_and(|found| is_our_server(&found)) {
            return Ok(Some(before.to_owned()));
        }
        text.remove(&path);
        text.remove_if_empty(&path[..1]);
        Ok((!text.is_bare()).then(|| text.into_string()))
    }

    /// Returns the command and arguments of the server in parsed settings.
    pub(crate) fn find(&self, settings: &Value) -> Option<(String, Vec<String>)> {
        let server = settings.get(self.under)?.get(SERVER)?;
        let mut words = words_of(server).into_iter();
        Some((words.next()?, words.collect()))
    }
}

/// Updates the program, and adds what is missing.
fn mend(text: &mut Text, path: &[At<'_>; 2], found: &Value, wanted: &Value) {
    let [under, server] = *path;
    for (key, value) in wanted.as_object().into_iter().flatten() {
        let place = [under, server, At::Key(key)];
        match (found.get(key), value) {
            (None, _) => text.add_member(path, key, value),
            (Some(Value::Array(old)), Value::Array(new)) if key == "command" => {
                if let Some(program) = new.first().filter(|new| old.first() != Some(*new)) {
                    text.set(&[under, server, At::Key(key), At::Index(0)], program);
                }
            }
            (Some(old), new) if key == "command" && old != new => text.set(&place, new),
            _ => {}
        }
        if let (Some(Value::Array(old)), Value::Array(new)) = (found.get(key), value) {
            put_words(text, &place, old, new);
        }
    }
}

/// Adds the options that are missing in a list of words, after the existing ones.
fn put_words(text: &mut Text, place: &[At<'_>; 3], old: &[Value], new: &[Value]) {
    let is_option = |word: &&Value| word.as_str().is_some_and(|word| word.starts_with("--"));
    let missing = new
        .iter()
        .filter(is_option)
        .filter(|word| !old.contains(word));
    for word in missing {
        text.add_item(place, word);
    }
}

fn is_our_server(server: &Value) -> bool {
    words_of(server)
        .get(1)
        .is_some_and(|word| word == "gateway")
}

/// Returns program and arguments, whether they are in one list or in two members.
fn words_of(server: &Value) -> Vec<String> {
    let list = |key: &str| {
        let items = server.get(key).and_then(Value::as_array);
        let texts = items.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    match server.get("command") {
        Some(Value::String(program)) => {
            let mut words = vec![program.clone()];
            words.extend(list("args"));
            words
        }
        _ => list("command"),
    }
}
