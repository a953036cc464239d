//! The figures.

fn main() {}
