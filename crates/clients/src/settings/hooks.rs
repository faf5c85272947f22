//! Hooks in a client's JSON: added, found again, removed.

use serde_json::{Value, json};

use super::{
    EditError, Site,
    json::{At, Syntax, Text},
    words::{Ending, joined, line, split_line},
};
use crate::client::ClientId;

/// How long a client waits for a hook; Interlock's own deadline is two seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    /// Member with the timeout.
    pub(crate) name: &'static str,
    /// Number of the client's time units per second.
    pub(crate) per_s: u32,
    /// Seconds for hooks that block nothing.
    pub(crate) usual_s: u32,
    /// Seconds before a tool call, which some clients run after the timeout.
    pub(crate) stopping_s: u32,
}

/// Seconds for a client that runs the call after the timeout: a hook that hangs blocks the call.
pub(crate) const DAY_S: u32 = 86_400;

/// Argument of a hook in a plugin: the settings may have the same hook.
pub(crate) const BY_PLUGIN: &str = "--plugin";

/// How a client writes hooks.
#[derive(Debug)]
pub(crate) struct HookForm {
    /// Client that the hooks belong to.
    pub(crate) client: ClientId,
    /// The hooks that Interlock answers.
    pub(crate) events: &'static [&'static str],
    /// Events that a plugin leaves out: older clients skip a plugin's file that has an event unknown to them.
    pub(crate) settings_only: &'static [&'static str],
    /// Events whose hooks must stop the client if the program itself fails.
    pub(crate) stopping: &'static [&'static str],
    /// Whether a hook that fails blocks the call even without `|| exit 2`.
    pub(crate) fails_closed: bool,
    /// Whether hooks are in groups, each with a matcher.
    pub(crate) grouped: bool,
    /// How long the client waits.
    pub(crate) timeout: Timeout,
    /// A harmless call, as the client would ask about it, for a given session and directory.
    pub(crate) probe: fn(&str, &str) -> Value,
    /// Member with the command line.
    pub(crate) line: &'static str,
    /// Whether the command line names the event, because the input does not.
    pub(crate) names_event: bool,
    /// Version number at the beginning of the file.
    pub(crate) version: Option<u8>,
    /// Syntax that the client accepts.
    pub(crate) syntax: Syntax,
    /// Members besides the command line.
    pub(crate) members: &'static [(&'static str, Member)],
    /// Members that prevent a hook from always running, unless they are `false`.
    pub(crate) narrowing: &'static [&'static str],
}

/// A member of a hook besides its command line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member {
    /// A text.
    Text(&'static str),
    /// A text that the hook does not work without.
    Must(&'static str),
    /// A `true` that the hook does not work without.
    MustBeTrue,
}

impl Member {
    fn value(self) -> Value {
        match self {
            Self::Text(text) | Self::Must(text) => json!(text),
            Self::MustBeTrue => json!(true),
        }
    }

    const fn is_a_must(self) -> bool {
        matches!(self, Self::Must(_) | Self::MustBeTrue)
    }
}

/// The state of the hook of one event in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// No hook of Interlock.
    Missing,
    /// A hook of Interlock, but not in the right form.
    Incomplete,
    /// In the right form, with this command line.
    Complete(String),
}

/// A hook of Interlock that was found.
struct Found {
    state: HookState,
    group: usize,
    /// Index within the group; `None` if the group is the hook.
    nth: Option<usize>,
    /// Whether the group contains nothing else.
    alone: bool,
    /// Whether the client's timeout is at least what would be written now.
    is_patient: bool,
}

impl HookForm {
    /// Returns the command line of the hook of an event, for a shell.
    pub(crate) fn command(&self, event: &str, site: &Site) -> String {
        let mut words = vec![
            site.called(),
            "hook".to_owned(),
            self.client.word().to_owned(),
        ];
        if self.names_event {
            words.push(event.to_owned());
        }
        if site.in_plugin {
            words.push(BY_PLUGIN.to_owned());
        }
        line(&words, self.ending(event, site))
    }

