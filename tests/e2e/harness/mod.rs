//! The world of the tests: the simulated services, the bot, processes and repositories.

pub(crate) mod configuration;
pub(crate) mod manifest;
pub(crate) mod parts;
pub(crate) mod process;
pub(crate) mod production;
pub(crate) mod repositories;
pub(crate) mod rollback;
pub(crate) mod series;
pub(crate) mod signing;
pub(crate) mod status;
pub(crate) mod world;
