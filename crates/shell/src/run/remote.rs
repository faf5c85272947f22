//! `aws` and `gcloud`: forms that only query, whatever the service.

use crate::tables::remote::{
    AWS_BEFORE, AWS_GETS, AWS_SHOWS, AWS_STEERS, GCLOUD_GROUPS, GCLOUD_STEERS,
};
use crate::value::Arg;

/// Returns whether the words of a cloud program only query.
pub(super) fn asks(name: &str, operands: &[Arg]) -> bool {
    match name {
        "aws" => aws(operands),
        "gcloud" => gcloud(operands),
        _ => false,
    }
}

fn aws(operands: &[Arg]) -> bool {
    let Some(rest) = after_options(operands) else {
        return false;
    };
    let [service, verb, rest @ ..] = rest else {
        return false;
    };
    let (Some(service), Some(verb)) = (service.literal(), verb.literal()) else {
        return false;
    };
    let shows = AWS_SHOWS
        .iter()
        .any(|(of, verbs)| *of == service && verbs.contains(&verb));
    let begins = verb.starts_with("describe-") || verb.starts_with("list-");
    // An operand without an option is the file that some verbs write.
    let names_nothing = rest.first().is_none_or(is_option);
    (shows || (begins || AWS_GETS.contains(&verb)) && names_nothing && is_name(service))
        && rest.iter().all(|word| is_harmless(word, AWS_STEERS))
}

/// Skips the options before the service; returns `None` if one of them is unknown.
fn after_options(operands: &[Arg]) -> Option<&[Arg]> {
    let mut rest = operands;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal()?;
        if !text.starts_with('-') {
            return Some(rest);
        }
        let (name, joined) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text, false),
        };
        let (_, takes_value) = AWS_BEFORE.iter().find(|(known, _)| *known == name)?;
        rest = match *takes_value && !joined {
            true => after.get(1..)?,
            false => after,
        };
    }
    None
}

fn gcloud(operands: &[Arg]) -> bool {
    let is_group = |word: &&Arg| {
        word.literal()
            .is_some_and(|word| GCLOUD_GROUPS.contains(&word))
    };
    let groups = operands.iter().take_while(is_group).count();
    let verb = operands.get(groups).and_then(Arg::literal);
    let reads = matches!(verb, Some("list" | "describe" | "get-iam-policy"))
        || verb == Some("read") && operands.first().is_some_and(|first| first.is("logging"));
    let prints_token =
        operands.first().is_some_and(|first| first.is("auth")) && verb != Some("list");
    groups > 0
        && reads
        && !prints_token
        && operands
            .iter()
            .skip(groups + 1)
            .all(|word| is_harmless(word, GCLOUD_STEERS))
}

fn is_option(word: &Arg) -> bool {
    word.start().starts_with('-')
}

fn is_name(word: &str) -> bool {
    word.bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Returns whether a word is not an option of `steers`, not even abbreviated, and names no file to send.
fn is_harmless(word: &Arg, steers: &[&str]) -> bool {
    let Some(text) = word.literal() else {
        return !word.may_be_option();
    };
    let name = text.split('=').next().unwrap_or_default();
    let is_short = text.starts_with('-') && !text.starts_with("--");
    let steered = name.len() > 2 && steers.iter().any(|steer| steer.starts_with(name));
    let is_file = text.contains("file://") || text.contains("fileb://");
    let is_negative = || text.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    !is_file && !steered && (!is_short || is_negative())
}
