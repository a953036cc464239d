//! What the registries know of images: do they exist, and which commit made them.

pub mod client;
mod reference;

pub use client::{Client, RegistryError};
