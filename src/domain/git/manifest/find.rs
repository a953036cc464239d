//! Finds the version of an image in a file, in the forms of kustomize, Helm charts and plain manifests.

use super::path;
use super::problem::{MAX_NAMED, ManifestError};
use super::selector::{ImageSelector, ManifestFormat};
use super::tree::{ManifestTree, ManifestValue, NodeId};
use crate::domain::model::version::{Image, Pin, Version, is_valid_digest, is_valid_tag};

/// The location of an image's version, with the scalars that exist there.
pub(super) struct ImageLocation {
    pub(super) format: ManifestFormat,
    /// The entry, the mapping, or the scalar itself.
    pub(super) node: NodeId,
    /// Contains a tag, or a tag and a digest: `1.2@sha256:..`.
    pub(super) tag: Option<NodeId>,
    pub(super) digest: Option<NodeId>,
    /// Contains the whole reference.
    pub(super) reference: Option<NodeId>,
}

pub(super) fn find_location(
    tree: &ManifestTree<'_>,
    selector: &ImageSelector<'_>,
) -> Result<ImageLocation, ManifestError> {
    if let Some(path) = selector.path {
        return find_by_path(tree, selector, path);
    }
    let mut locations = find_kustomize_entries(tree, selector.image);
    // A mapping that names the image without a version.
    let mut without_version = None;
    for id in tree.node_ids() {
        match match_helm_values(tree, id, selector.image) {
            Some(location) if location.tag.is_some() || location.digest.is_some() => locations.push(location),
            Some(location) => without_version = without_version.or(Some(location)),
            None => {}
        }
        locations.extend(match_image_field(tree, id, selector.image));
    }
    if locations.len() > 1 {
        locations.sort_by_key(|location| location.node);
        let describe = |location: &ImageLocation| (tree.format_path(location.node), tree.node(location.node).line);
        let first = locations.iter().take(MAX_NAMED).map(describe).collect();
        return Err(ManifestError::AmbiguousImage { image: selector.image.to_owned(), all: locations.len(), first });
    }
    locations.pop().or(without_version).ok_or_else(|| {
        let image = selector.image.to_owned();
        if tree.documents.iter().any(|root| find_kustomization_images(tree, *root).is_some()) {
            let key = if selector.pin == Pin::Digest { "digest" } else { "newTag" };
            return ManifestError::NoEntry { image, key };
        }
        ManifestError::ImageNotFound { image }
    })
}

/// The scalar under a key; `None` if it is null.
fn find_scalar(tree: &ManifestTree<'_>, map: NodeId, key: &str) -> Option<NodeId> {
    tree.find_value(map, key).filter(|id| tree.scalar_text(*id).is_some() && !tree.is_null(*id))
}

/// The list `images:` of a kustomization, which may be empty or missing; `None` if the document is no kustomization.
/// Flux's object of the same name has the list under `spec`.
fn find_kustomization_images<'a>(tree: &'a ManifestTree<'_>, root: NodeId) -> Option<&'a [NodeId]> {
    let list = |map: NodeId| match tree.find_value(map, "images").map(|images| &tree.node(images).value) {
        Some(ManifestValue::List(entries)) => &**entries,
        _ => &[],
    };
    match (tree.find_text(root, "kind"), tree.find_value(root, "spec")) {
        (Some("Kustomization"), Some(spec)) => Some(list(spec)).filter(|entries| !entries.is_empty()),
        (Some("Kustomization" | "Component"), None) => Some(list(root)),
        // kustomize itself does not require `kind`.
        (None, _) => Some(list(root)).filter(|entries| entries.iter().any(|id| tree.find_value(*id, "name").is_some())),
        (Some(_), _) => None,
    }
}

fn find_kustomize_entries(tree: &ManifestTree<'_>, image: &str) -> Vec<ImageLocation> {
    let lists = tree.documents.iter().filter_map(|root| find_kustomization_images(tree, *root));
    let is_named = |entry: &NodeId| ["name", "newName"].iter().any(|key| tree.find_text(*entry, key) == Some(image));
    lists
        .flatten()
        .filter(|entry| is_named(entry))
        .map(|entry| ImageLocation {
            format: ManifestFormat::Kustomize,
            node: *entry,
            tag: find_scalar(tree, *entry, "newTag"),
            digest: find_scalar(tree, *entry, "digest"),
            reference: None,
        })
        .collect()
}

