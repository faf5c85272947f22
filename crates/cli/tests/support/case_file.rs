//! Case files of runs: keys of the whole case, and its commands.

use serde_json::{Map, Value};

/// Parses a case file as a map that has `steps`.
///
/// In a file with a single command, the keys that are not in `of_whole` belong to that command.
pub(crate) fn read(text: &str, of_whole: &[&str]) -> Result<Map<String, Value>, String> {
    let mut options = serde_saphyr::Options::default();
    // As in YAML 1.2, `on`, `no` and `yes` are text.
    options.strict_booleans = true;
    let case: Map<String, Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    if case.contains_key("steps") {
        return Ok(case);
    }
    let is_whole = |key: &str| of_whole.contains(&key);
    let (mut whole, step): (Map<_, _>, Map<_, _>) =
        case.into_iter().partition(|(key, _)| is_whole(key));
    whole.insert("steps".to_owned(), Value::Array(vec![Value::Object(step)]));
    Ok(whole)
}
