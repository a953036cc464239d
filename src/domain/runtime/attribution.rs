//! Which artefacts a report is about: by what it says itself, by a rule, by what the cluster says of its object, or by name.
//! What nothing tells has a reason, with the way to repair it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::domain::model::artefact::{Artefact, ArtefactName, Place, Repository};
use crate::domain::model::environment::{Catalogue, EnvironmentName};
use crate::domain::model::glob::within;
use crate::domain::model::nearest::nearest;
use crate::domain::model::version::{Image, Version};

mod unmapped;

pub use unmapped::{Stray, Strays, Unmapped};

/// Names in Kubernetes have no more; whatever is longer is nobody's name.
const LONGEST: usize = 253;
/// More than an application has.
const MOST_IMAGES: usize = 100;
/// As much of somebody's text as is repeated in a sentence.
const REPEATED: usize = 100;

/// An object by which a controller applies others: a `Kustomization`, a `HelmRelease`, an `Application`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    pub kind: String,
    /// Empty where nobody tells it.
    pub namespace: String,
    pub name: String,
}

impl Object {
    /// `None` for what has no name, or one that no object can have.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Option<Self> {
        let fits = !name.is_empty() && [kind, namespace, name].iter().all(|part| part.len() <= LONGEST);
        fits.then(|| Self { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The same in one word, as a view keeps it: `Kustomization/flux-system/checkout`.
    pub fn word(&self) -> String {
        [&*self.kind, &*self.namespace, &*self.name].join("/")
    }

    /// Is this the object that the word names? A namespace that one of them does not tell is no difference.
    pub fn is(&self, word: &str) -> bool {
        let mut parts = word.splitn(3, '/');
        let (kind, namespace, name) = (parts.next(), parts.next().unwrap_or_default(), parts.next());
        kind == Some(&*self.kind)
            && name == Some(&*self.name)
            && (namespace == self.namespace || namespace.is_empty() || self.namespace.is_empty())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.kind, &self.namespace, &self.name].map(|part| cut(part, REPEATED));
        let [kind, namespace, name] = parts;
        match (&*kind, &*namespace) {
            ("", "") => write!(f, "{name}"),
            ("", _) => write!(f, "{namespace}/{name}"),
            (_, "") => write!(f, "{kind} {name}"),
            _ => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

/// What a report tells of what it is about. Its environment is the one whose secret signed it.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// Who speaks, as people call it.
    pub sender: &'a str,
    /// Where an artefact can be named to this sender: `in the Alert's eventMetadata`.
    pub place: &'a str,
    pub environment: &'a EnvironmentName,
    pub object: Option<Object>,
    pub artefact: Option<&'a str>,
    /// With or without tag and digest.
    pub images: &'a [String],
    pub repository: Option<&'a Repository>,
}

/// Reports of these objects are about these artefacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Globs; at least one of the three is there.
    pub kind: Option<String>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// Empty means all.
    pub environments: Vec<EnvironmentName>,
    pub artefacts: Vec<ArtefactName>,
}

impl Rule {
    fn is_for(&self, object: &Object, environment: &EnvironmentName) -> bool {
        let fits = |glob: &Option<String>, text: &str| glob.as_ref().is_none_or(|glob| within(glob, text));
        fits(&self.kind, &object.kind)
            && fits(&self.namespace, &object.namespace)
            && fits(&self.name, &object.name)
            && (self.environments.is_empty() || self.environments.contains(environment))
    }
}

/// What the cluster says of an artefact in a place: who applied the workloads that run it, and what they run now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Objects by their words.
    pub by: Vec<Arc<str>>,
    pub version: Option<Version>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The report names the artefact.
    Named,
    Image,
    Repository,
    Rule,
    /// The cluster says that the object applied it.
    Cluster,
    /// The object is called as the artefact.
    Name,
}

impl Way {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Image => "image",
            Self::Repository => "repository",
            Self::Rule => "rule",
            Self::Cluster => "cluster",
            Self::Name => "name",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// Never empty.
    pub artefacts: Vec<ArtefactName>,
    pub by: Way,
}

/// What is known when a report comes.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub catalogue: &'a Catalogue,
    pub rules: &'a [Rule],
    /// What the cluster says of an artefact in its place.
    pub applied: &'a dyn Fn(&Artefact, &Place) -> Applied,
}

