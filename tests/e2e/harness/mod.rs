//! The world of the tests: the simulated services, the bot, processes and repositories.

pub(crate) mod process;
pub(crate) mod repositories;
pub(crate) mod series;
pub(crate) mod world;
