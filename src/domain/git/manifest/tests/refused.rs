//! Every error sentence, with a file that causes it.

use std::fmt::Write as _;

use crate::domain::git::manifest::tests::*;

#[track_caller]
fn assert_refused(text: &str, path: Option<&'static str>, pin: Pin, sentence: &str) {
    let version = version(Some("v2"), Some(&digest("b")));
    let result = write_version(text, &selector(path, pin), &version).map_err(|problem| problem.to_string());
    assert_eq!(result, Err(sentence.to_owned()), "{text}");
}

#[test]
fn a_file_that_is_no_manifest_is_refused() {
    assert_refused(
        "image:\n  tag: \"1\n",
        None,
        Pin::Tag,
        "it cannot be read as YAML (line 3, column 1: invalid indentation in multiline quoted scalar): \
         repair it there, or, if it is a template, name the file that holds its values",
    );
    assert_refused(
        "image:\n  tag: 1\n  x: 2\n  tag: 2\n",
        None,
        Pin::Tag,
        "the key `tag` stands twice in one mapping (lines 2 and 4): keep one of them",
    );
    let large = "#".repeat(1024 * 1024 + 1);
    assert_refused(&large, None, Pin::Tag, "it has more than 1048576 bytes or 200000 values: is this the right file?");
    let many = format!("[{}]", "a,".repeat(200_000));
    assert_refused(&many, None, Pin::Tag, "it has more than 1048576 bytes or 200000 values: is this the right file?");
}

#[test]
fn a_missing_image_is_refused_with_how_to_add_it() {
    assert_refused(
        "kind: Deployment\nspec: {image: \"ghcr.io/acme/other:1\"}\n",
        None,
        Pin::Tag,
        "it names ghcr.io/acme/search nowhere: an entry in a kustomization's `images:`, a `repository:` with a `tag:`, \
         or an `image:` would; if its version stands elsewhere, give the `path:` to it",
    );
    for text in ["kind: Kustomization\n", "kind: Kustomization\nimages: []\n", "images:\n- name: other\n  newTag: v1\n"]
    {
        assert_refused(
            text,
            None,
            Pin::Tag,
            "this kustomization has no entry for ghcr.io/acme/search: add one to `images:`, with `name: \
             ghcr.io/acme/search` and the version that runs now as `newTag`",
        );
    }
    for text in [
        "images:\n- name: ghcr.io/acme/search\n  newName: mirror/search\n",
        "images:\n- name: ghcr.io/acme/search\n  newTag:\n",
        "images:\n- name: ghcr.io/acme/search\n  newTag: ~\n",
    ] {
        assert_refused(
            text,
            None,
            Pin::Tag,
            "ghcr.io/acme/search has no `newTag` (line 2): write the version that runs now there once, as in `newTag: \
             \"1.0\"`",
        );
    }
    assert_refused(
        "image:\n  repository: ghcr.io/acme/search\n",
        None,
        Pin::Tag,
        "ghcr.io/acme/search has no `tag` (line 2): write the version that runs now there once, as in `tag: \"1.0\"`",
    );
    for text in ["images:\n- name: ghcr.io/acme/search\n  newTag: v1\n", "\nrepository: ghcr.io/acme/search\ntag: v1\n"]
    {
        assert_refused(
            text,
            None,
            Pin::Digest,
            "ghcr.io/acme/search has no `digest` (line 2): write `digest: sha256:...` there once, or set `pin: tag`",
        );
    }
}

#[test]
fn quoted_text_is_short_and_on_one_line() {
    let text = format!("tag: \"a\\tb{}\"", "x".repeat(1000));
    let sentence =
        format!("line 1 says `a b{}...`, which is no version: name the file in which it is filled in", "x".repeat(57));
    assert_refused(&text, Some("tag"), Pin::Tag, &sentence);
}

#[test]
fn two_locations_are_refused_and_listed() {
    assert_refused(
        "spec:\n  initContainers:\n  - image: ghcr.io/acme/search:v1\n  containers:\n  - image: \
         ghcr.io/acme/search:v1\n",
        None,
        Pin::Tag,
        "ghcr.io/acme/search stands in 2 places (`spec.initContainers[0].image` in line 3 and \
         `spec.containers[0].image` in line 5): keep one, or say which one counts with `path:`",
    );
    assert_refused(
        "images:\n- name: ghcr.io/acme/search\n- name: x\n  newName: ghcr.io/acme/search\n  newTag: v1\n",
        None,
        Pin::Tag,
        "ghcr.io/acme/search stands in 2 places (`images[0]` in line 2 and `images[1]` in line 3): keep one, or say \
         which one counts with `path:`",
    );
    assert_refused(
        "image: ghcr.io/acme/search:v1\n---\n\"a.b\": {repository: ghcr.io/acme/search, tag: v1}\n",
        None,
        Pin::Tag,
        "ghcr.io/acme/search stands in 2 places (`image` in line 1 and `[\"a.b\"]` in line 3): keep one, or say which \
         one counts with `path:`",
    );
}

