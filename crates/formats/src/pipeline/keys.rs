//! Every key of a pipeline. The reference for people is made of these lines.

use crate::{
    native::{EVIDENCE, META, PIPELINE_GUARD, REPORT},
    stage::keys::{camel, of_pipelines},
    table::{Choice, Field, Shape, Table, joined},
};

/// Every table, in the order of the schema.
pub(super) const TABLES: &[&Table] = &[
    &WORKFLOW,
    &INPUT,
    &SETTINGS,
    &BUDGET,
    &STAGE,
    &BRANCH,
    &PARALLEL,
    &STAGES,
    &ENDS,
    &of_pipelines::RETRY,
    &of_pipelines::OPTIONS,
    &of_pipelines::ASSERTION,
    &PIPELINE_GUARD,
    &EVIDENCE,
    &REPORT,
    &META,
];

pub(super) static WORKFLOW: Table = Table {
    name: "a pipeline",
    key: "pipeline",
    doc: "A pipeline: stages, each a model in a fresh transcript, and what leads from one to another.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("$schema" "$schema", false, Shape::Any, "The address of this schema; ignored."),
        camel!("id" "id", true, Shape::Name, "The unique id of the workflow."),
        Field {
            name: "entry",
            aliases: &["entryStage", "entry_stage"],
            required: false,
            shape: Shape::Name,
            doc: "The stage a run starts in; the first as written when left out.",
        },
        camel!("description" "description", false, Shape::Text, "What it is for."),
        camel!("input" "input", false, Shape::MapOf(&INPUT), "What a run is started with, by name; when left out one text `task`, which may be missing."),
        camel!("context" "context", false, Shape::Object, "Constants, by name."),
        camel!("guards" "guards", false, Shape::MapOf(&PIPELINE_GUARD), "Conditions by name."),
        camel!("settings" "settings", false, Shape::Of(&SETTINGS), "What holds for all stages."),
        camel!("stages" "stages", true, Shape::MapOf(&STAGE), "Every stage by id, in an order that is kept."),
        camel!("meta" "meta", false, Shape::Of(&META), "What people and tools want to know; any other field may stand here too."),
    ],
};

pub(super) static INPUT: Table = Table {
    name: "an input",
    key: "input",
    doc: "A value that a run is started with; required unless it has a default.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("type" "type", true, Shape::OneOf(TYPES), "What it is."),
        camel!("default" "default", false, Shape::Any, "Its value where a run is started without it."),
        camel!("description" "description", false, Shape::Text, "What it is for."),
    ],
};

/// The types of inputs.
pub(super) const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];

pub(super) static SETTINGS: Table = Table {
    name: "`settings`",
    key: "settings",
    doc: "What holds for all stages of a run.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("mode" "mode", false, Shape::OneOf(&["ask", "allowlist", "yolo"]), "What becomes of calls in stages without `allowedTools`; `ask` when left out."),
        camel!("allowlist" "allowlist", false, Shape::Names, "What passes in mode `allowlist`, such as `Bash:npm test`; `*` any text, `?` one character."),
        camel!("tools" "tools", false, Shape::Names, "The tools that exist for any stage, `*` as wildcard; left out: all."),
        camel!("parallelStageCap" "parallel_stage_cap", false, Shape::CountTo(64), "Stages that run at once; 4 when left out."),
        camel!("model" "model", false, Shape::Name, "The model of stages that name none, as `provider/model`."),
        camel!("retry" "retry", false, Shape::Of(&of_pipelines::RETRY), "How often a failed attempt is made again, in stages that do not say."),
        camel!("stageExecutions" "stage_executions", false, Shape::CountTo(Shape::ANY), "Attempts of all stages in one run; 100 when left out."),
        camel!("stageTimeout" "stage_timeout", false, Shape::Time, "The time of one attempt, waiting for people not counted; `30m` when left out."),
        camel!("grantTimeout" "grant_timeout", false, Shape::Time, "How long a request for a grant waits; left out: for ever."),
        camel!("resultBytes" "result_bytes", false, Shape::CountTo(Shape::ANY), "Bytes of one tool result that the model is shown; 30000 when left out."),
        camel!("budget" "budget", false, Shape::Of(&BUDGET), "What a run may spend; once reached, no model is called."),
    ],
};

