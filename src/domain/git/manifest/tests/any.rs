//! Properties for any file: one scalar changes, every other byte stays, and no text causes a panic.

use proptest::prelude::*;

use crate::domain::git::manifest::tests::*;

/// The parts of a file before and after the scalar.
#[derive(Clone, Debug)]
struct File {
    before: String,
    after: String,
    /// The scalar contains the whole reference.
    is_reference: bool,
}

fn tag() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9_][A-Za-z0-9._-]{0,12}",
        "[0-9]{1,3}(\\.[0-9]{1,3}){0,3}",
        "[0-9a-f]{7}",
        prop::sample::select(vec!["true", "no", "Null", "1e3", "0x1F", "2026-11-16", "1_0", "0b1", "nan", "y"])
            .prop_map(str::to_owned),
    ]
}

fn comment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "#[ -~]{0,12}",
        Just("# {\"not\": \"a mark\"}".to_owned()),
        Just("# größer: [x".to_owned())
    ]
}

/// Other content at the top of a file: other images, anchors, text that looks similar.
fn other() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        comment().prop_map(|comment| format!("{comment}\n\n")),
        tag().prop_map(|tag| format!("side: {{repository: ghcr.io/acme/searcher, tag: \"{tag}\"}}\n")),
        tag().prop_map(|tag| format!(
            "sidecars:\n  - image: 'ghcr.io/acme/search-proxy:{tag}' # {{\"$imagepolicy\": \"a:b\"}}\n"
        )),
        Just("common: &common\n  cpu: 1.50\n  memory: 1Gi\nuses:\n  <<: *common\n".to_owned()),
        Just("note: |\n  image: ghcr.io/acme/search:1\n\n   # no comment\n".to_owned()),
        Just("text: >-\n  images:\n    - name: ghcr.io/acme/search\n".to_owned()),
        Just("größe: \"ü\\u00e9\" # é\n".to_owned()),
    ]
}

/// The text before and after the scalar, and whether the scalar contains the whole reference.
type Form = (&'static str, &'static str, bool);

const FORMS: [Form; 7] = [
    ("images:\n  - name: ghcr.io/acme/search\n    newTag: ", "\n  - {name: other, newTag: 1.0}\n", false),
    ("images:\n- newTag:   ", "\n  name: search\n  newName: ghcr.io/acme/search\n", false),
    ("images: [{name: x, newTag: \"1\"}, {name: ghcr.io/acme/search, newTag: ", " }]\n", false),
    ("image:\n    repository: ghcr.io/acme/search\n    tag: ", "\n    digest: ''\n", false),
    ("image: {registry: ghcr.io, repository: acme/search, tag: ", ", pull: x}\n", false),
    ("spec:\n  containers:\n  - name: a\n    image: ", "\n    args: [--x]\n", true),
    ("spec: {containers: [{name: a, image: ", "}]}\n", true),
];

fn file(forms: &'static [Form]) -> impl Strategy<Value = File> {
    let form = prop::sample::select(forms);
    let document = prop::sample::select(vec!["", "---\n", "kind: Service\n---\n"]);
    let parts = (form, document, other(), other(), comment(), any::<bool>(), any::<bool>(), any::<bool>());
    parts.prop_map(
        |(
            (open, close, is_reference),
            document,
            above,
            below,
            comment,
            has_windows_line_ends,
            has_byte_order_mark,
            ends_without_newline,
        )| {
            let trailing_comment = if comment.is_empty() { String::new() } else { format!("  {comment}") };
            let close = if let Some(rest) = close.strip_prefix('\n') {
                format!("{trailing_comment}\n{rest}")
            } else {
                close.to_owned()
            };
            let below = if above == below { String::new() } else { below };
            // Two parts of the same kind would repeat a key.
            let below = if above.split(':').next() == below.split(':').next() { String::new() } else { below };
            let mut before = format!("{document}{above}{open}");
            let mut after = format!("{close}{below}");
            if ends_without_newline {
                after.truncate(after.trim_end().len());
            }
            if has_windows_line_ends {
                (before, after) = (before.replace('\n', "\r\n"), after.replace('\n', "\r\n"));
            }
            if has_byte_order_mark {
                before.insert(0, '\u{feff}');
            }
            File { before, after, is_reference }
        },
    )
}

impl File {
    fn with(&self, quote: &str, tag: &str) -> String {
        let reference = if self.is_reference { format!("{SEARCH}:{tag}") } else { tag.to_owned() };
        format!("{}{quote}{reference}{quote}{}", self.before, self.after)
    }
}

fn quote() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "'", "\""])
}

