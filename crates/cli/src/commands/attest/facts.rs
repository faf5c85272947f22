//! The statement about a run: what its log says, and what of it counts for the commit that is checked out.

use std::{collections::BTreeMap, time::Duration};

use interlock_attest::{
    ApprovalFacts, Digest, EvidenceFacts, FileFacts, GuardFacts, LogFacts, Predicate, ReportFacts,
    RunFacts, Statement, WorkflowFacts, moment, repository_name,
};
use interlock_clients::repository::Repository;
use interlock_console::signed_answers;
use interlock_core::{
    event::{About, Event, RequestKind},
    guard::{Guard, GuardRef, Since, with_parts},
    holds::{Scope, unmet},
    machine::Machine,
    names::{ApprovalId, CallId, GuardName, RunId},
    run::{Run, Seen},
    substance::ReportRead,
    text_digest,
    visible::visible,
};
use interlock_store::{
    EventLog as _, Home, Listed, Recorded, Revision, RunCard, RunLog, git_directory,
};

use super::files::CommitFiles;
use crate::{app::App, failure::Failure};

/// Longest that git may take: it reads every file of the working tree.
const GIT_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Files that are named in a message.
const NAMED_MAX: usize = 5;

/// A run whose log was checked from the first event to the last.
struct Checked {
    machine: Machine,
    run: Run,
    events: Vec<Recorded>,
    /// Numbers of the answers that a passkey signed.
    signed: Vec<u64>,
    card: RunCard,
    source: interlock_store::SourceFile,
}

/// Makes the statement about a run, valid from and until two times.
pub(super) fn statement(
    app: &App,
    id: &RunId,
    (now_ms, until_ms): (u64, u64),
) -> Result<Statement, Failure> {
    let home = app.home()?;
    let log = home.open_run(id)?;
    let checked = check(&home, &log, id)?;
    let project = &checked.card.project_root;
    let missing = || {
        anyhow::anyhow!(
            "`{}` is in no git repository with a commit, so there is nothing to attest",
            project.display()
        )
    };
    let revision = Revision::of_project(project).ok_or_else(missing)?;
    let git = git_directory(project).ok_or_else(missing)?;
    let cannot = |why: String| anyhow::anyhow!("the repository cannot be looked at: {why}");
    // Below the state directory, where no guarded agent writes.
    let repository = Repository::open(home.path(), &revision, project)
        .map_err(cannot)?
        .within(GIT_TIME_MAX);
    let commit = &revision.commit;
    let tree = repository.tree(commit).map_err(cannot)?;
    let changes = repository.changes(commit).map_err(cannot)?;
    if !changes.is_empty() {
        return Err(unclean(commit, &changes).into());
    }
    let files = repository.files(commit).map_err(cannot)?;
    let files = CommitFiles::look(&revision.top, files, log.folder().checked_files()?);
    let predicate = Predicate {
        producer: format!("interlock {}", env!("CARGO_PKG_VERSION")),
        issued_at: moment(now_ms),
        expires_at: moment(until_ms),
        repository: repository.origin(&git).as_deref().and_then(repository_name),
        run: run_facts(&home, &checked)?,
        workflow: workflow_facts(&checked),
        log: log_facts(&checked)?,
        guards: guards(&checked, &files),
        evidence: evidence(&checked, &files),
        approvals: approvals(&checked, &files),
    };
    // What was looked at is what is signed.
    let again = Revision::of_project(project);
    if again.as_ref() != Some(&revision) || log.count()? != checked.run.seq {
        return Err(anyhow::anyhow!(
            "the run or the repository changed meanwhile: attest again once nothing works there"
        )
        .into());
    }
    Ok(Statement::new(commit, &tree, predicate))
}

fn unclean(commit: &str, changes: &[std::path::PathBuf]) -> anyhow::Error {
    let short: String = commit.chars().take(12).collect();
    let names: Vec<String> = changes
        .iter()
        .take(NAMED_MAX)
        .map(|file| format!("`{}`", visible(&file.to_string_lossy())))
        .collect();
    let more = match changes.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    anyhow::anyhow!(
        "files differ from commit {short}, so nothing can be said of it: {}{more}; commit them, remove them, or list them in `.gitignore`",
        names.join(", ")
    )
}

