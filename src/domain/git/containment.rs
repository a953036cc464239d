//! Finds the commits that contain a given one. It infers most answers from known comparisons, so that few requests are
//! needed.

use std::collections::{HashMap, HashSet};

use crate::domain::model::version::Sha;

/// The part of a comparison that helps to locate the sought commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPair {
    pub base: Sha,
    pub head: Sha,
    /// The number of commits that only the head has.
    pub ahead_by: u64,
    /// The number of commits that only the base has.
    pub behind_by: u64,
    /// All commits that only the head has are listed.
    pub is_complete: bool,
    /// The sought commit is in the list.
    pub lists_sought: bool,
}

/// Which commits contain the sought one, as far as known. All answers are correct if the recorded ones are.
#[derive(Clone, Debug)]
pub struct Containment {
    known: HashMap<Sha, bool>,
    /// If the first contains the sought commit, the second does too.
    implies: HashMap<Sha, Vec<Sha>>,
    /// If the first does not contain the sought commit, the second does not either.
    denies: HashMap<Sha, Vec<Sha>>,
}

impl Containment {
    pub fn from_pairs(sought: &Sha, pairs: &[CommitPair]) -> Self {
        let mut found = Self { known: HashMap::new(), implies: HashMap::new(), denies: HashMap::new() };
        for pair in pairs {
            // With `behind_by` 0 the head contains the base. If the complete list lacks the sought commit, the head can
            // have it only through the base.
            if pair.behind_by == 0 {
                found.add_implication(&pair.base, &pair.head);
            }
            if pair.is_complete && !pair.lists_sought {
                found.add_implication(&pair.head, &pair.base);
            }
        }
        found.record_answer(sought, true);
        for pair in pairs {
            if pair.lists_sought {
                found.record_answer(&pair.head, true);
                found.record_answer(&pair.base, false);
            }
            if pair.base == *sought {
                found.record_answer(&pair.head, pair.behind_by == 0);
            }
            if pair.head == *sought {
                found.record_answer(&pair.base, pair.ahead_by == 0);
            }
        }
        found
    }

    pub fn is_contained_in(&self, commit: &Sha) -> Option<bool> {
        self.known.get(commit).copied()
    }

    /// Records an answer and everything that follows from it.
    pub fn record_answer(&mut self, commit: &Sha, has: bool) {
        let news: Vec<Sha> = self.find_newly_decided(commit, has).into_iter().cloned().collect();
        self.known.extend(news.into_iter().map(|commit| (commit, has)));
    }

    /// The unknown commits that this answer would decide.
    fn find_newly_decided<'a>(&'a self, commit: &'a Sha, has: bool) -> HashSet<&'a Sha> {
        let follow = if has { &self.implies } else { &self.denies };
        let (mut news, mut next) = (HashSet::new(), vec![commit]);
        while let Some(commit) = next.pop() {
            if !self.known.contains_key(commit) && news.insert(commit) {
                next.extend(follow.get(commit).into_iter().flatten());
            }
        }
        news
    }

