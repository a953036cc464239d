//! The JSON Schema of the configuration, generated from the raw types in `file`.

use schemars::generate::SchemaSettings;

use super::file::RawConfig;

/// Editors use the schema, and `shape` checks every file against it first.
pub fn build_schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RawConfig>();
    schema.insert("title".to_owned(), "Gantry's configuration".into());
    schema.to_value()
}
