//! Values that have more than one form, and maps with free keys.
//! Hand-written visitors, because serde's untagged enums buffer the value and lose the positions.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::config::tree::Located;

/// One text such as `deployment/checkout`, or a list of them.
#[derive(Debug)]
pub(in crate::config) struct OneOrMany(pub(in crate::config) Located<Vec<Located<String>>>);

impl JsonSchema for OneOrMany {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

/// A map with free keys, in the order of the file and with positions.
#[derive(Debug)]
pub(in crate::config) struct LocatedMap<V>(pub(in crate::config) Vec<(Located<String>, V)>);

impl<V> Default for LocatedMap<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V: JsonSchema> JsonSchema for LocatedMap<V> {
    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", V::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<V>() })
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts(Vec<Option<Located<String>>>, Option<String>);
        impl<'de> Deserialize<'de> for Texts {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextsVisitor)
            }
        }
        struct TextsVisitor;
        impl<'de> Visitor<'de> for TextsVisitor {
            type Value = Texts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of texts")
            }
            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(Vec::new(), Some(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(Some(item));
                }
                Ok(Texts(items, None))
            }
        }
        let Located { value: Texts(many, one), position } = Located::<Texts>::deserialize(deserializer)?;
        let one = one.map(|value| Located { value, position });
        Ok(Self(Located { value: one.into_iter().chain(many.into_iter().flatten()).collect(), position }))
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for LocatedMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LocatedMapVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for LocatedMapVisitor<V> {
            type Value = LocatedMap<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LocatedMap<V>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(LocatedMap(entries))
            }
        }
        deserializer.deserialize_map(LocatedMapVisitor(PhantomData))
    }
}
