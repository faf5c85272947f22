//! `tools`: lists the servers' tools whose definitions a run has pinned.

use interlock_core::command::CommandKind;
use interlock_store::ToolPin;
use serde_json::{Value, json};

use crate::{
    app::App,
    args::ToolsArgs,
    authority,
    failure::{Done, Exit, Failure},
    live::{self, Live},
};

pub(crate) fn run(app: &App, args: &ToolsArgs) -> Done {
    match args.accept.as_deref() {
        Some([server, tool]) => accept(app, args, server, tool),
        _ => list(app, args),
    }
}

fn accept(app: &App, args: &ToolsArgs, server: &str, tool: &str) -> Done {
    let by = authority::person(app, None)?;
    let mut live = live::open(app, args.run.as_deref())?;
    let ask = CommandKind::AcceptTool {
        server: server.to_owned(),
        tool: tool.to_owned(),
        by,
    };
    let decision = live.ask(ask)?;
    let (ok, code, message) = live::reply(&decision.reply);
    if args.json {
        app.output
            .json(&json!({ "ok": ok, "code": code, "message": message }))?;
    } else if ok {
        let name = shown(server, tool);
        app.output
            .line(&format!("{name} is accepted with its current definition"))?;
    } else {
        app.output.error(&format!(
            "refused ({}): {message}\n",
            code.unwrap_or_default()
        ))?;
    }
    if ok {
        Ok(())
    } else {
        Err(Failure::Said(Exit::Failed))
    }
}

fn list(app: &App, args: &ToolsArgs) -> Done {
    let live = live::open(app, args.run.as_deref())?;
    let pins = live.log.folder().tool_pins()?;
    if args.json {
        let lines: Vec<Value> = pins.iter().map(|pin| described(&live, pin)).collect();
        return app
            .output
            .json(&json!({ "run": live.run.id, "tools": lines }));
    }
    if pins.is_empty() {
        return app
            .output
            .line("no tools of MCP servers were seen in this run");
    }
    for pin in &pins {
        let name = shown(&pin.server, &pin.tool);
        let line = described(&live, pin);
        let parts: Vec<&str> = line
            .get("changed")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let status = line.get("status").and_then(Value::as_str);
        let what = match status {
            Some("changed") => format!("{name}  changed: {}", parts.join(", ")),
            Some("accepted") => format!("{name}  changed and accepted"),
            _ => name,
        };
        app.output.line(&what)?;
    }
    Ok(())
}

/// Describes a pinned tool: unchanged, changed, or changed and accepted.
fn described(live: &Live, pin: &ToolPin) -> Value {
    let changed = live
        .run
        .tools_changed
        .iter()
        .find(|change| change.server == pin.server && change.tool == pin.tool);
    let accepted = live
        .run
        .tools_accepted
        .iter()
        .any(|known| known.server == pin.server && known.tool == pin.tool);
    let status = match changed {
        Some(_) => "changed",
        None if accepted => "accepted",
        None => "same",
    };
    let parts = changed.map(|change| &change.parts);
    json!({
        "server": pin.server,
        "tool": pin.tool,
        "status": status,
        "changed": parts,
        "digest": pin.digest,
    })
}

fn shown(server: &str, tool: &str) -> String {
    if server.is_empty() {
        tool.to_owned()
    } else {
        format!("{server} {tool}")
    }
}
