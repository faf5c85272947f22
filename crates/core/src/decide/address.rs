//! Which frame a command is for.

use crate::{
    machine::{Activity, Machine},
    names::{AgentId, FramePath},
    refusal::{Code, Refusal},
    run::{Child, Frame, Run},
};

/// The frame a command is for, and the sub-agent to be bound to it first.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) path: FramePath,
    pub(super) bind: Option<AgentId>,
}

/// Finds the frame for a command of `agent` that may name a `branch`.
///
/// A named branch wins, then the branch the sub-agent is bound to, then the
/// first free one for a new sub-agent, else the first unfinished one.
pub(super) fn locate(
    machine: &Machine,
    run: &Run,
    branch: Option<&str>,
    agent: Option<&AgentId>,
) -> Result<Address, Refusal> {
    let bound = agent.and_then(|agent| run.agents.get(agent));
    if let Some(name) = branch {
        let path = named(run, name)?;
        if let Some(bound) = bound.filter(|bound| !bound.holds(&path)) {
            return Err(Refusal::new(
                Code::UnknownBranch,
                format!("this sub-agent works in branch `{bound}` and may not act in `{name}`"),
            ));
        }
        let bind = agent
            .filter(|_| bound.is_none() && !path.is_root())
            .cloned();
        return Ok(Address { path, bind });
    }
    if let Some(bound) = bound {
        let below = first_open(run.frame(bound), bound);
        return below
            .map(|path| Address { path, bind: None })
            .ok_or_else(|| none_open(run));
    }
    match agent {
        Some(agent) if in_fork(machine, run) => {
            let free = run
                .open_leaves()
                .into_iter()
                .find(|leaf| !run.agents.values().any(|taken| taken.holds(leaf)));
            match free {
                Some(path) => Ok(Address {
                    path,
                    bind: Some(agent.clone()),
                }),
                None => Err(Refusal::new(
                    Code::UnknownBranch,
                    "every open branch has a sub-agent of its own already",
                )),
            }
        }
        _ => {
            let root = FramePath::root();
            first_open(Some(&run.root), &root)
                .map(|path| Address { path, bind: None })
                .ok_or_else(|| none_open(run))
        }
    }
}

/// Tells whether branches are open somewhere in the run.
pub(crate) fn in_fork(machine: &Machine, run: &Run) -> bool {
    fn forks(machine: &Machine, frame: &Frame) -> bool {
        let here = machine
            .called(frame.machine.as_ref())
            .and_then(|machine| machine.states.get(&frame.at))
            .is_some_and(|state| matches!(state.activity, Activity::Fork(_) | Activity::Map(_)));
        here || open(frame).any(|child| forks(machine, &child.frame))
    }
    forks(machine, &run.root)
}

fn open(frame: &Frame) -> impl Iterator<Item = &Child> {
    frame.children.iter().filter(|child| child.ended.is_none())
}

/// Returns the first frame at or below `path` that can act.
fn first_open(frame: Option<&Frame>, path: &FramePath) -> Option<FramePath> {
    let frame = frame?;
    if frame.children.is_empty() {
        return Some(path.clone());
    }
    open(frame).find_map(|child| first_open(Some(&child.frame), &path.child(&child.name)))
}

/// Finds the frame that a branch name such as `outer/inner` means.
///
/// Names of called machines may be left out: a call has one frame below it.
fn named(run: &Run, name: &str) -> Result<FramePath, Refusal> {
    let unknown = || {
        let open: Vec<String> = run
            .open_leaves()
            .iter()
            .map(ToString::to_string)
            .filter(|leaf| !leaf.is_empty())
            .collect();
        let open = if open.is_empty() {
            "no branch is open".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        };
        Refusal::new(
            Code::UnknownBranch,
            format!("no open branch is named `{name}`; {open}"),
        )
    };
    let mut path = FramePath::root();
    let mut frame = &run.root;
    for part in name.split('/') {
        loop {
            if let Some(child) = open(frame).find(|child| child.name == part) {
                path = path.child(&child.name);
                frame = &child.frame;
                break;
            }
            let mut below = open(frame);
            match (below.next(), below.next()) {
                (Some(only), None) if frame.children.len() == 1 => {
                    path = path.child(&only.name);
                    frame = &only.frame;
                }
                _ => return Err(unknown()),
            }
        }
    }
    first_open(Some(frame), &path).ok_or_else(unknown)
}

fn none_open(run: &Run) -> Refusal {
    let text = if run.is_over() {
        "the run is over"
    } else {
        "no branch is open"
    };
    Refusal::new(Code::UnknownBranch, text)
}