    /// Returns what happens if the program of an event's hook does not answer.
    fn ending(&self, event: &str, site: &Site) -> Ending {
        let closes = self.stopping.contains(&event);
        if site.in_plugin {
            return match event {
                _ if closes => Ending::FoundOrUnguarded,
                "SessionStart" => Ending::FoundOrTells,
                _ => Ending::FoundOrPasses,
            };
        }
        match (site.by_name, closes) {
            (false, true) => Ending::Closes,
            (false, false) => Ending::Plain,
            (true, true) => Ending::FoundAndCloses,
            (true, false) if self.stops(event) => Ending::Found,
            (true, false) => Ending::FoundOrPasses,
        }
    }

    /// Returns whether the client waits for the answer before it acts; if no event is named, it does for all.
    fn stops(&self, event: &str) -> bool {
        self.stopping.is_empty() || self.stopping.contains(&event)
    }

    fn hook(&self, event: &str, site: &Site) -> Value {
        let member = |(name, member): &(&str, Member)| ((*name).to_owned(), member.value());
        let is_first = |(name, _): &&(&str, Member)| *name == "type" || *name == "name";
        let mut hook = serde_json::Map::new();
        hook.extend(self.members.iter().filter(is_first).map(member));
        hook.insert(self.line.to_owned(), json!(self.command(event, site)));
        hook.insert(self.timeout.name.to_owned(), json!(self.time(event)));
        hook.extend(
            self.members
                .iter()
                .filter(|pair| !is_first(pair))
                .map(member),
        );
        Value::Object(hook)
    }

    /// Returns the timeout of the hook of an event, in the client's unit.
    fn time(&self, event: &str) -> u32 {
        let seconds = if self.stopping.contains(&event) {
            self.timeout.stopping_s
        } else {
            self.timeout.usual_s
        };
        seconds * self.timeout.per_s
    }

    /// Returns whether a hook has at least that timeout.
    fn is_patient(&self, event: &str, hook: &Value) -> bool {
        let time = hook.get(self.timeout.name).and_then(Value::as_f64);
        time.is_some_and(|time| time >= f64::from(self.time(event)))
    }

    fn entry(&self, event: &str, site: &Site) -> Value {
        let hook = self.hook(event, site);
        if self.grouped {
            json!({ "hooks": [hook] })
        } else {
            hook
        }
    }

    /// Looks up an event in parsed settings.
    pub(crate) fn state(&self, settings: &Value, event: &str, site: &Site) -> HookState {
        let mut state = HookState::Missing;
        for found in self.found(settings, event, site) {
            match found.state {
                complete @ HookState::Complete(_) => return complete,
                other => state = other,
            }
        }
        state
    }

