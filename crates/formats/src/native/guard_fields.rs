//! The fields of guards and of evidence.

use crate::table::{Choice, Field, Shape, Table, field};

pub(crate) static GUARD: Table = guard_table(&GUARD_FIELDS);

/// The guard of a pipeline, in which the context may be called `ctx`.
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
    doc: "A call that Interlock must have seen, whatever the agent says.",
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
            "The exit code that is required. Default: 0.",
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
            "The path that the tool was called with, relative to the project.",
        ),
        field(
            "since",
            Shape::OneOf(&["last_edit", "state_entry", "run_start"]),
            "The moment after which the call must have begun. Default: `last_edit`.",
        ),
        field(
            "report",
            Shape::By("report_ref"),
            "The test report that the command writes: a JUnit XML file, or a report by its format. The guard holds only if this run wrote the report and no test failed.",
        ),
        field(
            "passed_at_least",
            Shape::By("passed_at_least"),
            "Minimum number of tests that must have passed: a number, or `start` for the number at the run's start. Default: 1.",
        ),
        field(
            "none_removed",
            Shape::Bool,
            "Whether every test from the run's start must still exist, and none may be newly skipped. Default: true.",
        ),
        field(
            "frozen",
            Shape::Names,
            "Patterns of files. The command counts only while these files are unchanged since the run's start or a person's last approval.",
        ),
    ],
};
