//! Edits of the demo's configuration.

/// Adds a line to an environment of the demo's configuration.
pub(crate) fn with_environment_line(environment: &'static str, line: &'static str) -> impl FnOnce(String) -> String {
    move |yaml| {
        let name = format!("  - name: {environment}\n");
        yaml.replace(&name, &format!("{name}    {line}\n"))
    }
}
