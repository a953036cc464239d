//! The JSON Schema of the configuration, made from the types that the file is read into.

use schemars::generate::SchemaSettings;

use super::file::RawConfig;

/// For editors, and for ourselves: `shape` checks every file against it before anything else.
pub fn build_schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RawConfig>();
    schema.insert("title".to_owned(), "Gantry's configuration".into());
    schema.to_value()
}
