//! A file's top level and its stages.

use indexmap::IndexMap;
use interlock_core::{guard::Source as GuardSource, machine::Object, names::StateName};
use interlock_validate::Place;
use serde_json::Value;

use super::{
    keys::{BUDGET, INPUT, SETTINGS, STAGE, WORKFLOW},
    lower::fork_name,
    settings::pico_usd,
    syntax::{END, FAIL, Input, InputKind, Named, Next, Pipeline, Settings, Stage},
};
use crate::{
    native::{Current, META, PIPELINE_GUARD, Reader},
    node::{Entry, Node},
    stage::{Keys, RESERVED, keys::of_pipelines, retry},
    table::{Fields, milliseconds},
};

/// Maximum length of a stage's id.
const ID_MAX: usize = 64;

/// Tables of a stage's keys.
const KEYS: Keys = Keys {
    assertion: &of_pipelines::ASSERTION,
    retry: &of_pipelines::RETRY,
    options: &of_pipelines::OPTIONS,
};

/// Parses one file.
pub(super) struct Document<'r, 'n, 'w> {
    pub(super) reader: &'r mut Reader<'n, 'w>,
    pub(super) current: Current<'static>,
    /// Whether a part of it could not be parsed.
    pub(super) incomplete: bool,
}

/// Results besides the pipeline itself.
pub(super) struct Read {
    pub(super) pipeline: Pipeline,
    pub(super) inputs: Vec<Input>,
    pub(super) guards: IndexMap<interlock_core::names::GuardName, interlock_core::guard::Guard>,
}

impl<'r, 'n, 'w> Document<'r, 'n, 'w> {
    pub(super) fn new(reader: &'r mut Reader<'n, 'w>) -> Self {
        reader.read_guards_as(&PIPELINE_GUARD, GuardSource::Output);
        Self {
            reader,
            current: Current::alone(),
            incomplete: false,
        }
    }

    /// Parses the whole file; a pipeline is returned even if there are errors.
    pub(super) fn read(mut self, node: &Node) -> Option<Read> {
        self.reader.spans.note(None, Place::Machine, node.span);
        let fields = WORKFLOW.read(node, &mut self.reader.report)?;
        let entry = named(&fields, "entry");
        if let Some(entry) = &entry {
            self.reader.spans.note(None, Place::Initial, entry.span);
        }
        self.incomplete |= fields.is_broken("entry");
        let (inputs, context) = self.names(&fields);
        let settings = self.settings(&fields);
        let stages = self.stages(&fields);
        let guards = self.reader.guards(&self.current, &fields);
        let pipeline = Pipeline {
            id: fields.string("id").unwrap_or_default(),
            entry,
            context,
            settings,
            stages,
            meta: self.meta(&fields),
            incomplete: self.incomplete,
        };
        if let Some(entry) = fields.entry("id") {
            crate::native::check_name(
                "the workflow",
                &pipeline.id,
                entry.value.span,
                &mut self.reader.report,
            );
        }
        Some(Read {
            pipeline,
            inputs,
            guards,
        })
    }

    fn meta(&mut self, fields: &Fields<'_>) -> Object {
        let mut meta = Object::new();
        if let Some(node) = fields.get("meta") {
            META.read(node, &mut self.reader.report);
            meta = node.to_object();
        }
        if let Some(text) = fields.string("description") {
            meta.insert("description".to_owned(), Value::from(text));
        }
        meta
    }

    /// Parses inputs and constants, and the initial context of a run.
    fn names(&mut self, fields: &Fields<'_>) -> (Vec<Input>, Object) {
        let mut inputs = Vec::new();
        let mut context = Object::new();
        match fields.get("input") {
            None => inputs.push(Input {
                name: "task".to_owned(),
                kind: InputKind::String,
                default: None,
                required: false,
                description: None,
            }),
            Some(node) => {
                for entry in node.entries() {
                    self.check_context_name(entry);
                    inputs.extend(self.input(entry));
                }
            }
        }
        for input in &inputs {
            let value = input.default.clone().unwrap_or_default();
            context.insert(input.name.clone(), value);
        }
        let constants = fields.get("context").map(Node::entries).unwrap_or_default();
        for entry in constants {
            self.check_context_name(entry);
            let declared = fields.get("input").and_then(|node| node.get(&entry.key));
            if declared.is_some() || (entry.key == "task" && !fields.has("input")) {
                let message = format!("`{}` is the name of an input too", entry.key);
                let help = if declared.is_some() {
                    "rename one of the two"
                } else {
                    "rename it, or declare the inputs below `input`: without it there is one, `task`"
                };
                self.reader
                    .report
                    .error(entry.key_span, "taken_name", message)
                    .help(help);
            }
            context.insert(entry.key.clone(), entry.value.to_value());
        }
        (inputs, context)
    }

    fn check_context_name(&mut self, entry: &Entry) {
        let name = &entry.key;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let (code, message, help) = if RESERVED.contains(&name.as_str()) {
            (
                "taken_name",
                format!("`{name}` is what every stage finds as `ctx.{name}`"),
                "choose another name",
            )
        } else if name.is_empty() || !name.bytes().all(plain) {
            (
                "invalid_name",
                format!("`{}` cannot be named as `ctx.NAME`", name.escape_debug()),
                "a name is made of letters, digits and `_`",
            )
        } else {
            return;
        };
        self.reader
            .report
            .error(entry.key_span, code, message)
            .help(help);
    }

