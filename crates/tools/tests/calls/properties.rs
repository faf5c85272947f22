//! Edits and searches compared with the simplest implementation.

use std::fs;

use interlock_tools::{Code, Tool};
use proptest::prelude::*;
use serde_json::json;

use crate::room::Room;

/// Replaces by checking every position, one after the other.
fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<String, Code> {
    if old == new {
        return Err(Code::NoChange);
    }
    let mut result = String::new();
    let mut rest = text;
    let mut places = 0;
    while !rest.is_empty() {
        match rest.strip_prefix(old) {
            Some(after) => {
                places += 1;
                result.push_str(new);
                rest = after;
            }
            None => {
                let mut chars = rest.chars();
                result.extend(chars.next());
                rest = chars.as_str();
            }
        }
    }
    match places {
        0 => Err(Code::NoMatch),
        2.. if !all => Err(Code::ManyMatches),
        _ => Ok(result),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn edits_are_made_as_the_plainest_way_has_it(
        text in "[abä\n]{0,30}",
        edits in prop::collection::vec(("[abä\n]{1,3}", "[abcä\n]{0,4}", any::<bool>()), 1..4),
    ) {
        let room = Room::new();
        let path = room.path.join("p/a.txt");
        fs::write(&path, &text).unwrap();
        room.call(Tool::Read, &json!({"file_path": "a.txt"}));
        let wanted = edits.iter().try_fold(text.clone(), |text, (old, new, all)| replaced(&text, old, new, *all));
        let wanted = match wanted {
            Ok(same) if same == text => Err(Code::NoChange),
            other => other,
        };
        let told: Vec<_> = edits.iter().map(|(old, new, all)| json!({"old_string": old, "new_string": new, "replace_all": all})).collect();
        let (call, end) = room.call(Tool::MultiEdit, &json!({"file_path": "a.txt", "edits": told}));
        let after = fs::read_to_string(&path).unwrap();
        match wanted {
            Ok(wanted) => {
                prop_assert_eq!(end.code, None);
                prop_assert_eq!(&after, &wanted);
                // As many lines as in its facts, or fewer.
                let changed = changed_lines(&text, &after);
                prop_assert!(call.facts.edit_lines.unwrap() >= changed, "{} of {}", changed, call.facts.edit_lines.unwrap());
            }
            Err(code) => {
                prop_assert_eq!(end.code, Some(code));
                prop_assert_eq!(after, text);
            }
        }
        prop_assert_eq!(fs::read_dir(room.path.join("p")).unwrap().count(), 1);
    }

    #[test]
    fn lines_are_found_as_the_plainest_way_has_it(
        files in prop::collection::btree_map("[a-c]{1,2}", "[abx\n]{0,20}", 0..5),
        wanted in "[abx]{1,2}",
    ) {
        let room = Room::new();
        for (name, text) in &files {
            fs::write(room.path.join("p").join(name), text).unwrap();
        }
        let mut rows = Vec::new();
        for (name, text) in &files {
            for (index, line) in text.lines().enumerate().filter(|(_, line)| line.contains(&wanted)) {
                rows.push(format!("{name}:{}:{line}", index + 1));
            }
        }
        let input = json!({"pattern": wanted, "output_mode": "content"});
        let (_, end) = room.call(Tool::Grep, &input);
        let expected = if rows.is_empty() { "no matches".to_owned() } else { rows.join("\n") };
        prop_assert_eq!(end.text, expected);
    }

    #[test]
    fn whatever_is_asked_for_ends(
        tool in prop::sample::select(vec![Tool::Read, Tool::Grep, Tool::Glob, Tool::Ls, Tool::ReadFile, Tool::ListFiles, Tool::Search, Tool::SearchKnowledgeBase, Tool::GetDocumentById]),
        path in "[a-z./~*{}\\[\\]\u{0}ä:-]{0,12}",
        number in any::<i32>(),
    ) {
        let room = Room::new();
        room.make("p/a.txt", "text\n");
        let names = ["file_path", "path", "pattern", "query", "id", "glob", "offset", "limit", "context"];
        let fits = |name: &&str| tool.schema().pointer(&format!("/properties/{name}")).is_some();
        let mut input = serde_json::Map::new();
        for name in names.into_iter().filter(fits) {
            let kind = tool.schema().pointer(&format!("/properties/{name}/type"));
            let is_number = kind == Some(&json!("integer"));
            let value = if is_number { json!(number) } else { json!(path) };
            input.insert(name.to_owned(), value);
        }
        let before = room.tree();
        let (_, end) = room.call(tool, &input.into());
        prop_assert_eq!(end.ok, end.code.is_none());
        prop_assert!(!end.text.contains("state secret"));
        prop_assert_eq!(room.tree(), before);
    }
}

/// Returns the number of lines that are in one text and not in the other, in the direction with more of them; counted
/// like facts, without line ends.
fn changed_lines(old: &str, new: &str) -> u64 {
    let only = |one: &str, other: &str| {
        let mut rest: Vec<&str> = other.lines().collect();
        let mut count = 0;
        for line in one.lines() {
            match rest.iter().position(|other| *other == line) {
                Some(index) => drop(rest.remove(index)),
                None => count += 1,
            }
        }
        count
    };
    only(old, new).max(only(new, old))
}
