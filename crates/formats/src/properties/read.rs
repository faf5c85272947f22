//! Parses properties, and reports every name that the workflow does not have.

use interlock_core::{
    glob,
    machine::{Machine, Outcome},
};
use interlock_expr::nearest::nearest;

use super::{Form, Predicate, Property, SinceWhat, names};
use crate::{
    diagnostic::Report,
    node::{Entry, Kind, Node},
    source::{Files, Span},
};

/// The forms: the key of each, and the keys that go with it.
const FORMS: [(&str, &[&str]); 9] = [
    ("never", &[]),
    ("only_in", &["what"]),
    ("before", &["require", "since"]),
    ("after", &["never", "until"]),
    ("possible", &[]),
    ("always_possible", &["by"]),
    ("only_with_person", &[]),
    ("at_most", &["of", "per"]),
    ("never_together", &[]),
];

const ATOMS: [&str; 13] = [
    "state", "enter", "event", "tool", "command", "writes", "approved", "rejected", "guard",
    "final", "all", "any", "not",
];

/// Parses a file with a list of properties, bare or under `properties`.
pub(super) fn file(
    tree: &Node,
    machine: &Machine,
    files: &Files,
    report: &mut Report,
) -> Vec<Property> {
    let entries = tree.entries();
    if let Some(stray) = entries.iter().find(|entry| entry.key != super::KEY) {
        let message = format!(
            "unknown key `{}`; a file of properties has `properties`",
            stray.key
        );
        report.error(stray.key_span, "unknown_field", message);
    }
    match tree.get(super::KEY) {
        Some(list) => properties(&list.value, machine, files, report),
        None => properties(tree, machine, files, report),
    }
}

/// Parses a list of properties.
pub(super) fn properties(
    list: &Node,
    machine: &Machine,
    files: &Files,
    report: &mut Report,
) -> Vec<Property> {
    let mut reader = Reader { machine, report };
    if !matches!(list.kind, Kind::List(_)) {
        reader.error(list.span, "`properties` is a list, one property an item");
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, item) in list.items().iter().enumerate() {
        let line = files.line(item.span);
        if let Some((name, form)) = reader.property(item) {
            found.push(Property {
                name: name.unwrap_or_else(|| format!("property {}", index + 1)),
                form,
                file: line.map_or_else(String::new, |line| line.file.to_owned()),
                line: line.map_or(0, |line| line.number),
            });
        }
    }
    found
}

struct Reader<'a> {
    machine: &'a Machine,
    report: &'a mut Report,
}

