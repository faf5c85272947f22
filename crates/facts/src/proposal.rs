//! A proposed call, and the function that determines its facts.

mod served_files;
mod started;

use interlock_core::{
    call::{CallFacts, CallKind, FileWrite, ToolCall},
    names::{AgentId, CallId},
    policy::CommandEntry,
};
use interlock_shell::Dialect;
use interlock_tool_names::all_names;
use serde_json::Value;

use crate::{
    canonical::digest,
    context::CallContext,
    disk::{Disk, state_of},
    edit::{OldText, Replacement},
    notebook,
    patch::{self, Fate, PatchedFile},
    path::is_within,
    place::{self, LocateError, Located},
    protected::Guarded,
    served::{FileUse, named},
    shape::{EditFields, Shape},
    shell, summary,
    touched::Deed,
};

/// A tool call as a client proposes it.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// Unique within the run.
    pub id: CallId,
    /// The client's own name of the tool.
    pub tool: &'a str,
    /// Common name of the same tool, if it has another.
    pub common: Option<&'a str>,
    /// How its arguments are parsed.
    pub shape: Shape,
    /// Its arguments.
    pub input: &'a Value,
    /// A duplicate key in the arguments, as a pointer.
    pub doubled: Option<&'a str>,
    /// The sub-agent that proposes it.
    pub agent: Option<AgentId>,
    /// Branch that it names; the argument of a control tool counts too.
    pub branch: Option<String>,
}

/// Determines what a proposed call would do, as far as that can be known before it runs.
///
/// This function is total: arguments that cannot be judged become a fact, too (`malformed`).
#[must_use]
pub fn facts(mut proposal: Proposal<'_>, context: &CallContext, disk: &dyn Disk) -> ToolCall {
    let told = proposal.shape;
    proposal.shape = with_line(&proposal);
    let files = (proposal.shape == Shape::Other).then(|| {
        let name = proposal.common.unwrap_or(proposal.tool);
        FileUse::of(name, proposal.input, false)
    });
    let name = proposal.common.unwrap_or(proposal.tool);
    // The effects of other arguments are unknown if a tool is only treated as a shell.
    let others = (proposal.shape != told)
        .then(|| Guarded::new(context, disk).in_arguments(name, &without_lines(proposal.input)))
        .flatten();
    let mut call = find_out(proposal, files.as_ref(), context, disk);
    call.facts.protected = call.facts.protected.or(others);
    // A client's other tools that run lines count as the shell; unknown tools do not.
    if matches!(told, Shape::Shell { .. }) && !all_names(&call.tool).contains(&"Bash") {
        call.facts.parts.push("Bash".to_owned());
    }
    call
}

/// Returns the arguments that contain no command line.
fn without_lines(input: &Value) -> Value {
    let mut others = input.clone();
    if let Value::Object(fields) = &mut others {
        fields.retain(|field, _| !LINES.contains(&field.as_str()));
    }
    others
}

/// Determines the facts of a server's tool whose effects on `files` are known.
///
/// This function is total: arguments that cannot be judged become a fact, too (`malformed`).
#[must_use]
pub fn served_facts(
    mut proposal: Proposal<'_>,
    files: &FileUse,
    context: &CallContext,
    disk: &dyn Disk,
) -> ToolCall {
    proposal.shape = Shape::Other;
    find_out(proposal, Some(files), context, disk)
}

fn find_out(
    proposal: Proposal<'_>,
    files: Option<&FileUse>,
    context: &CallContext,
    disk: &dyn Disk,
) -> ToolCall {
    let mut finder = Finder {
        tool: proposal.tool,
        context,
        disk,
        guarded: Guarded::new(context, disk),
        facts: CallFacts {
            environment_held: context.environment_held,
            kernel_holds: context.kernel_holds,
            only_reads: matches!(proposal.shape, Shape::Read { .. } | Shape::Search { .. }),
            ..CallFacts::default()
        },
    };
    let found = finder
        .find(&proposal)
        .and_then(|()| files.map_or(Ok(()), |files| finder.served(proposal.input, files)));
    if let Err(why) = found {
        finder.facts.malformed = Some(why);
    }
    let facts = finder.facts;
    let kind = match files {
        Some(files) if files.line.is_some() => CallKind::Shell,
        Some(files) if files.changes() => CallKind::Edit,
        _ => proposal.shape.kind(),
    };
    let branch = proposal.branch.or_else(|| match kind {
        CallKind::Control(_) => proposal.input.get("branch")?.as_str().map(str::to_owned),
        _ => None,
    });
    ToolCall {
        id: proposal.id,
        tool: proposal.tool.to_owned(),
        common: proposal.common.map(str::to_owned),
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: digest(proposal.tool, proposal.input),
        summary: summary::summary(proposal.shape, proposal.input),
        agent: proposal.agent,
        branch,
        prompts_in: None,
        facts,
    }
}

