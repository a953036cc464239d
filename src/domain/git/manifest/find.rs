//! Where a file says which version of an image is to run: the forms that kustomize, Helm charts and plain manifests
//! have for it.

use super::problem::{MOST_NAMED, Problem};
use super::tree::{Id, Tree, Value};
use super::{Format, Pin, Place, path};
use crate::domain::model::version::{Image, Version, is_digest, is_tag};

/// A place and the scalars in it, as far as they are there.
pub(super) struct Spot {
    pub(super) format: Format,
    /// The entry, the mapping, or the scalar itself.
    pub(super) at: Id,
    /// Holds a tag, or a tag and a digest: `1.2@sha256:..`.
    pub(super) tag: Option<Id>,
    pub(super) digest: Option<Id>,
    /// Holds the whole reference.
    pub(super) whole: Option<Id>,
}

pub(super) fn spot(tree: &Tree<'_>, place: &Place<'_>) -> Result<Spot, Problem> {
    if let Some(path) = place.path {
        return by_path(tree, place, path);
    }
    let mut spots = kustomize(tree, place.image);
    // Names the image, and says nothing of a version.
    let mut bare = None;
    for id in tree.ids() {
        match helm(tree, id, place.image) {
            Some(spot) if spot.tag.is_some() || spot.digest.is_some() => spots.push(spot),
            Some(spot) => bare = bare.or(Some(spot)),
            None => {}
        }
        spots.extend(raw(tree, id, place.image));
    }
    if spots.len() > 1 {
        spots.sort_by_key(|spot| spot.at);
        let named = |spot: &Spot| (tree.path(spot.at), tree.node(spot.at).line);
        let first = spots.iter().take(MOST_NAMED).map(named).collect();
        return Err(Problem::TwoPlaces { image: place.image.to_owned(), all: spots.len(), first });
    }
    spots.pop().or(bare).ok_or_else(|| {
        let image = place.image.to_owned();
        if tree.documents.iter().any(|root| kustomization(tree, *root).is_some()) {
            let key = if place.pin == Pin::Digest { "digest" } else { "newTag" };
            return Problem::NoEntry { image, key };
        }
        Problem::NoPlace { image }
    })
}

/// The scalar under a key; what is null says nothing.
fn scalar(tree: &Tree<'_>, map: Id, key: &str) -> Option<Id> {
    tree.under(map, key).filter(|id| tree.text(*id).is_some() && !tree.is_null(*id))
}

/// The list `images:` of a kustomization, which may be empty or missing; `None` for what is none. Flux's object of the
/// same name has it under `spec`.
fn kustomization<'a>(tree: &'a Tree<'_>, root: Id) -> Option<&'a [Id]> {
    let list = |map: Id| match tree.under(map, "images").map(|images| &tree.node(images).value) {
        Some(Value::List(entries)) => &**entries,
        _ => &[],
    };
    match (tree.text_under(root, "kind"), tree.under(root, "spec")) {
        (Some("Kustomization"), Some(spec)) => Some(list(spec)).filter(|entries| !entries.is_empty()),
        (Some("Kustomization" | "Component"), None) => Some(list(root)),
        // kustomize itself does not ask for `kind`.
        (None, _) => Some(list(root)).filter(|entries| entries.iter().any(|id| tree.under(*id, "name").is_some())),
        (Some(_), _) => None,
    }
}

fn kustomize(tree: &Tree<'_>, image: &str) -> Vec<Spot> {
    let lists = tree.documents.iter().filter_map(|root| kustomization(tree, *root));
    let named = |entry: &Id| ["name", "newName"].iter().any(|key| tree.text_under(*entry, key) == Some(image));
    lists
        .flatten()
        .filter(|entry| named(entry))
        .map(|entry| Spot {
            format: Format::Kustomize,
            at: *entry,
            tag: scalar(tree, *entry, "newTag"),
            digest: scalar(tree, *entry, "digest"),
            whole: None,
        })
        .collect()
}

