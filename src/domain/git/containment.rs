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
    answers: HashMap<Sha, bool>,
    /// If the key contains the sought commit, the values do too.
    implies: HashMap<Sha, Vec<Sha>>,
    /// If the key does not contain the sought commit, the values do not either.
    denies: HashMap<Sha, Vec<Sha>>,
}

impl Containment {
    pub fn from_pairs(sought: &Sha, pairs: &[CommitPair]) -> Self {
        let mut containment = Self { answers: HashMap::new(), implies: HashMap::new(), denies: HashMap::new() };
        for pair in pairs {
            // With `behind_by` 0 the head contains the base. If the complete list lacks the sought commit, the head can
            // have it only through the base.
            if pair.behind_by == 0 {
                containment.add_implication(&pair.base, &pair.head);
            }
            if pair.is_complete && !pair.lists_sought {
                containment.add_implication(&pair.head, &pair.base);
            }
        }
        containment.record_answer(sought, true);
        for pair in pairs {
            if pair.lists_sought {
                containment.record_answer(&pair.head, true);
                containment.record_answer(&pair.base, false);
            }
            if pair.base == *sought {
                containment.record_answer(&pair.head, pair.behind_by == 0);
            }
            if pair.head == *sought {
                containment.record_answer(&pair.base, pair.ahead_by == 0);
            }
        }
        containment
    }

    pub fn is_contained_in(&self, commit: &Sha) -> Option<bool> {
        self.answers.get(commit).copied()
    }

    /// Records an answer and everything that follows from it.
    pub fn record_answer(&mut self, commit: &Sha, has: bool) {
        let decided: Vec<Sha> = self.find_newly_decided(commit, has).into_iter().cloned().collect();
        self.answers.extend(decided.into_iter().map(|commit| (commit, has)));
    }

    /// The unknown commits that this answer would decide.
    fn find_newly_decided<'a>(&'a self, commit: &'a Sha, has: bool) -> HashSet<&'a Sha> {
        let implications = if has { &self.implies } else { &self.denies };
        let (mut decided, mut unvisited) = (HashSet::new(), vec![commit]);
        while let Some(commit) = unvisited.pop() {
            if !self.answers.contains_key(commit) && decided.insert(commit) {
                unvisited.extend(implications.get(commit).into_iter().flatten());
            }
        }
        decided
    }

