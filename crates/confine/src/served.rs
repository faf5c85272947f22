//! What a server's tool does with files, according to the configuration.

use interlock_facts::{FileUse, TextUse};
use interlock_project::ToolConfig;
use serde_json::Value;

/// Returns what a server's tool does with files: as configured, or else as known or guessed.
#[must_use]
pub fn file_use(tool: &str, set: Option<&ToolConfig>, input: &Value, read_only: bool) -> FileUse {
    let Some(set) = set else {
        return FileUse::of(tool, input, read_only);
    };
    FileUse {
        reads: set.reads.clone(),
        writes: set.writes.clone(),
        removes: set.removes.clone(),
        text: set.content.clone().map_or(TextUse::Unknown, TextUse::Whole),
        line: set.command.clone(),
        sure: true,
    }
}

#[cfg(test)]
mod tests {
    use interlock_facts::TextUse;
    use interlock_project::ToolConfig;
    use serde_json::json;

    use super::file_use;

    #[test]
    fn everything_that_is_configured_counts() {
        let words = |word: &str| vec![word.to_owned()];
        let set = ToolConfig {
            reads: words("from"),
            writes: words("to"),
            removes: words("old"),
            content: Some("text".to_owned()),
            command: Some("line".to_owned()),
        };
        let found = file_use("move", Some(&set), &json!({}), false);
        assert_eq!(found.reads, ["from"]);
        assert_eq!(found.writes, ["to"]);
        assert_eq!(found.removes, ["old"]);
        assert!(matches!(found.text, TextUse::Whole(name) if name == "text"));
        assert_eq!(found.line.as_deref(), Some("line"));
        assert!(found.sure);
    }
}
