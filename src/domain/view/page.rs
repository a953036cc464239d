//! A page of a list that is too long for one message. A page begins next to a known item, not at an offset, so that new
//! items do not shift it.

/// The beginning of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cursor<T> {
    #[default]
    Start,
    /// Items before this one.
    Earlier(T),
    /// Items after this one.
    Later(T),
}

/// The order of display, which defines the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The item next to the cursor comes first.
    nearest: Vec<T>,
    order: Order,
    /// The page was read towards the past.
    is_backward: bool,
    pub has_earlier: bool,
    pub has_later: bool,
}

impl<T> Cursor<T> {
    /// Whether the page is read towards the past.
    pub fn is_backward(&self, order: Order) -> bool {
        match self {
            Self::Start => order == Order::NewestFirst,
            Self::Earlier(_) => true,
            Self::Later(_) => false,
        }
    }
}

impl<T> Page<T> {
    /// Takes the first `page_size` of `nearest`, which are the items from the cursor on. One item more means that there
    /// is another page.
    pub fn from_cursor<C>(order: Order, cursor: &Cursor<C>, mut nearest: Vec<T>, page_size: usize) -> Self {
        let has_more = nearest.len() > page_size;
        nearest.truncate(page_size);
        let is_backward = cursor.is_backward(order);
        let has_cursor = !matches!(cursor, Cursor::Start);
        let (has_earlier, has_later) = if is_backward { (has_more, has_cursor) } else { (has_cursor, has_more) };
        Self { nearest, order, is_backward, has_earlier, has_later }
    }

    /// Whether the page was read towards the start and reached it before it was full. The first page then shows these
    /// items and more.
    pub fn is_partial_first_page(&self, page_size: usize) -> bool {
        let reads_to_start = self.is_backward == (self.order == Order::OldestFirst);
        let has_more = if self.is_backward { self.has_earlier } else { self.has_later };
        reads_to_start && !has_more && self.nearest.len() < page_size
    }

    pub fn map<U>(self, map: impl FnMut(T) -> U) -> Page<U> {
        let Self { nearest, order, is_backward, has_earlier, has_later } = self;
        Page { nearest: nearest.into_iter().map(map).collect(), order, is_backward, has_earlier, has_later }
    }

    /// Drops the items that do not fit, but keeps at least one.
    #[must_use]
    pub fn truncate_to_fit(mut self, room: usize, size: impl Fn(&T) -> usize) -> Self {
        let mut used = 0;
        let fitting = self.nearest.iter().take_while(|item| {
            used += size(item);
            used <= room
        });
        let fitting = fitting.count().max(1);
        if fitting < self.nearest.len() {
            self.nearest.truncate(fitting);
            if self.is_backward {
                self.has_earlier = true;
            } else {
                self.has_later = true;
            }
        }
        self
    }

    /// The items in the order of display.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        let is_forward = self.is_backward == (self.order == Order::NewestFirst);
        let count = self.nearest.len();
        (0..count).map(move |index| &self.nearest[if is_forward { index } else { count - 1 - index }])
    }

    pub fn len(&self) -> usize {
        self.nearest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nearest.is_empty()
    }

    pub fn oldest(&self) -> Option<&T> {
        if self.is_backward { self.nearest.last() } else { self.nearest.first() }
    }

    pub fn newest(&self) -> Option<&T> {
        if self.is_backward { self.nearest.first() } else { self.nearest.last() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a page as a database would.
    fn read_page(all: &[u32], order: Order, cursor: Cursor<u32>, page_size: usize) -> Page<u32> {
        let mut nearest: Vec<u32> = all
            .iter()
            .copied()
            .filter(|item| match cursor {
                Cursor::Start => true,
                Cursor::Earlier(item_at_cursor) => *item < item_at_cursor,
                Cursor::Later(item_at_cursor) => *item > item_at_cursor,
            })
            .collect();
        nearest.sort_unstable();
        if cursor.is_backward(order) {
            nearest.reverse();
        }
        nearest.truncate(page_size + 1);
        Page::from_cursor(order, &cursor, nearest, page_size)
    }

    fn list_items(page: &Page<u32>) -> Vec<u32> {
        page.items().copied().collect()
    }

    #[test]
    fn pages_can_be_turned_forwards_and_back() {
        let all: Vec<u32> = (1..=7).collect();
        let first = read_page(&all, Order::NewestFirst, Cursor::Start, 3);
        assert_eq!((list_items(&first), first.has_earlier, first.has_later), (vec![7, 6, 5], true, false));
        let second = read_page(&all, Order::NewestFirst, Cursor::Earlier(5), 3);
        assert_eq!((list_items(&second), second.has_earlier, second.has_later), (vec![4, 3, 2], true, true));
        let last = read_page(&all, Order::NewestFirst, Cursor::Earlier(2), 3);
        assert_eq!((list_items(&last), last.has_earlier, last.has_later), (vec![1], false, true));
        let back = read_page(&all, Order::NewestFirst, Cursor::Later(1), 3);
        assert_eq!(list_items(&back), [4, 3, 2]);

        let oldest = read_page(&all, Order::OldestFirst, Cursor::Start, 3);
        assert_eq!((list_items(&oldest), oldest.has_earlier, oldest.has_later), (vec![1, 2, 3], false, true));
        let next = read_page(&all, Order::OldestFirst, Cursor::Later(3), 3);
        assert_eq!((list_items(&next), next.has_earlier, next.has_later), (vec![4, 5, 6], true, true));
    }

    #[test]
    fn new_items_do_not_shift_a_page() {
        let mut all: Vec<u32> = (1..=7).collect();
        let second = read_page(&all, Order::NewestFirst, Cursor::Earlier(5), 3);
        all.extend([8, 9]);
        assert_eq!(read_page(&all, Order::NewestFirst, Cursor::Earlier(5), 3), second);
        let back = read_page(&all, Order::NewestFirst, Cursor::Later(4), 3);
        assert_eq!((list_items(&back), back.has_later), (vec![7, 6, 5], true), "newer items are on the page before");
        let top = read_page(&all, Order::NewestFirst, Cursor::Later(7), 3);
        assert!(list_items(&top) == [9, 8] && top.is_partial_first_page(3), "the first page shows these and one more");
    }

    proptest! {
        #[test]
        fn turning_all_pages_shows_every_item_once(count in 0..40u32, page_size in 1..6usize, room in 1..20usize, newest in any::<bool>()) {
            let order = if newest { Order::NewestFirst } else { Order::OldestFirst };
            let all: Vec<u32> = (1..=count).collect();
            let mut seen = Vec::new();
            let mut cursor = Cursor::Start;
            loop {
                let page = read_page(&all, order, cursor, page_size).truncate_to_fit(room, |item| *item as usize % 7);
                seen.extend(list_items(&page));
                let has_more = if newest { page.has_earlier } else { page.has_later };
                cursor = match (has_more, newest) {
                    (false, _) => break,
                    (true, true) => Cursor::Earlier(*page.oldest().expect("an item")),
                    (true, false) => Cursor::Later(*page.newest().expect("an item")),
                };
            }
            let mut expected = all;
            if newest {
                expected.reverse();
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
