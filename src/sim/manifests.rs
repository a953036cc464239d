//! Finds the image that the world's `GitOps` files name for the controller, in kustomizations, chart values and plain
//! objects. The bot reads the same files with other code.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::domain::model::version::{Image, Sha};

use super::github::GitHub;

/// The folder of an artefact's files in any repository of manifests.
pub(super) fn folder(environment: &str, artefact: &str) -> String {
    format!("envs/{environment}/{artefact}/")
}

/// The full reference of `image` in the files of a folder at a commit. The first file that names one counts.
pub(super) fn reference(github: &GitHub, repository: &str, commit: &Sha, folder: &str, image: &str) -> Option<String> {
    let files: BTreeMap<String, Sha> = github.files(repository, commit)?;
    let is_yaml =
        |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    let in_folder = files.keys().filter(|path| path.starts_with(folder) && is_yaml(path));
    in_folder.filter_map(|path| github.read_file(repository, commit, path)).find_map(|text| find_in_text(&text, image))
}

/// `None` for text that is not YAML: a controller then leaves the workload as it is.
fn find_in_text(text: &str, image: &str) -> Option<String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).ok()?;
    documents
        .iter()
        .find_map(|document| in_kustomization(document, image).or_else(|| find_in_value(document, None, image)))
}

fn in_kustomization(document: &Value, image: &str) -> Option<String> {
    let entries = document["images"].as_array()?.iter();
    let is_image = |entry: &&Value| entry["newName"].as_str().or(entry["name"].as_str()) == Some(image);
    entries.filter(is_image).find_map(|entry| format_reference(image, &entry["newTag"], &entry["digest"]))
}

/// In the values of a chart, or in the `image` of an object.
fn find_in_value(value: &Value, key: Option<&str>, image: &str) -> Option<String> {
    match value {
        Value::Object(map) => {
            let repository = match (value["registry"].as_str(), value["repository"].as_str()) {
                (Some(registry), Some(repository)) if !registry.is_empty() => Some(format!("{registry}/{repository}")),
                (_, Some(repository)) => Some(repository.to_owned()),
                // The chart's default repository is the artefact's image.
                (_, None) => (key == Some("image")).then(|| image.to_owned()),
            };
            let matching = repository.filter(|repository| repository == image);
            matching
                .and_then(|_| format_reference(image, &value["tag"], &value["digest"]))
                .or_else(|| map.iter().find_map(|(key, value)| find_in_value(value, Some(key), image)))
        }
        Value::Array(list) => list.iter().find_map(|value| find_in_value(value, None, image)),
        Value::String(text) => (key == Some("image") && &*Image::parse(text).name == image).then(|| text.clone()),
        _ => None,
    }
}

fn format_reference(image: &str, tag: &Value, digest: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match (text(tag), text(digest)) {
        (Some(tag), Some(digest)) => Some(format!("{image}:{tag}@{digest}")),
        (Some(tag), None) => Some(format!("{image}:{tag}")),
        (None, Some(digest)) => Some(format!("{image}@{digest}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kustomizations_chart_values_and_plain_objects_are_read() {
        let cases = [
            ("images: [{ name: other, newTag: x }, { name: a/b, newTag: \"1\" }]", Some("a/b:1")),
            ("images: [{ name: old, newName: a/b, newTag: v2 }]", Some("a/b:v2")),
            ("images: [{ name: a/b, newName: c/d, newTag: v2 }]", None),
            ("images: [{ name: a/b, newTag: v2, digest: \"sha256:ab\" }]", Some("a/b:v2@sha256:ab")),
            ("images: [{ name: a/b, digest: \"sha256:ab\" }]", Some("a/b@sha256:ab")),
            ("image: { repository: a/b, tag: v2 }", Some("a/b:v2")),
            ("web: { image: { registry: a, repository: b, tag: v2@sha256:ab } }", Some("a/b:v2@sha256:ab")),
            ("image: { tag: v2 }", Some("a/b:v2")),
            ("image: { repository: c/d, tag: v2 }", None),
            ("a: 1\n---\nspec: { containers: [{ image: c/d:1 }, { image: a/b:v2 }] }", Some("a/b:v2")),
            ("{{ template }}", None),
        ];
        for (text, runs) in cases {
            assert_eq!(find_in_text(text, "a/b").as_deref(), runs, "{text}");
        }
    }
}