#[test]
fn many_locations_are_counted() {
    let text = "- image: ghcr.io/acme/search:v1\n".repeat(20_000);
    let named = "`[0].image` in line 1, `[1].image` in line 2, `[2].image` in line 3, `[3].image` in line 4";
    let sentence = format!(
        "ghcr.io/acme/search stands in 20000 places ({named} and 19996 more): keep one, or say which one counts with \
         `path:`"
    );
    assert_refused(&text, None, Pin::Tag, &sentence);
}

#[test]
fn a_path_that_does_not_lead_to_one_version_is_refused() {
    let two = "image: {tag: v1}\n---\nimage: {tag: v1}\n";
    let cases = [
        (two, "a..b", "`path: a..b` is no path: write keys and indices, as in `image.tag` or `images[0].newTag`"),
        (
            two,
            "image.x",
            "`path: image.x` leads nowhere in it: correct the path, or leave it out to have the place looked for",
        ),
        (
            two,
            "image.tag",
            "`path: image.tag` leads to 2 places, one in each document (lines 1 and 3): put the documents into files \
             of their own",
        ),
        (
            "image: {tag: v1}",
            "image",
            "`path: image` leads to several values (line 1): let it lead to the one that holds the version",
        ),
        (
            "image: {tag: }",
            "image.tag",
            "`path: image.tag` leads to nothing (line 1): write the version that runs now there once, in quotes",
        ),
        (
            "image: ghcr.io/acme/other:v1",
            "image",
            "line 1 names `ghcr.io/acme/other:v1`, not ghcr.io/acme/search: correct the path, or the artefact's image",
        ),
        ("tag: ${TAG}", "tag", "line 1 says `${TAG}`, which is no version: name the file in which it is filled in"),
        (
            "a: &a {tag: v1}\nb: *a\n",
            "b.tag",
            "line 2 takes its value from an alias: write the value out there, for this image alone",
        ),
        (
            "a: &a {tag: v1}\nb: *a\n",
            "b",
            "line 2 takes its value from an alias: write the value out there, for this image alone",
        ),
        (
            "a: &a {tag: v1}\nb:\n  <<: *a\n",
            "b.tag",
            "line 3 takes its value from an alias: write the value out there, for this image alone",
        ),
    ];
    for (text, path, sentence) in cases {
        assert_refused(text, Some(path), Pin::Tag, sentence);
    }
    let text = format!("image:\n  tag: v1\n  digest: {}\n", digest("a"));
    assert_refused(
        &text,
        Some("image.digest"),
        Pin::Tag,
        "`path: image.digest` leads to a digest (line 3): let it lead to the tag, or set `pin: digest`",
    );
    assert_refused(
        &text,
        Some("image.tag"),
        Pin::Digest,
        "`path: image.tag` leads to a tag (line 2): let it lead to the digest, or set `pin: tag`",
    );
}

#[test]
fn a_tag_beside_a_digest_is_refused() {
    let old = digest("a");
    for (text, line, path) in [
        (format!("images:\n- name: {SEARCH}\n  newTag: v1\n  digest: {old}\n"), 4, None),
        (format!("image:\n  repository: {SEARCH}\n  tag: v1@{old}\n"), 3, None),
        (format!("image:\n  repository: {SEARCH}\n  digest: {old}\n  tag: v1\n"), 3, None),
        (format!("image: {SEARCH}:v1@{old}\n"), 1, None),
        (format!("image: {SEARCH}@{old}\n"), 1, None),
        (format!("image:\n  tag: v1\n  digest: {old}\n"), 3, Some("image.tag")),
        (format!("image:\n  tag: v1@{old}\n"), 2, Some("image.tag")),
    ] {
        let sentence = format!(
            "line {line} pins a digest, beside which a tag means nothing: remove the digest, or set `pin: digest`"
        );
        assert_refused(&text, path, Pin::Tag, &sentence);
    }
    let text = format!("image:\n  repository: {SEARCH}\n  tag: v1@{old}\n  digest: {old}\n");
    let sentence = "both the tag and `digest` are to hold a digest (lines 3 and 4): keep one of them";
    assert_refused(&text, None, Pin::Digest, sentence);
    assert_refused(&text.replace(&format!("digest: {old}"), "digest: ''"), Some("image.digest"), Pin::Digest, sentence);
}

#[test]
fn a_line_that_flux_writes_is_refused_with_how_to_stop_it() {
    for (mark, policy) in [
        ("{\"$imagepolicy\": \"flux-system:search\"}", "flux-system:search"),
        ("{\"$imagepolicy\": \"flux-system:search:tag\"}", "flux-system:search"),
        ("{ \"$imagepolicy\":\"apps:search:digest\" }", "apps:search"),
        ("{\"$imagepolicy: search\"}", "unknown"),
    ] {
        let sentence = format!(
            "line 3 is written by Flux's image automation, policy `{policy}`, which would undo the change: take the \
             comment with `$imagepolicy` off that line. Until that is merged, stop Flux: find the \
             ImageUpdateAutomation that writes this file with `flux get image update -A`, then `flux suspend image \
             update <its name> -n <its namespace>`"
        );
        for end in ["\n", "\r\n"] {
            let text = format!("images:{end}- name: {SEARCH}{end}  newTag: v1 # {mark}{end}- name: x{end}");
            assert_refused(&text, None, Pin::Tag, &sentence);
            let text = format!("# x{end}# y{end}image: {SEARCH}:v1 # {mark}{end}");
            assert_refused(&text, None, Pin::Tag, &sentence);
            assert_refused(&text, Some("image"), Pin::Digest, &sentence);
        }
    }
}

