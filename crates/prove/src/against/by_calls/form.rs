//! Finds pairs that differ only by exchanged commands that count alike in both versions.
//!
//! Only the key of a pair is normalized: its runs stay as its own calls made them, so that what it shows can be replayed.

use super::version::Version;
use crate::against::Side;

/// A key of evidence, by its number in the new version and in the old one.
type Place = (usize, usize);

/// The commands that count alike in both versions.
#[derive(Debug, Default)]
pub(super) struct Alike {
    groups: Vec<Vec<Place>>,
}

impl Alike {
    /// Collects the groups of keys that both versions have.
    pub(super) fn of([new, old]: [&Side; 2]) -> Self {
        let number = |side: &Side, key: &String| {
            let mut keys = side.model.evidence.keys();
            keys.position(|known| known == key)
        };
        let both = |group: &Vec<String>, other: &Vec<String>| {
            let keys = group.iter().filter(|key| other.contains(key));
            let places = keys.filter_map(|key| Some((number(new, key)?, number(old, key)?)));
            places.collect::<Vec<Place>>()
        };
        let groups = new.model.alike.iter().flat_map(|group| {
            let others = old.model.alike.iter();
            others.map(move |other| both(group, other))
        });
        Self {
            groups: groups.filter(|group| group.len() > 1).collect(),
        }
    }

    /// Returns what a pair has in common with those that only exchange commands; `None` if none may be exchanged.
    ///
    /// Questions to a person need no special treatment: a question stays valid only while its guards read what they read
    /// then, so
    /// that its validity and what was seen determine everything about it.
    pub(super) fn form(
        &self,
        versions: &[Version; 2],
        new: u32,
        beside: &[u32],
    ) -> Option<Box<[u32]>> {
        let [news, olds] = versions;
        if self.groups.is_empty() {
            return None;
        }
        let (words, rest) = news.parts(new);
        let mut words = words.to_vec();
        let others = beside.iter().map(|run| {
            let (words, rest) = olds.parts(*run);
            (self.order_free(rest, words), words.to_vec(), rest)
        });
        let mut others: Vec<(Vec<u32>, Vec<u32>, &[u32])> = others.collect();
        others.sort();
        for group in &self.groups {
            let column = |(own, old): &Place| -> Vec<Option<u32>> {
                let beside = others.iter().map(|(_, words, _)| words.get(*old).copied());
                std::iter::once(words.get(*own).copied())
                    .chain(beside)
                    .collect()
            };
            let mut columns: Vec<Vec<Option<u32>>> = group.iter().map(column).collect();
            columns.sort_unstable();
            for (place, column) in group.iter().zip(columns) {
                let mut column = column.into_iter();
                put(&mut words, place.0, column.next());
                for ((_, words, _), word) in others.iter_mut().zip(column) {
                    put(words, place.1, Some(word));
                }
            }
        }
        let mut beside: Vec<Vec<u32>> = others
            .into_iter()
            .map(|(_, words, rest)| [rest, &words].concat())
            .collect();
        beside.sort_unstable();
        beside.dedup();
        let own = [rest, &words].concat();
        Some(std::iter::once(own).chain(beside).flatten().collect())
    }

    /// Identifies a run of the old version without telling which of the equivalent commands was seen.
    fn order_free(&self, rest: &[u32], words: &[u32]) -> Vec<u32> {
        let mut free = words.to_vec();
        let mut all = rest.to_vec();
        for group in &self.groups {
            let of_group = group.iter().filter_map(|(_, old)| words.get(*old).copied());
            let mut of_group: Vec<u32> = of_group.collect();
            of_group.sort_unstable();
            all.extend(of_group);
            for (_, old) in group {
                put(&mut free, *old, Some(Some(0)));
            }
        }
        all.extend(free);
        all
    }
}

fn put(words: &mut [u32], at: usize, word: Option<Option<u32>>) {
    if let (Some(place), Some(Some(word))) = (words.get_mut(at), word) {
        *place = word;
    }
}
