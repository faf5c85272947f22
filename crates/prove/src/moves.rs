//! Everything that may be done where a run stands, each done by the engine itself.

use interlock_core::{
    Reply,
    call::{CallResult, WrittenPath},
    command::{AGENT, Answer, Command, CommandKind, TransitionRequest},
    decide,
    event::Event,
    evolve,
    machine::{Activity, Object, State},
    names::{CallId, FramePath, RunId},
    run::Run,
};
use interlock_simulate::with_what_it_takes;

use crate::{
    atlas::Leaf,
    calls::{End, Usable},
    facts::{Facts, Step, happening},
    hash::{Set, number},
    key::answer_path,
    model::Model,
    substance,
};

/// The event that stands for every one that a state with `safe_next` does not name.
const OTHER_EVENT: &str = "ANYTHING_ELSE";

/// Lists the events that a state takes: those that it names, and [`OTHER_EVENT`] where it has `safe_next`.
pub(crate) fn events_of(state: &State) -> impl Iterator<Item = String> {
    let written = state.on.keys().map(ToString::to_string);
    written.chain(state.safe_next.is_some().then(|| OTHER_EVENT.to_owned()))
}

/// One thing that is done, by number where the model lists it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Act {
    /// The run is started with data.
    Start(usize),
    /// A call runs and ends.
    Call {
        class: usize,
        end: End,
        branch: Option<String>,
        /// Whether a person is asked about it first, and says yes.
        asked: bool,
        /// How often it is repeated, the same each time.
        times: u64,
        /// Whether each time is about another file.
        files: bool,
    },
    /// The agent asks for a transition with data.
    Event {
        event: String,
        data: usize,
        branch: Option<String>,
    },
    /// A person says yes, and corrects the data.
    Approve { data: usize, path: Option<String> },
    /// A person says no.
    Reject { path: Option<String> },
}

impl Act {
    pub(crate) const fn is_by_person(&self) -> bool {
        matches!(
            self,
            Self::Approve { .. } | Self::Reject { .. } | Self::Call { asked: true, .. }
        )
    }
}

/// A thing done, and where it leads.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) act: Act,
    pub(crate) facts: Facts,
    pub(crate) bits: Vec<bool>,
    pub(crate) run: Run,
}

/// Starts runs, one with each data.
pub(crate) fn starts(model: &Model) -> Vec<Done> {
    let fresh = Run::new(RunId::new("sim"));
    let mut all = Vec::new();
    for (index, data) in model.cells.data.iter().enumerate() {
        let command = CommandKind::Start {
            input: data.clone(),
            by: "simulate".to_owned(),
            durable: None,
        };
        let (run, events, reply) = apply(model, &fresh, command);
        if reply == Reply::Accepted {
            all.push(done(
                model,
                Act::Start(index),
                None,
                &FramePath::root(),
                &events,
                run,
                None,
            ));
        }
    }
    all
}

/// Gives the engine a command, and folds what it says.
fn apply(model: &Model, run: &Run, command: CommandKind) -> (Run, Vec<Event>, Reply) {
    let command = Command {
        at_ms: 0,
        kind: command,
    };
    let decision = decide(&model.machine, run, &command);
    let after = decision.events.iter().fold(run.clone(), evolve);
    (after, decision.events, decision.reply)
}

fn done<'e>(
    model: &Model,
    act: Act,
    before: Option<&Run>,
    path: &FramePath,
    events: impl IntoIterator<Item = &'e Event>,
    run: Run,
    class: Option<usize>,
) -> Done {
    let mut facts = Facts::of(model, before, events, &run);
    facts.by_person |= act.is_by_person();
    let call = class.and_then(|class| model.classes.get(class));
    let bits = happening(
        model,
        Step {
            before,
            path,
            facts: &facts,
            call: call.map(|class| &class.call),
            after: &run,
        },
    );
    Done {
        act,
        facts,
        bits,
        run,
    }
}

/// One thing that may be tried where a frame stands.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Which of the leaves of its part.
    pub(crate) leaf: usize,
    pub(crate) what: Try,
    /// Candidates that only differ in their data have a number in common.
    pub(crate) series: u32,
    /// The group of commands that count alike, the key of this one, and what else follows from the call.
    pub(crate) group: Option<(usize, usize, u32)>,
}

impl Candidate {
    pub(crate) const fn is_call(&self) -> bool {
        matches!(self.what, Try::Call { .. })
    }
}

/// What is tried.
#[derive(Debug, Clone)]
pub(crate) enum Try {
    No,
    Yes(usize),
    Event(String, usize),
    Call { usable: usize, end: usize },
}

/// What comes of a candidate.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) done: Option<Done>,
    /// Whether others of its series come to nothing, too.
    pub(crate) stop: bool,
}

