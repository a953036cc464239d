//! Converts an image's name to a reference for oci-client. oci-client can parse references itself, but the regular
//! expression that it compiles for this takes 17 MiB to build and 8 MiB to keep, as long as the process lives.

use oci_client::Reference;

use crate::domain::model::version::{Image, is_valid_digest, is_valid_tag};

const DOCKER_HUB: &str = "docker.io";
const LEGACY_DOCKER_HUB: &str = "index.docker.io";
const MAX_REPOSITORY_BYTES: usize = 255;

/// `None` for names that no registry can have. The name of a workload's image comes from outside and becomes part of a
/// URL.
pub(super) fn to_reference(image: &Image) -> Option<Reference> {
    let (registry, repository) = split_image_name(&image.name)?;
    let tag = image.tag.as_deref().map(|tag| is_valid_tag(tag).then(|| tag.to_owned()));
    let digest = image.digest.as_deref().map(|digest| is_valid_digest(digest).then(|| digest.to_owned()));
    match (tag, digest) {
        (None, None) | (Some(None), _) | (_, Some(None)) => None,
        (Some(Some(tag)), None) => Some(Reference::with_tag(registry, repository, tag)),
        (None, Some(Some(digest))) => Some(Reference::with_digest(registry, repository, digest)),
        (Some(Some(tag)), Some(Some(digest))) => {
            Some(Reference::with_tag_and_digest(registry, repository, tag, digest))
        }
    }
}

/// The registry and the repository of an image's name.
pub(super) fn split_image_name(name: &str) -> Option<(String, String)> {
    let (registry, repository) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => (DOCKER_HUB, name),
    };
    let registry = if registry == LEGACY_DOCKER_HUB { DOCKER_HUB } else { registry };
    if !is_host(registry) || !repository.split('/').all(is_component) {
        return None;
    }
    let official = registry == DOCKER_HUB && !repository.contains('/');
    let repository = if official { format!("library/{repository}") } else { repository.to_owned() };
    (repository.len() <= MAX_REPOSITORY_BYTES).then(|| (registry.to_owned(), repository))
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "0"));
    let label = |label: &str| {
        let edges = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(edges) && label.ends_with(edges) && label.chars().all(|c| edges(c) || c == '-')
    };
    name.split('.').all(label) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
}

/// Lower-case words, joined by a dot, one or two underscores, or dashes.
fn is_component(text: &str) -> bool {
    let is_word_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator = |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|b| b == b'-');
    text.starts_with(is_word_char) && text.ends_with(is_word_char) && text.split(is_word_char).all(is_separator)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn convert(text: &str) -> Option<Reference> {
        to_reference(&Image::parse(text))
    }

    #[test]
    fn valid_images_are_converted_as_the_library_parses_them() {
        let digest = format!("sha256:{}", "f".repeat(64));
        for text in [
            "busybox",
            "busybox:1.36",
            "opensuse/leap:15.3",
            "docker.io/busybox",
            "index.docker.io/acme/checkout:1",
            "ghcr.io/acme/checkout:develop-4f1c2ab",
            "localhost/checkout",
            "localhost:5000/acme/check__out:A.b-C_d",
            "registry-1.example.com:8443/a/b-----c/d.e:1",
            &format!("ghcr.io/acme/checkout@{digest}"),
            &format!("ghcr.io/acme/checkout:1@{digest}"),
        ] {
            assert_eq!(convert(text), Some(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn invalid_images_are_refused() {
        let long = "a".repeat(256);
        for text in [
            "",
            "ghcr.io/",
            "ghcr.io//checkout:1",
            "ghcr.io/acme/../secret:1",
            "ghcr.io/acme/Checkout:1",
            "ghcr.io/acme/checkout?x=1:1",
            "ghcr.io/acme/checkout:a b",
            "ghcr.io/acme/checkout:-1",
            "ghcr.io/acme/checkout:",
            "ghcr.io/acme/checkout@sha256:ff",
            "ghcr.io/acme/checkout@md5:ffffffffffffffffffffffffffffffff",
            "user@ghcr.io/acme/checkout",
            "ghcr.io:/acme/checkout",
            "-.io/acme/checkout",
            &format!("ghcr.io/{long}:1"),
            &format!("ghcr.io/a:{long}"),
        ] {
            assert_eq!(convert(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_image_is_converted_that_the_library_parses_differently(
            text in "([a-z.-]{0,4}[.:]?[a-z0-9]{0,3}/)?[a-zA-Z0-9._/-]{0,8}(:[a-zA-Z0-9._-]{0,4})?(@sha256:[a-f]{63,65})?"
        ) {
            if let Some(reference) = convert(&text) {
                prop_assert_eq!(Ok(reference), text.parse::<Reference>());
            }
        }
    }
}
