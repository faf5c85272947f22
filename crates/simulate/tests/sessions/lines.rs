//! Sessions of lines: the steps of cases, some left out, duplicated, moved or mixed with others.

use std::fmt::Write as _;

use interlock_simulate::{
    InputLine, Simulation,
    input::{AnswerLine, LineEndLine, ResultLine},
};

use interlock_testkit::dice::Dice;

use crate::sessions::source::Material;

/// Maximum number of lines in a session.
const LINES_MAX: usize = 40;

/// Plays a session and returns the answers, the records, and the run after it.
pub(crate) fn play(material: &Material, number: u64) -> String {
    let mut dice = Dice::of(&material.name, number);
    let mut simulation = Simulation::new(material.machine.clone(), material.scenario.clone());
    let mut text = String::new();
    let mut seen = 0;
    let lines = lines(&mut dice, &material.lines);
    for line in lines {
        let Ok(line) = simulation.check(line) else {
            continue;
        };
        let output = simulation.take(line);
        writeln!(text, "{}", serde_json::to_string(&output).unwrap()).unwrap();
        for event in simulation.events().iter().skip(seen) {
            writeln!(text, "  {}", serde_json::to_string(event).unwrap()).unwrap();
        }
        seen = simulation.events().len();
    }
    let run = serde_json::to_string(simulation.run()).unwrap();
    writeln!(text, "{run}\n{}", simulation.briefing()).unwrap();
    text
}

/// Generates a session from the steps of cases.
fn lines(dice: &mut Dice, steps: &[InputLine]) -> Vec<InputLine> {
    // If calls have ids, several of them are open at once.
    let named = dice.one_in(2);
    let from = if dice.one_in(3) {
        dice.below(steps.len())
    } else {
        0
    };
    let mut all = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut late: Option<InputLine> = None;
    for step in steps.iter().skip(from) {
        if all.len() >= LINES_MAX {
            break;
        }
        let mut step = step.clone();
        if named {
            name(dice, &mut step, &mut ids);
        }
        match dice.below(14) {
            0 => {}
            1 => all.extend([step.clone(), step]),
            2 => all.extend(late.replace(step)),
            3 => all.extend([other(dice, &ids), step]),
            4 => {
                all.extend(dice.pick(steps).cloned());
                all.push(step);
            }
            _ => all.push(step),
        }
        if dice.one_in(3) {
            all.extend(late.take());
        }
    }
    all.extend(late);
    for _ in 0..4 {
        all.push(other(dice, &ids));
        all.extend(dice.pick(steps).cloned());
    }
    all
}

/// Gives a call an id, and a result the id of some call.
fn name(dice: &mut Dice, line: &mut InputLine, ids: &mut Vec<String>) {
    match line {
        InputLine::Tool(tool) if tool.id.is_none() => {
            let id = format!("n{}", ids.len());
            tool.id = Some(id.clone());
            tool.asked = dice.one_in(5);
            if tool.agent.is_none() && dice.one_in(5) {
                tool.agent = Some("a1".to_owned());
            }
            ids.push(id);
        }
        InputLine::Result(result) if result.id.is_none() => {
            let newest = if dice.one_in(2) { 1 } else { ids.len() };
            let newest = ids.iter().rev().take(newest).collect::<Vec<_>>();
            result.id = dice.pick(&newest).copied().cloned();
        }
        _ => {}
    }
}

/// Returns a line that may be sent to any run.
fn other(dice: &mut Dice, ids: &[String]) -> InputLine {
    let answer = AnswerLine {
        by: "ana".to_owned(),
        ..AnswerLine::default()
    };
    let id = dice.pick(ids).cloned();
    match dice.below(16) {
        0 => InputLine::Pause,
        1 | 2 => InputLine::Resume,
        3 if dice.one_in(3) => InputLine::Cancel,
        3 | 4 => InputLine::Advance(dice.number(&[1_000, 60_000, 4_000_000])),
        5 => InputLine::Stopped("a1".to_owned()),
        6 => InputLine::Finish,
        7 => InputLine::State,
        8 | 9 => InputLine::Approve(answer),
        10 => InputLine::Reject(answer),
        11 | 12 => match id {
            Some(id) => InputLine::LineEnded(LineEndLine {
                id,
                exit: Some(i64::from(dice.one_in(3))),
                wrote: vec!["src/late.py".to_owned()],
                commands: Vec::new(),
                unseen: dice.one_in(3),
                reports: Vec::new(),
                frozen: Vec::new(),
            }),
            None => InputLine::Resume,
        },
        13 if id.is_some() => InputLine::LineStarted(id.unwrap_or_default()),
        _ => InputLine::Result(ResultLine {
            id,
            ok: dice.one_in(2),
            bytes: 700,
            wrote: vec!["src/a.py".to_owned()],
            ..ResultLine::default()
        }),
    }
}