    /// Chooses, among the commits that run on a ladder (lowest first), the one that probably decides most of the
    /// others; `None` if all are known.
    pub fn choose_next_commit<'a>(&self, ladder: &[&'a Sha]) -> Option<&'a Sha> {
        let mut best: Option<(usize, &'a Sha)> = None;
        for (at, commit) in ladder.iter().enumerate().filter(|(_, commit)| self.is_contained_in(commit).is_none()) {
            let news = self.find_newly_decided(commit, self.presume_answer(ladder, at));
            let decided = ladder.iter().filter(|other| news.contains(**other)).count();
            if best.is_none_or(|(most, _)| decided > most) {
                best = Some((decided, commit));
            }
        }
        best.map(|(_, commit)| commit)
    }

    /// The likely answer. Commits climb the ladder from below, so an environment has the sought commit if one above has
    /// it, or if nothing is known about those below.
    fn presume_answer(&self, ladder: &[&Sha], at: usize) -> bool {
        let above = ladder[at + 1..].iter().any(|commit| self.is_contained_in(commit) == Some(true));
        let known = ladder[..at].iter().any(|commit| self.is_contained_in(commit).is_some());
        above || !known
    }

    fn add_implication(&mut self, from: &Sha, to: &Sha) {
        self.implies.entry(from.clone()).or_default().push(to.clone());
        self.denies.entry(to.clone()).or_default().push(from.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The commits of a Git history: each with its ancestors, itself included.
    struct Graph(Vec<BTreeSet<usize>>);

    impl Graph {
        fn of(parents: &[(usize, usize, bool)]) -> Self {
            let mut all: Vec<BTreeSet<usize>> = Vec::new();
            for (at, (first, second, merges)) in parents.iter().enumerate() {
                let mut contains = BTreeSet::from([at]);
                if at > 0 {
                    contains.extend(&all[first % at]);
                    if *merges {
                        contains.extend(&all[second % at]);
                    }
                }
                all.push(contains);
            }
            Self(all)
        }

        fn name(at: usize) -> Sha {
            format!("{at:040x}").parse().unwrap()
        }

        fn pair(&self, sought: usize, base: usize, head: usize, most: usize) -> CommitPair {
            let only: Vec<usize> = self.0[head].difference(&self.0[base]).copied().collect();
            let listed = &only[only.len().saturating_sub(most)..];
            CommitPair {
                base: Self::name(base),
                head: Self::name(head),
                ahead_by: only.len() as u64,
                behind_by: self.0[base].difference(&self.0[head]).count() as u64,
                is_complete: listed.len() == only.len(),
                lists_sought: listed.contains(&sought),
            }
        }

        fn has(&self, commit: usize, sought: usize) -> bool {
            self.0[commit].contains(&sought)
        }
    }

    /// Asks until all answers are known, and returns the commits that were asked about.
    fn ask_all(graph: &Graph, known: &mut Containment, ladder: &[usize], sought: usize) -> Vec<usize> {
        let names: Vec<Sha> = ladder.iter().map(|at| Graph::name(*at)).collect();
        let names: Vec<&Sha> = names.iter().collect();
        let mut asked = Vec::new();
        while let Some(name) = known.choose_next_commit(&names) {
            let at = ladder[names.iter().position(|other| *other == name).unwrap()];
            known.record_answer(name, graph.has(at, sought));
            asked.push(at);
        }
        asked
    }

    fn parents() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
        prop::collection::vec((0..100_usize, 0..100_usize, any::<bool>()), 1..25)
    }

    proptest! {
        #[test]
        fn nothing_that_is_inferred_is_wrong(
            parents in parents(),
            picks in prop::collection::vec(0..100_usize, 4),
            sought in 0..100_usize,
            compared in prop::collection::vec((0..100_usize, 0..100_usize, 0..6_usize), 0..12),
        ) {
            let graph = Graph::of(&parents);
            let count = parents.len();
            let (sought, ladder) = (sought % count, picks.iter().map(|at| at % count).collect::<Vec<_>>());
            let pairs: Vec<CommitPair> =
                compared.iter().map(|(base, head, most)| graph.pair(sought, base % count, head % count, *most)).collect();
            let mut known = Containment::from_pairs(&Graph::name(sought), &pairs);
            let right = |known: &Containment| {
                (0..count).all(|at| known.is_contained_in(&Graph::name(at)).is_none_or(|has| has == graph.has(at, sought)))
            };
            prop_assert!(right(&known));
            let asked = ask_all(&graph, &mut known, &ladder, sought);
            prop_assert!(right(&known));
            prop_assert!(asked.len() <= ladder.iter().collect::<BTreeSet<_>>().len());
            prop_assert!(ladder.iter().all(|at| known.is_contained_in(&Graph::name(*at)).is_some()));
        }

        #[test]
        fn one_answer_decides_all_where_neighbours_were_compared_both_ways(
            parents in parents(),
            picks in prop::collection::vec(0..100_usize, 2..6),
            sought in 0..100_usize,
        ) {
            let graph = Graph::of(&parents);
            let count = parents.len();
            let (sought, ladder) = (sought % count, picks.iter().map(|at| at % count).collect::<Vec<_>>());
            let both = |two: &[usize]| {
                [graph.pair(sought, two[0], two[1], 100), graph.pair(sought, two[1], two[0], 100)]
            };
            let pairs: Vec<CommitPair> = ladder.windows(2).flat_map(both).collect();
            let mut known = Containment::from_pairs(&Graph::name(sought), &pairs);
            let asked = ask_all(&graph, &mut known, &ladder, sought);
            prop_assert!(asked.len() <= 1, "{asked:?}");
        }
    }

    /// Each environment is compared only with the one below, as the background task does.
    #[test]
    fn on_the_usual_ladder_two_answers_are_enough() {
        // Commits 0 to 4 are pushes to develop. 5 is qa's merge of 2, 6 is staging's merge of 1, and 7 is prod's merge
        // of 0.
        let contains = [
            vec![0],
            vec![0, 1],
            vec![0, 1, 2],
            vec![0, 1, 2, 3],
            vec![0, 1, 2, 3, 4],
            vec![0, 1, 2, 5],
            vec![0, 1, 6],
            vec![0, 7],
        ];
        let graph = Graph(contains.into_iter().map(BTreeSet::from_iter).collect());
        let ladder = [4, 5, 6, 7];
        for (sought, most) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 1)] {
            let pairs: Vec<CommitPair> = ladder.windows(2).map(|two| graph.pair(sought, two[1], two[0], 250)).collect();
            let mut known = Containment::from_pairs(&Graph::name(sought), &pairs);
            let asked = ask_all(&graph, &mut known, &ladder, sought);
            assert!(asked.len() <= most, "push {sought} asked {asked:?}");
        }
    }
}
