//! Tests with files as people write them: reading, writing and refusing.

mod any;
mod refused;

use super::*;
use crate::domain::model::version::Pin;

const SEARCH: &str = "ghcr.io/acme/search";
const NO_PATH: Option<&str> = None;

fn selector(path: Option<&'static str>, pin: Pin) -> ImageSelector<'static> {
    ImageSelector { image: SEARCH, path, pin }
}

fn version(tag: Option<&str>, digest: Option<&str>) -> Version {
    Version { tag: tag.map(Into::into), digest: digest.map(Into::into), commit: None }
}

fn digest(digit: &str) -> String {
    format!("sha256:{}", digit.repeat(64))
}

/// Reads `old`, writes `new`, and expects the text with `written` in the place of the scalar that `⟨..⟩` marks.
#[track_caller]
fn assert_changed(
    marked: &str,
    path: Option<&'static str>,
    format: ManifestFormat,
    old: &str,
    new: &str,
    written: &str,
) {
    let (before, rest) = marked.split_once('⟨').unwrap();
    let (scalar, after) = rest.split_once('⟩').unwrap();
    let text = format!("{before}{scalar}{after}");
    let selector = selector(path, Pin::Tag);
    assert_eq!(
        read_version(&text, &selector),
        Ok(ManifestVersion { version: version(Some(old), None), format }),
        "{text}"
    );
    let changed = write_version(&text, &selector, &version(Some(new), None));
    assert_eq!(changed, Ok(format!("{before}{written}{after}")), "{text}");
    let read = read_version(&changed.unwrap(), &selector);
    assert_eq!(read, Ok(ManifestVersion { version: version(Some(new), None), format }), "{text}");
}

#[test]
fn only_the_new_tag_changes_in_a_kustomization() {
    let cases = [
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\nimages:\n  # the \
         search service\n  - name: ghcr.io/acme/search\n    newTag: ⟨1.4.2⟩   # by hand\n  - name: \
         ghcr.io/acme/searcher\n    newTag: 1.4.2\n",
        "images:\n- newTag: ⟨1.4.2⟩\n  name: search\n  newName: ghcr.io/acme/search\n- name: other\n  newTag: 1.4.2",
        "kind: Component\nimages: [{name: ghcr.io/acme/search, newTag: ⟨1.4.2⟩}, {name: x, newTag: \"1.4.2\"}] # flow",
        "{\"kind\": \"Kustomization\", \"images\": [{\"name\": \"ghcr.io/acme/search\", \"newTag\":⟨1.4.2⟩}]}",
        "# a page of its own\n---\nkind: Kustomization\nimages:\n  - name: ghcr.io/acme/search\n    \
         newTag: !!str ⟨1.4.2⟩\n...\n",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  images:\n    - name: \
         ghcr.io/acme/search\n      newTag: &alone ⟨1.4.2⟩\n",
        "images:\n  - ? name\n    : ghcr.io/acme/search\n    ? newTag\n    : ⟨1.4.2⟩\n",
    ];
    for text in cases {
        for (quote, written) in [("", "1.5.0-rc.1"), ("'", "'1.5.0-rc.1'"), ("\"", "\"1.5.0-rc.1\"")] {
            let quoted = text.replace("⟨1.4.2⟩", &format!("⟨{quote}1.4.2{quote}⟩"));
            assert_changed(&quoted, NO_PATH, ManifestFormat::Kustomize, "1.4.2", "1.5.0-rc.1", written);
            let windows = format!("\u{feff}{}", quoted.replace('\n', "\r\n"));
            assert_changed(&windows, NO_PATH, ManifestFormat::Kustomize, "1.4.2", "1.5.0-rc.1", written);
        }
    }
}

#[test]
fn the_values_of_a_chart_are_found_by_their_repository() {
    let cases = [
        "replicas: 2\nimage:\n  repository: ghcr.io/acme/search\n  pullPolicy: Always\n  tag: ⟨\"1\"⟩ # string\n",
        "image:\n  registry: ghcr.io\n  repository: acme/search\n  tag: ⟨\"1\"⟩\n  digest: \"\"\nsidecar:\n  registry: \
         quay.io\n  repository: acme/search\n  tag: \"7\"\n",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  values:\n    search: {image: {tag: \
         ⟨\"1\"⟩, repository: \"ghcr.io/acme/search\", digest: ~}}\n",
        "chart: {repository: ghcr.io/acme/search}\nimage: {repository: ghcr.io/acme/search, tag: ⟨\"1\"⟩}\n",
    ];
    for text in cases {
        assert_changed(text, NO_PATH, ManifestFormat::Helm, "1", "2.10", "\"2.10\"");
    }
    let none = "image:\n  repository: ghcr.io/acme/search\n  tag: \"\"\n";
    let read = read_version(none, &selector(None, Pin::Tag)).unwrap();
    assert_eq!(read, ManifestVersion { version: Version::default(), format: ManifestFormat::Helm });
    let written = write_version(none, &selector(None, Pin::Tag), &version(Some("3"), None));
    assert_eq!(written, Ok(none.replace("\"\"", "\"3\"")));
}

#[test]
fn the_whole_reference_changes_in_a_plain_manifest() {
    let cases = [
        "kind: Service\nmetadata: {name: search}\n---\nkind: Deployment\nspec:\n  template:\n    spec:\n      \
         containers:\n        - name: search\n          image: ⟨ghcr.io/acme/search:1.4⟩\n        - image: \
         ghcr.io/acme/search-proxy:1.4\n---\n# nothing more\n",
        "image: ⟨ghcr.io/acme/search:1.4⟩",
    ];
    for text in cases {
        assert_changed(text, NO_PATH, ManifestFormat::Raw, "1.4", "1.10", "ghcr.io/acme/search:1.10");
    }
    let bare = "image: 'ghcr.io/acme/search' # latest\n";
    assert_eq!(&*read_version(bare, &selector(None, Pin::Tag)).unwrap().version.tag.unwrap(), "latest");
    let written = write_version(bare, &selector(None, Pin::Tag), &version(Some("2"), None));
    assert_eq!(&*written.unwrap(), "image: 'ghcr.io/acme/search:2' # latest\n");
}

#[test]
fn a_path_selects_a_value_that_a_search_misses_or_finds_twice() {
    let cases = [
        ("search:\n  version: ⟨v1⟩\n", "search.version", "v2", "v2"),
        ("image:\n  tag: ⟨v1⟩\n  digest: \"\"\n", ".image.tag", "v2", "v2"),
        ("images:\n- {name: a, newTag: v1}\n- {name: b, newTag: ⟨v1⟩}\n", "images[1].newTag", "v2", "v2"),
        ("images:\n- {name: a, newTag: v1}\n- {name: b, newTag: ⟨v1⟩}\n", "images.1.newTag", "v2", "v2"),
        ("a: 1\n---\nb:\n  c.d: ⟨'v1'⟩\n---\n", "b[\"c.d\"]", "v2", "'v2'"),
        ("main: ⟨ghcr.io/acme/search:v1⟩\nimage: ghcr.io/acme/search:v1\n", "main", "v2", "ghcr.io/acme/search:v2"),
        (
            "image: ghcr.io/acme/search:v1\ninit:\n- image: ⟨\"ghcr.io/acme/search:v1\"⟩\n",
            "init[0].image",
            "v2",
            "\"ghcr.io/acme/search:v2\"",
        ),
    ];
    for (text, path, new, written) in cases {
        assert_changed(text, Some(path), ManifestFormat::Path, "v1", new, written);
    }
}

#[test]
fn a_tag_is_always_written_as_a_string() {
    for tag in ["1.10", "1e3", "0x1", "true", "null", "2026-11-16", "1", "on", "1_0", "1234e56"] {
        let text = format!("image: {{repository: {SEARCH}, tag: v1}}\n");
        let written = write_version(&text, &selector(None, Pin::Tag), &version(Some(tag), None)).unwrap();
        assert_eq!(written, text.replace("v1", &format!("\"{tag}\"")));
        let values: serde_json::Value = serde_saphyr::from_str(&written).unwrap();
        assert_eq!(values["image"]["tag"], tag);
    }
    // A value that is not a string becomes one, even if the tag stays the same.
    let text = format!("image: {{repository: {SEARCH}, tag: 1.10}}\n");
    let written = write_version(&text, &selector(None, Pin::Tag), &version(Some("1.10"), None)).unwrap();
    assert_eq!(written, text.replace("1.10", "\"1.10\""));
}

#[test]
fn a_file_that_has_the_version_is_not_changed() {
    for text in [
        "images:\n- name: ghcr.io/acme/search\n  newTag: v1\n",
        "images:\n- name: ghcr.io/acme/search\n  newTag: \"v\\x31\"\n",
        "image: ghcr.io/acme/search:v1",
    ] {
        assert_eq!(write_version(text, &selector(None, Pin::Tag), &version(Some("v1"), None)), Ok(text.to_owned()));
    }
}

#[test]
fn a_digest_is_written_in_the_existing_form() {
    let (old, new) = (digest("a"), digest("b"));
    let entry = format!("images:\n- name: {SEARCH}\n  newTag: '1'\n  digest: {old} # pinned\n");
    let cases = [
        (None, entry.clone(), entry.replace(&old, &new)),
        (Some("images[0].digest"), entry.clone(), entry.replace(&old, &new)),
        (
            None,
            format!("repository: {SEARCH}\ntag: '1'\ndigest: '{old}'\n"),
            format!("repository: {SEARCH}\ntag: '1'\ndigest: '{new}'\n"),
        ),
        (None, format!("repository: {SEARCH}\ndigest: \"\"\n"), format!("repository: {SEARCH}\ndigest: \"{new}\"\n")),
        (None, format!("repository: {SEARCH}\ntag: '1@{old}'\n"), format!("repository: {SEARCH}\ntag: '2@{new}'\n")),
        (
            None,
            format!("repository: {SEARCH}\ntag: 1@{old}\ndigest: ''"),
            format!("repository: {SEARCH}\ntag: 2@{new}\ndigest: ''"),
        ),
        (None, format!("image: {SEARCH}@{old}\n"), format!("image: {SEARCH}@{new}\n")),
        (None, format!("image: {SEARCH}:1@{old}\n"), format!("image: {SEARCH}:2@{new}\n")),
        (None, format!("image: {SEARCH}:1\n"), format!("image: {SEARCH}:2@{new}\n")),
        (Some("x"), format!("x: \"{SEARCH}:1@{old}\"\n"), format!("x: \"{SEARCH}:2@{new}\"\n")),
        (Some("x"), format!("x: {old}\n"), format!("x: {new}\n")),
        (Some("x"), "x: ''\n".to_owned(), format!("x: '{new}'\n")),
        (Some("x"), format!("x: 1@{old}\n"), format!("x: 2@{new}\n")),
    ];
    for (path, text, written) in cases {
        let selector = selector(path, Pin::Digest);
        assert_eq!(write_version(&text, &selector, &version(Some("2"), Some(&new))), Ok(written.clone()), "{text}");
        assert_eq!(&*read_version(&written, &selector).unwrap().version.digest.unwrap(), new, "{written}");
    }
    let text = format!("image: {SEARCH}:1@{old}\n");
    let written = write_version(&text, &selector(None, Pin::Digest), &version(None, Some(&new)));
    assert_eq!(written, Ok(format!("image: {SEARCH}@{new}\n")));
}

#[test]
fn anchors_and_flux_markers_on_other_values_do_not_matter() {
    for text in [
        "defaults: &defaults {cpu: 1}\na: *defaults\nimage:\n  <<: *defaults\n  repository: \
         ghcr.io/acme/search\n  tag: ⟨v1⟩\n",
        "image: &mine\n  repository: ghcr.io/acme/search\n  tag: ⟨v1⟩\n",
        "name: &name ghcr.io/acme/search\nimage:\n  repository: *name\n  tag: ⟨v1⟩\n",
        "image:\n  repository: ghcr.io/acme/search # {\"$imagepolicy\": \"flux-system:search:name\"}\n  tag: ⟨v1⟩\n  \
         # {\"$imagepolicy\": \"flux-system:search:tag\"}\nother: 1 # {\"$imagepolicy\": \"flux-system:other:tag\"}\n",
        "image:\n  repository: ghcr.io/acme/search\n  tag: ⟨v1⟩ # not by Flux\n",
    ] {
        assert_changed(text, NO_PATH, ManifestFormat::Helm, "v1", "v2", "v2");
    }
}

#[test]
fn a_version_that_cannot_be_changed_can_still_be_read() {
    for (text, pin) in [
        ("image: ghcr.io/acme/search:v1 # {\"$imagepolicy\": \"a:b\"}", Pin::Tag),
        ("tag: &tag v1\nimage: {repository: ghcr.io/acme/search, tag: *tag}", Pin::Tag),
        ("image: {repository: ghcr.io/acme/search, tag: v1}", Pin::Digest),
    ] {
        assert_eq!(read_version(text, &selector(None, pin)).unwrap().version, version(Some("v1"), None));
        assert!(write_version(text, &selector(None, pin), &version(Some("v2"), Some(&digest("a")))).is_err());
    }
}
