//! Reads an artefact's entry for an environment: `false`, or settings.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::{RawPlace, RawPresence};

impl<'de> Deserialize<'de> for RawPresence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PresenceVisitor;
        impl<'de> Visitor<'de> for PresenceVisitor {
            type Value = RawPresence;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`false` or settings")
            }
            fn visit_bool<E>(self, is_present: bool) -> Result<RawPresence, E> {
                Ok(RawPresence::Present(is_present))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawPresence, A::Error> {
                RawPlace::deserialize(de::value::MapAccessDeserializer::new(map)).map(RawPresence::Moved)
            }
        }
        deserializer.deserialize_any(PresenceVisitor)
    }
}
