//! A file's top level and its stages.

use indexmap::IndexMap;
use interlock_core::{
    guard::{GuardRef, Source as GuardSource},
    machine::Object,
    names::{EventName, StateName},
    validate::{GuardRoot, Place},
};
use serde_json::Value;

use super::{
    keys::{BRANCH, BUDGET, ENDS, INPUT, PARALLEL, SETTINGS, STAGE, STAGES, WORKFLOW},
    lower::fork_name,
    settings::pico_usd,
    syntax::{Branch, END, FAIL, Fork, Input, InputKind, Named, Next, Pipeline, Settings, Stage},
};
use crate::{
    native::{Current, META, PIPELINE_GUARD, Reader},
    node::{Entry, Kind, Node},
    source::Span,
    stage::{Keys, RESERVED, keys::of_pipelines, retry},
    table::{Fields, milliseconds},
};

/// Letters that the id of a stage may have.
const ID_MAX: usize = 64;

/// The tables of a stage's keys.
const KEYS: Keys = Keys {
    assertion: &of_pipelines::ASSERTION,
    retry: &of_pipelines::RETRY,
    options: &of_pipelines::OPTIONS,
};

/// Reads one file.
pub(super) struct Document<'r, 'n, 'w> {
    pub(super) reader: &'r mut Reader<'n, 'w>,
    current: Current<'static>,
    incomplete: bool,
}