/// Reads a run whose log is as it was recorded.
fn check(home: &Home, log: &RunLog, id: &RunId) -> Result<Checked, Failure> {
    let count = log.verify().map_err(|broken| {
        anyhow::anyhow!("the log of run `{id}` does not verify, so nothing is attested: {broken}")
    })?;
    let signed = signed_answers(log)?.map_err(|broken| {
        anyhow::anyhow!("the log of run `{id}` does not verify, so nothing is attested: {broken}")
    })?;
    let events: Vec<Recorded> = log.events(0).collect::<Result<_, _>>()?;
    let run = log.load()?;
    let length = u64::try_from(events.len()).unwrap_or(u64::MAX);
    if length != run.seq || count > length {
        return Err(
            anyhow::anyhow!("run `{id}` goes on: attest it once nothing works there").into(),
        );
    }
    let found = home.list_runs_where(|run| run == id)?.pop();
    let Some(Listed::Known(card)) = found.map(|found| found.listed) else {
        return Err(anyhow::anyhow!("run `{id}` cannot be read").into());
    };
    Ok(Checked {
        machine: log.machine()?,
        run,
        events,
        signed: signed.into_iter().map(|one| one.seq).collect(),
        card,
        source: log.source()?,
    })
}

impl Checked {
    fn at_ms(&self, seq: u64) -> u64 {
        let index = usize::try_from(seq).unwrap_or(usize::MAX);
        self.events.get(index).map_or(u64::MAX, |one| one.at_ms)
    }

    /// Returns when a call ended that began with event `begun_seq`; as long as that is not known, when it began.
    fn ended_ms(&self, begun_seq: u64) -> u64 {
        let began = self.at_ms(begun_seq);
        let index = usize::try_from(begun_seq).unwrap_or(usize::MAX);
        let Some(call) = self.events.get(index).and_then(call_of) else {
            return began;
        };
        let ends = self
            .events
            .iter()
            .skip(index)
            .filter(|one| match &one.event {
                Event::CallEnded { call: ended, .. }
                | Event::LineEnded { call: ended, .. }
                | Event::ToolEnded { call: ended, .. } => ended == call,
                _ => false,
            });
        ends.map(|one| one.at_ms).next().unwrap_or(began)
    }
}

fn call_of(recorded: &Recorded) -> Option<&CallId> {
    match &recorded.event {
        Event::CallAllowed { call, .. } | Event::ToolAllowed { call, .. } => Some(&call.id),
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => Some(&grant.call.id),
        _ => None,
    }
}

fn run_facts(home: &Home, checked: &Checked) -> Result<RunFacts, Failure> {
    let by = match checked.events.first().map(|first| &first.event) {
        Some(Event::RunStarted { by, .. }) => by.clone(),
        _ => String::new(),
    };
    let kind = match checked.run.is_durable() {
        true => "durable",
        false => "guarded",
    };
    let begun = home.revision_of(&checked.run.id)?;
    Ok(RunFacts {
        id: checked.run.id.to_string(),
        name: checked.card.name.clone(),
        kind: kind.to_owned(),
        started_at: moment(checked.at_ms(0)),
        started_by: by,
        started_at_commit: begun.map(|begun| begun.commit),
        status: checked.card.status.as_str().to_owned(),
        states: checked.card.state.clone(),
    })
}

fn workflow_facts(checked: &Checked) -> WorkflowFacts {
    let source = &checked.source;
    let name = source.name.rsplit('/').next().unwrap_or(&source.name);
    WorkflowFacts {
        id: checked.machine.id.to_string(),
        machine: Digest::sha256(checked.machine.hash.clone()),
        file: FileFacts {
            name: name.to_owned(),
            digest: Digest::sha256(text_digest(&source.text).to_string()),
        },
        adopted: checked.run.adopted.is_some(),
    }
}

fn log_facts(checked: &Checked) -> Result<LogFacts, Failure> {
    let last = checked.events.last();
    let last = last.ok_or_else(|| anyhow::anyhow!("the run has no events"))?;
    Ok(LogFacts {
        events: checked.run.seq,
        head: Digest::sha256(last.hash.to_string()),
    })
}

/// Says why evidence does not count for the files of the commit; `None`: it does.
fn stale(checked: &Checked, files: &CommitFiles, seen: &Seen) -> Option<String> {
    if seen.is_before_an_edit(&checked.run) {
        return Some("a write was allowed after it".to_owned());
    }
    let times = (
        checked.at_ms(seen.begun_seq),
        checked.ended_ms(seen.begun_seq),
    );
    files
        .changed_since_check(seen.begun_seq, times)
        .map(|file| format!("`{file}` changed after it"))
}

fn evidence(checked: &Checked, files: &CommitFiles) -> Vec<EvidenceFacts> {
    let all = checked.run.evidence.iter();
    all.map(|(key, seen)| {
        let why = stale(checked, files, seen);
        EvidenceFacts {
            key: key.clone(),
            exit: seen.exit,
            event: seen.begun_seq,
            at: moment(checked.at_ms(seen.begun_seq)),
            on_commit: why.is_none(),
            why,
            report: match &seen.report {
                Some(ReportRead::Tests(tests)) => Some(ReportFacts {
                    passed: tests.passed,
                    failed: tests.failed,
                    skipped: tests.skipped,
                }),
                Some(ReportRead::Problem { .. }) | None => None,
            },
        }
    })
    .collect()
}

