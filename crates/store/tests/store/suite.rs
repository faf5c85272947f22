//! The requirements for every store of runs, with the same tests for each.
//!
//! A test takes the world it uses; [`stores!`] makes one test for each store from it. A single use of that macro tests
//! another store, in its own crate.

use std::{path::Path, time::Duration};

use interlock_core::{
    Reply,
    command::{Command, CommandKind},
    event::Event,
    evolve,
    machine::{Machine, Object},
    names::{CallId, Digest, EventName, FramePath, RunId, StateName},
    run::Run,
};
use interlock_store::{
    AppendError, Durability, EventLog, Listed, NewRun, Recorded, RunCard, RunLog, StoreError,
    submit,
};
use interlock_view::report::Status;
use serde_json::{Value, json};

use crate::world::{NOW, PROJECT, World, machine, pause, propose, source};

pub(crate) const OTHER: &str = "/projects/other";

/// Makes a test of each name for each store; a store that is not available here is `None`, and has reported so.
macro_rules! stores {
    ($($store:ident: $world:expr),+ $(,)?) => {
        $(crate::suite::stores!(@one $store, $world, [
            what_was_appended_is_read_back_in_another_process_life,
            events_are_read_from_any_point_on,
            an_append_where_another_writer_was_first_changes_nothing,
            an_event_that_would_read_back_otherwise_is_not_recorded,
            several_events_are_appended_whole_or_not_at_all,
            waiting_ends_when_there_are_more_events,
            a_command_is_decided_again_when_others_were_first,
            a_run_that_cannot_be_kept_is_not_made,
            a_run_follows_the_version_it_moved_to,
            what_models_said_is_kept_by_its_digest,
            what_a_call_returned_is_kept_with_the_run,
            messages_belong_to_one_run,
            a_run_is_found_by_id_prefix_or_name,
            several_that_fit_are_named,
            a_name_is_looked_for_in_the_project_first,
            without_a_word_the_newest_of_the_project_is_meant,
            the_list_says_how_runs_stand,
        ]);)+
    };
    (@one $store:ident, $world:expr, [$($test:ident),+ $(,)?]) => {
        mod $store {
            $(#[test]
            fn $test() {
                let world: Option<crate::world::World> = $world.into();
                if let Some(world) = world {
                    crate::suite::$test(&world);
                }
            })+
        }
    };
}

pub(crate) use stores;

pub(crate) fn all(log: &RunLog) -> Vec<Recorded> {
    log.events(0).collect::<Result<_, _>>().unwrap()
}

pub(crate) fn folded(log: &RunLog) -> Run {
    all(log)
        .iter()
        .fold(Run::new(log.run().clone()), |run, recorded| {
            evolve(run, &recorded.event)
        })
}

impl World {
    pub(crate) fn named(&self, name: &str, project_root: &str, at_ms: u64) -> RunId {
        self.start_named(1, Some(name), Path::new(project_root), at_ms)
            .run()
            .clone()
    }

    pub(crate) fn find(&self, wanted: &str) -> Result<RunId, StoreError> {
        self.home.find_run(Some(wanted), PROJECT.as_ref())
    }

