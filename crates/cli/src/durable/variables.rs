//! Variables given on the command line.

use interlock_core::machine::Object;
use interlock_expr::nearest::nearest;
use serde_json::Value;

use crate::failure::Failure;

/// Refuses unknown names; returns the values.
pub(super) fn checked(given: &[(String, String)], known: &[String]) -> Result<Object, Failure> {
    let mut values = Object::new();
    for (name, value) in given {
        if !known.contains(name) {
            return Err(unknown(name, known));
        }
        values.insert(name.clone(), Value::from(value.as_str()));
    }
    Ok(values)
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let help = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "it has none".to_owned(),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("it has {}", names.join(", "))
        }
    };
    anyhow::anyhow!("the workflow has no variable `{name}`: {help}").into()
}
