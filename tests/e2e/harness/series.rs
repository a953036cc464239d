//! The length of random series: 50 cases in every run, all of them with `tests/run --long`. Every run repeats the seeds
//! in `tests/data/failed_seeds.txt`, which failed once.

const SHORT_RUN_SEEDS: u64 = 50;

const FAILED_SEEDS: &str = include_str!("../../data/failed_seeds.txt");

/// The names under which failed seeds are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    Histories,
    RollbackHistories,
    Races,
}

impl Series {
    const ALL: [Self; 3] = [Self::Histories, Self::RollbackHistories, Self::Races];

    fn name(self) -> &'static str {
        match self {
            Self::Histories => "histories",
            Self::RollbackHistories => "rollback_histories",
            Self::Races => "races",
        }
    }

    /// The seeds to run. `long` is the number of seeds in a long run.
    pub(crate) fn seeds(self, long: u64) -> Vec<u64> {
        let mut seeds: Vec<u64> = (0..if is_long() { long } else { SHORT_RUN_SEEDS.min(long) }).collect();
        for (series, seed) in parse_failed_seeds(FAILED_SEEDS) {
            if series == self && !seeds.contains(&seed) {
                seeds.push(seed);
            }
        }
        seeds
    }
}

/// Set by `tests/run --long`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("GANTRY_LONG_TESTS").is_some()
}

fn parse_failed_seeds(text: &str) -> Vec<(Series, u64)> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let mut words = line.split_whitespace();
        let series = words.next().and_then(|name| Series::ALL.into_iter().find(|series| series.name() == name));
        let seed = words.next().and_then(|seed| seed.parse().ok());
        series.zip(seed).unwrap_or_else(|| panic!("tests/data/failed_seeds.txt has no series and seed in: {line}"))
    });
    parsed.collect()
}

#[test]
fn failed_seeds_are_read_with_their_series() {
    let text = "# a comment\n\nraces 7 a merge that nobody approved\nhistories 1001\n";
    assert_eq!(parse_failed_seeds(text), [(Series::Races, 7), (Series::Histories, 1001)]);
    assert!(std::panic::catch_unwind(|| parse_failed_seeds("unknown 7")).is_err());
    parse_failed_seeds(FAILED_SEEDS);
}

/// A small generator that gives the same numbers in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    /// Changes at least one byte: replaces, inserts, removes, cuts or doubles.
    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let before = bytes.clone();
        while *bytes == before {
            let index = self.below(bytes.len());
            let byte = u8::try_from(self.below(256)).unwrap();
            match self.below(5) {
                0 => bytes[index] = byte,
                1 => bytes.insert(index, byte),
                2 => drop(bytes.remove(index)),
                3 => bytes.truncate(index),
                _ => bytes.extend(before.clone()),
            }
        }
    }
}
