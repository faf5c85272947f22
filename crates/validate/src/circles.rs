//! Groups of things that lead to each other in a circle.

/// Returns the groups of nodes that lead to each other in a circle, each in ascending order.
///
/// `leads` gives for every node what it leads to. Runs in linear time and
/// without recursion.
pub(super) fn circles(leads: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        leads,
        number: vec![usize::MAX; leads.len()],
        low: vec![usize::MAX; leads.len()],
        on_stack: vec![false; leads.len()],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for start in 0..leads.len() {
        search.from(start);
    }
    let alone = |group: &[usize]| match group {
        [only] => !leads.get(*only).is_some_and(|to| to.contains(only)),
        _ => false,
    };
    let mut found = search.found;
    found.retain(|group| !alone(group));
    found.sort();
    found
}

/// Tarjan's search for strongly connected parts.
struct Search<'l> {
    leads: &'l [Vec<usize>],
    number: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        // Each entry: a node, and how many of its ways were looked at.
        let mut open = vec![(start, 0)];
        if self.number.get(start) != Some(&usize::MAX) {
            return;
        }
        self.enter(start);
        while let Some((at, taken)) = open.pop() {
            match self.leads.get(at).and_then(|to| to.get(taken)).copied() {
                Some(to) => {
                    open.push((at, taken + 1));
                    if self.number.get(to) == Some(&usize::MAX) {
                        self.enter(to);
                        open.push((to, 0));
                    } else if self.on_stack.get(to) == Some(&true) {
                        self.lower(at, self.number.get(to).copied());
                    }
                }
                None => {
                    self.leave(at);
                    if let Some((before, _)) = open.last().copied() {
                        self.lower(before, self.low.get(at).copied());
                    }
                }
            }
        }
    }

    fn enter(&mut self, at: usize) {
        let number = self.next;
        self.next += 1;
        set(&mut self.number, at, number);
        set(&mut self.low, at, number);
        set(&mut self.on_stack, at, true);
        self.stack.push(at);
    }

    fn lower(&mut self, at: usize, to: Option<usize>) {
        if let (Some(low), Some(to)) = (self.low.get_mut(at), to) {
            *low = to.min(*low);
        }
    }

    /// Takes a finished group off the stack, when `at` is its first node.
    fn leave(&mut self, at: usize) {
        if self.low.get(at) != self.number.get(at) {
            return;
        }
        let begin = self
            .stack
            .iter()
            .rposition(|node| *node == at)
            .unwrap_or_default();
        let mut group = self.stack.split_off(begin);
        for node in &group {
            set(&mut self.on_stack, *node, false);
        }
        group.sort_unstable();
        self.found.push(group);
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn circles_are_found_whatever_hangs_on_them() {
        assert_eq!(
            circles(&[vec![1], vec![2], vec![]]),
            Vec::<Vec<usize>>::new()
        );
        assert_eq!(circles(&[vec![0], vec![]]), vec![vec![0]]);
        let two = [
            vec![1],
            vec![2, 3],
            vec![1],
            vec![4],
            vec![5],
            vec![3],
            vec![0],
        ];
        assert_eq!(circles(&two), vec![vec![1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let mut chain: Vec<Vec<usize>> = (1..100_000).map(|next| vec![next]).collect();
        chain.push(vec![0]);
        assert_eq!(circles(&chain).len(), 1);
    }
}