    /// Returns the positions of Interlock's hooks: event, group and index in the group.
    pub(crate) fn places<'e>(
        &'e self,
        settings: &Value,
        site: &Site,
    ) -> Vec<(&'e str, usize, usize)> {
        let events = self.events.iter();
        let all = events.flat_map(|event| {
            let found = self.found(settings, event, site).into_iter();
            found.map(|found| (*event, found.group, found.nth.unwrap_or_default()))
        });
        all.collect()
    }

    fn found(&self, settings: &Value, event: &str, site: &Site) -> Vec<Found> {
        let groups = settings.pointer(&format!("/hooks/{event}"));
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        let mut all = Vec::new();
        for (at, group) in groups.enumerate() {
            if !self.grouped {
                let state = self.state_of(event, group, group, site);
                all.extend(state.map(|state| Found {
                    state,
                    group: at,
                    nth: None,
                    alone: true,
                    is_patient: self.is_patient(event, group),
                }));
                continue;
            }
            let hooks = group.get("hooks").and_then(Value::as_array);
            let hooks: Vec<&Value> = hooks.into_iter().flatten().collect();
            let states: Vec<(Option<HookState>, bool)> = hooks
                .iter()
                .map(|hook| {
                    let state = self.state_of(event, group, hook, site);
                    (state, self.is_patient(event, hook))
                })
                .collect();
            let alone = states.iter().all(|(state, _)| state.is_some());
            let ours = states.into_iter().enumerate();
            all.extend(ours.filter_map(|(nth, (state, is_patient))| {
                state.map(|state| Found {
                    state,
                    group: at,
                    nth: Some(nth),
                    alone,
                    is_patient,
                })
            }));
        }
        all
    }

    /// Returns the state of a hook if it is one of Interlock.
    ///
    /// That is: it only calls a program named `interlock`, or the one to be installed, as the hook of this client.
    fn state_of(&self, event: &str, group: &Value, hook: &Value, site: &Site) -> Option<HookState> {
        let (line, words, ending) = self.line_of(hook)?;
        let [program, hook_word, client, events @ ..] = words.as_slice() else {
            return None;
        };
        let events: Vec<&String> = events.iter().filter(|word| *word != BY_PLUGIN).collect();
        let ours = hook_word == "hook"
            && client == self.client.word()
            && events.len() <= 1
            && is_our_program(program, site);
        if !ours {
            return None;
        }
        let names_this = match events.as_slice() {
            [named] => *named == event,
            _ => !self.names_event,
        };
        let stops = match ending {
            Ending::Closes | Ending::FoundAndCloses | Ending::FoundOrUnguarded => true,
            Ending::Plain | Ending::Found => self.fails_closed || !self.stopping.contains(&event),
            Ending::FoundOrPasses | Ending::FoundOrTells => !self.stops(event),
        };
        if names_this && stops && self.always_holds(group, hook) {
            Some(HookState::Complete(line))
        } else {
            Some(HookState::Incomplete)
        }
    }

    /// Returns the command line of a hook, its words and its ending.
    fn line_of(&self, hook: &Value) -> Option<(String, Vec<String>, Ending)> {
        let command = hook.get(self.line)?.as_str()?;
        let Some(arguments) = hook.get("args").and_then(Value::as_array) else {
            let (words, ending) = split_line(command)?;
            return Some((command.to_owned(), words, ending));
        };
        let arguments = arguments
            .iter()
            .map(|word| word.as_str().map(str::to_owned));
        let program = std::iter::once(Some(command.to_owned()));
        let words = program.chain(arguments).collect::<Option<Vec<_>>>()?;
        Some((joined(&words), words, Ending::Plain))
    }

    /// Returns whether a hook of an event calls this program and nothing else, whatever its form.
    ///
    /// Another program of the same name could answer instead, and so could one that is found by a variable or a folder that the
    /// hook sets.
    pub(crate) fn calls_this(&self, event: &str, hook: &Value, site: &Site) -> bool {
        let known = |name: &str| {
            let written = self.members.iter().any(|(member, _)| *member == name);
            written || [self.line, self.timeout.name, "args", "matcher"].contains(&name)
        };
        let program = self
            .line_of(hook)
            .and_then(|(_, words, _)| words.into_iter().next());
        let members = hook.as_object();
        self.state_of(event, hook, hook, site).is_some()
            && members.is_some_and(|all| all.keys().all(|name| known(name)))
            && program.is_some_and(|program| site.is_called(&program))
    }

    /// Returns whether a hook runs for every call, is waited for, and blocks when it fails.
    fn always_holds(&self, group: &Value, hook: &Value) -> bool {
        let every_tool = match group.get("matcher") {
            None | Some(Value::Null) => true,
            Some(matcher) => matches!(matcher.as_str(), Some("" | "*" | ".*")),
        };
        let narrowed = self.narrowing.iter().any(|key| {
            hook.get(*key)
                .is_some_and(|value| *value != Value::Bool(false))
        });
        let mut musts = self.members.iter().filter(|(_, member)| member.is_a_must());
        let all = musts.all(|(name, member)| hook.get(*name) == Some(&member.value()));
        every_tool && !narrowed && all
    }

    /// Adds the hooks.
    pub(crate) fn put(&self, text: Option<&str>, site: &Site) -> Result<String, EditError> {
        let (mut text, settings) = Text::of_file(text, self.syntax)?;
        if let Some(version) = self.version {
            match settings.get("version") {
                None => text.add_member(&[], "version", &json!(version)),
                Some(found) if *found == json!(version) => {}
                Some(found) => {
                    let reason = format!("`version` is `{found}`; only {version} is known");
                    return Err(text.fault(&[At::Key("version")], reason));
                }
            }
        }
        text.object_at(&["hooks"])?;
        for event in self.events {
            let path = [At::Key("hooks"), At::Key(event)];
            let entry = self.entry(event, site);
            match text.value(&path) {
                None => text.add_member(&path[..1], event, &json!([entry])),
                Some(Value::Array(_)) => {
                    let wanted = HookState::Complete(self.command(event, site));
                    let found = self.found(&settings, event, site);
                    if !matches!(found.as_slice(), [only] if only.state == wanted && only.is_patient)
                    {
                        self.take_event(&mut text, event, site);
                        text.add_item(&path, &entry);
                    }
                }
                Some(_) => {
                    return Err(text.fault(&path, format!("`hooks.{event}` is not a list")));
                }
            }
        }
        Ok(text.into_string())
    }

    /// Removes the hooks; returns `None` if nothing is left.
    pub(crate) fn take(&self, before: &str, site: &Site) -> Result<Option<String>, EditError> {
        let (mut text, settings) = Text::of_file(Some(before), self.syntax)?;
        let mut took = false;
        let events = settings.get("hooks").and_then(Value::as_object);
        let events: Vec<String> = events
            .into_iter()
            .flat_map(|all| all.keys().cloned())
            .collect();
        for event in &events {
            if self.take_event(&mut text, event, site) {
                took = true;
                text.remove_if_empty(&[At::Key("hooks"), At::Key(event)]);
            }
        }
        if !took {
            return Ok(Some(before.to_owned()));
        }
        text.remove_if_empty(&[At::Key("hooks")]);
        // A number alone has no meaning; in a file of somebody else, it was not added alone.
        let left = text.value(&[]);
        let only_version =
            left.and_then(|left| left.as_object().map(serde_json::Map::len)) == Some(1);
        if self.version.is_some() && only_version && settings.get("version").is_some() {
            text.remove(&[At::Key("version")]);
        }
        Ok((!text.is_bare()).then(|| text.into_string()))
    }

    /// Removes every hook of Interlock from the groups of one event.
    fn take_event(&self, text: &mut Text, event: &str, site: &Site) -> bool {
        let Some(settings) = text.value(&[]) else {
            return false;
        };
        let found = self.found(&settings, event, site);
        let [hooks, event] = [At::Key("hooks"), At::Key(event)];
        let mut gone = None;
        // From the end, so that the remaining positions stay valid.
        for found in found.iter().rev() {
            let group = At::Index(found.group);
            match found.nth {
                Some(_) if found.alone && gone == Some(found.group) => {}
                Some(nth) if !found.alone => {
                    text.remove(&[hooks, event, group, At::Key("hooks"), At::Index(nth)]);
                }
                _ => {
                    text.remove(&[hooks, event, group]);
                    gone = Some(found.group);
                }
            }
        }
        !found.is_empty()
    }
}

/// Returns whether a word is a program named `interlock`, or the one to be installed.
pub(crate) fn is_our_program(program: &str, site: &Site) -> bool {
    let path = std::path::Path::new(program);
    let named = path.file_stem().is_some_and(|stem| stem == "interlock");
    named || path == site.program
}