/// What was read beside the pipeline itself.
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

    /// Reads the whole file; there is a pipeline even where there are errors.
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

    /// Reads inputs and constants, and what the context of a run begins with.
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

    fn ends(&mut self, name: &StateName, fields: &Fields<'_>) -> Vec<(&'static str, Named)> {
        let Some(fields) = fields
            .get("on")
            .and_then(|node| ENDS.read(node, &mut self.reader.report))
        else {
            return Vec::new();
        };
        let mut ends = Vec::new();
        for field in ENDS.fields {
            self.incomplete |= fields.is_broken(field.name);
            let Some(target) = named(&fields, field.name) else {
                continue;
            };
            let place = Place::Target(name.clone(), EventName::new(field.name), 0);
            self.reader.spans.note(None, place, target.span);
            ends.push((field.name, target));
        }
        ends
    }

    fn next(&mut self, name: &StateName, entry: &Entry) -> Next {
        let node = &entry.value;
        let event = EventName::new("done");
        self.reader.spans.note(
            None,
            Place::Event(name.clone(), event.clone()),
            entry.key_span,
        );
        match &node.kind {
            Kind::Text(text) if !text.is_empty() => {
                let place = Place::Target(name.clone(), event, 0);
                self.reader.spans.note(None, place, node.span);
                Next::To(Named {
                    text: text.clone(),
                    span: node.span,
                })
            }
            Kind::List(items) => self.branches(name, items, node.span),
            Kind::Map(_) => self.fork(node),
            _ => {
                self.reader
                    .report
                    .error(
                        node.span,
                        "wrong_type",
                        format!("`next` must lead to a stage, not {}", node.describe()),
                    )
                    .help("write a stage, `end`, `fail`, a list of branches, or `{parallel: […], join: …}`");
                Next::Broken
            }
        }
    }

    fn branches(&mut self, name: &StateName, items: &[Node], span: Span) -> Next {
        if items.is_empty() {
            self.reader
                .report
                .error(span, "no_branch", "`next` has no branch")
                .help("add an object with `target`, or write `next: end`");
        }
        let mut branches: Vec<Branch> = Vec::new();
        for item in items {
            let index = branches.len();
            let branch = self.branch(name, item, index);
            self.incomplete |= branch.is_none();
            branches.extend(branch);
        }
        for (branch, item) in branches.iter().zip(items).rev().skip(1) {
            if branch.guards.is_empty() && branches.len() == items.len() {
                self.reader
                    .report
                    .warning(
                        item.span,
                        "hidden_branch",
                        "this branch has no guard, so those behind it are never asked",
                    )
                    .help("put it last, or give it a guard");
                break;
            }
        }
        if branches.is_empty() {
            return Next::Broken;
        }
        Next::Branches(branches)
    }

    fn branch(&mut self, name: &StateName, item: &Node, index: usize) -> Option<Branch> {
        if let Some(text) = item.text() {
            self.reader
                .report
                .error(
                    item.span,
                    "wrong_type",
                    format!(
                        "a branch is an object with `target`, not {}",
                        item.describe()
                    ),
                )
                .help(format!(
                    "write {{target: {text}}}; for stages beside each other `{{parallel: […]}}`"
                ));
            return None;
        }
        let fields = BRANCH.read(item, &mut self.reader.report)?;
        let single = fields.get("guard").into_iter();
        let several = fields.get("guards").map(Node::items).unwrap_or_default();
        let mut guards: Vec<GuardRef> = Vec::new();
        for node in single.chain(several) {
            let root = GuardRoot::Transition {
                state: name.clone(),
                event: EventName::new("done"),
                index,
                nth: guards.len(),
            };
            guards.extend(self.reader.guard_ref(&self.current, node, &root.whole()));
        }
        let target = named(&fields, "target")?;
        let place = Place::Target(name.clone(), EventName::new("done"), index);
        self.reader.spans.note(None, place, target.span);
        Some(Branch { guards, target })
    }

    fn fork(&mut self, node: &Node) -> Next {
        let of_page = node.get("stages").is_some() || node.get("execution").is_some();
        if of_page && node.get("parallel").is_none() {
            return self.stages_of_page(node);
        }
        let Some(fields) = PARALLEL.read(node, &mut self.reader.report) else {
            return Next::Broken;
        };
        if !fields.has("parallel") {
            return Next::Broken;
        }
        Next::Fork(fork(&fields, "parallel"))
    }

    /// Reads `{stages: […], execution: …, join?}`.
    fn stages_of_page(&mut self, node: &Node) -> Next {
        let Some(fields) = STAGES.read(node, &mut self.reader.report) else {
            return Next::Broken;
        };
        let (Some(stages), Some(execution)) = (fields.names("stages"), fields.text("execution"))
        else {
            return Next::Broken;
        };
        let is_parallel = execution == "parallel";
        if is_parallel && !stages.is_empty() {
            return Next::Fork(fork(&fields, "stages"));
        }
        for name in ["join", "on_fail"] {
            if let Some(entry) = fields.entry(name) {
                self.reader
                    .report
                    .error(
                        entry.key_span,
                        "misplaced_field",
                        format!("`{}` belongs to stages that start at once", entry.key),
                    )
                    .help("remove it, or write `execution: parallel` with two stages or more");
            }
        }
        match stages.as_slice() {
            [] => Next::To(Named {
                text: END.to_owned(),
                span: node.span,
            }),
            [(text, node)] => Next::To(Named {
                text: (*text).to_owned(),
                span: node.span,
            }),
            [_, (_, second), ..] => {
                self.reader
                    .report
                    .error(
                        second.span,
                        "too_many_stages",
                        "`execution: sequential` takes one stage: which follows it says its own `next`",
                    )
                    .help("keep the first one, or write `execution: parallel`");
                Next::Broken
            }
        }
    }
}

/// Makes a fork of stages that a list under `key` names.
fn fork(fields: &Fields<'_>, key: &str) -> Fork {
    let names = fields.names(key).unwrap_or_default();
    let siblings = names.into_iter().map(|(text, node)| Named {
        text: text.to_owned(),
        span: node.span,
    });
    Fork {
        span: fields.get(key).map_or(fields.node.span, |node| node.span),
        siblings: siblings.collect(),
        // The run ends after the fork where nothing joins it.
        join: named(fields, "join").filter(|join| join.text != END),
        on_fail: named(fields, "on_fail"),
    }
}

fn named(fields: &Fields<'_>, name: &str) -> Option<Named> {
    let node = fields.get(name)?;
    Some(Named {
        text: node.text()?.to_owned(),
        span: node.span,
    })
}
