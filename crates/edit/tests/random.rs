//! Random operations on every workflow of the test cases, the examples and the shipped workflows, also with comments.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a failed test panics"
)]

mod operations;

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_edit::{Operation, Refusal, Why, edit};
use interlock_formats::{NoWorkflows, Source, Tree};

use interlock_testkit::dice::Dice;
use operations::Random;

/// Number of operations; `INTERLOCK_EDITS` sets another one.
const OPERATIONS: usize = 400;
/// Number of printed refusals, for review; `INTERLOCK_REFUSALS` sets another one.
const SHOWN: usize = 40;
/// The seed of the first operation, increased for the others; `INTERLOCK_SEED` sets another one.
const SEED: u64 = 0;

#[test]
fn an_edit_changes_what_it_says_and_no_comment_elsewhere() {
    let corpus = corpus();
    let count = std::env::var("INTERLOCK_EDITS").map_or(OPERATIONS, |count| count.parse().unwrap());
    let sample = std::env::var("INTERLOCK_REFUSALS").map_or(SHOWN, |count| count.parse().unwrap());
    let first = std::env::var("INTERLOCK_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    let mut shown: Vec<String> = Vec::new();
    let (mut done, mut refused) = (0, 0);
    for seed in first.. {
        if done + shown.len() >= count {
            break;
        }
        let mut random = Random {
            dice: Dice::of_seed(seed),
        };
        let plain = &corpus[usize::try_from(seed).unwrap() % corpus.len()];
        let source = if seed % 3 == 0 {
            plain.clone()
        } else {
            with_comments(plain, &mut random)
        };
        let Ok(tree) = Tree::read(&source) else {
            continue;
        };
        let Some(operation) = random.operation(&tree) else {
            continue;
        };
        match edit(
            &source,
            None,
            std::slice::from_ref(&operation),
            &NoWorkflows,
        ) {
            Ok(edited) => {
                done += 1;
                check_comments(&source, &tree, &operation, &edited.text);
            }
            Err(refusal) => {
                refused += usize::from(matches!(refusal.why, Why::Text | Why::Machine));
                check_refusal(&source, &operation, &refusal);
                shown.push(said(&source, &operation, &refusal));
            }
        }
    }
    let every = shown.len().div_ceil(sample.max(1)).max(1);
    for text in shown.iter().step_by(every) {
        println!("{text}");
    }
    println!("{} refused in all", shown.len());
    println!("{done} done, {refused} refused for the text");
    assert!(done > count / 3, "{done} of {count} were carried out");
    assert!(refused * 50 < done, "{refused} were refused beside {done}");
}

/// Checks that a refusal has a message, and a place in the text.
fn check_refusal(source: &Source, operation: &Operation, refusal: &Refusal) {
    let found = refusal.diagnostic(&source.name);
    let placed = refusal
        .at
        .clone()
        .is_some_and(|at| source.text.get(at).is_some());
    assert!(
        placed && found.is_some_and(|found| found.line > 0) && refusal.message.contains(' '),
        "{operation:?} in {}: {refusal:?}",
        source.name
    );
}

/// Formats a refusal with the lines of the text that it names.
fn said(source: &Source, operation: &Operation, refusal: &Refusal) -> String {
    let at = refusal.at.clone().unwrap_or_default();
    let text: String = source.text[at].chars().take(160).collect();
    let help = refusal.help.as_deref().unwrap_or("-");
    let code = refusal.why.code();
    let message = &refusal.message;
    format!(
        "{}: {operation:?}\n  {code}: {message}\n  help: {help}\n  {text:?}",
        source.name
    )
}

fn corpus() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["tests/cases", "workflows", "examples"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&file).unwrap_or_default();
        if name.ends_with(".test.yaml") {
            all.extend(inner_workflow(&name, &text));
        } else {
            all.push(Source::new(name, text));
        }
    }
    assert!(all.len() > 1_000, "{} workflows", all.len());
    all
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_workflow = path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "json" || end == "yml");
        if path.is_dir() {
            collect(&path, files);
        } else if is_workflow {
            files.push(path);
        }
    }
}

