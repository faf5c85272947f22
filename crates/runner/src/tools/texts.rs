//! Texts in files, and texts with holes for the arguments of a tool.

use std::{fs::File, io::Read as _, path::Path};

use interlock_core::machine::Object;
use interlock_expr::text::{Base, Files, MissingInput, Places, Sources, Text};
use serde_json::Value;

use super::fields::Fields;
use crate::{order::Failed, output::TEXT_BYTES_MAX};

/// Reads a regular text file of up to 16 MiB, or returns why it cannot be read.
pub(crate) fn read_file(path: &str, places: &Places) -> Result<String, String> {
    let failed = |why: &str| Err(format!("cannot read `{path}`: {why}"));
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) => return failed(&missing(path, places).unwrap_or_else(|| error.to_string())),
    };
    if !found.is_file() {
        return failed("it is not a regular file");
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => failed(&error.to_string()),
        Ok(_) if bytes.len() > TEXT_BYTES_MAX => failed("it is over 16 MiB"),
        Ok(_) => String::from_utf8(bytes).or_else(|error| {
            let at = error.utf8_error().valid_up_to();
            failed(&format!("it is not UTF-8 at byte {at}"))
        }),
    }
}

/// Reports that a file is missing in the run directory and exists in the project.
fn missing(path: &str, places: &Places) -> Option<String> {
    let below = Path::new(path).strip_prefix(&places.run_dir).ok()?;
    let below = below.to_str()?;
    let there = places.absolute(below, Base::Project);
    Path::new(&there)
        .is_file()
        .then(|| format!("it is not in the run directory; the project has it, write `@/{below}`"))
}

/// Fills `text` from the arguments of a tool.
pub(super) fn fill(text: &Text, arguments: &Object, places: &Places) -> Result<String, String> {
    let mut files = Files::new();
    loop {
        let sources = Sources {
            context: arguments,
            caught: None,
            places,
            files: &files,
            beside: None,
        };
        match text.fill(&sources) {
            Ok(filled) => return Ok(filled),
            Err(MissingInput::Wrong(error)) => return Err(error.reason),
            Err(MissingInput::File(path)) => {
                let read = read_file(&path, places);
                files.insert(path, read);
            }
        }
    }
}

/// Returns the output of a state without a program.
pub(super) fn written(input: &Value) -> Result<String, Failed> {
    Fields::new("write", input).required("text")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use interlock_expr::text::Places;

    use super::read_file;

    #[test]
    fn only_a_regular_file_of_text_is_read() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir_all(at("run")).unwrap();
        fs::create_dir_all(at("project/sub")).unwrap();
        fs::write(at("run/good"), " text\n").unwrap();
        fs::write(at("run/bad"), b"a\xff").unwrap();
        fs::write(at("project/sub/VERSION"), "1").unwrap();
        let places = Places {
            run_dir: at("run"),
            project: at("project"),
            home: at("home"),
        };
        assert_eq!(
            read_file(&at("run/good"), &places),
            Ok(" text\n".to_owned())
        );
        for (path, part) in [
            ("run/bad", "not UTF-8 at byte 1"),
            ("run", "not a regular file"),
            ("run/absent", "No such file"),
            (
                "run/sub/VERSION",
                "the project has it, write `@/sub/VERSION`",
            ),
        ] {
            let why = read_file(&at(path), &places).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
