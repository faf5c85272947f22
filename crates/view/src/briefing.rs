//! What the agent is told: each turn, with a denial, and after a detour.
//!
//! Only words: everything said here is derived from the machine and the run.

mod text;
mod ways;

use interlock_core::{
    event::Event,
    machine::{Machine, State},
    names::FramePath,
    place::{self, machine_of, shown_path},
    policy::Policy,
    run::{Frame, Run, Settled, Settlement},
};

use crate::report::report;

use text::{cut, listed, plain};

/// Characters a briefing may take beside the instructions.
const BRIEFING_MAX: usize = 1_200;
/// Characters a denial may take beside its own sentence.
const TEACH_MAX: usize = 600;

/// A frame with the machine and the state it stands in.
#[derive(Debug, Clone, Copy)]
struct StandingFrame<'a> {
    machine: &'a Machine,
    run: &'a Run,
    path: &'a FramePath,
    frame: &'a Frame,
    state: &'a State,
}

impl<'a> StandingFrame<'a> {
    fn find(machine: &'a Machine, run: &'a Run, path: &'a FramePath) -> Option<Self> {
        let frame = run.frame(path)?;
        let state = machine_of(machine, run, path)?.states.get(&frame.at)?;
        Some(Self {
            machine,
            run,
            path,
            frame,
            state,
        })
    }
}

/// Says in short where the run stands, what it allows and where it leads.
///
/// At most 1,200 characters beside the instructions of the state.
#[must_use]
pub fn briefing(machine: &Machine, run: &Run, focus: Option<&FramePath>) -> String {
    briefing_as(machine, run, focus, &|tool| vec![tool.to_owned()])
}

/// By which names a reader knows the tool that a rule lists; none where it has no such tool.
pub type ToolNames<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// Says the same with tools as the reader knows them.
#[must_use]
pub fn briefing_as(
    machine: &Machine,
    run: &Run,
    focus: Option<&FramePath>,
    names: ToolNames<'_>,
) -> String {
    let path = place::focus(run, focus);
    let mut text = match StandingFrame::find(machine, run, &path) {
        Some(place) if !run.is_over() => sections(place, names),
        _ => over(machine, run),
    };
    let instructions = StandingFrame::find(machine, run, &path)
        .filter(|_| !run.is_over())
        .and_then(|place| place.state.instructions.as_deref());
    if let Some(instructions) = instructions {
        text.push_str("\nInstructions: ");
        text.push_str(instructions.trim_end());
    }
    text
}

/// Says which tools pass here and which events lead where; empty once the run is over.
#[must_use]
pub fn teach(machine: &Machine, run: &Run, focus: Option<&FramePath>) -> String {
    teach_as(machine, run, focus, &|tool| vec![tool.to_owned()])
}

/// Says the same with tools as the reader knows them.
#[must_use]
pub fn teach_as(
    machine: &Machine,
    run: &Run,
    focus: Option<&FramePath>,
    names: ToolNames<'_>,
) -> String {
    let path = place::focus(run, focus);
    match StandingFrame::find(machine, run, &path) {
        Some(place) if !run.is_over() => {
            let tools = tools(machine, run, (&path, TEACH_MAX / 3), names);
            let ways = ways::transitions(place, TEACH_MAX / 2);
            let note = note(place, TEACH_MAX / 3).map_or_else(String::new, |note| note + " ");
            cut(&format!("{note}{tools} {ways}"), TEACH_MAX)
        }
        _ => String::new(),
    }
}

/// Adds to the sentence of a refused call what is possible instead.
#[must_use]
pub fn taught(machine: &Machine, run: &Run, path: &FramePath, sentence: &str) -> String {
    taught_as(machine, run, path, sentence, &|tool| vec![tool.to_owned()])
}

/// Says the same with tools as the reader knows them.
#[must_use]
pub fn taught_as(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    sentence: &str,
    names: ToolNames<'_>,
) -> String {
    let teach = teach_as(machine, run, Some(path), names);
    if teach.is_empty() {
        return sentence.to_owned();
    }
    let stop = if sentence.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{sentence}{stop} {teach}")
}

/// Says that a written file moved the run, if one of `events` did.
#[must_use]
pub fn notice(machine: &Machine, run: &Run, events: &[Event]) -> Option<String> {
    let raised = events.iter().rev().find_map(|event| match event {
        Event::InterruptRaised {
            path,
            interrupt,
            file,
            from,
            to,
            ..
        } => Some((path, interrupt, file, from, to)),
        _ => None,
    });
    let (path, interrupt, file, from, to) = raised?;
    Some(format!(
        "`{}` matches the interrupt `{interrupt}`: the run moved from `{from}` to `{to}`. {}",
        cut(&plain(file), 200),
        teach(machine, run, Some(path)),
    ))
}

