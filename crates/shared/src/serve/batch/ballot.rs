//! Commands of people under a policy: who may send them, and when the answers to a request suffice.
//!
//! An answer is a vote. One `no` answers the request. A `yes` answers it if the people who have said yes meet every rule
//! of the policy that applies; until then, it is recorded beside the log and the request waits.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use interlock_core::{
    command::{Answer, CommandKind},
    event::About,
    machine::Object,
    pending::{Pending, pending},
};
use interlock_fleet::{ApprovalView, Decided, Verdict, VoteLine};
use interlock_store::{
    ChainHash, RunStore as _,
    record::{Marks, Rows as _},
};

use super::{
    Answered, DRIVERS, Live, Outcome, Submitted, Work,
    touched::{Touched, inside, of_call},
};
use crate::{
    people::{Missing, Paths, People, Right},
    rows::Found,
    serve::problem::Problem,
    tokens::Member,
    votes::{self, Vote, digest_of},
};

/// The request of votes on changes of protected things.
const CHANGES: &str = "changes";

/// What people vote on.
struct Question {
    /// The id of the request.
    request: String,
    /// What is asked, and what had been written by then.
    digest: ChainHash,
    paths: Paths,
}

impl Question {
    fn about(request: &Pending, touched: Option<&Touched>, marks: &Marks) -> Self {
        let (paths, written_seq) = match (request.about(), touched) {
            (About::Call(grant), _) => (of_call(&grant.marks, marks), 0),
            (_, Some(touched)) => (touched.paths(), touched.written_seq),
            // Not read: anything may have been written.
            (_, None) => {
                let others = true;
                (
                    Paths {
                        others,
                        ..Paths::default()
                    },
                    u64::MAX,
                )
            }
        };
        Self {
            request: request.id().as_str().to_owned(),
            digest: ChainHash::of_parts(&[
                b"interlock question",
                request.digest().as_str().as_bytes(),
                &written_seq.to_be_bytes(),
            ]),
            paths,
        }
    }
}

impl Live {
    /// Returns how far the approval of each open request has come; nothing without a policy.
    pub(crate) fn approvals(&mut self) -> Result<Vec<ApprovalView>, Problem> {
        let database = self.log.database.clone();
        let Some(people) = database.people()? else {
            return Ok(Vec::new());
        };
        let open = pending(&self.machine, &self.folded.run);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        self.catch_up_touched()?;
        let run = self.log.run().clone();
        let own = || vec![database.tenant().as_str().into(), run.as_str().into()];
        let votes = votes::read(&database, &run, database.select(votes::OF_RUN, own())?)?;
        let mut drivers: BTreeSet<String> = BTreeSet::new();
        for row in database.select(DRIVERS, own())? {
            drivers.insert(Found::new(&database, row).get(0)?);
        }
        let is_own =
            |name: &String| self.started_by.as_ref() == Some(name) || drivers.contains(name);
        let marks = self.log.log_of().marks;
        let view = |request: &Pending| {
            let question = Question::about(request, self.touched.as_ref(), marks);
            let of_it =
                |vote: &&Vote| vote.request == question.request && vote.question == question.digest;
            let votes: Vec<&Vote> = votes.iter().filter(of_it).collect();
            let counted = votes.iter().filter(|vote| {
                let member = &vote.member;
                vote.yes && people.has(Right::Approve, member) && !is_own(&member.subject)
            });
            let members = counted.map(|vote| vote.member.clone()).collect();
            let workflow = self.machine.id.as_str();
            let missing = people.missing(workflow, &question.paths, &members);
            let line = |vote: &&Vote| VoteLine {
                by: vote.member.subject.clone(),
                yes: vote.yes,
                note: vote.note.clone(),
                at_ms: vote.at_ms,
                digest: vote.digest(database.tenant(), &run).to_string(),
            };
            ApprovalView {
                votes: votes.iter().map(line).collect(),
                missing: missing.iter().map(Missing::sentence).collect(),
                request: question.request,
            }
        };
        Ok(open.iter().map(view).collect())
    }
}

