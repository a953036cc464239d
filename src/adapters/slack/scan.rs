//! Looks for a byte in text that hardly ever has it.

/// So many bytes are looked at together.
const BLOCK: usize = 16;

/// Where the first byte is that is `wanted`. Without branches in `wanted` (`|`, not `||`), a whole block is compared at once.
#[inline]
pub(super) fn first(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let without = |block: &&[u8; BLOCK]| !block.iter().fold(false, |found, byte| found | wanted(*byte));
    let start = bytes.as_chunks().0.iter().take_while(without).count() * BLOCK;
    bytes[start..].iter().position(|byte| wanted(*byte)).map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_found_wherever_it_stands() {
        for length in 0..3 * BLOCK {
            for at in 0..=length {
                let text = "a".repeat(at) + &"!".repeat(length - at);
                assert_eq!(first(text.as_bytes(), |byte| byte == b'!'), text.find('!'));
            }
        }
    }
}