fn over(machine: &Machine, run: &Run) -> String {
    let seen = report(machine, run, None);
    let path = cut(&plain(&seen.state.to_string()), 200);
    format!(
        "Phase: {path}. The run is over ({}); Interlock restricts nothing any more.",
        seen.status.as_str()
    )
}

/// A part of a briefing: its place in the text and what it says.
struct Section {
    rank: u8,
    text: String,
}

/// Puts the parts together: the important ones get room first, the order is the page's.
fn sections(place: StandingFrame<'_>, names: ToolNames<'_>) -> String {
    let mut room = BRIEFING_MAX;
    let mut parts = Vec::new();
    let mut add = |rank: u8, max: usize, say: &dyn Fn(usize) -> Option<String>| {
        // A separator before each part is counted with it.
        let max = max.min(room.saturating_sub(1));
        if let Some(text) = say(max).filter(|text| !text.is_empty() && max > 20) {
            let text = cut(&text, max);
            room = room.saturating_sub(text.chars().count() + 1);
            parts.push(Section { rank, text });
        }
    };
    add(0, 180, &|max| Some(phase(place, max)));
    add(6, 240, &|max| standing_still(place, max));
    add(7, 220, &|max| detour(place, max));
    add(5, 420, &|max| Some(ways::transitions(place, max)));
    add(1, 240, &|max| {
        Some(tools(place.machine, place.run, (place.path, max), names))
    });
    add(3, 200, &|_| left(place));
    add(8, 200, &|max| note(place, max));
    add(2, 220, &|max| commands(&place.state.policy, max));
    add(4, 220, &|max| environment(&place.state.policy, max));
    add(9, 120, &|max| other_branches(place, max));
    parts.sort_by_key(|part| part.rank);
    let mut text = String::new();
    for part in parts {
        match part.rank {
            0 => {}
            1 => text.push(' '),
            _ => text.push('\n'),
        }
        text.push_str(&part.text);
    }
    text
}

fn phase(place: StandingFrame<'_>, max: usize) -> String {
    let path = plain(&shown_path(place.machine, place.run, place.path));
    format!("Phase: {}.", cut(&path, max.saturating_sub(8)))
}

fn tools(
    machine: &Machine,
    run: &Run,
    (path, max): (&FramePath, usize),
    names: ToolNames<'_>,
) -> String {
    let listed_tools = report(machine, run, Some(path)).tools;
    let banned = StandingFrame::find(machine, run, path)
        .map(|place| place.state.policy.disallowed_tools.as_slice())
        .filter(|_| banned_matter(listed_tools.as_deref()))
        .unwrap_or_default();
    let but = if banned.is_empty() {
        String::new()
    } else {
        let names = banned.iter().map(|tool| plain(tool));
        format!(" but not {}", listed(names, max / 3))
    };
    let room = max.saturating_sub(8 + but.chars().count());
    match listed_tools {
        None => format!("Tools: all{but}."),
        Some(tools) => {
            let mut known: Vec<String> = Vec::new();
            for name in tools.iter().flat_map(|tool| names(tool)) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            if known.is_empty() {
                return "Tools: none.".to_owned();
            }
            let names = known.iter().map(|tool| plain(tool));
            format!("Tools: {}{but}.", listed(names, room))
        }
    }
}

/// Returns whether what is listed may still hold a tool that is disallowed.
fn banned_matter(listed: Option<&[String]>) -> bool {
    listed.is_none_or(|tools| tools.iter().any(|tool| tool.contains('*')))
}

fn commands(policy: &Policy, max: usize) -> Option<String> {
    let entries = policy.allowed_commands.as_ref()?;
    if entries.is_empty() {
        return Some("Commands: none.".to_owned());
    }
    let texts = entries.iter().map(|entry| plain(&entry.text));
    Some(format!(
        "Commands: {}.",
        listed(texts, max.saturating_sub(11))
    ))
}