pub(super) static BUDGET: Table = Table {
    name: "`budget`",
    key: "budget",
    doc: "What a run may spend on models.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("tokens" "tokens", false, Shape::Count, "Tokens, input and output together."),
        camel!("usd" "usd", false, Shape::Number, "US dollars."),
    ],
};

pub(super) static STAGE: Table = Table {
    name: "a stage",
    key: "stage",
    doc: "A model in a fresh transcript, bounded by its tools, its completion tool and its turns.",
    open: false,
    choice: Choice::Free,
    fields: &joined::<10, 13, 23>(of_pipelines::STAGE, OWN),
};

/// What a stage of a pipeline has beside the keys of every stage.
const OWN: [Field; 13] = [
    camel!("next" "next", true, Shape::By("next"), "What follows: a stage, `end`, `fail`, branches, or stages beside each other."),
    camel!("on" "on", false, Shape::Of(&ENDS), "What follows when the stage ends otherwise."),
    camel!("model" "model", false, Shape::Name, "The model, as `provider/model`."),
    camel!("description" "description", false, Shape::Text, "What it is for."),
    camel!("allowedTools" "allowed_tools", false, Shape::Names, "The tools it is given, `*` as wildcard; left out: all, each call then passes the mode; empty: none."),
    camel!("disallowedTools" "disallowed_tools", false, Shape::Names, "Tools that are denied even when the list allows them."),
    camel!("allowedCommands" "allowed_commands", false, Shape::Names, "Beginnings of shell commands that may run; empty: none."),
    camel!("blockedEnv" "blocked_env", false, Shape::Names, "Environment variables that a shell line may not use."),
    camel!("envOverrides" "env_overrides", false, Shape::Texts, "Environment variables that are set for shell lines."),
    camel!("maxEditLines" "max_edit_lines", false, Shape::Count, "Lines that one edit may touch."),
    camel!("maxFilesPerState" "max_files_per_state", false, Shape::Count, "Distinct files that may be written in one attempt."),
    camel!("maxIterations" "max_iterations", false, Shape::Count, "Tool calls in one attempt."),
    camel!("contextBudgetBytes" "context_budget_bytes", false, Shape::Count, "Bytes of tool results in one attempt."),
];

pub(super) static BRANCH: Table = Table {
    name: "a branch",
    key: "branch",
    doc: "Where a stage leads when the guards hold.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("guard" "guard", false, Shape::By("guard_ref"), "A guard that must hold: a name, or a guard written in place."),
        camel!("guards" "guards", false, Shape::List("guards"), "Guards that must all hold."),
        camel!("target" "target", true, Shape::Name, "A stage, `end` or `fail`."),
    ],
};

pub(super) static PARALLEL: Table = Table {
    name: "a fork",
    key: "parallel",
    doc: "Stages that start at once.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("parallel" "parallel", true, Shape::Names, "The stages that start at once, two or more."),
        camel!("join" "join", false, Shape::Name, "The stage that starts when all have ended; left out: the run ends then."),
        camel!("onFail" "on_fail", false, Shape::Name, "What follows when one has failed; left out: the run fails."),
    ],
};

pub(super) static STAGES: Table = Table {
    name: "what follows",
    key: "stages",
    doc: "The stages that follow, one after the other or at once.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("stages" "stages", true, Shape::Names, "One stage, or those that start at once; empty: the run ends."),
        camel!("execution" "execution", true, Shape::OneOf(&["sequential", "parallel"]), "`sequential` for one stage, `parallel` for several."),
        camel!("join" "join", false, Shape::Name, "The stage that starts when all have ended."),
        camel!("onFail" "on_fail", false, Shape::Name, "What follows when one has failed; left out: the run fails."),
    ],
};

pub(super) static ENDS: Table = Table {
    name: "`on`",
    key: "on",
    doc: "What follows when a stage ends otherwise than hoped: a stage, `end` or `fail`.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("CAP" "CAP", false, Shape::Name, "The turns were used up."),
        camel!("FAIL" "FAIL", false, Shape::Name, "An assertion failed, or nothing was handed in."),
        camel!("SKIP" "SKIP", false, Shape::Name, "The stage was skipped; left out: as `next` says."),
        camel!("ERROR" "ERROR", false, Shape::Name, "Anything else went wrong."),
    ],
};
