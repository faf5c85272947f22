//! `schema`: the JSON Schema of native workflow files.

use crate::{app::App, failure::Done};

pub(crate) fn run(app: &App) -> Done {
    app.output
        .line(&serde_json::to_string_pretty(&interlock_formats::schema())?)
}
