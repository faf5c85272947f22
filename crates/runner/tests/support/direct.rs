//! Runs whose steps are functions in this process, so that only the engine, the drive and the log cost time.

use std::{
    collections::VecDeque,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    Reply,
    command::CommandKind,
    event::Event,
    machine::{Machine, Object},
    names::RunId,
    pending::Pending,
    run::{DurableRun, Run},
};
use interlock_expr::text::{Files, Places};
use interlock_runner::{Appended, Happening, Host, Order, Outcome, command};
use interlock_store::{
    AppendError, Durability, EventLog as _, Home, NewRun, RunLog, SourceFile, StoreError,
};

/// A host that answers each order at once.
pub(crate) struct Direct<F> {
    log: RunLog,
    answer: F,
    ended: VecDeque<Happening>,
    /// Maximum number of concurrent orders.
    pub(crate) most: usize,
    /// Number of started orders.
    pub(crate) begun: usize,
    /// The number of the order at which the host fails, counted from 1.
    pub(crate) stop_at: Option<usize>,
    /// Number of questions to a person.
    pub(crate) asked: usize,
}

impl<F: FnMut(&Order) -> String> Direct<F> {
    /// Takes the run of `log`; `answer` gives the result of each step.
    pub(crate) fn new(log: RunLog, answer: F) -> Self {
        Self {
            log: log.kept(),
            answer,
            ended: VecDeque::new(),
            most: 0,
            begun: 0,
            stop_at: None,
            asked: 0,
        }
    }
}

/// Creates a run of `machine` below `home` that is not driven yet.
pub(crate) fn begin(
    home: &Path,
    machine: &Machine,
    durability: Durability,
) -> Result<RunLog, Box<dyn std::error::Error>> {
    let source = SourceFile {
        name: "flow.yaml".to_owned(),
        text: String::new(),
    };
    let new = NewRun {
        machine,
        source: &source,
        project_root: home,
        name: None,
        durability,
        at_ms: now_ms(),
    };
    let log = Home::at(home.join("state")).create_run(&new)?;
    let run: RunId = log.run().clone();
    let mut host = Direct::new(log, |_: &Order| String::new());
    let start = CommandKind::Start {
        input: Object::new(),
        by: "ana".to_owned(),
        durable: Some(DurableRun {
            places: Places {
                run_dir: "/run".to_owned(),
                project: "/project".to_owned(),
                home: "/home".to_owned(),
            },
            ..DurableRun::default()
        }),
    };
    match command(machine, &mut host, &start)?.reply {
        Reply::Accepted => Ok(Home::at(home.join("state")).open_run(&run)?),
        refused => Err(format!("the run did not begin: {refused:?}").into()),
    }
}

impl<F: FnMut(&Order) -> String> Host for Direct<F> {
    type Error = StoreError;

    fn now_ms(&mut self) -> u64 {
        now_ms()
    }

    fn load(&mut self) -> Result<Run, StoreError> {
        self.log.load()
    }

    fn events(&mut self, from: u64) -> Result<Vec<Event>, StoreError> {
        let events = self.log.events(from);
        events
            .map(|recorded| recorded.map(|recorded| recorded.event))
            .collect()
    }

    fn append(&mut self, seq: u64, at_ms: u64, events: &[Event]) -> Result<Appended, StoreError> {
        match self.log.append(seq, at_ms, events) {
            Ok(()) => Ok(Appended::Kept),
            Err(AppendError::Conflict { .. }) => Ok(Appended::Conflict),
            Err(AppendError::Store(error)) => Err(error),
        }
    }

    fn takes(&mut self, _: &Order) -> bool {
        true
    }

    fn start(&mut self, order: Order) {
        self.begun += 1;
        let outcome = Outcome::Done {
            stdout: (self.answer)(&order),
            stderr: String::new(),
        };
        self.ended.push_back(Happening::Ended {
            id: order.id,
            attempt: order.attempt,
            outcome,
        });
        self.most = self.most.max(self.ended.len());
    }

    fn stop(&mut self, _: &str) {}

    fn ask(&mut self, _: &Pending) -> bool {
        self.asked += 1;
        false
    }

    fn read(&mut self, _: &[String]) -> Files {
        Files::new()
    }

    fn next(&mut self, _: Option<u64>) -> Result<Happening, StoreError> {
        if self.stop_at.is_some_and(|at| at <= self.begun) {
            return Err(StoreError::Contended { tries: 0 });
        }
        Ok(self.ended.pop_front().unwrap_or(Happening::Tick))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
