//! The fields of guards, and of what guards take for evidence.

use crate::table::{Choice, Field, Shape, Table, field};

pub(crate) static GUARD: Table = guard_table(&GUARD_FIELDS);

/// The guard of a pipeline, which may call the context `ctx`.
pub(crate) static PIPELINE_GUARD: Table = guard_table(&PIPELINE_GUARD_FIELDS);

const fn guard_table(fields: &'static [Field]) -> Table {
    Table {
        name: "a guard",
        key: "guard",
        doc: "A condition: on a value, on other conditions, or on evidence.",
        open: false,
        choice: Choice::OneOf(&[
            &["field", "op"],
            &["all"],
            &["any"],
            &["not"],
            &["evidence"],
        ]),
        fields,
    }
}

/// The fields of a guard.
pub(crate) const GUARD_FIELDS: [Field; 8] = guard_fields(&["context", "output"]);

/// The fields of a guard of a pipeline.
pub(crate) const PIPELINE_GUARD_FIELDS: [Field; 8] = guard_fields(&["ctx", "context", "output"]);

const fn guard_fields(from: &'static [&'static str]) -> [Field; 8] {
    [
        field(
            "field",
            Shape::Name,
            "The key to read, or a JSON Pointer that begins with `/`.",
        ),
        field("op", Shape::OneOf(OPERATORS), "How it is compared."),
        field("value", Shape::Any, "What it is compared with."),
        field("from", Shape::OneOf(from), "Where `field` is looked up."),
        field("all", Shape::List("guards"), "Guards that must all hold."),
        field(
            "any",
            Shape::List("guards"),
            "Guards of which one must hold.",
        ),
        field("not", Shape::By("guard_ref"), "A guard that must not hold."),
        field(
            "evidence",
            Shape::Of(&EVIDENCE),
            "A call that must have been seen to succeed.",
        ),
    ]
}

/// The operators of guards.
pub(crate) const OPERATORS: &[&str] = &[
    "eq",
    "neq",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "contains",
    "exists",
    "not_exists",
];

pub(crate) static EVIDENCE: Table = Table {
    name: "evidence",
    key: "evidence",
    doc: "A call that must have been seen: what Interlock saw, not what the agent says.",
    open: false,
    choice: Choice::OneOf(&[&["command"], &["tool"]]),
    fields: &[
        field(
            "command",
            Shape::Name,
            "The first words of a shell command.",
        ),
        field(
            "exit",
            Shape::Integer,
            "The exit code it must have ended with. Default: 0.",
        ),
        field(
            "directory",
            Shape::Name,
            "Where the command must have run, relative to the project. Default: its root.",
        ),
        field("tool", Shape::Name, "A tool, `*` as wildcard."),
        field(
            "path",
            Shape::Name,
            "The path it was called with, relative to the project.",
        ),
        field(
            "since",
            Shape::OneOf(&["last_edit", "state_entry", "run_start"]),
            "The moment after which the call must have begun. Default: `last_edit`.",
        ),
        field(
            "report",
            Shape::By("report_ref"),
            "The report of tests that the command writes: a file of JUnit XML, or a report by its format. It holds only if this run wrote it and no test failed.",
        ),
        field(
            "passed_at_least",
            Shape::By("passed_at_least"),
            "How many tests must have passed: a number, or `start` for as many as at the run's start. Default: 1.",
        ),
        field(
            "none_removed",
            Shape::Bool,
            "Whether each test that ran at the run's start must still be there and none be newly skipped. Default: true.",
        ),
        field(
            "frozen",
            Shape::Names,
            "Patterns of files: the command counts only while they are as they were at the run's start or when a person last approved.",
        ),
    ],
};