impl Known<'_> {
    /// The artefact that it names comes first, then the rules, then what it tells of images and repositories, then the cluster,
    /// and at last the name of its object.
    pub fn attribute(&self, told: &Told<'_>) -> Result<Attribution, Unmapped> {
        if let Some(named) = told.artefact {
            return self.named(named, told.environment);
        }
        if let Some(object) = &told.object
            && let Some(found) = self.by_rule(object, told.environment)?
        {
            return Ok(found);
        }
        let (by_image, absent) = self.by_image(told);
        if let Some(found) = by_image.or_else(|| self.by_repository(told)) {
            return Ok(found);
        }
        if let Some(object) = &told.object
            && let Some(found) = self.by_object(object, told.environment)?
        {
            return Ok(found);
        }
        if let Some(artefact) = absent {
            return Err(Unmapped::NotThere { artefact });
        }
        Err(match (told.images.first(), told.repository, &told.object) {
            (Some(image), ..) => Unmapped::UnknownImage { image: cut(image, LONGEST).into_owned() },
            (_, Some(repository), _) => Unmapped::UnknownRepository { repository: repository.clone() },
            (_, _, Some(object)) => Unmapped::NothingAppliedByIt { object: object.clone() },
            _ => Unmapped::NothingNamed,
        })
    }

    fn named(&self, named: &str, environment: &EnvironmentName) -> Result<Attribution, Unmapped> {
        let all = || self.catalogue.artefacts.iter().map(|artefact| artefact.name.as_str());
        let Some(artefact) = self.catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == named) else {
            let meant = nearest(named, all()).map(ArtefactName::new);
            return Err(Unmapped::UnknownArtefact { named: cut(named, LONGEST).into_owned(), meant });
        };
        if !artefact.places.contains_key(environment) {
            return Err(Unmapped::NotThere { artefact: artefact.name.clone() });
        }
        Ok(Attribution { artefacts: vec![artefact.name.clone()], by: Way::Named })
    }

    /// With one that has such an image elsewhere.
    fn by_image(&self, told: &Told<'_>) -> (Option<Attribution>, Option<ArtefactName>) {
        let mut found: Vec<ArtefactName> = Vec::new();
        let mut absent = None;
        for text in told.images.iter().take(MOST_IMAGES) {
            let image = Image::parse(text);
            let all = || self.catalogue.artefacts.iter().filter(|artefact| artefact.image == image.name);
            let here: Vec<_> =
                all().filter_map(|artefact| Some((artefact, artefact.places.get(told.environment)?))).collect();
            absent = absent.or_else(|| all().next().map(|artefact| artefact.name.clone()));
            // Several may have one image. A version tells them apart where it can, and never leaves nobody.
            let runs = |(artefact, place): &(&Artefact, &Place)| {
                let version = (self.applied)(artefact, place).version;
                here.len() > 1 && version.is_some_and(|version| version.is_image(&image.version()))
            };
            let exact: Vec<_> = here.iter().filter(|here| runs(here)).collect();
            let names = if exact.is_empty() { here.iter().collect() } else { exact };
            found.extend(names.into_iter().map(|(artefact, _)| artefact.name.clone()));
        }
        found.sort();
        found.dedup();
        let found = (!found.is_empty()).then_some(Attribution { artefacts: found, by: Way::Image });
        (found, absent)
    }

    /// All that is built from a repository and stands here; or, where the object tells, those of them that it applied.
    fn by_repository(&self, told: &Told<'_>) -> Option<Attribution> {
        let repository = told.repository?;
        let of_it = |artefact: &&Artefact| artefact.repository.is(repository);
        let here: Vec<_> = self.here(told.environment).filter(|(artefact, _)| of_it(artefact)).collect();
        let applied = |(artefact, place): &&(&Artefact, &Place)| {
            told.object.as_ref().is_some_and(|object| self.is_applied_by(object, artefact, place))
        };
        let name = |(artefact, _): &(&Artefact, &Place)| artefact.name.clone();
        let exact: Vec<ArtefactName> = here.iter().filter(applied).map(name).collect();
        let artefacts = if exact.is_empty() { here.iter().map(name).collect() } else { exact };
        (!artefacts.is_empty()).then_some(Attribution { artefacts, by: Way::Repository })
    }

    fn by_rule(&self, object: &Object, environment: &EnvironmentName) -> Result<Option<Attribution>, Unmapped> {
        let rules = self.rules.iter().enumerate();
        if let Some((at, rule)) = rules.into_iter().find(|(_, rule)| rule.is_for(object, environment)) {
            let here = self.here(environment).filter(|(artefact, _)| rule.artefacts.contains(&artefact.name));
            let artefacts: Vec<_> = here.map(|(artefact, _)| artefact.name.clone()).collect();
            if artefacts.is_empty() {
                return Err(Unmapped::RuleNamesNobodyHere { rule: at + 1 });
            }
            return Ok(Some(Attribution { artefacts, by: Way::Rule }));
        }
        Ok(None)
    }

    fn by_object(&self, object: &Object, environment: &EnvironmentName) -> Result<Option<Attribution>, Unmapped> {
        let applied = self.here(environment).filter(|(artefact, place)| self.is_applied_by(object, artefact, place));
        let artefacts: Vec<_> = applied.map(|(artefact, _)| artefact.name.clone()).collect();
        if !artefacts.is_empty() {
            return Ok(Some(Attribution { artefacts, by: Way::Cluster }));
        }
        let called = self.catalogue.artefacts.iter().find(|artefact| artefact.name.as_str() == object.name);
        match called {
            Some(artefact) if !artefact.places.contains_key(environment) => {
                Err(Unmapped::NotThere { artefact: artefact.name.clone() })
            }
            called => Ok(called.map(|it| Attribution { artefacts: vec![it.name.clone()], by: Way::Name })),
        }
    }

    fn is_applied_by(&self, object: &Object, artefact: &Artefact, place: &Place) -> bool {
        (self.applied)(artefact, place).by.iter().any(|word| object.is(word))
    }

    fn here<'b>(&'b self, environment: &'b EnvironmentName) -> impl Iterator<Item = (&'b Artefact, &'b Place)> {
        self.catalogue.artefacts.iter().filter_map(|artefact| Some((artefact, artefact.places.get(environment)?)))
    }
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;