impl Work<'_> {
    /// Has a command of a person decided, if the policy lets them send it.
    pub(super) fn by_policy(&mut self, one: &Submitted, people: &People) -> Outcome {
        let member = Member {
            subject: one.subject.clone(),
            groups: one.groups.clone(),
        };
        let has = |right| people.has(right, &member);
        let refusal = match &one.kind {
            _ if one.accepts => (!has(Right::Approve)).then_some(
                "the policy does not let you approve: `approve` of its `[roles]` says who may",
            ),
            CommandKind::Transition(_) => (!has(Right::Start)).then_some(
                "the policy does not let you ask for transitions: `start` of its `[roles]` says who may",
            ),
            CommandKind::Resume { .. }
            | CommandKind::Cancel { .. }
            | CommandKind::EndActivity { .. }
            | CommandKind::SettleEffect { .. } => {
                (!has(Right::Start) && !has(Right::Approve)).then_some(
                    "the policy does not let you resume, cancel or answer: whoever may `start` or `approve` does",
                )
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            return Err(Problem::role(refusal));
        }
        if !one.accepts {
            return self.decided(one, one.kind.clone());
        }
        let (yes, answer) = match &one.kind {
            CommandKind::Approve(answer) => (true, Some(answer)),
            CommandKind::Reject(answer) => (false, Some(answer)),
            _ => (true, None),
        };
        // Without a question, the run says what is wrong; it can accept nothing.
        let Some(question) = self.question(one, answer)? else {
            return self.decided(one, one.kind.clone());
        };
        let vote = Vote {
            request: question.request.clone(),
            question: question.digest,
            member,
            yes,
            note: answer.and_then(|answer| answer.note.clone()),
            revision: people.revision,
            at_ms: self.locked.at_ms,
        };
        self.count(one, people, (&question, vote))
    }

    fn decided(&mut self, one: &Submitted, kind: CommandKind) -> Outcome {
        self.decide(one, kind).map(|(answered, _)| answered)
    }

    /// Returns what the answer is to; `None`: nothing that is open.
    fn question(
        &self,
        one: &Submitted,
        answer: Option<&Answer>,
    ) -> Result<Option<Question>, Problem> {
        let marks = self.live.log.log_of().marks;
        let Some(answer) = answer else {
            let CommandKind::Resume {
                seen: Some(changes),
                ..
            } = &one.kind
            else {
                return Ok(None);
            };
            let seen = serde_json::to_vec(changes).map_err(|_| Problem::internal())?;
            let known = changes.iter().filter_map(|one| inside(&one.path, marks));
            return Ok(Some(Question {
                request: CHANGES.to_owned(),
                digest: ChainHash::of_parts(&[b"interlock changes", &seen]),
                paths: Paths {
                    known: known.collect(),
                    others: false,
                },
            }));
        };
        let name = answer.path.as_deref().unwrap_or_default();
        let is_meant = |one: &Pending| {
            one.is_named(name) && answer.before.is_none_or(|before| one.request.seq < before)
        };
        let mut meant: Vec<Pending> = pending(&self.live.machine, &self.run);
        meant.retain(is_meant);
        if meant.len() > 1 {
            return Err(Problem::input(
                "several requests have this name: name one by its id",
            ));
        }
        let Some(request) = meant.pop() else {
            return Ok(None);
        };
        let touched = self.touched.as_ref();
        Ok(Some(Question::about(&request, touched, marks)))
    }

    /// Counts a vote, and has the request answered if it is enough.
    fn count(
        &mut self,
        one: &Submitted,
        people: &People,
        (question, vote): (&Question, Vote),
    ) -> Outcome {
        let same = |other: &&Vote| other.request == vote.request && other.question == vote.question;
        let all = self.locked.votes.iter().chain(&self.written.votes);
        let earlier: Vec<Vote> = all.filter(same).cloned().collect();
        let is_known = (earlier.iter())
            .any(|other| other.member.subject == vote.member.subject && other.yes == vote.yes);
        let counts = |other: &&Vote| {
            // Who has started to work in the run since, or has lost the right, no longer counts.
            other.yes
                && other.member.subject != vote.member.subject
                && people.has(Right::Approve, &other.member)
                && !self.is_own(&other.member.subject)
        };
        let mut counted: Vec<&Vote> = if vote.yes {
            earlier.iter().filter(counts).collect()
        } else {
            Vec::new()
        };
        counted.push(&vote);
        let workflow = self.live.machine.id.as_str().to_owned();
        let missing = |votes: &[&Vote]| {
            let members: BTreeSet<Member> = votes.iter().map(|vote| vote.member.clone()).collect();
            people.missing(&workflow, &question.paths, &members)
        };
        let has_data = matches!(&one.kind, CommandKind::Approve(Answer { data, .. }) if *data != Object::default());
        if vote.yes && has_data && !missing(&[&vote]).is_empty() {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "data_refused",
                "several people have to approve this, and none of them changes its data: reject it, and say what should be asked for instead",
            ));
        }
        let unmet = if vote.yes {
            missing(&counted)
        } else {
            Vec::new()
        };
        if !unmet.is_empty() {
            let answered = self.waits(one, question, &unmet)?;
            if !is_known {
                self.written.votes.push(vote);
            }
            return Ok(answered);
        }
        let (tenant, run) = (self.live.log.database.tenant(), self.live.log.run());
        let digest = digest_of(&counted, tenant, run);
        let with_votes = |answer: &Answer| Answer {
            votes: Some(digest.clone()),
            ..answer.clone()
        };
        let kind = match &one.kind {
            CommandKind::Approve(answer) => CommandKind::Approve(with_votes(answer)),
            CommandKind::Reject(answer) => CommandKind::Reject(with_votes(answer)),
            other => other.clone(),
        };
        let (answered, is_accepted) = self.decide(one, kind)?;
        if is_accepted && !is_known {
            self.written.votes.push(vote);
        }
        Ok(answered)
    }

    /// Keeps a vote that is not enough, and replies what is missing.
    fn waits(&mut self, one: &Submitted, question: &Question, unmet: &[Missing]) -> Outcome {
        let missing: Vec<String> = unmet.iter().map(Missing::sentence).collect();
        let reply = Decided {
            run: self.run.id.as_str().to_owned(),
            verdict: Verdict::Pending,
            code: None,
            message: Some(format!(
                "your vote is recorded, and others have to approve, too: {}",
                missing.join("; ")
            )),
            request: Some(question.request.clone()),
            path: Vec::new(),
            from: self.run.seq,
            seq: self.run.seq,
            at_ms: self.locked.at_ms,
        };
        let body = serde_json::to_vec(&reply).map_err(|_| Problem::internal())?;
        let body = self.live.log.log_of().marks.encode(&body).into_owned();
        self.keep(one, body.clone());
        Ok(Answered {
            body,
            repeated: false,
        })
    }
}
