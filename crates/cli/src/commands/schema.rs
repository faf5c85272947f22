//! `schema`: prints the JSON Schema of workflow files.

use crate::{
    app::App,
    args::{FormatName, SchemaArgs},
    failure::Done,
};

pub(crate) fn run(app: &App, args: &SchemaArgs) -> Done {
    let schema = match args.format {
        FormatName::Native => interlock_formats::schema(),
        FormatName::Flowstate => interlock_formats::flowstate_schema(),
        FormatName::Codemie => interlock_formats::codemie_schema(),
        FormatName::Pipeline => interlock_formats::pipeline_schema(),
    };
    app.output.lines(&serde_json::to_string_pretty(&schema)?)
}
