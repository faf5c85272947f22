//! Patches in the form of `apply_patch`, which name their files.

use crate::lines::{count, wide};

/// The change of one file in a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchedFile {
    /// Path in the patch.
    pub(crate) path: String,
    /// Kind of the change.
    pub(crate) fate: Fate,
    /// Number of removed lines.
    pub(crate) removed: u64,
    /// Number of added lines.
    pub(crate) added: u64,
}

/// The kind of change of a file in a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The file is new or overwritten.
    Added,
    /// The file is changed in place.
    Changed,
    /// The file is changed and renamed.
    Moved(String),
    /// The file is removed.
    Deleted,
}

/// Parses a patch.
///
/// # Errors
/// Returns which line could not be parsed.
pub(crate) fn read(text: &str) -> Result<Vec<PatchedFile>, String> {
    let mut lines = text
        .trim_matches(['\r', '\n', ' ', '\t'])
        .lines()
        .enumerate();
    match lines.next() {
        Some((_, "*** Begin Patch")) => {}
        _ => return Err("the patch does not begin with `*** Begin Patch`".to_owned()),
    }
    let mut files: Vec<PatchedFile> = Vec::new();
    for (number, line) in lines {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line == "*** End Patch" {
            return if files.is_empty() {
                Err("the patch names no file".to_owned())
            } else {
                Ok(files)
            };
        }
        if let Some(file) = opened(line) {
            files.push(file);
        } else if !files.last_mut().is_some_and(|file| file.takes(line)) {
            return Err(format!(
                "line {} of the patch is not understood",
                number + 1
            ));
        }
    }
    Err("the patch does not end with `*** End Patch`".to_owned())
}

fn opened(line: &str) -> Option<PatchedFile> {
    let kinds = [
        ("*** Add File: ", Fate::Added),
        ("*** Update File: ", Fate::Changed),
        ("*** Delete File: ", Fate::Deleted),
    ];
    kinds.into_iter().find_map(|(mark, fate)| {
        let path = line.strip_prefix(mark)?.trim().to_owned();
        (!path.is_empty()).then_some(PatchedFile {
            path,
            fate,
            removed: 0,
            added: 0,
        })
    })
}

impl PatchedFile {
    /// Handles a line of the file's section; returns `false` if it does not belong there.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(to) = line.strip_prefix("*** Move to: ") {
            let fits = self.fate == Fate::Changed && !to.trim().is_empty();
            self.fate = Fate::Moved(to.trim().to_owned());
            return fits;
        }
        let changes = matches!(self.fate, Fate::Changed | Fate::Moved(_));
        match line.chars().next() {
            Some('+') if self.fate != Fate::Deleted => self.added += lines_of(line),
            Some('-') if changes => self.removed += lines_of(line),
            Some(' ' | '@') | None if changes => {}
            _ => return changes && line == "*** End of File",
        }
        true
    }
}

/// Counts the lines in one line of a patch: some editors recognize more line breaks than a patch does.
fn lines_of(line: &str) -> u64 {
    let content = line.get(1..).unwrap_or_default();
    count(content).max(1)
}

/// Returns the common names of equivalent tools.
pub(crate) fn parts(files: &[PatchedFile]) -> Vec<String> {
    let does = |wanted: fn(&Fate) -> bool| files.iter().any(|file| wanted(&file.fate));
    let parts = [
        (
            "Edit",
            does(|fate| matches!(fate, Fate::Changed | Fate::Moved(_))),
        ),
        (
            "Write",
            does(|fate| matches!(fate, Fate::Added | Fate::Moved(_))),
        ),
        (
            "Delete",
            does(|fate| matches!(fate, Fate::Deleted | Fate::Moved(_))),
        ),
    ];
    let done = parts.into_iter().filter(|(_, does)| *does);
    done.map(|(name, _)| name.to_owned()).collect()
}

/// Returns the number of lines that a patch touches; `deleted` returns the number of lines of a deleted file.
pub(crate) fn touched_lines(
    files: &[PatchedFile],
    mut deleted: impl FnMut(&PatchedFile) -> u64,
) -> u64 {
    let (mut removed, mut added) = (0_u64, 0_u64);
    for file in files {
        removed = removed.saturating_add(file.removed);
        added = added.saturating_add(file.added);
        if file.fate == Fate::Deleted {
            removed = removed.saturating_add(deleted(file));
        }
    }
    removed.max(added).max(wide(usize::from(files.is_empty())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn every_file_of_a_patch_is_found() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** Update File: b.txt\n\
            *** Move to: c/d.txt\n@@ fn x\n keep\n-old\n+new\n+newer\n\n*** End of File\n\
            *** Delete File: e.txt\n*** End Patch\n";
        let files = read(text).unwrap();
        let seen: Vec<(&str, u64, u64)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.removed, file.added))
            .collect();
        assert_eq!(seen, [("a.txt", 0, 2), ("b.txt", 1, 2), ("e.txt", 0, 0)]);
        assert_eq!(
            files.get(1).unwrap().fate,
            Fate::Moved("c/d.txt".to_owned())
        );
        assert_eq!(touched_lines(&files, |_| 0), 4);
        assert_eq!(touched_lines(&files, |_| 9), 10);
    }

    #[test]
    fn a_line_of_a_patch_may_hold_several() {
        let text =
            "*** Begin Patch\n*** Update File: a\n-one\u{2028}two\n+1\r2\r3\n+\n*** End Patch";
        let files = read(text).unwrap();
        let file = files.first().unwrap();
        assert_eq!((file.removed, file.added), (2, 4));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let texts = [
            "",
            "+a",
            "*** Begin Patch",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n+a\n*** End Patch",
            "*** Begin Patch\n*** Add File: \n+a\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n-a\n*** End Patch",
            "*** Begin Patch\n*** Delete File: a\n+a\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch",
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\nno mark\n*** End Patch",
            "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
        ];
        for text in texts {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