proptest! {
    #[test]
    fn a_written_tag_is_read_again_and_every_other_byte_stays(
        file in file(&FORMS), quote in quote(), old in tag(), new in tag()
    ) {
        let text = file.with(quote, &old);
        let selector = selector(None, Pin::Tag);
        // Without quotes, some tags mean null.
        prop_assume!(!(quote.is_empty() && old == "Null" && !file.is_reference));
        let read = read_version(&text, &selector);
        prop_assert_eq!(read.map(|read| read.version), Ok(version(Some(&old), None)), "{}", text);
        let written = write_version(&text, &selector, &version(Some(&new), None)).unwrap();
        prop_assert_eq!(read_version(&written, &selector).map(|read| read.version), Ok(version(Some(&new), None)));
        let bare = file.with("", &new);
        let quoted = file.with(if quote.is_empty() { "\"" } else { quote }, &new);
        prop_assert!(written == quoted || (quote.is_empty() && written == bare), "{}", written);
        let back = write_version(&written, &selector, &version(Some(&old), None)).unwrap();
        if written == file.with(quote, &new) {
            let requoted = quote.is_empty() && back == file.with("\"", &old);
            prop_assert!(back == text || requoted, "{}", back);
        }
        prop_assert_eq!(write_version(&written, &selector, &version(Some(&new), None)), Ok(written.clone()));
    }

    #[test]
    fn a_written_tag_is_a_string_for_every_reader(tag in tag(), quote in quote()) {
        let text = format!("image: {{repository: {SEARCH}, tag: {quote}v1{quote}}}\n");
        let written = write_version(&text, &selector(None, Pin::Tag), &version(Some(&tag), None)).unwrap();
        let values: serde_json::Value = serde_saphyr::from_str(&written).unwrap();
        prop_assert_eq!(&values["image"]["tag"], &serde_json::Value::from(tag));
    }

    #[test]
    fn a_digest_can_be_written_and_replaced(file in file(&FORMS[5..]), quote in quote(), tag in tag(), with_tag: bool) {
        let text = file.with(quote, &tag);
        let selector = selector(None, Pin::Digest);
        let (one, two) = (digest("1"), digest("2"));
        let tag_to_write = Some(&*tag).filter(|_| with_tag);
        let first = write_version(&text, &selector, &version(tag_to_write, Some(&one))).unwrap();
        let second = write_version(&first, &selector, &version(tag_to_write, Some(&two))).unwrap();
        let read = read_version(&second, &selector).map(|read| read.version);
        prop_assert_eq!(read, Ok(version(tag_to_write, Some(&two))));
        prop_assert_eq!(write_version(&second, &selector, &version(tag_to_write, Some(&one))), Ok(first));
    }

    #[test]
    fn no_text_causes_a_panic(text in "[ \\-:\\[\\]{}&*!|>'\"%@`#,?a\n\r\t\u{feff}é]{0,40}", path in "[a.\\[\\]0\"']{0,6}") {
        let version = version(Some("v2"), Some(&digest("b")));
        for pin in [Pin::Tag, Pin::Digest] {
            for path in [None, Some(&*path), Some("a")] {
                let selector = ImageSelector { image: "a", path, pin };
                let _ = read_version(&text, &selector);
                let _ = write_version(&text, &selector, &version);
            }
        }
    }

    #[test]
    fn a_file_with_a_few_wrong_bytes_is_refused_or_changed_in_one_place(
        file in file(&FORMS), quote in quote(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), "[ \\-:\\[{}&*!|'\"#,\n\ta]{0,2}", 0..3_usize), 1..4
        )
    ) {
        let mut chars: Vec<char> = file.with(quote, "v1").chars().collect();
        for (index, insert, remove) in edits {
            let start = index.index(chars.len().max(1)).min(chars.len());
            let end = (start + remove).min(chars.len());
            chars.splice(start..end, insert.chars());
        }
        let text: String = chars.into_iter().collect();
        if let Ok(written) = write_version(&text, &selector(None, Pin::Tag), &version(Some("v22"), None)) {
            let read = read_version(&written, &selector(None, Pin::Tag)).unwrap();
            prop_assert_eq!(read.version, version(Some("v22"), None));
            let head = text.bytes().zip(written.bytes()).take_while(|(a, b)| a == b).count();
            let tail = text.bytes().rev().zip(written.bytes().rev()).take_while(|(a, b)| a == b).count();
            let replaced = text.as_bytes().get(head..text.len() - tail).unwrap_or_default();
            prop_assert!(!replaced.contains(&b'\n') && replaced.len() < 40, "{text} {written}");
        }
    }
}
