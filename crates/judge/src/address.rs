//! Finds the frame that a command is for.

use crate::{
    machine::Machine,
    names::{AgentId, FramePath},
    refusal::{Code, Refusal},
    run::{Frame, Run},
};

/// The frame that a command is for, and the sub-agent to bind first.
#[derive(Debug)]
pub struct Address {
    /// Path of the frame.
    pub path: FramePath,
    /// Sub-agent that is bound first; `None`: no sub-agent.
    pub bind: Option<Bind>,
}

/// A sub-agent and the frame that it works in.
#[derive(Debug)]
pub struct Bind {
    /// The sub-agent.
    pub agent: AgentId,
    /// Path of the frame.
    pub path: FramePath,
}

impl Address {
    const fn at(path: FramePath) -> Self {
        Self { path, bind: None }
    }

    /// Binds `agent`, if there is one, to the frame itself.
    fn binding(path: FramePath, agent: Option<&AgentId>) -> Self {
        let bind = agent.map(|agent| Bind {
            agent: agent.clone(),
            path: path.clone(),
        });
        Self { path, bind }
    }
}

/// Finds the frame for a command of `agent`, which may name a `branch`.
///
/// A named branch takes precedence, then the branch that the sub-agent is bound to, then the first free branch.
/// While a sub-agent is bound to a branch, neither another sub-agent nor the main agent can use it. The binding
/// lasts until the sub-agent stops or the branch ends.
///
/// # Errors
/// No open branch has that name, or another sub-agent works there.
/// No open branch has that name, or another sub-agent works there.
pub fn locate(
    machine: &Machine,
    run: &Run,
    branch: Option<&str>,
    agent: Option<&AgentId>,
) -> Result<Address, Refusal> {
    let bound = agent.and_then(|agent| run.agents.get(agent));
    if let Some(name) = branch {
        return locate_named(run, name, agent, bound);
    }
    if let Some(bound) = bound {
        let path = first_free(run, bound, agent).ok_or_else(|| none_open(run))?;
        return Ok(Address {
            path,
            bind: returning(run, agent, bound),
        });
    }
    match first_free(run, &FramePath::root(), agent) {
        Some(path) if in_fork(machine, run) => Ok(Address::binding(path, agent)),
        Some(path) => Ok(Address::at(path)),
        None if run.open_leaves().is_empty() => Err(none_open(run)),
        None => Err(Refusal::new(
            Code::UnknownBranch,
            "every open branch has a sub-agent of its own already: wait until one of them ends",
        )),
    }
}

fn locate_named(
    run: &Run,
    name: &str,
    agent: Option<&AgentId>,
    bound: Option<&FramePath>,
) -> Result<Address, Refusal> {
    let named = named(run, name)?;
    if let Some(bound) = bound {
        let leaf = first_open(run.frame(&named), &named).unwrap_or_else(|| named.clone());
        if !bound.holds(&leaf) {
            return Err(Refusal::new(
                Code::UnknownBranch,
                format!("this sub-agent works in branch `{bound}` and may not act in `{name}`"),
            ));
        }
        return Ok(Address {
            path: leaf,
            bind: returning(run, agent, bound),
        });
    }
    let path = first_free(run, &named, agent).ok_or_else(|| held(run, &named, name))?;
    let newcomer = agent.filter(|_| !path.is_root());
    Ok(Address::binding(path, newcomer))
}

/// Finds the frame that a person names, whoever works there.
///
/// # Errors
/// No open branch has that name.
pub fn locate_for_person(run: &Run, branch: Option<&str>) -> Result<FramePath, Refusal> {
    let path = branch.map_or_else(|| Ok(FramePath::root()), |name| named(run, name))?;
    first_open(run.frame(&path), &path).ok_or_else(|| none_open(run))
}

/// Finds the frame above the open branches, for commands that belong to none of them.
#[must_use]
pub fn above_branches(run: &Run) -> Option<FramePath> {
    let leaf = run.open_leaves().into_iter().next()?;
    leaf.split_last().map(|(above, _)| above)
}

