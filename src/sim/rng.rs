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

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.next_below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roll_percent_is_about_right_and_the_same_for_the_same_seed() {
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
    fn shuffle_keeps_all_items() {
        let mut items: Vec<u32> = (0..50).collect();
        Rng::new(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..50));
    }
}
