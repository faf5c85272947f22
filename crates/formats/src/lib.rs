//! Loads workflows of all formats: text in, a machine out.
//!
//! Every error is reported at its file, line and column, all of them at once. Nothing after this crate knows the format of a
//! workflow.

mod bundle;
mod codemie;
mod commands;
mod convert;
mod detect;
mod diagnostic;
mod fit;
mod flowstate;
mod load;
mod loaded;
mod native;
mod node;
mod opened;
mod parse;
mod pipeline;
mod properties;
mod render;
mod schema;
mod source;
mod spans;
mod stage;
mod table;
mod tree;
mod yaml_text;

pub use bundle::{Bundle, FileLink};
pub use codemie::{UNSET_VARIABLE, answer_findings, answer_schema};
pub use convert::{Converted, Syntax, convert};
pub use diagnostic::Diagnostic;
pub use fit::{SchemaError, fit_arguments, schema_fault};
pub use load::{
    check, check_strictly, description_of, first_comment, format_of, id_of, is_of_steps, load,
    load_strictly, may_be_workflow, parent_of, workflow_names,
};
pub use loaded::Loaded;
pub use native::FAILURES as FAILURE_NAMES;
pub use node::{Entry, Kind, Node};
pub use pipeline::{Input, InputKind};
pub use properties::{
    Form, Lines, Predicate, Property, SinceWhat, has_own_properties, own_properties,
    properties_file,
};
pub use render::render;
pub use schema::{codemie_schema, flowstate_schema, pipeline_schema, schema};
pub use source::{NoWorkflows, Source, Span, Workflows};
pub use tree::{Tree, plain_kind};
pub use yaml_text::{is_block, key_of as yaml_key, scalar as yaml_scalar};

pub use interlock_validate::{Location, Place, Severity};