#[test]
fn a_value_that_is_used_elsewhere_too_is_refused() {
    let anchor = |line: usize, anchor: usize| {
        format!(
            "line {line} is part of an anchor (line {anchor}) that is used elsewhere too, and would change there as \
             well: write the value out where it is used"
        )
    };
    let cases = [
        ("image: &i ghcr.io/acme/search:v1\nother: *i\n", anchor(1, 1)),
        ("a: &a\n- image: ghcr.io/acme/search:v1\nb: *a\n", anchor(2, 2)),
        ("a: &a\n  image: ghcr.io/acme/search:v1\nb:\n  <<: *a\n", anchor(2, 2)),
        (
            "tag: &tag v1\nimage: {repository: ghcr.io/acme/search, tag: *tag}",
            "line 2 takes its value from an alias: write the value out there, for this image alone".to_owned(),
        ),
        (
            "a:\n  <<: {image: 'ghcr.io/acme/search:v1'}\n",
            "line 2 is under a merge key `<<` (line 2): write the value out beside it".to_owned(),
        ),
    ];
    for (text, sentence) in cases {
        assert_refused(text, None, Pin::Tag, &sentence);
    }
    // An alias of the whole reference is a second location.
    let twice = "- image: &i ghcr.io/acme/search:v1\n- image: *i\n";
    assert!(matches!(
        write_version(twice, &selector(None, Pin::Tag), &version(Some("v2"), None)),
        Err(ManifestError::AmbiguousImage { .. })
    ));
}

#[test]
fn a_value_over_several_lines_or_with_a_strange_tag_is_refused() {
    let lines = "is written over several lines: put it on one, in quotes";
    for text in ["tag: |\n  v1\n", "tag: |-\n  v1\n", "tag: >-\n  v1\n", "tag: \"v\\\n  1\"\n"] {
        let line = if text.contains('"') { 1 } else { 2 };
        assert_refused(text, Some("tag"), Pin::Tag, &format!("the value in line {line} {lines}"));
    }
    for text in ["tag: !!int 1\n", "tag: !env v1\n"] {
        let sentence = "the value in line 1 has a YAML tag that makes it something else than text: remove the tag";
        assert_refused(text, Some("tag"), Pin::Tag, sentence);
    }
}

#[test]
fn a_version_that_cannot_be_written_is_refused() {
    let text = format!("image:\n  repository: {SEARCH}\n  tag: v1@{}\n", digest("a"));
    let cases = [
        (Pin::Tag, version(None, None), "the version to write has no tag: choose one that has, or set `pin: digest`"),
        (
            Pin::Digest,
            version(Some("v2"), None),
            "the version to write has no digest: choose one that has, or set `pin: tag`",
        ),
        (
            Pin::Digest,
            version(None, Some(&digest("b"))),
            "the version to write has no tag, and this place holds both: choose one that has",
        ),
        (Pin::Tag, version(Some("a b"), None), "`a b` is no tag that a registry can have: choose another version"),
        (
            Pin::Digest,
            version(None, Some("sha256:1")),
            "`sha256:1` is no digest that a registry can have: choose another version",
        ),
    ];
    for (pin, version, sentence) in cases {
        let result = write_version(&text, &selector(None, pin), &version).map_err(|problem| problem.to_string());
        assert_eq!(result, Err(sentence.to_owned()));
    }
}

#[test]
fn a_malicious_file_is_refused_or_read_quickly() {
    let many_aliases = {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..30 {
            let aliases = format!("*a{}, ", level - 1).repeat(9);
            let _ = writeln!(text, "a{level}: &a{level} [{aliases}]");
        }
        text + "image: ghcr.io/acme/search:v1\n"
    };
    let written = write_version(&many_aliases, &selector(None, Pin::Tag), &version(Some("v2"), None));
    assert_eq!(written, Ok(many_aliases.replace(":v1", ":v2")));
    let too_deep = "it nests deeper than a manifest does: is this the right file?";
    assert_refused(&"[".repeat(100_000), None, Pin::Tag, too_deep);
    assert_refused(&"{a: ".repeat(100_000), None, Pin::Tag, too_deep);
    assert_refused(&"- ".repeat(100_000), None, Pin::Tag, too_deep);
    let nested_lines: Vec<String> = (0..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_refused(&nested_lines.concat(), None, Pin::Tag, too_deep);
    let commented = "# a long preface\n".repeat(20_000) + "image: ghcr.io/acme/search:v1\n";
    let written = write_version(&commented, &selector(None, Pin::Tag), &version(Some("v2"), None));
    assert_eq!(written, Ok(commented.replace(":v1", ":v2")));
}