impl Tried {
    const NOTHING: Self = Self {
        done: None,
        stop: false,
    };
}

/// Lists everything that may be tried at the leaves of a part, in the order written.
pub(crate) fn candidates(model: &Model, leaves: &[Leaf]) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut series = 0;
    let mut signatures: Set<&str> = Set::default();
    for (leaf, place) in leaves.iter().enumerate() {
        let mut add = |what: Try, series: u32, group| {
            all.push(Candidate {
                leaf,
                what,
                series,
                group,
            });
        };
        let data = 0..model.cells.data.len();
        if place.asks {
            add(Try::No, series + 1, None);
            series += 2;
            data.for_each(|index| add(Try::Yes(index), series, None));
            continue;
        }
        let standing = &place.standing;
        if let Some(state) = model.state(standing.0.as_ref(), &standing.1)
            && matches!(state.activity, Activity::Await)
        {
            for event in events_of(state) {
                series += 1;
                let of_event = data.clone();
                of_event.for_each(|index| add(Try::Event(event.clone(), index), series, None));
            }
        }
        let usable = model.usable.get(standing).into_iter().flatten();
        for (index, one) in usable.enumerate() {
            series += 1;
            let group = group(model, one).map(|(group, key)| {
                let signature = number(&mut signatures, one.signature.as_str());
                (group, key, signature)
            });
            for end in 0..one.ends.len() {
                add(Try::Call { usable: index, end }, series, group);
            }
        }
    }
    all
}

/// Names the group of commands that a call is of: one that was not seen does for all that were not.
fn group(model: &Model, usable: &Usable) -> Option<(usize, usize)> {
    let [key] = usable.keys.as_slice() else {
        return None;
    };
    let group = model.alike.iter().position(|group| group.contains(key))?;
    let key = model.evidence.keys().position(|known| known == key)?;
    Some((group, key))
}

/// Tries a candidate, with the engine itself.
pub(crate) fn attempt(model: &Model, run: &Run, leaf: &Leaf, what: &Try) -> Tried {
    attempt_next(model, run, leaf, what, &mut LastProposed::default())
}

/// Tries a candidate after another one: a call is proposed once for all its ends.
pub(crate) fn attempt_next(
    model: &Model,
    run: &Run,
    leaf: &Leaf,
    what: &Try,
    last: &mut LastProposed,
) -> Tried {
    let path = &leaf.path;
    match what {
        Try::No => {
            let named = answer_path(run, path);
            let no = CommandKind::Reject(Answer {
                by: "a person".to_owned(),
                path: named.clone(),
                ..Answer::default()
            });
            let (after, events, reply) = apply(model, run, no);
            if reply != Reply::Accepted {
                return Tried::NOTHING;
            }
            let act = Act::Reject { path: named };
            found(done(model, act, Some(run), path, &events, after, None))
        }
        Try::Yes(index) => {
            let named = answer_path(run, path);
            let yes = Answer {
                by: "a person".to_owned(),
                data: model.cells.data.get(*index).cloned().unwrap_or_default(),
                path: named.clone(),
                ..Answer::default()
            };
            let yes = CommandKind::Approve(with_what_it_takes(&model.machine, run, yes));
            let (after, events, reply) = apply(model, run, yes);
            let act = Act::Approve {
                data: *index,
                path: named,
            };
            let made = || done(model, act, Some(run), path, &events, after, None);
            Tried {
                done: (!events.is_empty()).then(made),
                // A question that is void is so whatever is corrected.
                stop: reply != Reply::Accepted && *index == 0,
            }
        }
        Try::Event(event, index) => {
            let data = model.cells.data.get(*index).cloned().unwrap_or_default();
            let command = CommandKind::Transition(request(event, &data, path));
            let (after, events, reply) = apply(model, run, command);
            if matches!(reply, Reply::Refused(_)) {
                return Tried {
                    done: None,
                    // Guards see the context from before, so no data helps. Other data may be refused for itself,
                    // such as a key that is reserved.
                    stop: *index == 0,
                };
            }
            let act = Act::Event {
                event: event.clone(),
                data: *index,
                branch: branch(path),
            };
            found(done(model, act, Some(run), path, &events, after, None))
        }
        Try::Call { usable, end } => {
            let known = model.usable.get(&leaf.standing);
            let Some(one) = known.and_then(|known| known.get(*usable)) else {
                return Tried::NOTHING;
            };
            let Some(end) = one.ends.get(*end) else {
                return Tried::NOTHING;
            };
            let act = call_act(path, one, end.clone());
            let proposed = last.of(path, *usable, || {
                propose(model, run, path, (one.class, one.asked))
            });
            let done = proposed.and_then(|proposed| ended(model, run, path, act, proposed));
            Tried {
                // What may not run has no other end either.
                stop: done.is_none(),
                done,
            }
        }
    }
}