    /// Chooses, among the commits that run on a ladder (lowest first), the one that probably decides most of the
    /// others; `None` if all are known.
    pub fn choose_next_commit<'a>(&self, ladder: &[&'a Sha]) -> Option<&'a Sha> {
        let mut best: Option<(usize, &'a Sha)> = None;
        for (index, commit) in ladder.iter().enumerate().filter(|(_, commit)| self.is_contained_in(commit).is_none()) {
            let decided = self.find_newly_decided(commit, self.presume_answer(ladder, index));
            let count = ladder.iter().filter(|other| decided.contains(**other)).count();
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, commit));
            }
        }
        best.map(|(_, commit)| commit)
    }

    /// The likely answer. Commits climb the ladder from below, so an environment has the sought commit if one above has
    /// it, or if nothing is known about those below.
    fn presume_answer(&self, ladder: &[&Sha], index: usize) -> bool {
        let has_commit_above = ladder[index + 1..].iter().any(|commit| self.is_contained_in(commit) == Some(true));
        let is_known_below = ladder[..index].iter().any(|commit| self.is_contained_in(commit).is_some());
        has_commit_above || !is_known_below
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
        fn from_parents(parents: &[(usize, usize, bool)]) -> Self {
            let mut all: Vec<BTreeSet<usize>> = Vec::new();
            for (index, (first, second, merges)) in parents.iter().enumerate() {
                let mut contains = BTreeSet::from([index]);
                if index > 0 {
                    contains.extend(&all[first % index]);
                    if *merges {
                        contains.extend(&all[second % index]);
                    }
                }
                all.push(contains);
            }
            Self(all)
        }

        fn name(index: usize) -> Sha {
            format!("{index:040x}").parse().unwrap()
        }

        fn pair(&self, sought: usize, base: usize, head: usize, max_listed: usize) -> CommitPair {
            let only_head: Vec<usize> = self.0[head].difference(&self.0[base]).copied().collect();
            let listed = &only_head[only_head.len().saturating_sub(max_listed)..];
            CommitPair {
                base: Self::name(base),
                head: Self::name(head),
                ahead_by: only_head.len() as u64,
                behind_by: self.0[base].difference(&self.0[head]).count() as u64,
                is_complete: listed.len() == only_head.len(),
                lists_sought: listed.contains(&sought),
            }
        }

        fn has(&self, commit: usize, sought: usize) -> bool {
            self.0[commit].contains(&sought)
        }
    }

    /// Asks until all answers are known, and returns the commits that were asked about.
    fn ask_all(graph: &Graph, containment: &mut Containment, ladder: &[usize], sought: usize) -> Vec<usize> {
        let names: Vec<Sha> = ladder.iter().map(|index| Graph::name(*index)).collect();
        let names: Vec<&Sha> = names.iter().collect();
        let mut questions = Vec::new();
        while let Some(name) = containment.choose_next_commit(&names) {
            let index = ladder[names.iter().position(|other| *other == name).unwrap()];
            containment.record_answer(name, graph.has(index, sought));
            questions.push(index);
        }
        questions
    }

    fn parents() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
        prop::collection::vec((0..100_usize, 0..100_usize, any::<bool>()), 1..25)
    }

    proptest! {
        #[test]
        fn inferred_answers_are_correct(
            parents in parents(),
            picks in prop::collection::vec(0..100_usize, 4),
            sought in 0..100_usize,
            compared in prop::collection::vec((0..100_usize, 0..100_usize, 0..6_usize), 0..12),
        ) {
            let graph = Graph::from_parents(&parents);
            let count = parents.len();
            let (sought, ladder) = (sought % count, picks.iter().map(|index| index % count).collect::<Vec<_>>());
            let pair = |(base, head, max_listed): &(usize, usize, usize)| {
                graph.pair(sought, base % count, head % count, *max_listed)
            };
            let pairs: Vec<CommitPair> = compared.iter().map(pair).collect();
            let mut containment = Containment::from_pairs(&Graph::name(sought), &pairs);
            let is_correct = |containment: &Containment| {
                let answer = |index: usize| containment.is_contained_in(&Graph::name(index));
                (0..count).all(|index| answer(index).is_none_or(|has| has == graph.has(index, sought)))
            };
            prop_assert!(is_correct(&containment));
            let questions = ask_all(&graph, &mut containment, &ladder, sought);
            prop_assert!(is_correct(&containment));
            prop_assert!(questions.len() <= ladder.iter().collect::<BTreeSet<_>>().len());
            prop_assert!(ladder.iter().all(|index| containment.is_contained_in(&Graph::name(*index)).is_some()));
        }

        #[test]
        fn one_answer_decides_all_if_neighbours_were_compared_in_both_directions(
            parents in parents(),
            picks in prop::collection::vec(0..100_usize, 2..6),
            sought in 0..100_usize,
        ) {
            let graph = Graph::from_parents(&parents);
            let count = parents.len();
            let (sought, ladder) = (sought % count, picks.iter().map(|index| index % count).collect::<Vec<_>>());
            let compare_both_ways = |two: &[usize]| {
                [graph.pair(sought, two[0], two[1], 100), graph.pair(sought, two[1], two[0], 100)]
            };
            let pairs: Vec<CommitPair> = ladder.windows(2).flat_map(compare_both_ways).collect();
            let mut containment = Containment::from_pairs(&Graph::name(sought), &pairs);
            let questions = ask_all(&graph, &mut containment, &ladder, sought);
            prop_assert!(questions.len() <= 1, "{questions:?}");
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
        for (sought, max_questions) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 1)] {
            let pairs: Vec<CommitPair> = ladder.windows(2).map(|two| graph.pair(sought, two[1], two[0], 250)).collect();
            let mut containment = Containment::from_pairs(&Graph::name(sought), &pairs);
            let questions = ask_all(&graph, &mut containment, &ladder, sought);
            assert!(questions.len() <= max_questions, "push {sought} asked {questions:?}");
        }
    }
}