    pub(crate) fn card(&self, run: &RunId) -> RunCard {
        let listed = self.home.list_runs().unwrap();
        match listed.into_iter().find(|listed| listed.id == *run) {
            Some(interlock_store::RunSummary {
                listed: Listed::Known(card),
                ..
            }) => card,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn what_was_appended_is_read_back_in_another_process_life(world: &World) {
    let log = world.start_with_events(5);
    let events = all(&log);
    let run = log.run().clone();
    drop(log);
    let log = world.home.open_run(&run).unwrap();
    assert_eq!(all(&log), events);
    assert_eq!(events[3].event, pause(3));
    assert_eq!(events[3].at_ms, NOW + 3);
    assert_eq!(events[3].prev, events[2].hash);
    assert_eq!(log.load().unwrap(), folded(&log));
    assert_eq!(log.machine().unwrap(), machine(1));
    assert_eq!(log.source().unwrap(), source());
    assert_eq!(log.count().unwrap(), 5);
}

pub(crate) fn events_are_read_from_any_point_on(world: &World) {
    let log = world.start_with_events(300);
    let events = all(&log);
    assert_eq!(events.len(), 300);
    for from in [0, 1, 255, 256, 299, 300, 1_000] {
        let later: Vec<Recorded> = log.events(from).map(Result::unwrap).collect();
        assert_eq!(later.as_slice(), events.get(from as usize..).unwrap_or(&[]));
    }
}

pub(crate) fn an_append_where_another_writer_was_first_changes_nothing(world: &World) {
    let mut log = world.start_with_events(3);
    let mut other = world.home.open_run(log.run()).unwrap();
    other.append(3, NOW, &[pause(3)]).unwrap();
    for events in [vec![pause(99)], vec![]] {
        for (expected_seq, found) in [(3, 4), (0, 4), (5, 4)] {
            match log.append(expected_seq, NOW, &events) {
                Err(AppendError::Conflict {
                    expected,
                    found: has,
                }) => {
                    assert_eq!((expected, has), (expected_seq, found));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(log.count().unwrap(), 4);
    log.append(4, NOW, &[]).unwrap();
    assert_eq!(log.verify().unwrap(), 4);
}

pub(crate) fn an_event_that_would_read_back_otherwise_is_not_recorded(world: &World) {
    let mut log = world.start(1);
    // A library's representation of a number, which must not be parsed as one.
    let mimic = serde_json::json!({"$serde_json::private::Number": "1"});
    let noted = Event::ActivityEnded {
        path: interlock_core::names::FramePath::root(),
        output: mimic,
        error: None,
        key: None,
        stderr: String::new(),
    };
    let refused = log.append(1, NOW, &[noted]);
    assert!(
        matches!(
            &refused,
            Err(AppendError::Store(StoreError::Unwritable { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(log.count().unwrap(), 1);
    assert_eq!(log.verify().unwrap(), 1);
}

pub(crate) fn several_events_are_appended_whole_or_not_at_all(world: &World) {
    let mut log = world.start(1);
    let error = log.append(1, NOW, &[pause(1), too_deep(), pause(3)]);
    assert!(
        matches!(
            error,
            Err(AppendError::Store(StoreError::Unwritable { .. }))
        ),
        "{error:?}"
    );
    assert_eq!(log.count().unwrap(), 1);
    let batch: Vec<Event> = (1..100).map(pause).collect();
    log.append(1, NOW, &batch).unwrap();
    assert_eq!(log.verify().unwrap(), 100);
    assert_eq!(log.load().unwrap(), folded(&log));
}

pub(crate) fn waiting_ends_when_there_are_more_events(world: &World) {
    let log = world.start_with_events(3);
    assert!(log.wait(2, Duration::ZERO).unwrap());
    assert!(!log.wait(3, Duration::ZERO).unwrap());
    std::thread::scope(|scope| {
        let run = log.run().clone();
        let home = &world.home;
        let follower = scope.spawn(move || {
            let log = home.open_run(&run).unwrap();
            log.wait(3, Duration::from_secs(60)).unwrap()
        });
        let mut writer = world.home.open_run(log.run()).unwrap();
        writer.append(3, NOW, &[pause(3)]).unwrap();
        assert!(follower.join().unwrap());
    });
}

pub(crate) fn a_command_is_decided_again_when_others_were_first(world: &World) {
    let log = world.start(1);
    let mut run = log.load().unwrap();
    let mut crowded = Crowded { log, others: 3 };
    let decision = submit(&mut crowded, &machine(1), &mut run, &propose("a")).unwrap();
    assert_eq!(decision.reply, Reply::Accepted);
    assert_eq!(run, crowded.load().unwrap());
    assert_eq!(run.seq, 1 + 3 * 2 + 1);

    crowded.others = u32::MAX;
    let error = submit(&mut crowded, &machine(1), &mut run, &propose("b"));
    assert!(
        matches!(error, Err(StoreError::Contended { .. })),
        "{error:?}"
    );
    assert_eq!(run, crowded.load().unwrap());
}

pub(crate) fn a_run_is_found_by_id_prefix_or_name(world: &World) {
    let fix = world.named("fix", PROJECT, NOW);
    // Far apart in time, so that the prefixes differ.
    let nightly = world.named("nightly", PROJECT, NOW * 2);
    for run in [&fix, &nightly] {
        assert_eq!(world.find(run.as_str()).unwrap(), *run);
        assert_eq!(world.find(&run.as_str().to_uppercase()).unwrap(), *run);
        assert_eq!(world.find(&run.as_str()[..8]).unwrap(), *run);
    }
    assert_eq!(world.find("nightly").unwrap(), nightly);
    for unknown in ["", "night", "NIGHTLY", "zzz", "../..", "ñ"] {
        let error = world.find(unknown).unwrap_err();
        assert!(
            matches!(error, StoreError::NoSuchRun { .. }),
            "{unknown}: {error:?}"
        );
    }
}

pub(crate) fn several_that_fit_are_named(world: &World) {
    let first = world.named("fix", PROJECT, NOW);
    let second = world.named("fix", PROJECT, NOW * 2);
    for wanted in ["fix", "0"] {
        match world.find(wanted).unwrap_err() {
            StoreError::Ambiguous { candidates, .. } => {
                assert_eq!(candidates, [second.clone(), first.clone()]);
            }
            error => panic!("{error:?}"),
        }
    }
    let told = world.find("fix").unwrap_err().to_string();
    assert!(
        told.contains(first.as_str()) && told.contains(second.as_str()),
        "{told}"
    );
}

pub(crate) fn a_name_is_looked_for_in_the_project_first(world: &World) {
    let here = world.named("fix", PROJECT, NOW);
    let there = world.named("fix", OTHER, NOW + 1);
    let only = world.named("only", OTHER, NOW + 2);
    assert_eq!(world.find("fix").unwrap(), here);
    assert_eq!(
        world.home.find_run(Some("fix"), OTHER.as_ref()).unwrap(),
        there
    );
    assert_eq!(world.find("only").unwrap(), only);
}

pub(crate) fn without_a_word_the_newest_of_the_project_is_meant(world: &World) {
    let newest = |root: &str| world.home.find_run(None, root.as_ref());
    let error = newest(PROJECT).unwrap_err();
    assert!(matches!(error, StoreError::NoRunHere { .. }), "{error:?}");
    world.named("a", PROJECT, NOW);
    let last = world.named("b", PROJECT, NOW + 2);
    world.named("c", OTHER, NOW + 3);
    world.named("d", PROJECT, NOW + 1);
    assert_eq!(newest(PROJECT).unwrap(), last);
    assert!(newest("/projects").is_err());
}

pub(crate) fn the_list_says_how_runs_stand(world: &World) {
    let older = world.named("fix", PROJECT, NOW);
    let newer = world.named("next", OTHER, NOW + 1);
    let ids: Vec<RunId> = world
        .home
        .list_runs()
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(ids, [newer, older.clone()]);
    let card = world.card(&older);
    assert_eq!(card.status, Status::Running);
    assert_eq!(card.state, ["working"]);
    assert_eq!((card.events, card.created_ms), (1, NOW));
    assert_eq!(card.name.as_deref(), Some("fix"));
    assert_eq!(card.project_root, Path::new(PROJECT));
    assert_eq!(card.workflow.as_str(), "shop");

    let mut log = world.home.open_run(&older).unwrap();
    let mut run = log.load().unwrap();
    let cancel = Command {
        at_ms: NOW,
        kind: CommandKind::Cancel {
            by: "ana".to_owned(),
        },
    };
    submit(&mut log, &machine(1), &mut run, &cancel).unwrap();
    let card = world.card(&older);
    assert_eq!((card.status, card.events), (Status::Cancelled, 2));
    assert!(card.is_over());
}

pub(crate) fn a_run_that_cannot_be_kept_is_not_made(world: &World) {
    let (sealed, source) = (machine(1), source());
    let unsealed = Machine {
        hash: String::new(),
        ..sealed.clone()
    };
    let new = |machine, name| NewRun {
        machine,
        source: &source,
        project_root: Path::new(PROJECT),
        name,
        durability: Durability::Power,
        at_ms: NOW,
    };
    let refused = world.home.create_run(&new(&unsealed, None));
    assert!(
        matches!(refused, Err(StoreError::Unwritable { .. })),
        "{refused:?}"
    );
    let refused = world.home.create_run(&new(&sealed, Some("bad\nname")));
    assert!(
        matches!(refused, Err(StoreError::BadName { .. })),
        "{refused:?}"
    );
    assert_eq!(world.home.list_runs().unwrap(), []);
    // Nor is one that was never published.
    drop(world.prepared_for_all());
    assert_eq!(world.home.list_runs().unwrap(), []);
}

pub(crate) fn a_run_follows_the_version_it_moved_to(world: &World) {
    let mut log = world.start(1);
    let (begun_with, other) = (log.machine().unwrap(), machine(2));
    log.keep_machine(&other).unwrap();
    // The version is stored, but not used yet.
    assert_eq!(log.machine().unwrap(), begun_with);
    let moved = Event::MachineAdopted {
        machine: other.id.clone(),
        hash: other.hash.clone(),
        variables: Object::new(),
        by: "ana".to_owned(),
        at_ms: NOW,
    };
    log.append(1, NOW, &[moved]).unwrap();
    let again = world.home.open_run(log.run()).unwrap();
    assert_eq!(again.machine().unwrap(), other);
    assert_eq!(again.machine_of(&again.load().unwrap()).unwrap(), other);
    assert_eq!(again.verify().unwrap(), 2);
}

pub(crate) fn what_models_said_is_kept_by_its_digest(world: &World) {
    let log = world.start(1);
    let messages = log.messages();
    let said: [&[u8]; 3] = [b"{\"text\":\"hello\"}", b"", &[0, 0xff, 0xfe]];
    for bytes in said {
        let digest = messages.keep(bytes).unwrap();
        assert_eq!(messages.keep(bytes).unwrap(), digest);
        let again = world.home.open_run(log.run()).unwrap();
        assert_eq!(again.messages().read(&digest).unwrap(), bytes);
    }
    for unknown in [&"0".repeat(64), "../../token.json", ""] {
        let read = messages.read(&Digest::new(unknown));
        assert!(
            matches!(read, Err(StoreError::Damaged { .. })),
            "{unknown}: {read:?}"
        );
    }
}

pub(crate) fn messages_belong_to_one_run(world: &World) {
    let (one, other) = (world.start(1), world.start(1));
    let digest = one.messages().keep(b"said in one").unwrap();
    assert!(other.messages().read(&digest).is_err());
}

pub(crate) fn what_a_call_returned_is_kept_with_the_run(world: &World) {
    let log = world.start(1);
    let (call, other) = (CallId::new("toolu/../1"), CallId::new("toolu_2"));
    log.keep_output(&call, "12 passed\n\0é").unwrap();
    let again = world.home.open_run(log.run()).unwrap();
    let kept = again.output(&call).unwrap();
    assert_eq!(kept.as_deref(), Some("12 passed\n\0é"));
    assert_eq!(again.output(&other).unwrap(), None);
    // Storing it again replaces it.
    log.keep_output(&call, "").unwrap();
    assert_eq!(again.output(&call).unwrap().as_deref(), Some(""));
}

/// Returns an event that could be written but never be read again.
fn too_deep() -> Event {
    let deep = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    let mut data = Object::new();
    data.insert("deep".to_owned(), deep);
    Event::TransitionTaken {
        path: FramePath::root(),
        event: EventName::new("DONE"),
        from: StateName::new("working"),
        to: StateName::new("done"),
        how: interlock_core::event::TransitionKind::Written,
        data,
        by: "agent".to_owned(),
        at_ms: NOW,
    }
}

/// A log to which somebody else always appends first, a given number of times.
struct Crowded {
    log: RunLog,
    others: u32,
}

impl EventLog for Crowded {
    fn append(&mut self, seq: u64, at_ms: u64, events: &[Event]) -> Result<(), AppendError> {
        if let Some(others) = self.others.checked_sub(1) {
            self.others = others;
            self.log.append(seq, at_ms, &[pause(seq)])?;
            let resumed = Event::RunResumed { by: String::new() };
            self.log.append(seq + 1, at_ms, &[resumed])?;
        }
        self.log.append(seq, at_ms, events)
    }

    fn load(&self) -> Result<Run, StoreError> {
        self.log.load()
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.log.count()
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        self.log.events(from)
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        self.log.wait(seen, timeout)
    }
}
