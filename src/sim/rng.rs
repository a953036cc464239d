//! A random number generator (`SplitMix64`): the same seed gives the same numbers.

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, which is not 0.
    pub fn next_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(end).unwrap_or(u64::MAX).max(1)).unwrap_or_default()
    }

    /// True in `percent` of 100 calls on average.
    pub fn roll_percent(&mut self, percent: u8) -> bool {
        self.next_below(100) < usize::from(percent)
    }

    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            things.swap(at, self.next_below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_about_as_often_as_asked_and_the_same_way_each_time() {
        let count_hits = |seed| {
            let mut rng = Rng::new(seed);
            (0..10_000).filter(|_| rng.roll_percent(30)).count()
        };
        assert!((2_800..3_200).contains(&count_hits(1)), "{}", count_hits(1));
        assert_eq!(count_hits(1), count_hits(1));
        assert_ne!(count_hits(1), count_hits(2));
        assert_eq!((0..100).filter(|_| Rng::new(7).roll_percent(0)).count(), 0);
    }

    #[test]
    fn shuffled_things_are_the_same_things() {
        let mut things: Vec<u32> = (0..50).collect();
        Rng::new(3).shuffle(&mut things);
        assert!(!things.is_sorted());
        things.sort_unstable();
        assert!(things.into_iter().eq(0..50));
    }
}
