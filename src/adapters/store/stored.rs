//! Bodies that are stored as JSON with a version number. Their types belong to the store, so that a rename in the
//! domain changes no row. Exceptions are events as their adapter parsed them: bodies of the inbox, and reports and
//! builds in the ledger.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::to_encode_error;
use crate::domain::model::actor::PersonId;
use crate::domain::model::artefact::{ArtefactName, Repository};
use crate::domain::model::environment::EnvironmentName;
use crate::domain::model::ids::{ChangeId, LockId};
use crate::domain::model::message::MessageKey;
use crate::domain::model::version::Sha;

/// A stored type, and the domain's type of the same meaning.
pub(super) trait Stored {
    type Domain;

    fn from_domain(domain: Self::Domain) -> Self;

    fn into_domain(self) -> Self::Domain;
}

/// A stored type that fills a column.
pub(super) trait StoredBody: Stored + Serialize + DeserializeOwned {
    /// Grows with every change that an older Gantry could not read. Such a change comes with a migration that converts
    /// the stored rows and makes an older Gantry refuse the file. A change of an embedded type changes the version of
    /// each embedding body.
    const VERSION: u32;
}

#[derive(Serialize, Deserialize)]
struct VersionedBody<T> {
    v: u32,
    body: T,
}

pub(super) fn write_body<B: StoredBody>(value: B::Domain) -> Result<String, sqlx::Error> {
    serde_json::to_string(&VersionedBody { v: B::VERSION, body: B::from_domain(value) }).map_err(to_encode_error)
}

/// Reads a body, or returns the reason why it cannot be read.
pub(super) fn read_body<B: StoredBody>(text: &str) -> Result<B::Domain, String> {
    #[derive(Deserialize)]
    struct BodyVersion {
        v: u32,
    }
    let parse_error = match serde_json::from_str::<VersionedBody<B>>(text) {
        Ok(versioned) if versioned.v == B::VERSION => return Ok(versioned.body.into_domain()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    match serde_json::from_str::<BodyVersion>(text) {
        Ok(BodyVersion { v }) if v != B::VERSION => {
            Err(format!("it was written as version {v}, and this Gantry reads version {}", B::VERSION))
        }
        _ => Err(parse_error.unwrap_or_default()),
    }
}

/// Reads a body, or logs the reason why it cannot be read. Such a row is skipped.
pub(super) fn read_or_log<B: StoredBody>(kind: &str, text: &str) -> Option<B::Domain> {
    read_body::<B>(text).inspect_err(|error| tracing::error!(%error, "a stored {kind} cannot be read")).ok()
}

impl<T: Stored> Stored for Option<T> {
    type Domain = Option<T::Domain>;

    fn from_domain(domain: Self::Domain) -> Self {
        domain.map(T::from_domain)
    }

    fn into_domain(self) -> Self::Domain {
        self.map(T::into_domain)
    }
}

impl<T: Stored> Stored for Vec<T> {
    type Domain = Vec<T::Domain>;

    fn from_domain(domain: Self::Domain) -> Self {
        domain.into_iter().map(T::from_domain).collect()
    }

    fn into_domain(self) -> Self::Domain {
        self.into_iter().map(T::into_domain).collect()
    }
}

impl<T: Stored> Stored for Box<T> {
    type Domain = Box<T::Domain>;

    fn from_domain(domain: Self::Domain) -> Self {
        Self::new(T::from_domain(*domain))
    }

    fn into_domain(self) -> Self::Domain {
        Box::new((*self).into_domain())
    }
}

/// Plain values, and ids that are stored as their text.
macro_rules! stored_as_is {
    ($($type:ty),* $(,)?) => {$(
        impl Stored for $type {
            type Domain = Self;

            fn from_domain(domain: Self) -> Self {
                domain
            }

            fn into_domain(self) -> Self {
                self
            }
        }
    )*};
}

stored_as_is! {
    bool, u32, u64, usize, String, Arc<str>, Timestamp, SignedDuration, Value, ArtefactName, ChangeId, EnvironmentName, LockId,
    MessageKey, PersonId, Repository, Sha,
}

/// Defines stored types with conversions from and to the domain's types. A field or variant that exists on one side
/// only does not compile. After a rename in the domain, `#[serde(rename = "...")]` keeps the stored name.
macro_rules! stored {
    () => {};
    (
        $(#[$meta:meta])*
        struct $stored:ident for $domain:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(in crate::adapters::store) struct $stored {
            $($(#[$field_meta])* $field: $type,)*
        }

        impl crate::adapters::store::stored::Stored for $stored {
            type Domain = $domain;

            fn from_domain(domain: $domain) -> Self {
                let $domain { $($field,)* } = domain;
                Self { $($field: crate::adapters::store::stored::Stored::from_domain($field),)* }
            }

            fn into_domain(self) -> $domain {
                let Self { $($field,)* } = self;
                $domain { $($field: crate::adapters::store::stored::Stored::into_domain($field),)* }
            }
        }

        crate::adapters::store::stored::stored! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        enum $stored:ident for $domain:ident {
            $(
                $(#[$variant_meta:meta])*
                $variant:ident $(($name:ident: $inner:ty))? $({ $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })?,
            )*
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(in crate::adapters::store) enum $stored {
            $($(#[$variant_meta])* $variant $(($inner))? $({ $($(#[$field_meta])* $field: $type,)* })?,)*
        }

        impl crate::adapters::store::stored::Stored for $stored {
            type Domain = $domain;

            fn from_domain(domain: $domain) -> Self {
                match domain {
                    $($domain::$variant $(($name))? $({ $($field,)* })? => {
                        Self::$variant
                            $((crate::adapters::store::stored::Stored::from_domain($name)))?
                            $({ $($field: crate::adapters::store::stored::Stored::from_domain($field),)* })?
                    })*
                }
            }

            fn into_domain(self) -> $domain {
                match self {
                    $(Self::$variant $(($name))? $({ $($field,)* })? => {
                        $domain::$variant
                            $((crate::adapters::store::stored::Stored::into_domain($name)))?
                            $({ $($field: crate::adapters::store::stored::Stored::into_domain($field),)* })?
                    })*
                }
            }
        }

        crate::adapters::store::stored::stored! { $($rest)* }
    };
}

/// Defines an enum that is stored by name, from one list of names.
macro_rules! stored_by_name {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($variant:ident => $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($variant,)*
        }

        impl $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            pub(in crate::adapters::store) fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }
    };
}

pub(in crate::adapters::store) use {stored, stored_by_name};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::store::stored_parts::StoredQuarantine;
    use crate::domain::rules::quarantine::Quarantine;
    use crate::domain::sample;

    #[test]
    fn a_body_of_another_version_is_refused_with_both_numbers() {
        let quarantine: Quarantine = sample::quarantine();
        let text = write_body::<StoredQuarantine>(quarantine.clone()).unwrap();
        assert!(text.starts_with(r#"{"v":1,"body":{"#), "{text}");
        assert_eq!(read_body::<StoredQuarantine>(&text).unwrap(), quarantine);

        let newer = text.replacen("\"v\":1", "\"v\":2", 1);
        let why = read_body::<StoredQuarantine>(&newer).unwrap_err();
        assert_eq!(why, "it was written as version 2, and this Gantry reads version 1");
        assert!(read_body::<StoredQuarantine>("{}").unwrap_err().contains("missing field `v`"));
    }
}
