//! What the registries know of images: do they exist, which commit made them, and which tags are there.

pub mod client;
#[cfg(test)]
mod fake;
mod reference;
mod tags;
#[cfg(test)]
mod tests;

pub use client::{Client, RegistryError};