fn helm(tree: &Tree<'_>, map: Id, image: &str) -> Option<Spot> {
    let repository = tree.text_under(map, "repository")?;
    let named = match tree.text_under(map, "registry").filter(|registry| !registry.is_empty()) {
        Some(registry) => {
            image.strip_prefix(registry).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| rest == repository)
        }
        None => repository == image,
    };
    named.then(|| Spot {
        format: Format::Helm,
        at: map,
        tag: scalar(tree, map, "tag"),
        digest: scalar(tree, map, "digest"),
        whole: None,
    })
}

fn raw(tree: &Tree<'_>, id: Id, image: &str) -> Option<Spot> {
    let whole = tree.key(id) == Some("image") && tree.text(id).is_some_and(|text| &*Image::parse(text).name == image);
    whole.then_some(Spot { format: Format::Raw, at: id, tag: None, digest: None, whole: Some(id) })
}

fn by_path(tree: &Tree<'_>, place: &Place<'_>, path: &str) -> Result<Spot, Problem> {
    let id = path::resolve(tree, path)?;
    let line = tree.node(id).line;
    let Some(text) = tree.text(id) else {
        return Err(match tree.node(id).value {
            Value::Alias(_) => Problem::IsAlias { line },
            _ => Problem::PathTooShort { path: path.to_owned(), line },
        });
    };
    if tree.is_null(id) {
        return Err(Problem::PathEmpty { path: path.to_owned(), line });
    }
    let beside = |key| tree.parent(id).and_then(|map| scalar(tree, map, key)).filter(|other| *other != id);
    let spot = Spot { format: Format::Path, at: id, tag: None, digest: None, whole: None };
    let for_tags = matches!(tree.key(id), Some("tag" | "newTag"));
    if !for_tags && &*Image::parse(text).name == place.image {
        return Ok(Spot { whole: Some(id), ..spot });
    }
    if is_digest(text) || (text.is_empty() && place.pin == Pin::Digest) {
        return Ok(Spot { tag: beside("newTag").or_else(|| beside("tag")), digest: Some(id), ..spot });
    }
    if tag_and_digest(text).is_some() {
        return Ok(Spot { tag: Some(id), digest: beside("digest"), ..spot });
    }
    if text.contains('/') && !text.contains('\n') {
        return Err(Problem::OtherImage { line, said: text.to_owned(), image: place.image.to_owned() });
    }
    Err(no_version(tree, id, text))
}

fn no_version(tree: &Tree<'_>, id: Id, said: &str) -> Problem {
    let line = tree.node(id).line;
    if said.contains('\n') {
        Problem::SeveralLines { line }
    } else {
        Problem::NoVersion { line, said: said.to_owned() }
    }
}

/// Takes `1.2` and `1.2@sha256:..` apart; a chart's default is the empty text.
pub(super) fn tag_and_digest(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once('@') {
        Some((tag, digest)) => (is_tag(tag) && is_digest(digest)).then_some((tag, Some(digest))),
        None => (text.is_empty() || is_tag(text)).then_some((text, None)),
    }
}

impl Spot {
    /// What the scalars say, if they say versions.
    pub(super) fn version(&self, tree: &Tree<'_>) -> Result<Version, Problem> {
        let mut version = Version::default();
        let said = |id: Option<Id>| id.and_then(|id| Some((id, tree.text(id)?)));
        if let Some((id, text)) = said(self.whole) {
            let image = Image::parse(text);
            if !image.tag.as_deref().is_none_or(is_tag) || !image.digest.as_deref().is_none_or(is_digest) {
                return Err(no_version(tree, id, text));
            }
            return Ok(image.version());
        }
        if let Some((id, text)) = said(self.tag) {
            let (tag, digest) = tag_and_digest(text).ok_or_else(|| no_version(tree, id, text))?;
            version.tag = Some(tag).filter(|tag| !tag.is_empty()).map(Into::into);
            version.digest = digest.map(Into::into);
        }
        if let Some((id, text)) = said(self.digest).filter(|(_, text)| !text.is_empty()) {
            if !is_digest(text) {
                return Err(no_version(tree, id, text));
            }
            if let (Some(_), Some(tag)) = (&version.digest, self.tag) {
                return Err(Problem::TwoDigests { lines: [tree.node(tag).line, tree.node(id).line] });
            }
            version.digest = Some(text.into());
        }
        Ok(version)
    }
}
