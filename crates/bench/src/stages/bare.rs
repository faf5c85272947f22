//! A minimal loop: calls the model, reads the file it asks for, until it is done.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_models::{
    Answer, Client, Kind, Message, Options, Provider, Request, RetryPolicy, ToolResult, ToolSpec,
};
use interlock_process::Cancel;
use interlock_testkit::provider;
use serde_json::{Value, json};

use super::place::{COMPLETION, FILE, script};

/// Makes the exchanges of a stage with this many messages, stores nothing, and returns the time they took.
pub(super) fn run(turns: usize) -> Result<Duration> {
    let scripted = provider::Provider::start(script(turns))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("main.rs");
    fs::write(&file, FILE.1)?;
    let begun = Instant::now();
    let client = Client::new()?;
    let cancel = Cancel::new()?;
    let to = Provider::new(Kind::Anthropic, Some(&scripted.url()), None)?;
    let mut request = first();
    loop {
        let answer = client.call(&to, &request, &RetryPolicy::default(), &cancel, &mut |_| {})?;
        let call = answer.calls().next().context("no call")?;
        if call.name == COMPLETION {
            break;
        }
        let text = fs::read_to_string(&file)?;
        answered(&mut request, answer, &text);
    }
    let took = begun.elapsed();
    ensure!(scripted.asked().len() == turns, "a turn is missing");
    Ok(took)
}

fn answered(request: &mut Request, answer: Answer, text: &str) {
    request.messages.push(Message::Assistant {
        parts: answer.parts,
    });
    let results = vec![ToolResult {
        call: 0,
        content: format!("     1\t{text}"),
        is_error: false,
    }];
    request.messages.push(Message::Results { results });
}

fn first() -> Request {
    let path = json!({"type": "object", "properties": {"file_path": {"type": "string"}}});
    Request {
        model: "scripted".to_owned(),
        // About as long as a stage's prompt.
        system: "You are in a stage of a workflow. ".repeat(30),
        messages: vec![Message::user("Begin.")],
        tools: vec![
            tool("Read", path),
            tool(COMPLETION, json!({"type": "object"})),
        ],
        options: Options::default(),
    }
}

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "A tool of the stage.".to_owned(),
        schema,
    }
}
