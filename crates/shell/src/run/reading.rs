//! Forms of commands that only read, although the program may do more.

use interlock_core::facts::{CommandClass, NetworkDirection};

use super::remote;
use crate::options::{self, Effect, Sorted};
use crate::tables::forms::{LOCAL, SQLITE_ACTS, SQLITE_PRINTS};
use crate::tables::reading::{Check, FORMS, Form, GITHUB, Reach};
use crate::tables::remote::REMOTE;
use crate::value::Arg;
use crate::walk::{CommandPosition, Walker};

impl Walker<'_> {
    /// Handles a command whose words match a form that only reads; returns `false` if none matches.
    pub(super) fn reading_form(
        &mut self,
        name: &str,
        args: &[Arg],
        place: &CommandPosition,
    ) -> bool {
        let operands = args.get(1..).unwrap_or_default();
        if remote::asks(name, operands) {
            let index = self.list_command(args, CommandClass::Reader, place);
            self.facts
                .network(NetworkDirection::Get, None, name, Some(index));
            return true;
        }
        let forms = LOCAL.iter().chain(REMOTE).chain(FORMS);
        let mut fitting = forms.filter_map(|form| fits(form, name, operands));
        let Some((form, sorted)) = fitting.next() else {
            return false;
        };
        let class = match form.reach {
            Reach::Configured => CommandClass::ProjectCode,
            _ => CommandClass::Reader,
        };
        let index = self.list_command(args, class, place);
        self.facts.begin(super::show(args));
        match form.reach {
            Reach::Files => {}
            Reach::Server(host) => {
                self.facts
                    .network(NetworkDirection::Get, Some(host), name, Some(index));
            }
            Reach::Remote => {
                self.facts
                    .network(NetworkDirection::Get, None, name, Some(index));
            }
            Reach::Environment => self.facts.facts.env.dump = true,
            Reach::Daemon => {
                self.facts
                    .network(NetworkDirection::Local, None, name, Some(index));
            }
            Reach::Configured => self
                .facts
                .contained(index, "it starts what its configuration names"),
        }
        let shows = |(option, value): &(String, Option<Arg>)| {
            let is_program = form.reach == GITHUB && matches!(option.as_str(), "q" | "jq");
            let text = value.as_ref().and_then(Arg::literal);
            is_program && text.is_none_or(super::special::jq_shows)
        };
        self.facts.facts.env.dump |= sorted.seen.iter().any(shows);
        self.apply(index, name, &sorted);
        if form.check == Check::Sqlite
            && let Some(database) = sorted.operands.first()
        {
            let directory = self.directory();
            self.facts.read(database, directory.as_deref(), name, false);
        }
        let placed = self.placed_operands(name, &sorted, form.spec.operands);
        self.apply_operands(index, name, &placed, &sorted);
        self.facts.done();
        true
    }
}

/// Returns the form with the classified words after its own, if the form allows all of them.
fn fits(form: &'static Form, name: &str, operands: &[Arg]) -> Option<(&'static Form, Sorted)> {
    if !form.programs.contains(&name) {
        return None;
    }
    let (head, rest) = operands.split_at_checked(form.words.len())?;
    if !head
        .iter()
        .zip(form.words)
        .all(|(word, known)| word.is(known))
    {
        return None;
    }
    let sorted = options::sort(rest, &form.spec);
    let only_reads = sorted
        .effects
        .iter()
        .all(|(effect, _)| *effect == Effect::Read);
    let first = sorted.operands.first().and_then(Arg::literal);
    let fits = sorted.unknown.is_none()
        && sorted.uncertain.is_empty()
        && only_reads
        && form.needs.iter().all(|option| sorted.has(option))
        && sorted.operands.len() <= form.operands_max
        && !first.is_some_and(|first| form.others.contains(&first))
        && passes(form.check, &sorted);
    fits.then_some((form, sorted))
}

fn passes(check: Check, sorted: &Sorted) -> bool {
    match check {
        Check::Nothing => true,
        Check::TmuxFormats => sorted.seen.iter().all(|(name, value)| {
            let is_format = matches!(name.as_str(), "F" | "f");
            let is_plain = |value: &Arg| {
                // A word that ends with `;` ends the command.
                value.literal().is_some_and(|text| {
                    !text.ends_with(';') && (!is_format || is_plain_format(text))
                })
            };
            value.as_ref().is_none_or(is_plain)
        }),
        Check::Sqlite => sqlite(sorted),
        Check::GithubApi => {
            let address = sorted.operands.first();
            let is_own = |address: &Arg| {
                let start = address.start();
                !start.is_empty()
                    && !start.contains("://")
                    && !start.trim_start_matches('/').starts_with("graphql")
            };
            address.is_some_and(is_own)
                && sorted
                    .seen
                    .iter()
                    .all(|(name, value)| asks(name, value.as_ref()))
        }
    }
}

/// Returns whether `sqlite3` opens a database for reading and only executes queries.
fn sqlite(sorted: &Sorted) -> bool {
    let for_reading = sorted.has("-readonly") || sorted.has("--readonly");
    let told = sorted
        .seen
        .iter()
        .filter(|(name, _)| name.ends_with("-cmd"))
        .map(|(_, value)| value.as_ref().and_then(Arg::literal));
    let texts = sorted.operands.iter().skip(1).map(Arg::literal);
    let is_file = |name: &Arg| !name.start().starts_with("file:");
    for_reading
        && sorted.operands.len() > 1
        && sorted.operands.first().is_some_and(is_file)
        && told.chain(texts).all(|text| text.is_some_and(only_asks))
}

/// Returns whether a text for `sqlite3` only prints.
fn only_asks(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let acts = SQLITE_ACTS.iter().any(|word| lower.contains(word));
    let first = lower.split_whitespace().next().unwrap_or_default();
    let commands = first.starts_with('.');
    let prints = !commands || SQLITE_PRINTS.contains(&first) && !lower.contains('\n');
    let hides = lower
        .lines()
        .skip(1)
        .any(|line| line.trim_start().starts_with('.'));
    prints && !hides && !acts
}

/// Returns whether a format of `tmux` contains only plain names, without jobs or repeated expansion.
fn is_plain_format(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('#') {
        let inner = after
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'));
        let Some((name, next)) = inner else {
            return false;
        };
        if !name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        {
            return false;
        }
        rest = next;
    }
    !text.contains('%')
}

/// Returns whether a request of `gh api` with this option still only reads.
fn asks(name: &str, value: Option<&Arg>) -> bool {
    let text = value.map_or("", Arg::shown);
    match name {
        "X" | "method" => text == "GET",
        "H" | "header" => {
            let header = text.to_ascii_lowercase();
            header.starts_with("accept:") || header.starts_with("x-github-api-version:")
        }
        _ => true,
    }
}
