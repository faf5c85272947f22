//! Known properties of what a substitution prints.

use crate::syntax::{Command, List};
use crate::tables::outputs::{DATE_STARTS, FORMS, Form, Output};
use crate::value::Dynamic;

/// Returns what is known of the words that a list of commands prints.
pub(crate) fn of(list: &List) -> Dynamic {
    let output = words(list).and_then(|words| output(&words));
    Dynamic {
        is_never_option: output == Some(Output::Names),
        is_operand: output.is_some(),
        ..Dynamic::default()
    }
}

/// Returns the words of the only command, if all of them are plain text.
fn words(list: &List) -> Option<Vec<&str>> {
    let [item] = list.items.as_slice() else {
        return None;
    };
    let [Command::Simple(simple)] = item.first.commands.as_slice() else {
        return None;
    };
    let is_alone = item.rest.is_empty() && !item.background && simple.assignments.is_empty();
    let words: Vec<&str> = simple
        .words
        .iter()
        .map(|word| word.source.as_str())
        .collect();
    let is_plain = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./@^~=:+%".contains(&byte))
    };
    (is_alone && words.iter().all(is_plain)).then_some(words)
}

fn output(words: &[&str]) -> Option<Output> {
    if let ["date", rest @ ..] = words {
        let format = match rest {
            [format] | ["-u", format] => format.strip_prefix('+')?,
            _ => return None,
        };
        let begins = DATE_STARTS.iter().any(|start| format.starts_with(start));
        return begins.then_some(Output::Names);
    }
    // More specific forms come first.
    let mut found: Option<&Form> = None;
    for form in FORMS.iter().filter(|form| words.starts_with(form.words)) {
        if found.is_none_or(|found| found.words.len() < form.words.len()) {
            found = Some(form);
        }
    }
    let form = found?;
    let rest = words.get(form.words.len()..)?;
    let (options, operands): (Vec<&str>, Vec<&str>) =
        rest.iter().partition(|word| word.starts_with('-'));
    let all_known = options.iter().all(|option| form.options.contains(option));
    (all_known && operands.len() <= form.operands).then_some(form.output)
}

#[cfg(test)]
mod tests {
    use super::output;
    use crate::tables::outputs::FORMS;

    #[test]
    fn a_form_with_one_operand_more_prints_anything() {
        for form in FORMS {
            let mut words = form.words.to_vec();
            words.extend(vec!["x"; form.operands]);
            assert_eq!(output(&words), Some(form.output), "{words:?}");
            words.push("x");
            assert_eq!(output(&words), None, "{words:?}");
        }
    }
}