fn match_helm_values(tree: &ManifestTree<'_>, map: NodeId, image: &str) -> Option<ImageLocation> {
    let repository = tree.find_text(map, "repository")?;
    let is_named = match tree.find_text(map, "registry").filter(|registry| !registry.is_empty()) {
        Some(registry) => {
            image.strip_prefix(registry).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| rest == repository)
        }
        None => repository == image,
    };
    is_named.then(|| ImageLocation {
        format: ManifestFormat::Helm,
        node: map,
        tag: find_scalar(tree, map, "tag"),
        digest: find_scalar(tree, map, "digest"),
        reference: None,
    })
}

fn match_image_field(tree: &ManifestTree<'_>, id: NodeId, image: &str) -> Option<ImageLocation> {
    let is_reference =
        tree.key(id) == Some("image") && tree.scalar_text(id).is_some_and(|text| &*Image::parse(text).name == image);
    is_reference.then_some(ImageLocation {
        format: ManifestFormat::Raw,
        node: id,
        tag: None,
        digest: None,
        reference: Some(id),
    })
}

fn find_by_path(
    tree: &ManifestTree<'_>,
    selector: &ImageSelector<'_>,
    path: &str,
) -> Result<ImageLocation, ManifestError> {
    let id = path::find_node(tree, path)?;
    let line = tree.node(id).line;
    let Some(text) = tree.scalar_text(id) else {
        return Err(match tree.node(id).value {
            ManifestValue::Alias(_) => ManifestError::Alias { line },
            _ => ManifestError::PathTooShort { path: path.to_owned(), line },
        });
    };
    if tree.is_null(id) {
        return Err(ManifestError::PathEmpty { path: path.to_owned(), line });
    }
    let find_sibling = |key| tree.parent(id).and_then(|map| find_scalar(tree, map, key)).filter(|other| *other != id);
    let location = ImageLocation { format: ManifestFormat::Path, node: id, tag: None, digest: None, reference: None };
    let is_tag_key = matches!(tree.key(id), Some("tag" | "newTag"));
    if !is_tag_key && &*Image::parse(text).name == selector.image {
        return Ok(ImageLocation { reference: Some(id), ..location });
    }
    if is_valid_digest(text) || (text.is_empty() && selector.pin == Pin::Digest) {
        return Ok(ImageLocation {
            tag: find_sibling("newTag").or_else(|| find_sibling("tag")),
            digest: Some(id),
            ..location
        });
    }
    if split_tag_and_digest(text).is_some() {
        return Ok(ImageLocation { tag: Some(id), digest: find_sibling("digest"), ..location });
    }
    if text.contains('/') && !text.contains('\n') {
        return Err(ManifestError::OtherImage { line, value: text.to_owned(), image: selector.image.to_owned() });
    }
    Err(explain_no_version(tree, id, text))
}

fn explain_no_version(tree: &ManifestTree<'_>, id: NodeId, value: &str) -> ManifestError {
    let line = tree.node(id).line;
    if value.contains('\n') {
        ManifestError::Multiline { line }
    } else {
        ManifestError::NoVersion { line, value: value.to_owned() }
    }
}

/// Splits `1.2` and `1.2@sha256:..`. The text may be empty, which is the default of a chart.
pub(super) fn split_tag_and_digest(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once('@') {
        Some((tag, digest)) => (is_valid_tag(tag) && is_valid_digest(digest)).then_some((tag, Some(digest))),
        None => (text.is_empty() || is_valid_tag(text)).then_some((text, None)),
    }
}

impl ImageLocation {
    /// The version in the scalars, or an error if they contain something else.
    pub(super) fn read_version(&self, tree: &ManifestTree<'_>) -> Result<Version, ManifestError> {
        let mut version = Version::default();
        let text_of = |id: Option<NodeId>| id.and_then(|id| Some((id, tree.scalar_text(id)?)));
        if let Some((id, text)) = text_of(self.reference) {
            let image = Image::parse(text);
            if !image.tag.as_deref().is_none_or(is_valid_tag) || !image.digest.as_deref().is_none_or(is_valid_digest) {
                return Err(explain_no_version(tree, id, text));
            }
            return Ok(image.to_version());
        }
        if let Some((id, text)) = text_of(self.tag) {
            let (tag, digest) = split_tag_and_digest(text).ok_or_else(|| explain_no_version(tree, id, text))?;
            version.tag = Some(tag).filter(|tag| !tag.is_empty()).map(Into::into);
            version.digest = digest.map(Into::into);
        }
        if let Some((id, text)) = text_of(self.digest).filter(|(_, text)| !text.is_empty()) {
            if !is_valid_digest(text) {
                return Err(explain_no_version(tree, id, text));
            }
            if let (Some(_), Some(tag)) = (&version.digest, self.tag) {
                return Err(ManifestError::TwoDigests { lines: [tree.node(tag).line, tree.node(id).line] });
            }
            version.digest = Some(text.into());
        }
        Ok(version)
    }
}
