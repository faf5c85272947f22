//! `workflows`: lists every workflow that has a name here.

use std::path::Path;

use interlock_formats::{Source, description_of, first_comment, format_of};
use interlock_project::{Entry, Library, Origin};
use serde_json::{Value, json};

use crate::{app::App, args::WorkflowsArgs, failure::Done, output::Style};

pub(crate) fn run(app: &App, args: &WorkflowsArgs) -> Done {
    let library = app.library_to_read();
    let lines: Vec<Value> = library
        .list()
        .iter()
        .map(|entry| line(app, &library, entry))
        .collect();
    if args.json {
        return lines.iter().try_for_each(|line| app.output.json(line));
    }
    let width = lines
        .iter()
        .map(|line| text(line, "name").chars().count())
        .max();
    for (origin, title) in [
        (Origin::Project, "of this project"),
        (Origin::Person, "yours"),
        (Origin::Shipped, "shipped with Interlock"),
    ] {
        let own = lines
            .iter()
            .filter(|line| text(line, "origin") == origin.as_str());
        for (index, line) in own.enumerate() {
            if index == 0 {
                app.output.line(&app.output.styled(Style::Dim, title))?;
            }
            app.output
                .line(&sentence(app, line, width.unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn line(app: &App, library: &Library, entry: &Entry) -> Value {
    let source = library.open_named(&entry.name);
    let hidden: Vec<String> = library
        .hidden(&entry.name)
        .iter()
        .map(|path| shown(app, path))
        .collect();
    let mut line = json!({
        "name": entry.name,
        "origin": entry.origin.as_str(),
        "format": source.as_ref().ok().and_then(format_of),
        "about": source.as_ref().ok().and_then(about),
        "file": entry.path.as_ref().map(|path| shown(app, path)),
        "hides": hidden,
    });
    if let Err(error) = source {
        crate::live::put(&mut line, "message", json!(error.to_string()));
    }
    line
}

/// Returns the first line of a workflow's description.
fn about(source: &Source) -> Option<String> {
    let text = description_of(source).or_else(|| first_comment(source).map(str::to_owned))?;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(first.to_owned())
}

fn sentence(app: &App, line: &Value, width: usize) -> String {
    let name = text(line, "name");
    let blanks = " ".repeat(width.saturating_sub(name.chars().count()));
    let format = match text(line, "format") {
        "" => app.output.styled(Style::Red, "unreadable"),
        format => format!("{format:<10}"),
    };
    let rest = [
        text(line, "file"),
        text(line, "about"),
        text(line, "message"),
    ];
    let rest: Vec<&str> = rest.into_iter().filter(|text| !text.is_empty()).collect();
    let hides = line.get("hides").and_then(Value::as_array);
    let hides: Vec<&str> = hides
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let hides = if hides.is_empty() {
        String::new()
    } else {
        format!("  hides {}", hides.join(", "))
    };
    let name = app.output.styled(Style::Bold, name);
    format!("  {name}{blanks}  {format}  {}{hides}", rest.join("  "))
        .trim_end()
        .to_owned()
}

fn text<'l>(line: &'l Value, key: &str) -> &'l str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Shortens a path relative to the current directory.
fn shown(app: &App, path: &Path) -> String {
    let relative = path.strip_prefix(&app.directory).unwrap_or(path);
    relative.display().to_string()
}
