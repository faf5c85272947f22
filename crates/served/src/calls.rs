//! Derives the facts of a call to an MCP server's tool, relative to the directory where that server works.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use interlock_confine::{call_context, call_site, file_use};
use interlock_core::{
    call::ToolCall,
    names::{AgentId, CallId},
};
use interlock_facts::{CallContext, FileUse, Proposal, RealDisk, Shape, served_facts};
use interlock_project::{Config, Environment, Servers, ToolConfig, Transport};
use interlock_tool_names::served_names;
use serde_json::Value;

use crate::ListedTool;

/// The name of `resources/read` in rules.
const RESOURCE: &str = "resources/read";
/// The name of `prompts/get` in rules.
const PROMPT: &str = "prompts/get";

/// A request to a server other than a tool call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReadingOf<'a> {
    /// A resource, by its URI: `resources/read`, `resources/subscribe`.
    Resource(&'a str),
    /// A prompt, by its name, and the arguments for its template: `prompts/get`.
    Prompt(&'a str, &'a Value),
}

/// The directories where servers work, and the configuration of their tools.
#[derive(Debug, Clone)]
pub struct Files {
    context: CallContext,
    servers: Servers,
}

/// The identity of a call to be judged: its id and its caller.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The id of the call.
    pub id: CallId,
    /// The sub-agent that makes the call; `None` for the main agent.
    pub agent: Option<AgentId>,
}

impl Files {
    /// Describes the directories of the servers of the project at `root`.
    ///
    /// `plugins` are folders from which clients load Interlock's plugin, apart from their own directories.
    #[must_use]
    pub fn new(
        environment: &Environment,
        plugins: &[PathBuf],
        root: &Path,
        person: &Config,
        servers: Servers,
    ) -> Self {
        let directory = root.to_str().unwrap_or("/");
        let site = call_site(environment, directory, None);
        let mut context = call_context(environment, plugins, root, site);
        context.writable = person.writable_places();
        context.opened.clone_from(&person.protect.allow);
        context.allowed_by_person.clone_from(&person.shell.allow);
        Self {
            context: context.resolved(&RealDisk),
            servers,
        }
    }

    /// Returns the context of the project's calls: where servers work, and what is protected there.
    #[must_use]
    pub const fn context(&self) -> &CallContext {
        &self.context
    }

    /// Returns the tool call that `input` for `tool` amounts to, with its facts.
    #[must_use]
    pub fn call(&self, tool: &ListedTool<'_>, input: &Value, who: Identity) -> ToolCall {
        let names = served_names(tool.server, tool.name);
        let read_only = says_read_only(tool.definition);
        let files = file_use(tool.name, self.set(tool), input, read_only);
        let mut call = served_facts(
            proposal(&names, input, who),
            &files,
            &self.context_of(tool.server),
            &RealDisk,
        );
        call.served_as = names;
        call
    }

    /// Returns the tool call that a reading amounts to, with its facts.
    #[must_use]
    pub fn reading(&self, server: &str, of: ReadingOf<'_>, who: Identity) -> ToolCall {
        let (method, input, sure) = match of {
            ReadingOf::Resource(uri) => {
                let input = serde_json::json!({"uri": uri});
                (RESOURCE, input, names_a_file(uri))
            }
            ReadingOf::Prompt(name, arguments) => {
                let input = serde_json::json!({"name": name, "arguments": arguments});
                (PROMPT, input, false)
            }
        };
        let mut names = served_names(server, method);
        // The plain name comes first, because the log shows the first one.
        names.rotate_right(1);
        let files = FileUse {
            reads: vec!["uri".to_owned()],
            sure,
            ..FileUse::default()
        };
        let context = self.context_of(server);
        let mut call = served_facts(proposal(&names, &input, who), &files, &context, &RealDisk);
        call.served_as = names;
        call
    }

    fn set(&self, tool: &ListedTool<'_>) -> Option<&ToolConfig> {
        let (_, server) = self
            .servers
            .iter()
            .find(|(name, _)| name.as_str() == tool.server)?;
        server.tools.get(tool.name)
    }

    /// Returns the context of a server: relative paths are resolved against the server's own directory.
    fn context_of(&self, server: &str) -> Cow<'_, CallContext> {
        let known = self
            .servers
            .iter()
            .find(|(name, _)| name.as_str() == server);
        if let Some((_, config)) = known
            && let Transport::Stdio(stdio) = &config.transport
            && let Some(cwd) = stdio.cwd.as_deref().and_then(Path::to_str)
        {
            let below = Path::new(&self.context.project_root).join(cwd);
            if let Some(below) = below.to_str() {
                let mut context = self.context.clone();
                below.clone_into(&mut context.site.cwd);
                return Cow::Owned(context);
            }
        }
        Cow::Borrowed(&self.context)
    }
}

fn proposal<'a>(names: &'a [String], input: &'a Value, who: Identity) -> Proposal<'a> {
    Proposal {
        id: who.id,
        tool: names.first().map_or("", String::as_str),
        common: None,
        shape: Shape::Other,
        input,
        doubled: None,
        agent: who.agent,
        branch: None,
    }
}

/// Returns whether a tool's definition declares, by `readOnlyHint`, that the tool changes nothing.
#[must_use]
pub fn says_read_only(definition: &Value) -> bool {
    definition.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
}

/// Returns whether a URI addresses a file: then it has to lead to a path that can be judged.
fn names_a_file(uri: &str) -> bool {
    let uri = uri.trim_start();
    let scheme = uri.get(.."file:".len());
    uri.starts_with('/') || scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}
