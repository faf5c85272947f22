//! The keys of a model stage, in camelCase for pipelines and in snake_case for the native format.

use crate::table::{Choice, Field, Shape, Table};

/// What happens if the guard of an assertion does not hold.
const ELSE: &[&str] = &["fail", "retry", "skip"];

/// Creates the tables in one spelling.
macro_rules! tables {
    ($field:ident, $guard:ident) => {
        /// Retry policy of failed attempts.
        pub(crate) static RETRY: Table = Table {
            name: "`retry`",
            key: "retry",
            doc: "How often a failed attempt is retried, and when.",
            open: false,
            choice: Choice::Free,
            fields: &[
                $field!("maxAttempts" "max_attempts", false, Shape::CountTo(100), "Maximum attempts, including the first. Default: 1."),
                $field!("initialInterval" "initial_interval", false, Shape::Time, "The wait before the second attempt. Default: `1s`."),
                $field!("backoffFactor" "backoff_factor", false, Shape::Number, "The factor for each further wait. Default: 2."),
                $field!("maxInterval" "max_interval", false, Shape::Time, "The longest wait. Default: `1m`."),
            ],
        };

        /// Options for the provider.
        pub(crate) static OPTIONS: Table = Table {
            name: "the options of a model",
            key: "model_options",
            doc: "Options for the provider; options that it does not support are left out.",
            open: false,
            choice: Choice::Free,
            fields: &[
                $field!("temperature" "temperature", false, Shape::Number, "The sampling temperature."),
                $field!("maxOutputTokens" "max_output_tokens", false, Shape::Count, "Maximum tokens of one message."),
                $field!("thinking" "thinking", false, Shape::Any, "How hard to think: true or false, a word such as `high`, or a number of tokens."),
            ],
        };

        /// An assertion: a guard, and what happens if it does not hold.
        pub(crate) static ASSERTION: Table = Table {
            name: "an assertion",
            key: "assertion",
            doc: "A guard over the submitted result, and what happens if it does not hold.",
            open: false,
            choice: Choice::OneOf(&[&["field", "op"], &["all"], &["any"], &["not"], &["evidence"]]),
            fields: &joined::<8, 2, 10>(
                $guard,
                [
                    $field!("else" "else", false, Shape::OneOf(ELSE), "What happens if it does not hold: `fail`, `retry` or `skip`. Default: `fail`."),
                    $field!("message" "message", false, Shape::Text, "The reason, for people."),
                ],
            ),
        };

        /// Keys that make a state a stage.
        pub(crate) const STAGE: [Field; 10] = [
            $field!("body" "body", false, Shape::Text, "The system prompt, a template over `ctx`."),
            $field!("bodyFile" "body_file", false, Shape::Name, "The file that contains it, relative to the workflow file."),
            $field!("completionTool" "completion_tool", true, Shape::Name, "The tool that the model calls to finish."),
            $field!("completionSchema" "completion_schema", true, Shape::Object, "The JSON Schema of the result that the model submits, an object."),
            $field!("turnCap" "turn_cap", true, Shape::CountTo(Shape::ANY), "Maximum messages of the model in one attempt."),
            $field!("gate" "gate", false, Shape::By("gate"), "Guards over the context that must hold before the model is called; otherwise the stage is skipped."),
            $field!("assert" "assert", false, Shape::List("assertions"), "Guards over the submitted result, evaluated in order."),
            $field!("modelOptions" "model_options", false, Shape::Of(&OPTIONS), "Temperature, tokens of one message, thinking."),
            $field!("retry" "retry", false, Shape::Of(&RETRY), "How often a failed attempt is retried."),
            $field!("approvalBefore" "approval_before", false, Shape::Text, "A question that a person must answer before the stage starts."),
        ];
    };
}

/// Defines a field in camelCase that may also be written in snake_case.
macro_rules! camel {
    ($camel:literal $snake:literal, $required:literal, $shape:expr, $doc:literal) => {
        Field {
            name: $camel,
            aliases: $crate::stage::keys::other($camel, &[$snake]),
            required: $required,
            shape: $shape,
            doc: $doc,
        }
    };
}
pub(crate) use camel;

/// Defines a field in snake_case.
macro_rules! snake {
    ($camel:literal $snake:literal, $required:literal, $shape:expr, $doc:literal) => {
        Field {
            name: $snake,
            aliases: &[],
            required: $required,
            shape: $shape,
            doc: $doc,
        }
    };
}

/// Returns the other spelling of a field; empty if it is the same.
pub(crate) const fn other(name: &str, others: &'static [&'static str]) -> &'static [&'static str] {
    match others {
        [first] if same(name, first) => &[],
        _ => others,
    }
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() {
        #[expect(clippy::indexing_slicing, reason = "both are longer than `at`")]
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    left.len() == right.len()
}

/// The keys in the spelling of pipelines.
pub(crate) mod of_pipelines {
    use super::{Choice, ELSE, Field, Shape, Table};
    use crate::{native::PIPELINE_GUARD_FIELDS, table::joined};
    tables!(camel, PIPELINE_GUARD_FIELDS);
}

/// The keys in the spelling of the native format.
pub(crate) mod of_native {
    use super::{Choice, ELSE, Field, Shape, Table};
    use crate::{native::GUARD_FIELDS, table::joined};
    tables!(snake, GUARD_FIELDS);
}
