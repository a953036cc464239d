//! Tests of differences: both texts can be restored from a difference, for any texts.

use std::time::Instant;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

/// Applies a difference as `patch` does: lines outside the hunks stay.
fn apply_diff(old: &str, diff: &LineDiff) -> Option<String> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut index) = (String::new(), 0);
    for hunk in &diff.hunks {
        let start = hunk.old_start.saturating_sub(usize::from(hunk.count_sides().0 > 0));
        new.extend(lines.get(index..start)?.iter().copied());
        index = start;
        for line in &hunk.lines {
            let text = line.to_text() + if line.has_newline { "\n" } else { "" };
            if line.mark != DiffMark::Added {
                if *lines.get(index)? != text {
                    return None;
                }
                index += 1;
            }
            if line.mark != DiffMark::Removed {
                new.push_str(&text);
            }
        }
    }
    new.extend(lines.get(index..)?.iter().copied());
    Some(new)
}

/// Renders a difference with emphasised segments in brackets.
fn render_diff(diff: &LineDiff) -> String {
    let mut rendered = String::new();
    for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
        rendered.push(line.mark.as_char());
        for Segment { emphasised, text } in &line.segments {
            let (open, close) = if *emphasised { ("[", "]") } else { ("", "") };
            rendered.extend([open, text.as_str(), close]);
        }
        rendered.push('\n');
    }
    rendered
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("replicas: 3".to_owned()),
        Just("  image: acme/checkout:1.4".to_owned()),
        Just(String::new()),
        "[ab \t\r{}+-]{0,4}",
        "\\PC{0,12}",
        Just("-- gone".to_owned()),
        Just("@@ -1 +1 @@".to_owned()),
        Just("\\ No newline at end of file".to_owned()),
        Just("оплата кошика 🛒 שלום".to_owned()),
    ];
    (prop::collection::vec(line, 0..14), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

#[test]
fn differences_are_marked_by_line_and_by_word() {
    let old = "kind: Deployment\nspec:\n  replicas: 2\n  image: acme/checkout:1.4.2\n  підпис: стара кава ☕\n";
    let new =
        "kind: Deployment\nspec:\n  replicas: 3\n  image: acme/checkout:1.5.0\n  підпис: нова кава ☕\n  more: true\n";
    let diff = LineDiff::from_texts(old, new);
    assert_snapshot!(render_diff(&diff), @"
     kind: Deployment
     spec:
    -  replicas: [2]
    -  image: acme/checkout:[1.4.2]
    -  підпис: [стара] кава ☕
    +  replicas: [3]
    +  image: acme/checkout:[1.5.0]
    +  підпис: [нова] кава ☕
    +  more: true
    ");
    assert_eq!((diff.added, diff.removed, diff.count_lines()), (4, 3, 9));
}

#[test]
fn lines_too_long_for_a_word_diff_emphasise_the_text_between_their_common_ends() {
    let same = "мініфікат; ".repeat(500);
    let diff = LineDiff::from_texts(&format!("{same}one{same}\n"), &format!("{same}oбe{same}"));
    let emphasised_texts = |index: usize| {
        let line = &diff.hunks[0].lines[index];
        line.segments
            .iter()
            .filter(|segment| segment.emphasised)
            .map(|segment| segment.text.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!((emphasised_texts(0), emphasised_texts(1)), (vec!["n"], vec!["б"]));
    assert_eq!(diff.hunks[0].lines[1].to_text(), format!("{same}oбe{same}"));
    let others = LineDiff::from_texts(&"a".repeat(9_000), &format!("a{}", "b".repeat(9_000)));
    assert_eq!(others.hunks[0].lines[0].segments.len(), 1);
}

#[test]
fn distant_changes_are_separate_hunks_and_the_patch_has_the_format_of_git() {
    let old = (1..=30).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let new = old.replace("line 4\n", "line four\n").replace("line 30\n", "line 30");
    let patch = LineDiff::from_texts(&old, &new).to_unified_patch("a b/notes\n.txt");
    assert_snapshot!(patch, @r"
    --- a/a b/notes?.txt
    +++ b/a b/notes?.txt
    @@ -1,7 +1,7 @@
     line 1
     line 2
     line 3
    -line 4
    +line four
     line 5
     line 6
     line 7
    @@ -27,4 +27,4 @@
     line 27
     line 28
     line 29
    -line 30
    +line 30
    \ No newline at end of file
    ");
    assert_snapshot!(LineDiff::from_texts("", "one\n").to_unified_patch("x"), @"
    --- a/x
    +++ b/x
    @@ -0,0 +1 @@
    +one
    ");
}

#[test]
fn a_patch_of_github_is_parsed_with_headings_and_line_ends() {
    let patch = "@@ -16,7 +16,7 @@ fn total(basket: &Basket) -> Money {\n     let sum = basket.sum();\n \n-    sum.round()\n+    sum.round_per_line()\n }\n\n // end\n \n\\ No newline at end of file\n@@ -90 +90,0 @@\n-gone";
    let diff = LineDiff::from_patch(patch);
    assert_eq!(diff.hunks[0].heading, "fn total(basket: &Basket) -> Money {");
    assert_eq!(
        diff.hunks.iter().map(Hunk::to_range_header).collect::<Vec<_>>(),
        ["@@ -16,7 +16,7 @@", "@@ -90 +90,0 @@"]
    );
    assert_snapshot!(render_diff(&diff), @"
         let sum = basket.sum();
     
    -    [sum.round]()
    +    [sum.round_per_line]()
     }
     
     // end
     
    -gone
    ");
    assert!(!diff.hunks[0].lines.last().unwrap().has_newline);
    assert_eq!((diff.added, diff.removed), (1, 2));
}

#[test]
fn a_truncated_or_invalid_patch_gives_the_hunks_that_it_has() {
    let cut = LineDiff::from_patch("@@ -1,9 +1,9 @@\n a\n-b");
    assert_eq!((cut.hunks[0].to_range_header().as_str(), cut.removed), ("@@ -1,2 +1 @@", 1));
    let whole = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n";
    assert_eq!(render_diff(&LineDiff::from_patch(whole)), "-a\n+b\n");
    for none in ["", "\n\n", "@@", "@@ -1 +1", "@@ -x +1 @@\n-a", "@@ -99999999999999999999 +1 @@\n-a", "-a\n+b", "\\"]
    {
        assert_eq!(LineDiff::from_patch(none), LineDiff::default(), "{none}");
    }
    let vast = format!("@@ -{max},{max} +{max},{max} @@\n a\n", max = usize::MAX);
    assert_eq!(
        LineDiff::from_patch(&vast).hunks[0].to_range_header(),
        format!("@@ -{max} +{max} @@", max = usize::MAX)
    );
}

#[test]
fn binary_and_too_long_texts_are_omitted_with_a_reason() {
    let long = "x".repeat(MAX_TEXT_BYTES + 1);
    let lines = "\n".repeat(MAX_LINES + 1);
    for (old, new, reason) in [
        ("a\0b", "a", Some(OmissionReason::Binary)),
        ("a", "a\0b", Some(OmissionReason::Binary)),
        ("a", &long, Some(OmissionReason::TooLong)),
        ("a", &lines, Some(OmissionReason::TooLong)),
        (&long, &long, None),
        ("a\0b", "a\0b", None),
        ("a", "a", None),
    ] {
        let diff = LineDiff::from_texts(old, new);
        assert_eq!((diff.omitted, diff.hunks.len()), (reason, 0));
    }
    assert_eq!(LineDiff::from_texts("\0", "").to_unified_patch("x"), "Binary files a/x and b/x differ\n");
    assert_eq!(LineDiff::from_texts("", &long).to_unified_patch("x"), "Files a/x and b/x differ\n");
    assert_eq!(LineDiff::from_texts("a", "a").to_unified_patch("x"), "");
    assert_eq!(LineDiff::from_patch(&long).omitted, Some(OmissionReason::TooLong));
}

#[test]
fn the_longest_texts_are_compared_in_bounded_time() {
    let repeat_lines = |lines: usize, line: &dyn Fn(usize) -> String| (0..lines).map(line).collect::<String>();
    let cases: [(String, String); 4] = [
        (
            repeat_lines(99_000, &|n| format!("{n:09}\n")),
            repeat_lines(99_000, &|n| format!("{:09}\n", n * 7919 % 99_991)),
        ),
        (repeat_lines(99_000, &|n| format!("{}\n", n % 2)), repeat_lines(99_000, &|n| format!("{}\n", n % 3))),
        ("a b ".repeat(MAX_TEXT_BYTES / 4), "b a ".repeat(MAX_TEXT_BYTES / 4)),
        (
            repeat_lines(700, &|n| format!("{}\n", "a.b ".repeat(n % 300))),
            repeat_lines(700, &|n| format!("{}\n", "b.a ".repeat(n % 299))),
        ),
    ];
    for (index, (old, new)) in cases.iter().enumerate() {
        let started = Instant::now();
        let diff = LineDiff::from_texts(old, new);
        let elapsed = started.elapsed();
        // The limit is far above the usual time, because tests share their machine.
        assert!(elapsed.as_secs() < 20, "{index}: {elapsed:?}");
        assert_eq!(apply_diff(old, &diff).as_ref(), Some(new), "{index}");
    }
}

proptest! {
    #[test]
    fn a_diff_applied_to_the_old_text_gives_the_new_one(old in text(), new in text()) {
        let diff = LineDiff::from_texts(&old, &new);
        let applied = apply_diff(&old, &diff);
        prop_assert_eq!(applied.as_ref(), Some(&new));
        let parsed = LineDiff::from_patch(&diff.to_unified_patch("x"));
        prop_assert_eq!(&parsed, &diff);
        prop_assert_eq!(diff.hunks.is_empty(), old == new);
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
            prop_assert!(line.segments.iter().all(|segment| !segment.text.is_empty()));
            prop_assert!(line.mark != DiffMark::Unchanged || line.segments.iter().all(|segment| !segment.emphasised));
            prop_assert!(!line.to_text().contains('\n'));
            prop_assert!(old.contains(&line.to_text()) || new.contains(&line.to_text()));
        }
    }

    #[test]
    fn comparing_the_ends_keeps_the_text_of_any_two_lines(start in "\\PC{0,9}", one in "\\PC{0,9}", two in "\\PC{0,9}", end in "\\PC{0,9}") {
        let line = |mark, middle: &str| DiffLine::new_plain(mark, &format!("{start}{middle}{end}"), true);
        let (mut old, mut new) = (line(DiffMark::Removed, &one), line(DiffMark::Added, &two));
        compare_ends(&mut old, &mut new);
        prop_assert_eq!(old.to_text(), format!("{start}{one}{end}"));
        prop_assert_eq!(new.to_text(), format!("{start}{two}{end}"));
    }

    #[test]
    fn any_texts_can_be_compared(old in any::<String>(), new in any::<String>(), patch in any::<String>()) {
        let diff = LineDiff::from_texts(&old, &new);
        if diff.omitted.is_none() {
            let applied = apply_diff(&old, &diff);
            prop_assert_eq!(applied, Some(new));
        }
        let _ = LineDiff::from_patch(&patch).to_unified_patch(&old);
    }

    #[test]
    fn any_patch_survives_a_round_trip(
        lines in prop::collection::vec("[ +\\\\@-][a-z@ ]{0,6}|@@ -[0-9]{0,3}(,[0-9])? \\+[0-9]{1,3}(,[0-9])? @@( x)?", 0..20),
    ) {
        let once = LineDiff::from_patch(&lines.join("\n"));
        prop_assert_eq!(LineDiff::from_patch(&once.to_unified_patch("x")), once);
    }
}
