//! Every key of a pipeline. The reference in the book is generated from these lines.

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
    doc: "A pipeline: stages, each a model with a fresh transcript, and what follows each.",
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
            doc: "The initial stage. Default: the first in the file.",
        },
        camel!("description" "description", false, Shape::Text, "A description."),
        camel!("input" "input", false, Shape::MapOf(&INPUT), "The inputs of a run, by name. Default: one text `task`, which is optional."),
        camel!("context" "context", false, Shape::Object, "Constants, by name."),
        camel!("guards" "guards", false, Shape::MapOf(&PIPELINE_GUARD), "Conditions by name."),
        camel!("settings" "settings", false, Shape::Of(&SETTINGS), "Settings for all stages."),
        camel!("stages" "stages", true, Shape::MapOf(&STAGE), "Every stage by id; the order counts."),
        camel!("meta" "meta", false, Shape::Of(&META), "Information for people and tools; any other field is allowed."),
    ],
};

pub(super) static INPUT: Table = Table {
    name: "an input",
    key: "input",
    doc: "A value that a run is started with; required unless it has a default.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("type" "type", true, Shape::OneOf(TYPES), "The type of the value."),
        camel!("default" "default", false, Shape::Any, "Its value if a run is started without it."),
        camel!("description" "description", false, Shape::Text, "A description."),
    ],
};

/// The types of inputs.
pub(super) const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];

pub(super) static SETTINGS: Table = Table {
    name: "`settings`",
    key: "settings",
    doc: "Settings for all stages of a run.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("mode" "mode", false, Shape::OneOf(&["ask", "allowlist", "yolo"]), "How calls are decided in stages without `allowedTools`. Default: `ask`."),
        camel!("allowlist" "allowlist", false, Shape::Names, "Kinds of calls that the mode `allowlist` allows, such as `Bash:npm test`; `*` stands for any text, `?` for one character."),
        camel!("tools" "tools", false, Shape::Names, "The tools that any stage may list; `*` is a wildcard. Default: all."),
        camel!("parallelStageCap" "parallel_stage_cap", false, Shape::CountTo(64), "Maximum stages that run at the same time. Default: 4."),
        camel!("model" "model", false, Shape::Name, "The model of stages that name none, as `provider/model`."),
        camel!("retry" "retry", false, Shape::Of(&of_pipelines::RETRY), "How often a failed attempt is retried, for stages without `retry`."),
        camel!("stageExecutions" "stage_executions", false, Shape::CountTo(Shape::ANY), "Maximum attempts of all stages in one run. Default: 100."),
        camel!("stageTimeout" "stage_timeout", false, Shape::Time, "The timeout of one attempt, not counting waits for people. Default: `30m`."),
        camel!("grantTimeout" "grant_timeout", false, Shape::Time, "How long a request for a grant waits. Default: forever."),
        camel!("resultBytes" "result_bytes", false, Shape::CountTo(Shape::ANY), "Maximum bytes of a tool result that the model is shown. Default: 30000."),
        camel!("budget" "budget", false, Shape::Of(&BUDGET), "What a run may spend; once the budget is spent, no model is called."),
    ],
};

pub(super) static BUDGET: Table = Table {
    name: "`budget`",
    key: "budget",
    doc: "What a run may spend on models.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("tokens" "tokens", false, Shape::Count, "Maximum tokens, input and output together."),
        camel!("usd" "usd", false, Shape::Number, "Maximum cost in US dollars."),
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

/// Keys of a pipeline's stage besides those of every stage.
const OWN: [Field; 13] = [
    camel!("next" "next", true, Shape::By("next"), "What follows: a stage, `end`, `fail`, branches, or parallel stages."),
    camel!("on" "on", false, Shape::Of(&ENDS), "What follows if the stage ends in another way."),
    camel!("model" "model", false, Shape::Name, "The model, as `provider/model`."),
    camel!("description" "description", false, Shape::Text, "A description."),
    camel!("allowedTools" "allowed_tools", false, Shape::Names, "The tools of the stage; `*` is a wildcard. Empty: none. Default: all, and the mode decides each call."),
    camel!("disallowedTools" "disallowed_tools", false, Shape::Names, "Tools that are denied even if the list allows them."),
    camel!("allowedCommands" "allowed_commands", false, Shape::Names, "Shell commands that may run, by their first words; empty: none."),
    camel!("blockedEnv" "blocked_env", false, Shape::Names, "Environment variables that a shell line may not use."),
    camel!("envOverrides" "env_overrides", false, Shape::Texts, "Environment variables that are set for shell lines."),
    camel!("maxEditLines" "max_edit_lines", false, Shape::Count, "Maximum lines that one edit may touch."),
    camel!("maxFilesPerState" "max_files_per_state", false, Shape::Count, "Maximum number of different files written in one attempt."),
    camel!("maxIterations" "max_iterations", false, Shape::Count, "Maximum tool calls in one attempt."),
    camel!("contextBudgetBytes" "context_budget_bytes", false, Shape::Count, "Maximum bytes of tool results in one attempt."),
];

pub(super) static BRANCH: Table = Table {
    name: "a branch",
    key: "branch",
    doc: "The target if the guards hold.",
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
    doc: "Stages that start at the same time.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("parallel" "parallel", true, Shape::Names, "The stages that start at the same time, two or more."),
        camel!("join" "join", false, Shape::Name, "The stage that starts when all of them have ended. Default: the run ends."),
        camel!("onFail" "on_fail", false, Shape::Name, "What follows if one of them has failed. Default: the run fails."),
    ],
};

pub(super) static STAGES: Table = Table {
    name: "what follows",
    key: "stages",
    doc: "The stages that follow, in sequence or at the same time.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("stages" "stages", true, Shape::Names, "One stage, or several that start at the same time; empty: the run ends."),
        camel!("execution" "execution", true, Shape::OneOf(&["sequential", "parallel"]), "`sequential` for one stage, `parallel` for several."),
        camel!("join" "join", false, Shape::Name, "The stage that starts when all have ended."),
        camel!("onFail" "on_fail", false, Shape::Name, "What follows if one of them has failed. Default: the run fails."),
    ],
};

pub(super) static ENDS: Table = Table {
    name: "`on`",
    key: "on",
    doc: "What follows if the stage ends in another way: a stage, `end` or `fail`.",
    open: false,
    choice: Choice::Free,
    fields: &[
        camel!("CAP" "CAP", false, Shape::Name, "If the turns were used up."),
        camel!("FAIL" "FAIL", false, Shape::Name, "If an assertion failed, or no result was submitted."),
        camel!("SKIP" "SKIP", false, Shape::Name, "If the stage was skipped. Default: as in `next`."),
        camel!("ERROR" "ERROR", false, Shape::Name, "If anything else went wrong."),
    ],
};