/// Binds a sub-agent that had stopped to its previous branch, if nobody else has taken it.
fn returning(run: &Run, agent: Option<&AgentId>, bound: &FramePath) -> Option<Bind> {
    let agent = agent.filter(|agent| run.away.contains(*agent))?;
    Some(Bind {
        agent: agent.clone(),
        path: bound.clone(),
    })
}

/// Returns the first open frame at or below `path` to which no other sub-agent is bound.
fn first_free(run: &Run, path: &FramePath, agent: Option<&AgentId>) -> Option<FramePath> {
    let leaves = run.open_leaves();
    let mut below = leaves.into_iter().filter(|leaf| path.holds(leaf));
    below.find(|leaf| holder(run, leaf).is_none_or(|holder| Some(holder) == agent))
}

/// Returns the active sub-agent that is bound to the frame at `leaf`.
fn holder<'r>(run: &'r Run, leaf: &FramePath) -> Option<&'r AgentId> {
    let mut at_work = run
        .agents
        .iter()
        .filter(|(agent, _)| !run.away.contains(*agent));
    at_work
        .find(|(_, bound)| bound.holds(leaf))
        .map(|(agent, _)| agent)
}

fn held(run: &Run, path: &FramePath, name: &str) -> Refusal {
    let leaf = first_open(run.frame(path), path);
    let who = leaf
        .as_ref()
        .and_then(|leaf| holder(run, leaf))
        .map_or_else(
            || "another sub-agent".to_owned(),
            |agent| format!("sub-agent `{agent}`"),
        );
    Refusal::new(
        Code::UnknownBranch,
        format!(
            "branch `{name}` is worked in by {who}: no other agent may act there until it ends"
        ),
    )
}

/// Returns whether any branches of the run are open.
#[must_use]
pub fn in_fork(machine: &Machine, run: &Run) -> bool {
    fn forks(machine: &Machine, frame: &Frame) -> bool {
        let state = frame.state(machine);
        let here = state.is_some_and(|state| state.activity.branches().is_some());
        here || frame
            .open_regions()
            .any(|region| forks(machine, &region.frame))
    }
    forks(machine, &run.root)
}

/// Returns the first frame at or below `path` that can act.
fn first_open(frame: Option<&Frame>, path: &FramePath) -> Option<FramePath> {
    let frame = frame?;
    if frame.regions.is_empty() {
        return Some(path.clone());
    }
    let mut open = frame.open_regions();
    open.find_map(|region| first_open(Some(&region.frame), &path.child(&region.name)))
}

/// Finds the open frame that a branch name such as `outer/inner` refers to.
///
/// Names of called machines may be left out, because a call has exactly one frame below it.
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
            if let Some(region) = frame.open_regions().find(|region| region.name == part) {
                path = path.child(&region.name);
                frame = &region.frame;
                break;
            }
            let mut below = frame.open_regions();
            match (below.next(), below.next()) {
                (Some(only), None) if frame.regions.len() == 1 => {
                    path = path.child(&only.name);
                    frame = &only.frame;
                }
                _ => return Err(unknown()),
            }
        }
    }
    first_open(Some(frame), &path)
        .map(|_| path)
        .ok_or_else(unknown)
}

fn none_open(run: &Run) -> Refusal {
    let text = if run.is_over() {
        "the run is over"
    } else {
        "no branch is open"
    };
    Refusal::new(Code::UnknownBranch, text)
}

/// Finds the frame for a command of `agent`, which may name a `branch`.
///
/// # Errors
/// No open branch has that name, or the sub-agent works in another.
pub fn addressed(
    machine: &Machine,
    run: &Run,
    branch: Option<&str>,
    agent: Option<&AgentId>,
) -> Result<FramePath, Refusal> {
    if let (Some(_), None) = (branch, agent) {
        // Looking is free: whoever works there.
        return locate_for_person(run, branch);
    }
    locate(machine, run, branch, agent).map(|address| address.path)
}
