//! Encodes the parts of a request's path.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

const ENCODED_IN_SEGMENTS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A reference encoded for a path; `None` if Git would not accept it as a reference.
pub(super) fn encode_ref(reference: &str) -> Option<String> {
    if reference.is_empty() || reference.len() > 250 || reference.split('/').any(|part| matches!(part, "" | "." | ".."))
    {
        return None;
    }
    Some(percent_encode_path(reference))
}

/// A path or a part of a query; slashes stay as they are.
pub(super) fn percent_encode_path(text: &str) -> String {
    const ENCODED: &AsciiSet = &ENCODED_IN_SEGMENTS.remove(b'/');
    utf8_percent_encode(text, ENCODED).to_string()
}

/// One segment of a path, or the value of a parameter.
pub(super) fn percent_encode_segment(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ENCODED_IN_SEGMENTS)
}
