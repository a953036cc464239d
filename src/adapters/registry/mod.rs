//! Image registries: whether an image exists, the commit from which it was built, and the tags of a repository.

pub mod client;
#[cfg(test)]
mod fake;
mod reference;
mod tags;
#[cfg(test)]
mod tests;

pub use client::{Client, RegistryError};