/// Says what is left of every limit of the state.
fn left(place: StandingFrame<'_>) -> Option<String> {
    let policy = &place.state.policy;
    let used = &place.frame.stay.used;
    let files = u64::try_from(used.files.len()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    let mut count = |what: &str, used: u64, max: Option<u64>| {
        if let Some(max) = max {
            parts.push(format!("{what} {} of {max}", max.saturating_sub(used)));
        }
    };
    count("calls", used.calls, policy.iterations_max);
    count("files to edit", files, policy.files_max);
    count("bytes of results", used.bytes, policy.result_bytes_max);
    if let Some(lines) = policy.edit_lines_max {
        parts.push(format!("{lines} lines an edit"));
    }
    (!parts.is_empty()).then(|| format!("Left: {}.", parts.join(", ")))
}

fn environment(policy: &Policy, max: usize) -> Option<String> {
    let set = policy
        .env_overrides
        .iter()
        .map(|(name, value)| plain(&format!("{name}={value}")));
    let blocked = policy
        .blocked_env
        .iter()
        .map(|name| plain(&format!("no {name}")));
    let secrets = (!policy.secrets.are_allowed()).then(|| "no secrets".to_owned());
    let all: Vec<String> = set.chain(blocked).chain(secrets).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Environment: {}.",
            listed(all.into_iter(), max.saturating_sub(14))
        )
    })
}

/// Says why nothing passes now, if so.
fn standing_still(place: StandingFrame<'_>, max: usize) -> Option<String> {
    if let Some(pause) = &place.run.paused {
        let why = pause.reason.as_deref().map_or_else(String::new, |reason| {
            format!(" ({})", cut(&plain(reason), max / 2))
        });
        return Some(format!(
            "Paused by {}{why}: nothing passes until a person resumes the run.",
            cut(&plain(&pause.by), 40)
        ));
    }
    let parked = place.frame.stay.pending_transition()?;
    Some(format!(
        "Waiting: a person must approve {} ({}); nothing passes here until they answer.",
        cut(&plain(parked.event.as_str()), 40),
        cut(&plain(&parked.message), max / 2),
    ))
}

/// Says why the run was taken to a handler and how it gets back.
fn detour(place: StandingFrame<'_>, max: usize) -> Option<String> {
    let handling = place.frame.line.handling.as_ref()?;
    let back = ways::returning(place).map_or_else(String::new, |event| {
        format!(
            "; {} leads back to {}",
            plain(event.as_str()),
            plain(handling.return_to.as_str())
        )
    });
    Some(format!(
        "Interrupt: {} because {} was written{back}.",
        cut(&plain(handling.interrupt.as_str()), 40),
        cut(&plain(&handling.file), max / 3),
    ))
}

/// Says what people answered no to in this stay, newest first, and what came to nothing.
fn note(place: StandingFrame<'_>, max: usize) -> Option<String> {
    let here = |settled: &&Settled| {
        settled.path == *place.path && settled.entered_seq == place.frame.stay.entered_seq
    };
    let answers = place.run.settled.iter().rev().filter(here);
    let noes: Vec<String> = answers
        .take_while(|settled| settled.how != Settlement::Approved)
        .map(|settled| no(settled, max / 2))
        .collect();
    if !noes.is_empty() && place.frame.stay.pending_transition().is_none() {
        return Some(cut(&noes.join(" "), max));
    }
    let note = place.frame.stay.note.as_deref()?;
    Some(format!(
        "A person rejected it: {}",
        cut(&plain(note), max.saturating_sub(20))
    ))
}

fn no(settled: &Settled, max: usize) -> String {
    let about = cut(&plain(&settled.about), 40);
    let why = settled.note.as_deref().filter(|why| !why.is_empty());
    let why = why.map_or_else(
        || ".".to_owned(),
        |why| format!(": {}", stopped(cut(&plain(why), max.saturating_sub(20)))),
    );
    match settled.how {
        Settlement::Void => format!("What was asked about {about} is void{why}"),
        Settlement::Approved | Settlement::Rejected => {
            format!("A person rejected {about}{why}")
        }
    }
}

/// Ends a sentence that may have its end already.
fn stopped(text: String) -> String {
    if text.ends_with(['.', '!', '?', '…']) {
        text
    } else {
        text + "."
    }
}

fn other_branches(place: StandingFrame<'_>, max: usize) -> Option<String> {
    let others: Vec<String> = place
        .run
        .open_leaves()
        .iter()
        .filter(|leaf| *leaf != place.path && !leaf.is_root())
        .map(|leaf| plain(&leaf.to_string()))
        .collect();
    (!others.is_empty()).then(|| {
        let names = listed(others.into_iter(), max.saturating_sub(23));
        format!("Other open branches: {names}.")
    })
}

#[cfg(test)]
#[path = "briefing/tests.rs"]
mod tests;