/// Arguments that contain a command line, whatever the tool.
const LINES: [&str; 3] = ["command", "cmd", "script"];

/// Treats an unknown tool as a shell if it receives a command line.
///
/// Tools of servers choose the names of their arguments freely.
fn with_line(proposal: &Proposal<'_>) -> Shape {
    let name = proposal.common.unwrap_or(proposal.tool);
    let line = LINES.into_iter().find(|field| {
        matches!(
            proposal.input.get(field),
            Some(Value::String(_) | Value::Array(_))
        )
    });
    match (proposal.shape, line) {
        (Shape::Other, Some(line)) if !name.to_ascii_lowercase().starts_with("mcp") => {
            Shape::Shell {
                dialect: Dialect::Unknown,
                line,
                directory: None,
                environment: None,
            }
        }
        (shape, _) => shape,
    }
}

/// The facts of one call while they are determined.
struct Finder<'a> {
    tool: &'a str,
    context: &'a CallContext,
    disk: &'a dyn Disk,
    guarded: Guarded<'a>,
    facts: CallFacts,
}

/// Success, or why the arguments cannot be judged.
type Found = Result<(), String>;

impl Finder<'_> {
    fn find(&mut self, proposal: &Proposal<'_>) -> Found {
        let input = proposal.input;
        if let Some(key) = proposal.doubled {
            return Err(format!(
                "the key `{}` stands twice",
                summary::one_line(key, 80)
            ));
        }
        if !matches!(input, Value::Object(_) | Value::Null) {
            return Err("they are not an object".to_owned());
        }
        match proposal.shape {
            Shape::Control(_) | Shape::Conversation => Ok(()),
            Shape::SubAgent
            | Shape::SubAgents
            | Shape::Script { .. }
            | Shape::Message { .. }
            | Shape::Prompt { .. }
            | Shape::Unheld(_) => {
                self.started(proposal.shape, input);
                Ok(())
            }
            Shape::Shell {
                line, directory, ..
            } => self.shell(input, proposal.shape, line, directory),
            Shape::Edit { path, fields } => {
                let edits = std::slice::from_ref(input);
                self.replacements((path, required(input, path)?), edits, fields)
            }
            Shape::MultiEdit {
                path,
                edits,
                fields,
            } => {
                let edits = match input.get(edits) {
                    None => &[],
                    Some(Value::Array(edits)) => edits.as_slice(),
                    Some(_) => return Err(format!("`{edits}` is not a list")),
                };
                self.replacements((path, required(input, path)?), edits, fields)
            }
            Shape::Write { path, content } => {
                let new = optional(input, content)?.unwrap_or_default();
                let file = self.file(required(input, path)?, Deed::Write)?;
                let lines = OldText::read(&file.real, self.disk).touched_by_write(new);
                self.written(&file, Some(lines), false);
                Ok(())
            }
            Shape::Notebook { path } => self.notebook(input, required(input, path)?),
            Shape::Patch { text } => self.patch(required(input, text)?),
            Shape::Delete { path } => {
                let file = self.file(required(input, path)?, Deed::Remove)?;
                let lines = OldText::read(&file.real, self.disk).touched_by_removal();
                self.written(&file, Some(lines), true);
                Ok(())
            }
            Shape::Read { paths } => paths.iter().try_for_each(|field| self.read(input, field)),
            Shape::Search {
                places,
                files,
                contents,
            } => self.search(input, (places, files), contents),
            Shape::Other => {
                let name = proposal.common.unwrap_or(proposal.tool);
                let thing = self.guarded.in_arguments(name, input);
                self.protect(thing);
                self.protect_lines(input);
                Ok(())
            }
        }
    }

    fn protect(&mut self, thing: Option<String>) {
        if self.facts.protected.is_none() {
            self.facts.protected = thing;
        }
    }

    /// Locates a file that the call changes.
    fn file(&mut self, path: &str, deed: Deed) -> Result<Located, String> {
        // Some clients trim blanks, so two files could be meant.
        let meant = path.trim();
        if meant != path {
            if !meant.is_empty() {
                self.file(meant, deed)?;
            }
            return Err("a file is named with a blank at an end: write it without".to_owned());
        }
        let file = place::find(path, self.context, self.disk).map_err(|error| {
            // If the path cannot be resolved, the name alone may be sufficient.
            let named =
                crate::normalise(path, &self.context.site.cwd, self.context.home.as_deref());
            if let Ok(named) = named {
                let thing = self.guarded.touched(&named, deed);
                self.protect(thing);
            }
            error.to_string()
        })?;
        let thing = self.guarded.touched_either(&file, deed);
        self.protect(thing);
        Ok(file)
    }

    fn written(&mut self, file: &Located, lines: Option<u64>, removes: bool) {
        if !removes {
            for name in shell::other_names(file, self.context, self.disk) {
                self.written_as(&name, Some(0), false);
            }
        }
        self.written_as(file, lines, removes);
    }

    /// Adds one name of a file that the call writes.
    fn written_as(&mut self, file: &Located, lines: Option<u64>, removes: bool) {
        self.facts.writes.push(FileWrite {
            path: Some(file.real.clone()),
            relative: file.relative.clone(),
            place: place::of_tool(file, self.context),
            by: self.tool.to_owned(),
            removes,
            recursive: false,
            lines,
            before: None,
        });
        let sum = self.facts.edit_lines.unwrap_or(0);
        self.facts.edit_lines = Some(sum.saturating_add(lines.unwrap_or(0)));
    }

    fn replacements(
        &mut self,
        (path_field, path): (&str, &str),
        edits: &[Value],
        fields: EditFields,
    ) -> Found {
        let file = self.file(path, Deed::Write)?;
        let mut text = OldText::read(&file.real, self.disk);
        let mut sum = 0_u64;
        for edit in edits {
            if optional(edit, path_field)?.is_some_and(|other| other != path) {
                return Err(format!("`{path_field}` names two files"));
            }
            let replacement = Replacement {
                old: optional(edit, fields.old)?.unwrap_or_default(),
                new: optional(edit, fields.new)?.unwrap_or_default(),
                all: is_set(edit, fields.all),
            };
            let (lines, after) = replacement.apply(text);
            sum = sum.saturating_add(lines);
            text = after;
        }
        self.written(&file, Some(sum), false);
        Ok(())
    }

    fn notebook(&mut self, input: &Value, path: &str) -> Found {
        let file = self.file(path, Deed::Write)?;
        let old = OldText::read(&file.real, self.disk);
        let mode = optional(input, "edit_mode")?.unwrap_or("replace");
        let new = optional(input, "new_source")?.unwrap_or_default();
        // A number identifies a cell, too.
        let cell = match input.get("cell_id").or_else(|| input.get("cell_number")) {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(other) => Some(other.to_string()),
        };
        let lines = notebook::touched_lines(old.text(), cell.as_deref(), mode, new);
        self.written(&file, Some(lines), false);
        Ok(())
    }

    fn patch(&mut self, text: &str) -> Found {
        let files = patch::read(text)?;
        self.facts.parts = patch::parts(&files);
        let disk = self.disk;
        let mut found = Vec::new();
        for file in &files {
            let removes = matches!(file.fate, Fate::Deleted | Fate::Moved(_));
            let deed = if removes { Deed::Remove } else { Deed::Write };
            let at = self.file(&file.path, deed)?;
            let lines = file.removed.max(file.added);
            self.written(&at, Some(lines), removes);
            if let Fate::Moved(to) = &file.fate {
                let to = self.file(to, Deed::Write)?;
                self.written(&to, Some(0), false);
            }
            found.push((file, at.real));
        }
        let deleted = |file: &PatchedFile| {
            found
                .iter()
                .find(|(known, _)| std::ptr::eq(*known, file))
                .map_or(0, |(_, real)| {
                    OldText::read(real, disk).touched_by_removal()
                })
        };
        self.facts.edit_lines = Some(patch::touched_lines(&files, deleted));
        Ok(())
    }

    fn read(&mut self, input: &Value, field: &str) -> Found {
        let paths: Vec<&str> = match input.get(field) {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::String(path)) => vec![path],
            Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
            Some(_) => return Err(format!("`{field}` is not text")),
        };
        let mut paths = paths.into_iter().filter(|path| !path.is_empty());
        paths.try_for_each(|path| self.read_one(path))
    }

    fn read_one(&mut self, path: &str) -> Found {
        // Some clients trim blanks.
        let meant = path.trim();
        if meant != path && !meant.is_empty() {
            self.read_one(meant)?;
        }
        let (named, shown) = match place::find(path, self.context, self.disk) {
            Ok(file) => {
                let thing = self.guarded.touched_either(&file, Deed::Read);
                self.protect(thing);
                let shown = file.relative.unwrap_or(file.real);
                (file.named, shown)
            }
            // A path that cannot be resolved cannot be read either.
            Err(LocateError::Disk { path, .. }) => (path.clone(), path),
            Err(error) => return Err(error.to_string()),
        };
        let thing = self.guarded.touched(&named, Deed::Read);
        self.protect(thing);
        self.facts.reads.push(shown);
        Ok(())
    }

    /// Determines what a search would show: its directory, and what its patterns match.
    fn search(
        &mut self,
        input: &Value,
        (places, files): (&[&str], &[&str]),
        contents: bool,
    ) -> Found {
        places
            .iter()
            .try_for_each(|field| self.read(input, field))?;
        let texts = |field: &&str| named(input, field);
        let mut places: Vec<&str> = places.iter().flat_map(texts).collect();
        places.retain(|place| !place.is_empty());
        if places.is_empty() {
            places.push(".");
        }
        for place in places {
            if contents {
                let thing = self.guarded.searched(place);
                self.protect(thing);
            }
            for pattern in files.iter().flat_map(texts) {
                let thing = self.guarded.matched(place, pattern);
                self.protect(thing);
            }
        }
        Ok(())
    }

    fn shell(&mut self, input: &Value, shape: Shape, line: &str, directory: Option<&str>) -> Found {
        let Shape::Shell {
            dialect,
            environment,
            ..
        } = shape
        else {
            return Ok(());
        };
        let line = required(input, line)?;
        let set = environment.map_or(Ok(Vec::new()), |field| variables(input, field))?;
        let line = &with_variables(line, &set);
        let directory = match directory.map(|field| optional(input, field)).transpose()? {
            Some(Some(directory)) if !directory.is_empty() => {
                place::find(directory, self.context, self.disk)
                    .map_err(|error| error.to_string())?
                    .real
            }
            _ => self.context.site.cwd.clone(),
        };
        let dialect = match dialect {
            Dialect::Unknown => self.context.site.shell,
            known => known,
        };
        let read = shell::read(line, dialect, &directory, self.context, self.disk);
        self.facts.reads = read.reads;
        self.facts.writes = read.writes;
        let links = self.guarded.links_made(&read.shell);
        self.through_new_links(&links);
        self.facts.outside_directories = read.outside_directories;
        self.facts.strayed = read.strayed;
        self.facts.directories = read.directories;
        self.facts.allowed_by_person = entries(&self.context.allowed_by_person);
        let thing = self.guarded.in_line(line, &read.shell, &read.touched);
        self.protect(thing);
        self.facts.shell = Some(read.shell);
        Ok(())
    }
}

