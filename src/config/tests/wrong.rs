//! Configurations with one mistake each, and the exact messages.

use super::with;

mod artefacts;
mod environments;
mod reports;
mod services;

/// A line of the small file, its replacement, and the expected messages without the file's name.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    for (line, instead, said) in cases {
        assert_eq!(with(line, instead).replace("gantry.yaml:", ""), *said, "{instead}");
    }
}

#[test]
fn what_is_wrong_with_the_services_and_people_is_told_with_its_place() {
    check(services::CASES);
}

#[test]
fn what_is_wrong_with_an_environment_is_told_with_its_place() {
    check(environments::CASES);
}

#[test]
fn what_is_wrong_with_an_artefact_is_told_with_its_place() {
    check(artefacts::CASES);
}

#[test]
fn what_is_wrong_with_a_rule_for_reports_is_told_with_its_place() {
    check(reports::CASES);
}