/// Returns the workflow in a case file.
fn inner_workflow(name: &str, text: &str) -> Option<Source> {
    let begin = text.find("\nworkflow:\n")? + "\nworkflow:\n".len();
    let inner: Vec<&str> = text[begin..]
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "))
        .collect();
    let dedented: Vec<&str> = inner
        .iter()
        .map(|line| line.get(2..).unwrap_or_default())
        .collect();
    Some(Source::new(name.to_owned(), dedented.join("\n") + "\n"))
}

/// Adds comments between and after the lines, where they change nothing.
fn with_comments(source: &Source, random: &mut Random) -> Source {
    if source.name.ends_with(".json") {
        return source.clone();
    }
    let Ok(tree) = Tree::read(source) else {
        return source.clone();
    };
    let mut text = String::new();
    for (number, line) in source.text.lines().enumerate() {
        let mut with = String::new();
        if random.dice.below(5) == 0 {
            let indent = line.len() - line.trim_start().len();
            with += &format!("{}# above {number}\n", &line[..indent]);
        }
        with += line;
        if random.dice.below(6) == 0 {
            with += &format!("  # behind {number}");
        }
        with.push('\n');
        if random.dice.below(9) == 0 {
            with.push('\n');
        }
        let rest: Vec<&str> = source.text.lines().skip(number + 1).collect();
        let tried = Source::new(
            source.name.clone(),
            format!("{text}{with}{}\n", rest.join("\n")),
        );
        let same = Tree::read(&tried).is_ok_and(|new| new.root.to_value() == tree.root.to_value());
        if same {
            text += &with;
        } else {
            text += line;
            text.push('\n');
        }
    }
    Source::new(source.name.clone(), text)
}

/// Checks that every comment added by `with_comments` outside the operation's target is still there.
fn check_comments(source: &Source, tree: &Tree, operation: &Operation, new: &str) {
    let gone = match operation {
        Operation::Remove { at } | Operation::Set { at, .. } => span(&source.text, tree, at),
        Operation::RemoveState { name, .. } => {
            span(&source.text, tree, &format!("/states/{name}")).or(Some((0, source.text.len())))
        }
        Operation::SetTransition { state, event, .. }
        | Operation::RemoveTransition { state, event } => {
            span(&source.text, tree, &format!("/states/{state}/on/{event}"))
        }
        Operation::SetGuard { name, .. } | Operation::RemoveGuard { name } => {
            span(&source.text, tree, &format!("/guards/{name}"))
        }
        _ => None,
    };
    if matches!(
        operation,
        Operation::RemoveState {
            with_transitions: true,
            ..
        }
    ) {
        return;
    }
    let mut at = 0;
    for line in source.text.split_inclusive('\n') {
        let (begin, end) = (at, at + line.len());
        at = end;
        let Some(found) = line.find("# above").or_else(|| line.find("# behind")) else {
            continue;
        };
        let inside = gone.is_some_and(|(from, to)| {
            // A replacement of a value on one line keeps the comment after it.
            let stays = matches!(
                operation,
                Operation::Set { .. } | Operation::SetTransition { .. }
            ) && !source.text[from..to].contains('\n');
            begin <= to && end > from && !stays
        });
        let comment = line[found..].trim_end();
        let known = new.lines().any(|line| line.ends_with(comment));
        assert!(
            inside || known,
            "`{comment}` is lost by {operation:?} in {}:\n{}\nis now\n{new}",
            source.name,
            source.text
        );
    }
}

/// Returns the range of an entry or an item, including its key.
fn span(text: &str, tree: &Tree, at: &str) -> Option<(usize, usize)> {
    let mut node = &tree.root;
    let mut start = 0;
    for word in at.split('/').skip(1) {
        let word = word.replace("~1", "/").replace("~0", "~");
        match node.get(&word) {
            Some(entry) => {
                start = entry.key_span.start;
                node = &entry.value;
            }
            None => {
                node = node.items().get(word.parse::<usize>().ok()?)?;
                start = node.span.start;
            }
        }
    }
    Some((start, end_without_comments(text, start, node.span.end)))
}

/// Excludes comment lines at the end of a value, because they belong to the next one.
fn end_without_comments(text: &str, start: usize, end: usize) -> usize {
    let mut part = text[start..end].trim_end();
    while let Some((before, last)) = part.rsplit_once('\n') {
        if !last.trim_start().starts_with('#') {
            break;
        }
        part = before.trim_end();
    }
    start + part.len()
}