impl Reader<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report.error(span, "invalid_property", message);
    }

    fn property(&mut self, item: &Node) -> Option<(Option<String>, Form)> {
        if !matches!(item.kind, Kind::Map(_)) {
            self.error(
                item.span,
                "a property is an object, such as {never: {tool: Write}}",
            );
            return None;
        }
        // `after` has a `never` of its own, so the key of the form is searched from the end.
        let made = |form: &&(&str, &[&str])| item.get(form.0).is_some();
        let form = if item.get("after").is_some() {
            FORMS.iter().find(|(key, _)| *key == "after")
        } else {
            FORMS.iter().find(made)
        };
        let Some((key, beside)) = form else {
            let forms = FORMS.map(|(key, _)| format!("`{key}`")).join(", ");
            self.error(
                item.span,
                format!("no form of property is named; there are {forms}"),
            );
            return None;
        };
        let mut fine = true;
        for entry in item.entries() {
            let known =
                entry.key == *key || entry.key == "name" || beside.contains(&entry.key.as_str());
            if !known {
                let with = if beside.is_empty() {
                    "`name` goes".to_owned()
                } else {
                    format!("`name`, `{}` go", beside.join("`, `"))
                };
                let message = format!("unknown key `{}`; beside `{key}` {with}", entry.key);
                self.error(entry.key_span, message);
                fine = false;
            }
        }
        let name = item.get("name").and_then(|entry| entry.value.text());
        let form = self.form(key, item)?;
        fine.then(|| (name.map(str::to_owned), form))
    }

    fn form(&mut self, key: &str, item: &Node) -> Option<Form> {
        let own = &item.get(key)?.value;
        match key {
            "never" => Some(Form::Never(self.predicate(own)?)),
            "possible" => Some(Form::Possible(self.predicate(own)?)),
            "only_with_person" => Some(Form::OnlyWithPerson(self.predicate(own)?)),
            "only_in" => {
                let states = self.list(own, "only_in");
                let states = states
                    .iter()
                    .map(|one| self.state(one))
                    .collect::<Option<Vec<_>>>();
                let what = self.needed(item, key, "what")?;
                Some(Form::OnlyIn {
                    states: states?,
                    what: self.predicate(what)?,
                })
            }
            "before" => {
                let at = self.predicate(own);
                let require = self.needed(item, key, "require")?;
                let require = self.predicates(require);
                let since = self.since(item);
                Some(Form::Before {
                    at: at?,
                    require: require?,
                    since: since?,
                })
            }
            "after" => {
                let from = self.predicate(own);
                let never = self.needed(item, key, "never")?;
                let never = self.predicate(never);
                let until = match item.get("until") {
                    Some(entry) => Some(self.predicate(&entry.value)?),
                    None => None,
                };
                Some(Form::After {
                    from: from?,
                    never: never?,
                    until,
                })
            }
            "always_possible" => {
                let what = self.predicate(own)?;
                let by_agent = self.word(item, "by", &["anyone", "agent"])? == 1;
                Some(Form::AlwaysPossible { what, by_agent })
            }
            "at_most" => {
                let Kind::Number(times) = &own.kind else {
                    self.error(
                        own.span,
                        "`at_most` is a whole number, and `of` says of what",
                    );
                    return None;
                };
                let Some(times) = times.as_u64().and_then(|times| u32::try_from(times).ok()) else {
                    self.error(own.span, "`at_most` is a whole number from 0");
                    return None;
                };
                let of = self.needed(item, key, "of")?;
                let of = self.predicate(of)?;
                let per_state = self.word(item, "per", &["run", "state"])? == 1;
                Some(Form::AtMost {
                    times,
                    of,
                    per_state,
                })
            }
            _ => {
                let both = self.predicates(own)?;
                let [one, other] = <[Predicate; 2]>::try_from(both)
                    .map_err(|_| self.error(own.span, "`never_together` has two items"))
                    .ok()?;
                if let Some(moving) = [&one, &other].into_iter().find(|one| !one.stands()) {
                    self.error(own.span, format!("`never_together` is about `state` and `guard`, not about what happens: {moving:?}"));
                    return None;
                }
                Some(Form::NeverTogether(one, other))
            }
        }
    }

    fn needed<'n>(&mut self, item: &'n Node, form: &str, key: &str) -> Option<&'n Node> {
        let found = item.get(key).map(|entry| &entry.value);
        if found.is_none() {
            self.error(item.span, format!("`{form}` needs `{key}` beside it"));
        }
        found
    }

    /// Returns which of `words` is written; by default the first.
    fn word(&mut self, item: &Node, key: &str, words: &[&str]) -> Option<usize> {
        let Some(entry) = item.get(key) else {
            return Some(0);
        };
        let found = entry
            .value
            .text()
            .and_then(|text| words.iter().position(|word| *word == text));
        if found.is_none() {
            self.error(
                entry.value.span,
                format!("`{key}` is `{}`", words.join("` or `")),
            );
        }
        found
    }

    fn since(&mut self, item: &Node) -> Option<SinceWhat> {
        let Some(Entry { value, .. }) = item.get("since") else {
            return Some(SinceWhat::Start);
        };
        match value.text() {
            Some("start") => Some(SinceWhat::Start),
            Some("last_edit") => Some(SinceWhat::LastEdit),
            Some(_) => {
                self.error(
                    value.span,
                    "`since` is `start`, `last_edit`, or what happened, such as {enter: testing}",
                );
                None
            }
            None => Some(SinceWhat::Last(self.predicate(value)?)),
        }
    }

    fn list<'n>(&mut self, node: &'n Node, key: &str) -> Vec<&'n Node> {
        if node.items().is_empty() {
            self.error(node.span, format!("`{key}` is a list with an item or more"));
        }
        node.items().iter().collect()
    }

    /// Parses a list of predicates; a single one is a list of itself.
    fn predicates(&mut self, node: &Node) -> Option<Vec<Predicate>> {
        if matches!(node.kind, Kind::Map(_)) {
            return Some(vec![self.predicate(node)?]);
        }
        let items = self.list(node, "the list");
        let found: Vec<Predicate> = items.iter().filter_map(|one| self.predicate(one)).collect();
        (!found.is_empty() && found.len() == items.len()).then_some(found)
    }

    fn predicate(&mut self, node: &Node) -> Option<Predicate> {
        let mut entries = node.entries().iter().filter(|entry| entry.key != "exit");
        let (Some(entry), None) = (entries.next(), entries.next()) else {
            self.error(
                node.span,
                "write one atom, such as {tool: Write}; several go into `all` or `any`",
            );
            return None;
        };
        let exit = node.get("exit");
        if let Some(exit) = exit.filter(|_| entry.key != "command") {
            self.error(exit.key_span, "`exit` goes beside `command` only");
            return None;
        }
        let value = &entry.value;
        Some(match entry.key.as_str() {
            "all" => Predicate::All(self.predicates(value)?),
            "any" => Predicate::Any(self.predicates(value)?),
            "not" => Predicate::Not(Box::new(self.predicate(value)?)),
            "state" => Predicate::State(self.state(value)?),
            "enter" => Predicate::Enter(self.state(value)?),
            "event" => {
                Predicate::Event(self.known(value, "event", &names::events(self.machine))?)
            }
            "guard" => {
                Predicate::Guard(self.known(value, "guard", &names::guards(self.machine))?)
            }
            "approved" => Predicate::Approved(self.answered(value)?),
            "rejected" => Predicate::Rejected(self.answered(value)?),
            "tool" => Predicate::Tool(self.tool(value)?),
            "command" => self.command(value, exit)?,
            "writes" => Predicate::Writes(self.writes(value)?),
            "final" => Predicate::Final(match value.text() {
                Some("success") => Outcome::Success,
                Some("failure") => Outcome::Failure,
                _ => {
                    self.error(value.span, "`final` is `success` or `failure`");
                    return None;
                }
            }),
            other => {
                let near = nearest(other, ATOMS)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                self.error(entry.key_span, format!("unknown atom `{other}`{near}"));
                return None;
            }
        })
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = node.text().filter(|text| !text.is_empty());
        if text.is_none() {
            self.error(node.span, format!("`{what}` is text"));
        }
        text.map(str::to_owned)
    }

    fn state(&mut self, node: &Node) -> Option<String> {
        self.known(node, "state", &names::states(self.machine))
    }

    fn known(&mut self, node: &Node, what: &str, known: &[&str]) -> Option<String> {
        let text = self.text(node, what)?;
        if known.contains(&text.as_str()) {
            return Some(text);
        }
        let near = nearest(&text, known.iter().copied())
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        self.error(
            node.span,
            format!("the workflow has no {what} `{text}`{near}"),
        );
        None
    }

    /// Parses an answered event: one that a person is asked about, or `any`.
    fn answered(&mut self, node: &Node) -> Option<Option<String>> {
        if node.text() == Some("any") {
            return Some(None);
        }
        let asked = names::approved(self.machine);
        self.known(node, "event that a person is asked about named", &asked)
            .map(Some)
    }

    fn tool(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "tool")?;
        if names::is_tool(self.machine, &text) {
            return Some(text);
        }
        let known = names::tools(self.machine);
        let near = nearest(&text, known.iter().map(String::as_str))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        self.error(node.span, format!("no tool `{text}` is known{near}"));
        None
    }

    fn command(&mut self, node: &Node, exit: Option<&Entry>) -> Option<Predicate> {
        let text = self.text(node, "command")?;
        let words = interlock_shell::split_entry(&text).filter(|words| !words.is_empty());
        let Some(words) = words else {
            self.error(
                node.span,
                format!("`{text}` is not a command: write plain words"),
            );
            return None;
        };
        let exit = match exit.map(|entry| (&entry.value.kind, entry.value.span)) {
            None => None,
            Some((Kind::Number(code), _)) if code.is_i64() => code.as_i64(),
            Some((_, span)) => {
                self.error(span, "`exit` is a whole number");
                return None;
            }
        };
        Some(Predicate::Command { text, words, exit })
    }

    fn writes(&mut self, node: &Node) -> Option<Option<String>> {
        let text = self.text(node, "writes")?;
        if text == "any" {
            return Some(None);
        }
        if let Err(why) = glob::compile(&text) {
            self.error(
                node.span,
                format!("`{text}` is not a pattern of paths: {why}"),
            );
            return None;
        }
        Some(Some(text))
    }
}
