//! Private files of a person in a project, listed in git's own exclude file.

use std::path::{Path, PathBuf};

use crate::settings::MARK;

/// Returns git's exclude file of a project, which applies to this person alone; `None` if there is no place for one.
pub(super) fn file(project_root: &Path) -> Option<PathBuf> {
    let git = project_root.join(".git");
    git.is_dir().then(|| git.join("info/exclude"))
}

/// Appends files, relative to the project's root.
pub(super) fn put(text: Option<&str>, files: &[String]) -> String {
    let before = take(text.unwrap_or_default());
    let mut text = before.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("#{MARK}\n"));
    for file in files {
        text.push_str(&format!("/{file}\n"));
    }
    text
}

/// Removes the files again; returns `None` if nothing is left.
pub(super) fn take(text: &str) -> Option<String> {
    let mark = format!("#{MARK}");
    let mut ours = false;
    let mut left = String::new();
    for line in text.split_inclusive('\n') {
        let said = line.trim_end();
        ours = said == mark || ours && said.starts_with('/');
        if !ours {
            left.push_str(line);
        }
    }
    (!left.trim().is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::{put, take};

    #[test]
    fn what_others_wrote_stays() {
        for before in ["", "# own\n*.log\n", "/a"] {
            let files = [".mcp.json".to_owned()];
            let after = put(Some(before), &files);
            assert!(after.ends_with("/.mcp.json\n"), "{after}");
            assert_eq!(put(Some(&after), &files), after);
            let left = take(&after).unwrap_or_default();
            assert_eq!(left.trim_end(), before.trim_end());
            let added = format!("{after}\n*.tmp\n");
            assert!(
                take(&added).is_some_and(|left| left.contains("*.tmp") && !left.contains(".mcp"))
            );
        }
    }
}