impl Finder<'_> {
    /// Locates writes through a link that the same line creates.
    fn through_new_links(&mut self, links: &[(String, String)]) {
        let (context, disk) = (self.context, self.disk);
        for write in &mut self.facts.writes {
            let Some(path) = &write.path else { continue };
            let target = links
                .iter()
                .filter(|(link, source)| path != link && source != link && is_within(path, link))
                .find_map(|(link, source)| {
                    let below = path.strip_prefix(link.as_str())?;
                    place::find(&format!("{source}{below}"), context, disk).ok()
                });
            if let Some(file) = target {
                write.place = file.place;
                write.before = file.relative.is_some().then(|| state_of(&file.real, disk));
                write.relative = file.relative;
                write.path = Some(file.real);
            }
        }
    }
}

/// Returns the variables that a call sets for its line: texts, numbers and booleans.
///
/// # Errors
/// Something is not a name or value of a variable.
pub fn variables(input: &Value, field: &str) -> Result<Vec<(String, String)>, String> {
    let fields = match input.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(format!("`{field}` is not a map")),
    };
    let variable = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => String::from("\0"),
        };
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_name =
            name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit());
        if is_name && !value.contains('\0') {
            return Ok((name.clone(), value));
        }
        let name = summary::one_line(name, 80);
        Err(format!("`{field}` cannot set `{name}`"))
    };
    fields.iter().map(variable).collect()
}

