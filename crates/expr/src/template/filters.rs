//! Filters of Jinja2 that MiniJinja itself does not have.

use minijinja::{
    Environment, Error, ErrorKind, State,
    value::{Kwargs, Rest, Value},
};
use minijinja_contrib::filters as more;

/// The names of what `truncate` takes, in their order.
const TRUNCATE: [&str; 4] = ["length", "killwords", "end", "leeway"];

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("truncate", truncate);
    environment.add_filter("wordcount", wordcount);
    environment.add_filter("striptags", more::striptags);
    environment.add_filter("filesizeformat", more::filesizeformat);
}

/// Cuts a text at a word; its arguments need no names, as in Jinja2.
fn truncate(
    state: &mut State<'_, '_>,
    value: &Value,
    positional: Rest<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    if positional.len() > TRUNCATE.len() {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let unnamed = TRUNCATE.into_iter().zip(positional.iter().cloned());
    let mut all: Vec<(&str, Value)> = unnamed.collect();
    for name in named.args() {
        all.push((name, named.get(name)?));
    }
    more::truncate(state, value, all.into_iter().collect())
}

/// Counts runs of letters, digits and `_`.
fn wordcount(text: &str) -> usize {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
        .count()
}
