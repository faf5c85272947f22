use proptest::prelude::*;

use super::*;

/// The length of the longest list that both have in common, by the table.
fn common(left: &[u64], right: &[u64]) -> usize {
    let mut above = vec![0; right.len() + 1];
    for x in left {
        let mut row = vec![0];
        for (at, y) in right.iter().enumerate() {
            let diagonal = above.get(at).copied().unwrap_or_default();
            let up = above.get(at + 1).copied().unwrap_or_default();
            let before = row.last().copied().unwrap_or_default();
            row.push(if x == y { diagonal + 1 } else { up.max(before) });
        }
        above = row;
    }
    above.last().copied().unwrap_or_default()
}

fn paired(left: &[u64], right: &[u64]) -> usize {
    let all = stretches(left, right);
    let (mut x, mut y, mut pairs, mut last) = (0, 0, 0, None);
    for Stretch {
        left: a,
        right: b,
        same,
    } in all
    {
        assert_eq!((a.start, b.start), (x, y), "nothing is left out");
        assert_ne!(last, Some(same), "the two kinds take turns");
        (x, y, last) = (a.end, b.end, Some(same));
        let part = |list: &[u64], range: &std::ops::Range<u64>| {
            let [from, to] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(0));
            list.get(from..to).map(<[u64]>::to_vec).unwrap_or_default()
        };
        if same {
            assert_eq!(
                part(left, &a),
                part(right, &b),
                "what is the same is the same"
            );
            pairs += part(left, &a).len();
        }
    }
    let ends = [left.len(), right.len()].map(|length| u64::try_from(length).unwrap_or(0));
    assert_eq!([x, y], ends, "nothing is left out at the end");
    pairs
}

proptest! {
    #[test]
    fn as_much_is_paired_as_can_be(
        left in prop::collection::vec(0_u64..6, 0..60),
        right in prop::collection::vec(0_u64..6, 0..60),
    ) {
        prop_assert_eq!(paired(&left, &right), common(&left, &right));
    }

    #[test]
    fn few_changes_of_a_long_list_stay_few(
        at in prop::collection::vec(0_usize..20_000, 1..20),
    ) {
        let left: Vec<u64> = (0..20_000).map(|n| n % 977).collect();
        let mut right = left.clone();
        for place in &at {
            right.insert(*place, 5_000);
        }
        prop_assert_eq!(paired(&left, &right), left.len());
    }
}

#[test]
fn long_lists_with_little_in_common_are_aligned_without_a_table() {
    // A table would have 1,600,000,000 fields.
    let left: Vec<u64> = (0..40_000).collect();
    let right: Vec<u64> = (0..40_000)
        .map(|n| if n % 1_000 == 0 { n } else { n + 1_000_000 })
        .collect();
    let pairs = paired(&left, &right);
    assert!(pairs > 0, "{pairs}");
}
