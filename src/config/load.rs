//! Loads the configuration file into a [`Config`], or returns all its problems.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::problem::{ConfigProblem, Findings, Position, ProblemDescription, describe_problem};
use super::schema::build_schema;
use super::{Config, file, shape, tree, validate};

impl Config {
    pub fn load(path: &Path) -> Result<Self, Vec<ConfigProblem>> {
        let file = path.display().to_string();
        let whole_file_problem = |problem: ProblemDescription| {
            let mut findings = Findings::new(&file);
            findings.add(Position::WHOLE_FILE, problem);
            findings.into_problems()
        };
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            // One byte over the limit is enough to detect a file that is too large; `/dev/zero` never ends.
            .and_then(|file| file.take(tree::MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| {
                whole_file_problem(match error.kind() {
                    std::io::ErrorKind::NotFound => describe_problem(
                        "the file does not exist",
                        "copy the commented example `config/gantry.yaml` from Gantry's repository to this path and \
                         adapt it, or name another file with `--config`",
                    ),
                    std::io::ErrorKind::IsADirectory => {
                        describe_problem("this is a directory", "name a file with `--config`")
                    }
                    _ => describe_problem(
                        format!("the file cannot be read ({error})"),
                        "make it readable for the user that runs Gantry",
                    ),
                })
            })?;
        Self::parse_bytes(&file, &bytes)
    }

    /// Like [`Config::load`], with `KUBECONFIG` as the default of `kubeconfig`. `read_variable` is
    /// [`crate::config::read_process_variable`], except in tests.
    pub fn load_with_variables(
        path: &Path,
        read_variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<ConfigProblem>> {
        let mut config = Self::load(path)?;
        let from_variable = || read_variable("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        config.kubeconfig = config.kubeconfig.or_else(from_variable);
        Ok(config)
    }

    pub(super) fn parse_bytes(file: &str, bytes: &[u8]) -> Result<Self, Vec<ConfigProblem>> {
        std::str::from_utf8(bytes).map_or_else(
            |error| {
                let valid_prefix = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let mut findings = Findings::new(file);
                let advice = "save the file in UTF-8, the only encoding that is read";
                findings.add(Position::from_text_end(&valid_prefix), describe_problem("this is not UTF-8", advice));
                Err(findings.into_problems())
            },
            |text| Self::parse(file, text),
        )
    }

    /// `file` is the name of the file in the problems.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<ConfigProblem>> {
        let mut findings = Findings::new(file);
        let config = parse_text(text, &mut findings);
        match config {
            Some(config) if findings.is_empty() => Ok(config),
            _ => Err(findings.into_problems()),
        }
    }
}

fn parse_text(text: &str, findings: &mut Findings) -> Option<Config> {
    let mut add_finding = |(position, problem)| findings.add(position, problem);
    let tree: tree::ConfigNode = tree::parse_yaml(text).map_err(&mut add_finding).ok()?;
    if matches!(tree.value, tree::ConfigValue::Null) {
        let advice = "start from the commented example `config/gantry.yaml` in Gantry's repository";
        add_finding((Position::WHOLE_FILE, describe_problem("the file is empty", advice)));
        return None;
    }
    if shape::check_shape(&build_schema(), &tree, findings) == shape::ShapeVerdict::Unreadable {
        return None;
    }
    let file: file::RawConfig =
        tree::parse_yaml(text).map_err(|(position, problem)| findings.add(position, problem)).ok()?;
    Some(validate::validate_config(&file, findings))
}