const fn found(done: Done) -> Tried {
    Tried {
        done: Some(done),
        stop: false,
    }
}

fn branch(path: &FramePath) -> Option<String> {
    (!path.is_root()).then(|| path.to_string())
}

fn request(event: &str, data: &Object, path: &FramePath) -> TransitionRequest {
    TransitionRequest {
        event: event.to_owned(),
        data: data.clone(),
        branch: branch(path),
        agent: None,
        by: AGENT.to_owned(),
        approved_by: None,
    }
}

pub(crate) fn call_act(path: &FramePath, usable: &Usable, end: End) -> Act {
    Act::Call {
        class: usable.class,
        end,
        branch: branch(path),
        asked: usable.asked,
        times: 1,
        files: false,
    }
}

/// A call that may run, before its end is recorded.
#[derive(Debug)]
pub(crate) struct Proposed {
    run: Run,
    events: Vec<Event>,
}

/// The last call that was proposed, of all those of one run.
#[derive(Debug, Default)]
pub(crate) struct LastProposed {
    /// The visit and the part.
    place: (u32, u32),
    /// The path of the leaf; `None`: nothing was proposed.
    path: Option<FramePath>,
    usable: usize,
    proposed: Option<Proposed>,
}

impl LastProposed {
    /// Forgets the call if this is another place.
    pub(crate) fn go_to(&mut self, place: (u32, u32)) {
        if self.place != place {
            (self.place, self.path) = (place, None);
        }
    }

    fn of(
        &mut self,
        path: &FramePath,
        usable: usize,
        propose: impl FnOnce() -> Option<Proposed>,
    ) -> Option<&Proposed> {
        let is_last = self.path.as_ref() == Some(path) && self.usable == usable;
        if !is_last {
            self.proposed = propose();
            (self.path, self.usable) = (Some(path.clone()), usable);
        }
        self.proposed.as_ref()
    }
}

/// Proposes a call, with a person's yes if one is asked; `None`: it may not run here.
pub(crate) fn propose(
    model: &Model,
    run: &Run,
    path: &FramePath,
    (class, asked): (usize, bool),
) -> Option<Proposed> {
    let known = model.classes.get(class)?;
    let mut call = known.call.clone();
    call.branch = branch(path);
    let propose = CommandKind::Propose(Box::new(call));
    let again = asked.then(|| propose.clone());
    let (mut now, mut events, mut reply) = apply(model, run, propose);
    let was_asked = events
        .iter()
        .any(|event| matches!(event, Event::RequestOpened { .. }));
    if let Some(again) = again.filter(|_| was_asked) {
        let id = events.iter().find_map(|event| match event {
            Event::RequestOpened { .. } => now.requests.last().map(|request| request.id()),
            _ => None,
        })?;
        let yes = Answer {
            by: "a person".to_owned(),
            path: Some(id.to_string()),
            ..Answer::default()
        };
        let yes = CommandKind::Approve(with_what_it_takes(&model.machine, &now, yes));
        for command in [yes, again] {
            let said;
            (now, said, reply) = apply(model, &now, command);
            events.extend(said);
        }
    }
    (reply == Reply::Accepted).then_some(Proposed { run: now, events })
}

/// Lets a call run and end; `None`: it may not run here.
pub(crate) fn call(model: &Model, run: &Run, path: &FramePath, act: Act) -> Option<Done> {
    let Act::Call { class, asked, .. } = &act else {
        return None;
    };
    let proposed = propose(model, run, path, (*class, *asked))?;
    ended(model, run, path, act, &proposed)
}

/// Ends a call that was proposed in `run`.
pub(crate) fn ended(
    model: &Model,
    run: &Run,
    path: &FramePath,
    act: Act,
    proposed: &Proposed,
) -> Option<Done> {
    let Act::Call { class, end, .. } = &act else {
        return None;
    };
    let wrote = end.wrote.iter().map(|path| WrittenPath {
        path: format!("/project/{path}"),
        relative: Some(path.clone()),
    });
    let ended = CommandKind::Record(CallResult {
        id: Some(CallId::new("prove")),
        ok: end.ok,
        exit: end.exit,
        bytes: end.bytes,
        wrote: wrote.collect(),
        commands: Vec::new(),
        checked: substance::checked(&proposed.run),
    });
    let (after, said, _) = apply(model, &proposed.run, ended);
    let events = proposed.events.iter().chain(&said);
    let class = *class;
    Some(done(
        model,
        act,
        Some(run),
        path,
        events,
        after,
        Some(class),
    ))
}
