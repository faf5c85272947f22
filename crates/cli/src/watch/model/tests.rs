#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    event::{About, PendingTransition},
    machine::Object,
    names::{EventName, FramePath},
    run::Request,
};

use super::*;

fn row(run: &str) -> Row {
    Row {
        run: RunId::new(run),
        workflow: "w".to_owned(),
        state: "a".to_owned(),
        status: "running".to_owned(),
        client: String::new(),
        created_ms: 0,
        over: false,
    }
}

fn waiting(run: &str, id: &str) -> Waiting {
    Waiting {
        run: RunId::new(run),
        workflow: "w".to_owned(),
        pending: Pending {
            request: Request {
                seq: id.trim_start_matches('a').parse().unwrap(),
                path: FramePath::root(),
                entered_seq: 0,
                about: About::Transition(PendingTransition {
                    index: 0,
                    event: EventName::new("GO"),
                    message: "may it?".to_owned(),
                    data: Object::new(),
                    by: "agent".to_owned(),
                }),
                question: "q".into(),
                prompt: None,
                approval: interlock_core::event::ApprovalKind::Person,
                at_ms: 0,
                granted: None,
            },
            shown: "a".to_owned(),
            title: "a".to_owned(),
        },
    }
}

fn look(runs: &[&str], asked: &[(&str, &str)]) -> Look {
    Look {
        rows: runs.iter().map(|run| row(run)).collect(),
        waiting: asked.iter().map(|(run, id)| waiting(run, id)).collect(),
        ..Look::default()
    }
}

fn model(runs: &[&str], asked: &[(&str, &str)]) -> Model {
    let mut model = Model::default();
    model.see(look(runs, asked));
    model
}

fn type_in(model: &mut Model, text: &str) {
    for letter in text.chars() {
        assert_eq!(model.press(Key::Letter(letter)), None);
    }
}

#[test]
fn the_selected_run_stays_selected_while_others_come_and_go() {
    let mut model = model(&["b", "a"], &[]);
    model.press(Key::Down);
    assert_eq!(model.selected, Some(RunId::new("a")));
    model.see(look(&["d", "c", "b", "a"], &[]));
    assert_eq!(model.row(), 3);
    model.see(look(&["d"], &[]));
    assert_eq!(model.selected, Some(RunId::new("d")));
    model.see(look(&[], &[]));
    assert_eq!(model.selected, None);
}

#[test]
fn no_key_leaves_the_list() {
    let mut model = model(&["b", "a"], &[("a", "a1")]);
    let keys = [
        Key::Up,
        Key::Down,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Tab,
        Key::BackTab,
        Key::Enter,
        Key::Escape,
        Key::Backspace,
        Key::Letter('x'),
    ];
    for first in keys {
        for second in keys {
            assert_eq!(model.press(first), None);
            assert_eq!(model.press(second), None);
            assert!(model.row() < 2 && model.waiting < 1);
        }
    }
}

#[test]
fn nothing_is_answered_without_a_second_key() {
    let mut model = model(&["a"], &[("a", "a1")]);
    assert_eq!(model.press(Key::Letter('a')), None);
    assert!(matches!(model.over, Over::Approve(..)));
    assert_eq!(model.press(Key::Enter), None, "Enter is not a yes");
    assert_eq!(
        model.press(Key::Letter('y')),
        Some(Act::Approve(waiting("a", "a1")))
    );
    assert_eq!(model.over, Over::Nothing);
}

#[test]
fn a_question_can_be_left() {
    for back in [Key::Escape, Key::Letter('n'), Key::Letter('q')] {
        let mut model = model(&["a"], &[("a", "a1")]);
        model.press(Key::Letter('a'));
        assert_eq!(model.press(back), None);
        assert_eq!(model.over, Over::Nothing);
    }
}

#[test]
fn a_no_carries_its_note() {
    let mut model = model(&["a"], &[("a", "a1")]);
    model.press(Key::Letter('r'));
    type_in(&mut model, "too quickx");
    model.press(Key::Backspace);
    assert_eq!(
        model.press(Key::Enter),
        Some(Act::Reject(
            waiting("a", "a1"),
            Some("too quick".to_owned())
        ))
    );
    model.press(Key::Letter('r'));
    assert_eq!(
        model.press(Key::Enter),
        Some(Act::Reject(waiting("a", "a1"), None))
    );
}

#[test]
fn a_question_that_was_answered_elsewhere_leaves_the_screen() {
    let mut model = model(&["a"], &[("a", "a1")]);
    model.press(Key::Letter('a'));
    // The next one of the same run is another question.
    model.see(look(&["a"], &[("a", "a7")]));
    assert_eq!(model.over, Over::Nothing);
    assert!(model.said.as_ref().unwrap().contains("a1"));
    assert_eq!(model.press(Key::Letter('y')), None);
}

#[test]
fn a_question_stays_while_others_are_asked() {
    let mut model = model(&["b", "a"], &[("a", "a1")]);
    model.press(Key::Down);
    model.press(Key::Letter('a'));
    model.see(look(&["b", "a"], &[("b", "a4"), ("a", "a1")]));
    assert_eq!(
        model.press(Key::Letter('y')),
        Some(Act::Approve(waiting("a", "a1")))
    );
}

#[test]
fn what_is_answered_belongs_to_the_selected_run() {
    let mut model = model(&["b", "a"], &[("a", "a1")]);
    model.press(Key::Letter('a'));
    assert_eq!(model.over, Over::Nothing, "run `b` asks nothing");
    model.press(Key::Down);
    model.press(Key::Letter('a'));
    assert!(matches!(model.over, Over::Approve(..)));
}

#[test]
fn of_several_one_is_chosen_first() {
    let mut model = model(&["a"], &[("a", "a1"), ("a", "a2")]);
    model.press(Key::Letter('a'));
    assert_eq!((model.pane, &model.over), (Pane::Waiting, &Over::Nothing));
    model.press(Key::Down);
    model.press(Key::Letter('a'));
    assert_eq!(
        model.press(Key::Letter('y')),
        Some(Act::Approve(waiting("a", "a2")))
    );
}

#[test]
fn a_log_that_grows_is_followed_until_it_is_scrolled() {
    let mut model = model(&["a"], &[]);
    let mut seen = look(&["a"], &[]);
    seen.log = Some((
        RunId::new("a"),
        (0..50).map(|line| line.to_string()).collect(),
    ));
    model.see(seen);
    model.press(Key::Enter);
    assert_eq!(model.back, 0);
    model.press(Key::Up);
    model.press(Key::PageUp);
    assert_eq!(model.back, 11);
    model.press(Key::End);
    assert_eq!(model.back, 0);
    model.press(Key::Home);
    assert_eq!(model.back, 49);
}

#[test]
fn leaving_is_one_key() {
    let mut fresh = model(&["a"], &[("a", "a1")]);
    assert_eq!(fresh.press(Key::Letter('q')), Some(Act::Quit));
    let mut asking = model(&["a"], &[("a", "a1")]);
    asking.press(Key::Letter('r'));
    assert_eq!(asking.press(Key::Letter('q')), None, "a letter of the note");
    assert_eq!(asking.press(Key::Interrupt), Some(Act::Interrupt));
}
