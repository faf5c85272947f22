//! What an assistant of the file has of the one it builds on.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::{merged, skills};
use crate::{
    codemie::{document, notes::Notes, syntax::Workflow},
    diagnostic::Report,
    parse::parse_as_written,
    source::{Files, Source, Workflows},
};

struct Configuration;

impl Workflows for Configuration {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        None
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        let base = r#"{"id": "other", "assistant_id": "more", "system_prompt": "Base.", "model": "m1",
            "temperature": "0.5", "max_turns": 3, "limit_tool_output_tokens": 7,
            "tools": [{"name": "read_file"}], "skill_ids": ["tone"]}"#;
        match (table, id) {
            ("assistants", "base") => Some(Ok(Source::new("base.json", base))),
            ("skills", "gone") => Some(Err("it is not there".to_owned())),
            ("skills", id) => Some(Ok(Source::new(id, format!("Skill {id}.")))),
            _ => None,
        }
    }
}

fn read(text: &str) -> (Workflow, Vec<String>) {
    let mut files = Files::default();
    let file = files.add(Source::new("w.yaml", text));
    let mut report = Report::default();
    let tree = parse_as_written(&files, file, &mut report).unwrap();
    let tree = merged(&tree, &Configuration, &mut report);
    let mut notes = Notes {
        strict: false,
        report: &mut report,
        files: &files,
    };
    let mut workflow = document::read(&tree, &mut notes).unwrap();
    skills(&mut workflow, &Configuration, &mut notes);
    let said = report.into_diagnostics(&files);
    let said = said
        .iter()
        .map(|found| format!("{}:{} {}", found.line, found.column, found.code));
    (workflow, said.collect())
}

const STATES: &str = "states:\n  - id: s\n    assistant_id: a\n    next: {state_id: end}\n";

#[test]
fn keys_of_the_file_override_and_lists_are_added() {
    for package in [false, true] {
        let inner = format!(
            "assistants:\n  - id: a\n    assistant_id: base\n    model: m2\n    temperature: null\n    tools: [{{name: search}}]\n    skill_ids: [style]\n{STATES}"
        );
        let text = match package {
            false => inner,
            true => format!(
                "name: w\nexecution_config:\n  {}",
                inner.replace('\n', "\n  ")
            ),
        };
        let (workflow, said) = read(&text);
        assert_eq!(said, Vec::<String>::new());
        let assistant = workflow.assistants.first().unwrap();
        let text = |named: &Option<crate::codemie::syntax::Named>| {
            named.as_ref().map(|named| named.text.clone())
        };
        assert_eq!(assistant.id.text, "a");
        assert_eq!(text(&assistant.base).as_deref(), Some("base"));
        assert_eq!(text(&assistant.system_prompt).as_deref(), Some("Base."));
        assert_eq!(text(&assistant.model).as_deref(), Some("m2"));
        assert_eq!(assistant.temperature.as_deref(), Some("0.5"));
        assert_eq!((assistant.turns, assistant.output_tokens), (3, 7));
        let tools = assistant.tools.iter().map(|tool| tool.name.text.as_str());
        assert_eq!(tools.collect::<Vec<_>>(), ["read_file", "search"]);
        assert_eq!(assistant.skill_texts, ["Skill tone.", "Skill style."]);
    }
}

#[test]
fn a_skill_that_cannot_be_read_is_told_where_it_is_named() {
    let text =
        format!("assistants:\n  - id: a\n    system_prompt: Go.\n    skill_ids: [gone]\n{STATES}");
    let (_, said) = read(&text);
    assert_eq!(said, ["4:17 configured_skill"]);
}
