//! The references of one repository, and the rules for their names.

use std::collections::BTreeMap;

use git2::Oid;

/// Kept outside the object store, so that they can be listed and checked for conflicts.
#[derive(Debug, Default)]
pub(super) struct Refs(BTreeMap<String, Oid>);

impl Refs {
    pub(super) fn find(&self, full_name: &str) -> Option<Oid> {
        self.0.get(full_name).copied()
    }

    pub(super) fn insert(&mut self, full_name: &str, target: Oid) -> Option<Oid> {
        self.0.insert(full_name.to_owned(), target)
    }

    pub(super) fn remove(&mut self, full_name: &str) -> Option<Oid> {
        self.0.remove(full_name)
    }

    /// All references with this prefix, ordered by name.
    pub(super) fn starting_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, Oid)> {
        self.0
            .range(prefix.to_owned()..)
            .take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, target)| (name.as_str(), *target))
    }

    /// All references under `space`, such as `refs/heads/`, with their short names.
    pub(super) fn under<'a>(&'a self, space: &'a str) -> impl Iterator<Item = (&'a str, Oid)> {
        self.starting_with(space).map(|(name, target)| (&name[space.len()..], target))
    }

    /// The reason why a reference with this name cannot be created now, in GitHub's words.
    pub(super) fn creation_error(&self, full_name: &str) -> Option<String> {
        if !full_name.starts_with("refs/") {
            return Some("Reference name must start with 'refs/'.".to_owned());
        }
        if full_name.split('/').count() < 3 {
            return Some("Reference name must contain at least three slash-separated components.".to_owned());
        }
        if !git2::Reference::is_valid_name(full_name) {
            return Some(format!("{full_name} is not a valid ref name."));
        }
        if self.find(full_name).is_some() {
            return Some("Reference already exists".to_owned());
        }
        // In Git a reference is a file, so `qa` and `qa/1` cannot both exist.
        let below = format!("{full_name}/");
        let above = full_name.match_indices('/').any(|(end, _)| self.find(&full_name[..end]).is_some());
        (above || self.starting_with(&below).next().is_some()).then(|| "Reference update failed".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_and_conflicting_reference_names_are_refused() {
        let mut refs = Refs::default();
        refs.insert("refs/heads/qa", Oid::ZERO_SHA1);
        refs.insert("refs/tags/prod/2026.11.16-1", Oid::ZERO_SHA1);
        let cases = [
            ("refs/heads/staging", None),
            ("refs/tags/qa", None),
            ("refs/heads/qa", Some("Reference already exists")),
            ("refs/heads/qa/fix", Some("Reference update failed")),
            ("refs/tags/prod", Some("Reference update failed")),
            ("refs/tags/prod/2026.11.16-2", None),
            ("heads/x", Some("Reference name must start with 'refs/'.")),
            ("refs/x", Some("Reference name must contain at least three slash-separated components.")),
            ("refs/heads/a..b", Some("refs/heads/a..b is not a valid ref name.")),
            ("refs/heads/a b", Some("refs/heads/a b is not a valid ref name.")),
            ("refs/heads/", Some("refs/heads/ is not a valid ref name.")),
        ];
        for (name, refusal) in cases {
            assert_eq!(refs.creation_error(name).as_deref(), refusal, "{name}");
        }
    }
}