    fn input(&mut self, entry: &Entry) -> Option<Input> {
        let fields = INPUT.read(&entry.value, &mut self.reader.report)?;
        let kind = InputKind::of(fields.text("type")?)?;
        let default = fields.get("default").map(Node::to_value);
        if let (Some(value), Some(node)) = (&default, fields.get("default"))
            && !kind.admits(value)
        {
            self.reader
                .report
                .error(
                    node.span,
                    "wrong_type",
                    format!(
                        "the default of `{}` must be {}, not {}",
                        entry.key,
                        kind.wanted(),
                        node.describe()
                    ),
                )
                .help("write a value of the type, or change `type`");
        }
        Some(Input {
            name: entry.key.clone(),
            kind,
            required: default.is_none(),
            default,
            description: fields.string("description"),
        })
    }

    fn settings(&mut self, fields: &Fields<'_>) -> Settings {
        let report = &mut self.reader.report;
        let Some(fields) = fields
            .get("settings")
            .and_then(|node| SETTINGS.read(node, report))
        else {
            return Settings::default();
        };
        let time = |name: &str| fields.text(name).and_then(milliseconds);
        let list = |name: &str| {
            let names = fields.names(name)?;
            Some(names.into_iter().map(|(name, _)| name.to_owned()).collect())
        };
        let budget = fields
            .get("budget")
            .and_then(|node| BUDGET.read(node, report));
        let usd = budget.as_ref().and_then(|budget| budget.get("usd"));
        let pico = usd.and_then(|node| pico_usd(node, report));
        if let Some(entry) = fields.entry("allowlist")
            && fields.text("mode") != Some("allowlist")
            && !entry.value.items().is_empty()
        {
            report
                .warning(
                    entry.key_span,
                    "unused_allowlist",
                    "`allowlist` counts only in mode `allowlist`, and this workflow does not choose it",
                )
                .help("write `mode: allowlist`, or remove the entries");
        }
        Settings {
            mode: fields.string("mode"),
            allowlist: list("allowlist").unwrap_or_default(),
            tools: list("tools"),
            at_once: fields.count("parallel_stage_cap"),
            model: fields.string("model"),
            retry: fields
                .get("retry")
                .and_then(|node| of_pipelines::RETRY.read(node, report))
                .map(|fields| retry(&fields)),
            executions_max: fields.count("stage_executions"),
            timeout_ms: time("stage_timeout"),
            grant_timeout_ms: time("grant_timeout"),
            result_bytes: fields.count("result_bytes"),
            tokens: budget.as_ref().and_then(|budget| budget.count("tokens")),
            pico_usd: pico,
        }
    }

    fn stages(&mut self, fields: &Fields<'_>) -> IndexMap<String, Stage> {
        let Some(node) = fields.get("stages") else {
            self.incomplete = true;
            return IndexMap::new();
        };
        if node.entries().is_empty() {
            self.reader
                .report
                .error(node.span, "no_stage", "there is no stage")
                .help("add one below `stages`, by its id");
            self.incomplete = true;
        }
        let mut stages = IndexMap::new();
        for entry in node.entries() {
            self.check_id(entry);
            match self.stage(entry) {
                Some(stage) => drop(stages.insert(entry.key.clone(), stage)),
                None => self.incomplete = true,
            }
        }
        stages
    }

    fn check_id(&mut self, entry: &Entry) {
        let id = &entry.key;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let (code, reason, help) = if id == END || id == FAIL {
            (
                "taken_name",
                "is the word for the end of a run",
                "choose another id",
            )
        } else if id.is_empty() || id.len() > ID_MAX || !id.bytes().all(plain) {
            (
                "invalid_name",
                "cannot be the id of a stage",
                "an id is made of letters, digits, `_` and `-`, at most 64",
            )
        } else {
            return;
        };
        self.incomplete = true;
        let shown = id.escape_debug();
        self.reader
            .report
            .error(entry.key_span, code, format!("`{shown}` {reason}"))
            .help(help);
    }

    fn stage(&mut self, entry: &Entry) -> Option<Stage> {
        let name = StateName::new(entry.key.clone());
        self.reader
            .spans
            .note(None, Place::State(name.clone()), entry.key_span);
        let fields = STAGE.read(&entry.value, &mut self.reader.report)?;
        let parts = self.reader.stage_of(&self.current, &name, &fields, KEYS);
        let policy = self.reader.policy(&self.current, &name, &fields);
        let next = match fields.entry("next") {
            Some(entry) => self.next(&name, entry),
            None => Next::Broken,
        };
        if let Next::Fork(fork) = &next {
            let made = Place::State(fork_name(&entry.key));
            self.reader.spans.note(None, made, fork.span);
        }
        self.incomplete |= matches!(next, Next::Broken) || fields.is_broken("on");
        Some(Stage {
            span: entry.key_span,
            parts,
            policy,
            model: fields.string("model"),
            next,
            ends: self.ends(&name, &fields),
        })
    }
}

/// Parses a name with its position.
pub(super) fn named(fields: &Fields<'_>, name: &str) -> Option<Named> {
    let node = fields.get(name)?;
    Some(Named {
        text: node.text()?.to_owned(),
        span: node.span,
    })
}
