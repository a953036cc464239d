//! The figures that Gantry must keep, measured in one run and printed as a table beside their targets.
//! `cargo bench` prints them. With `-- --check` it fails on a missed figure. With `-- --load` it runs the load test.

mod bare;
mod burst;
mod command;
mod flux;
mod load;
mod page;
mod process;
mod promote;
mod reports;
mod rest;
mod table;
mod where_is;
mod world;

use std::process::ExitCode;

use table::Table;

/// The error is a sentence for the person who runs the benchmark.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has_argument = |name: &str| arguments.iter().any(|argument| argument == name);
    if has_argument(bare::ARGUMENT) {
        return to_exit_code(bare::serve());
    }
    let measured = match (has_argument("--load"), has_argument("--bench")) {
        (true, _) => load(),
        (false, true) => measure(),
        (false, false) => {
            println!("The figures are measured by `cargo bench`.");
            return ExitCode::SUCCESS;
        }
    };
    match measured {
        Ok(table) => {
            println!("{table}");
            if table.all_met() || !(has_argument("--check") || has_argument("--load")) {
                return ExitCode::SUCCESS;
            }
            eprintln!("A figure was missed. Repeat the run on a quiet machine.");
            ExitCode::FAILURE
        }
        Err(error) => to_exit_code(Err(error)),
    }
}

fn to_exit_code(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Outcome<Table> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut table = Table::default();
    // First, while this process is small, because the size of the view is also measured by the process's growth.
    page::measure(&mut table)?;
    let world = world::World::open()?;
    rest::measure(&world, &mut table)?;
    command::measure(&world, &mut table)?;
    where_is::measure(&world, &mut table)?;
    reports::measure(&world, &mut table)?;
    promote::measure(&world, &mut table)?;
    Ok(table)
}

fn load() -> Outcome<Table> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut table = Table::default();
    reports::load(&world::World::open()?, &mut table)?;
    Ok(table)
}
