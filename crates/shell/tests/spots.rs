//! Where in a command the holes stand that values are put into.

use interlock_shell::{Position, spots};

use crate::support::check;

const HOLE: &str = "{{ x }}";

#[test]
fn every_hole_has_its_place() {
    check(include_str!("cases/spots.txt"), |case| {
        let mut pieces = Vec::new();
        for (at, text) in case.line.split(HOLE).enumerate() {
            if at > 0 {
                pieces.push(None);
            }
            pieces.push(Some(text));
        }
        let Some(spots) = spots(pieces) else {
            return "lost".to_owned();
        };
        let letters = spots.iter().map(|spot| {
            let letter = match spot.position {
                Position::Word => "w",
                Position::Quotes => "q",
                Position::Single => "s",
                Position::Arithmetic => "a",
                Position::Comment => "c",
                Position::Document => "d",
            };
            let fault = if spot.fault.is_some() { "!" } else { "" };
            format!("{letter}{fault}")
        });
        letters.collect()
    });
}
