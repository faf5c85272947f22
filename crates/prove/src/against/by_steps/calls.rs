//! The calls that are made in both versions.

use std::collections::BTreeSet;

use interlock_core::{names::FramePath, run::Run};

use super::{Judged, Search};
use crate::{
    against::{Side, brief, packed},
    atlas::Leaf,
    calls::{End, Usable},
    classes::judged,
    hash::short,
    key::seen_word,
    model::Standing,
    moves::{Done, call, call_act},
    perform::{counts, repeated},
    replay::written,
};

impl Search {
    pub(super) fn calls(
        &mut self,
        number: usize,
        new: &Run,
        old: &Run,
        (one, other): (&Leaf, &Leaf),
    ) {
        let place = (one.standing.clone(), other.standing.clone());
        if !self.calls.contains_key(&place) {
            let made = self.classes(&place);
            self.calls.insert(place.clone(), made);
        }
        let all: Vec<_> = self.calls.get(&place).cloned().unwrap_or_default();
        let mut repeats = None;
        let mut tried = BTreeSet::new();
        for (made, before) in &all {
            let Some(any) = made.as_ref().or(before.as_ref()) else {
                continue;
            };
            if let Some(like) = self.group(new, old, (made.as_ref(), before.as_ref()))
                && !tried.insert(like)
            {
                continue;
            }
            for end in ends(made.as_ref(), before.as_ref()) {
                let act = call_act(&one.path, any, end);
                let first = call(&self.new.model, new, &one.path, act.clone());
                let second = call(&self.old.model, old, &other.path, act.clone());
                let line = written(&self.new.model, &act);
                let shown = line.first().map_or_else(String::new, brief);
                match (first, second) {
                    (None, None) => break,
                    (Some(_), None) => {
                        let what = format!("{shown} in `{}`", one.standing.1);
                        self.difference(number, &act, what, true);
                        break;
                    }
                    (None, Some(_)) => {
                        let what = format!("{shown} in `{}`", one.standing.1);
                        self.difference(number, &act, what, false);
                        break;
                    }
                    (Some(first), Some(second)) => {
                        if repeats.is_none()
                            && self.is_idle((new, &first), (old, &second), &one.path)
                        {
                            repeats = Some((first.clone(), second.clone()));
                        }
                        self.enter(first.run, second.run, short(number), first.act, false);
                    }
                }
            }
        }
        if let Some((first, second)) = repeats {
            self.used_up(number, (new, &first), (old, &second), (one, other));
        }
    }

    /// Returns whether a call changes nothing in either version except the count of calls.
    fn is_idle(
        &mut self,
        (new, first): (&Run, &Done),
        (old, second): (&Run, &Done),
        path: &FramePath,
    ) -> bool {
        let same = |side: &mut Side, before: &Run, after: &Run| {
            packed(side, before).packed() == packed(side, after).packed()
        };
        counts(new, first, path)
            && counts(old, second, path)
            && same(&mut self.new, new, &first.run)
            && same(&mut self.old, old, &second.run)
    }

    /// Repeats a call until the smaller of the two limits is used up.
    fn used_up(
        &mut self,
        number: usize,
        (new, first): (&Run, &Done),
        (old, second): (&Run, &Done),
        (one, other): (&Leaf, &Leaf),
    ) {
        let both = [
            self.new.calls_left(new, one),
            self.old.calls_left(old, other),
        ];
        let Some(least) = both.into_iter().flatten().min().filter(|left| *left > 1) else {
            return;
        };
        let made = repeated(first, &one.path, least);
        let before = repeated(second, &other.path, least);
        if let (Some(made), Some(before)) = (made, before) {
            self.enter(made.run, before.run, short(number), made.act, false);
        }
    }

    /// Judges every call in both states; of those alike in both, the first is kept.
    fn classes(&self, (one, other): &(Standing, Standing)) -> Vec<Judged> {
        let both = judged(&self.new.model, one)
            .into_iter()
            .zip(judged(&self.old.model, other));
        let mut seen = BTreeSet::new();
        let like = |one: &Option<Usable>| {
            one.as_ref()
                .map(|one| (one.signature.clone(), one.keys.clone(), one.asked))
        };
        both.filter(|(one, other)| {
            (one.is_some() || other.is_some()) && seen.insert((like(one), like(other)))
        })
        .collect()
    }

    /// Returns the equivalent of a call of a group of commands that count alike in both versions.
    fn group(
        &mut self,
        new: &Run,
        old: &Run,
        calls: (Option<&Usable>, Option<&Usable>),
    ) -> Option<(usize, Vec<String>)> {
        let key = |call: Option<&Usable>| match call {
            Some(call) => match call.keys.as_slice() {
                [key] => Some(key.clone()),
                _ => None,
            },
            None => None,
        };
        let (one, other) = (key(calls.0), key(calls.1));
        let named = one.as_ref().or(other.as_ref())?;
        if one.is_some() && other.is_some() && one != other
            || calls.0.is_some() != one.is_some()
            || calls.1.is_some() != other.is_some()
        {
            return None;
        }
        let group = self.alike.iter().position(|group| group.contains(named))?;
        let signature =
            |call: Option<&Usable>| call.map_or_else(String::new, |call| call.signature.clone());
        Some((
            group,
            vec![
                seen_word(&self.new.model, new, named),
                seen_word(&self.old.model, old, named),
                signature(calls.0),
                signature(calls.1),
            ],
        ))
    }
}

/// Returns every end of a call that has consequences in either version.
fn ends(one: Option<&Usable>, other: Option<&Usable>) -> Vec<End> {
    let mut all: Vec<End> = Vec::new();
    for end in one.into_iter().chain(other).flat_map(|call| &call.ends) {
        if !all.contains(end) {
            all.push(end.clone());
        }
    }
    all
}
