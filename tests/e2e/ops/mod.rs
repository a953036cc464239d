//! Running Gantry: start, stop, upgrade, logs, metrics, permissions and secrets.

mod alerts;
mod command_line;
mod connect;
mod control_api;
mod doctor_command_line;
mod full_disk;
mod logs;
pub(crate) mod metrics;
mod panics;
mod rbac;
mod readiness;
pub(crate) mod receiving;
mod restart;
mod secret_leaks;
mod shutdown;
mod upgrade;