/// Writes variables in front of a line, so that it is parsed as it will run.
fn with_variables(line: &str, variables: &[(String, String)]) -> String {
    if variables.is_empty() {
        return line.to_owned();
    }
    let words = variables.iter().map(|(name, value)| {
        let quoted = value.replace('\'', r"'\''");
        format!(" {name}='{quoted}'")
    });
    format!("export{}\n{line}", words.collect::<String>())
}

/// Splits the person's entries into words; an entry that cannot be split matches nothing.
fn entries(texts: &[String]) -> Vec<CommandEntry> {
    texts
        .iter()
        .filter_map(|text| {
            Some(CommandEntry {
                text: text.clone(),
                words: interlock_shell::split_entry(text)?,
            })
        })
        .collect()
}

/// Returns a required text argument.
fn required<'v>(input: &'v Value, field: &str) -> Result<&'v str, String> {
    optional(input, field)?.ok_or_else(|| format!("`{field}` is missing"))
}

/// Returns an optional text argument.
fn optional<'v>(input: &'v Value, field: &str) -> Result<Option<&'v str>, String> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => {
            Err(format!("`{field}` contains a NUL character"))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{field}` is not text")),
    }
}

/// Returns whether a flag is set; everything except null, `false` and the count 1 counts as set.
fn is_set(input: &Value, field: &str) -> bool {
    let value = input.get(field);
    if value.and_then(Value::as_u64) == Some(1) {
        return false;
    }
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}
