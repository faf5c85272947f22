//! Statements and keys for tests.

use interlock_attest::{
    ApprovalFacts, Digest, Envelope, EvidenceFacts, Expected, ExpectedWorkflow, FileFacts,
    GuardFacts, LogFacts, Predicate, RunFacts, SecretKey, Statement, WorkflowFacts, moment,
};

pub(crate) const COMMIT: &str = "6038c041a64300000000000000000000000000aa";
pub(crate) const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
pub(crate) const MACHINE: &str = "aa11";
pub(crate) const NOW_MS: u64 = 1_795_000_000_000;

pub(crate) fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32]).unwrap()
}

pub(crate) fn guard(name: &str) -> GuardFacts {
    GuardFacts {
        name: name.to_owned(),
        holds: true,
        on_commit: Some(true),
        why: None,
        evidence: vec!["command:npm test".to_owned()],
        reads_context: false,
    }
}

pub(crate) fn statement() -> Statement {
    let predicate = Predicate {
        producer: "interlock 0.1.0".to_owned(),
        issued_at: moment(NOW_MS - 1_000),
        expires_at: moment(NOW_MS + 60_000),
        repository: Some("github.com/acme/shop".to_owned()),
        run: RunFacts {
            id: "01k".to_owned(),
            name: None,
            kind: "guarded".to_owned(),
            started_at: moment(NOW_MS - 90_000),
            started_by: "ana".to_owned(),
            started_at_commit: None,
            status: "completed".to_owned(),
            states: vec!["done".to_owned()],
        },
        workflow: WorkflowFacts {
            id: "flow".to_owned(),
            machine: Digest::sha256(MACHINE),
            file: FileFacts {
                name: "flow.yaml".to_owned(),
                digest: Digest::sha256("bb22"),
            },
            adopted: false,
        },
        log: LogFacts {
            events: 12,
            head: Digest::sha256("cc33"),
        },
        guards: vec![guard("tests_passed")],
        evidence: vec![EvidenceFacts {
            key: "command:npm test".to_owned(),
            exit: Some(0),
            event: 7,
            at: moment(NOW_MS - 50_000),
            on_commit: true,
            why: None,
            report: None,
        }],
        approvals: vec![ApprovalFacts {
            id: "a9".to_owned(),
            kind: "transition".to_owned(),
            about: "DONE".to_owned(),
            by: "ana".to_owned(),
            event: 10,
            at: moment(NOW_MS - 40_000),
            passkey: false,
            on_commit: true,
            why: None,
        }],
    };
    Statement::new(COMMIT, TREE, predicate)
}

pub(crate) fn unsigned(statement: &Statement) -> Envelope {
    Envelope::of_statement(serde_json::to_vec(statement).unwrap())
}

pub(crate) fn expected(require: &[String]) -> Expected<'_> {
    Expected {
        commit: COMMIT,
        tree: Some(TREE),
        repository: Some("github.com/acme/shop"),
        workflow: Some(ExpectedWorkflow {
            name: "flow.yaml",
            machine: MACHINE,
            text: Some("bb22"),
        }),
        require,
        now_ms: NOW_MS,
    }
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
