//! Configurations with one mistake each, and the exact messages.

use super::problems_after_replacing;

mod artefacts;
mod environments;
mod reports;
mod services;

/// A line of the small file, its replacement, and the expected messages without the file's name.
type Case = (&'static str, &'static str, &'static str);

fn assert_messages(cases: &[Case]) {
    for (line, replacement, expected) in cases {
        assert_eq!(problems_after_replacing(line, replacement).replace("gantry.yaml:", ""), *expected, "{replacement}");
    }
}

#[test]
fn problems_of_services_and_people_have_a_position() {
    assert_messages(services::CASES);
}

#[test]
fn problems_of_an_environment_have_a_position() {
    assert_messages(environments::CASES);
}

#[test]
fn problems_of_an_artefact_have_a_position() {
    assert_messages(artefacts::CASES);
}

#[test]
fn problems_of_an_attribution_rule_have_a_position() {
    assert_messages(reports::CASES);
}