fn guards(checked: &Checked, files: &CommitFiles) -> Vec<GuardFacts> {
    let names = checked.machine.guards.keys();
    names.map(|name| guard(checked, files, name)).collect()
}

/// Judges a named guard at the log's head, and again with only the evidence that counts for the commit.
fn guard(checked: &Checked, files: &CommitFiles, name: &GuardName) -> GuardFacts {
    let asked = [GuardRef::Named(name.clone())];
    let holds_in = |run: &Run| {
        let scope = Scope {
            machine: &checked.machine,
            run,
            frame: &run.root,
        };
        unmet(scope, &asked)
            .into_iter()
            .next()
            .map(|unmet| unmet.reason)
    };
    let mut keys: Vec<String> = Vec::new();
    // Of these, only what was seen on the files of the commit counts.
    let mut of_files: Vec<String> = Vec::new();
    let mut reads_context = false;
    for part in with_parts(&checked.machine.guards, &asked) {
        match part {
            Guard::Evidence(evidence) => {
                let key = evidence.key();
                if evidence.since == Since::LastEdit {
                    of_files.push(key.clone());
                }
                if checked.run.evidence.contains_key(&key) && !keys.contains(&key) {
                    keys.push(key);
                }
            }
            Guard::All(_) | Guard::Any(_) | Guard::Not(_) => {}
            Guard::Field(_)
            | Guard::Output(_)
            | Guard::Code(_)
            | Guard::Uncancelled
            | Guard::Expression(_) => reads_context = true,
        }
    }
    let mut reasons = BTreeMap::new();
    for key in &of_files {
        let seen = checked.run.evidence.get(key);
        if let Some(why) = seen.and_then(|seen| stale(checked, files, seen)) {
            reasons.insert(key.clone(), why);
        }
    }
    let mut bound = checked.run.clone();
    bound.evidence.retain(|key, _| !reasons.contains_key(key));
    let lacks = holds_in(&checked.run);
    let on_commit = (!of_files.is_empty()).then(|| lacks.is_none() && holds_in(&bound).is_none());
    let why = match (&lacks, on_commit) {
        (Some(why), _) => Some(why.clone()),
        (None, Some(false)) => reasons
            .iter()
            .next()
            .map(|(key, why)| format!("`{}` was seen, but {why}", shown(key))),
        (None, _) => None,
    };
    GuardFacts {
        name: name.to_string(),
        holds: lacks.is_none(),
        on_commit,
        why,
        evidence: keys,
        reads_context,
    }
}

/// Shows the key of evidence without what it begins with.
fn shown(key: &str) -> String {
    visible(key.strip_prefix("command:").unwrap_or(key))
}

fn approvals(checked: &Checked, files: &CommitFiles) -> Vec<ApprovalFacts> {
    let mut asked: BTreeMap<ApprovalId, String> = BTreeMap::new();
    let mut found = Vec::new();
    for recorded in &checked.events {
        match &recorded.event {
            Event::RequestOpened { path, about, .. } => {
                let subject = match about {
                    About::Transition(transition) => transition.event.to_string(),
                    About::Entry { .. } => path.to_string(),
                    About::Call(grant) => grant.call.tool.clone(),
                };
                asked.insert(ApprovalId::of(recorded.seq), subject);
            }
            Event::RequestAnswered {
                id,
                about,
                yes: true,
                by,
                ..
            } => {
                let why = superseded(checked, files, recorded);
                found.push(ApprovalFacts {
                    id: id.to_string(),
                    kind: kind(*about).to_owned(),
                    about: asked.get(id).cloned().unwrap_or_default(),
                    by: by.clone(),
                    event: recorded.seq,
                    at: moment(recorded.at_ms),
                    passkey: checked.signed.contains(&recorded.seq),
                    on_commit: why.is_none(),
                    why,
                });
            }
            _ => {}
        }
    }
    found
}

/// Says what has changed since an answer; `None`: nothing.
fn superseded(checked: &Checked, files: &CommitFiles, answer: &Recorded) -> Option<String> {
    if checked
        .run
        .last_write
        .is_some_and(|write| write > answer.seq)
    {
        return Some("a write was allowed after it".to_owned());
    }
    files
        .changed_since(answer.at_ms)
        .map(|file| format!("`{file}` changed after it"))
}

const fn kind(about: RequestKind) -> &'static str {
    match about {
        RequestKind::Transition => "transition",
        RequestKind::Entry => "entry",
        RequestKind::Call => "call",
    }
}
