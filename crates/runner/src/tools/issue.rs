//! `get-gh-issue`: reads an issue with GitHub's own program.

use std::path::Path;

use serde_json::Value;

use super::{Codes, Prepared, agents::find, fields::Fields};
use crate::{order::Failed, run_context::RunContext};
use interlock_process::{Input, Program};

/// Requested fields of an issue.
const PARTS: &str = "number,title,body,state,labels,url,comments";

pub(super) fn prepare(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("get-gh-issue", input);
    let number = fields.required("issue-number")?;
    let number = number.trim();
    let number = number.strip_prefix('#').unwrap_or(number);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        let shown: String = number.chars().take(40).collect();
        return Err(fields.wrong("issue-number", &format!("is `{shown}`, no number")));
    }
    let mut arguments = vec!["issue", "view", number, "--json", PARTS];
    let repo = fields.word("repo")?;
    if let Some(repo) = &repo {
        arguments.extend(["--repo", repo]);
    }
    let environment = fields.variables("env")?;
    let project = Path::new(&context.places.project);
    let file = find("gh", 2, &environment, project, context)?;
    let program = Program {
        file,
        arguments: arguments.into_iter().map(Into::into).collect(),
        directory: project.to_owned(),
        environment,
        input: Input::Rule,
        names: Vec::new(),
        merged: false,
        timeout_ms: fields.duration_ms("timeout")?,
    };
    Ok(Prepared::new(program, "`gh`", Codes::One))
}
