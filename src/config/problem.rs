//! Problems of a configuration, with their position and advice.

use std::fmt;

/// Displays as `config/gantry.yaml:12:5: unknown key `brnach`: did you mean `branch`?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub file: String,
    /// From 1; 0 means the whole file.
    pub line: u64,
    /// In characters, from 1; 0 means the whole file.
    pub column: u64,
    pub message: String,
    pub advice: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}: {}", self.message, self.advice)
    }
}

impl std::error::Error for ConfigProblem {}

/// A position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Position {
    pub(super) const WHOLE_FILE: Self = Self { line: 0, column: 0 };

    /// The position of the character after `text`.
    pub(super) fn from_text_end(text: &str) -> Self {
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self { line: text.matches('\n').count() as u64 + 1, column: last_line.chars().count() as u64 + 1 }
    }
}

/// A problem with a value, without its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProblemDescription {
    pub(super) message: String,
    pub(super) advice: String,
}

pub(super) fn describe_problem(message: impl Into<String>, advice: impl Into<String>) -> ProblemDescription {
    ProblemDescription { message: message.into(), advice: advice.into() }
}

/// Error sentences of the domain contain the message and the advice, separated by `: `.
impl From<String> for ProblemDescription {
    fn from(sentence: String) -> Self {
        match sentence.split_once(": ") {
            Some((message, advice)) => describe_problem(message, advice),
            None => describe_problem(sentence, "see the commented example in `config/gantry.yaml`"),
        }
    }
}

/// Collects all problems of a file, so that a person can fix them in one pass.
pub(super) struct Findings {
    file: String,
    problems: Vec<ConfigProblem>,
    omitted: usize,
}

impl Findings {
    /// A longer list would not help, and a hostile file must not use memory for each of its errors.
    const MAX_PROBLEMS: usize = 100;

    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), problems: Vec::new(), omitted: 0 }
    }

    pub(super) fn add(&mut self, position: Position, ProblemDescription { message, advice }: ProblemDescription) {
        if self.problems.len() == Self::MAX_PROBLEMS {
            self.omitted += 1;
            return;
        }
        let Position { line, column } = position;
        let (message, advice) = (escape_and_truncate(&message), escape_and_truncate(&advice));
        self.problems.push(ConfigProblem { file: self.file.clone(), line, column, message, advice });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the problems in the order of the file.
    pub(super) fn into_problems(mut self) -> Vec<ConfigProblem> {
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        self.problems.dedup();
        if self.omitted > 0 {
            self.problems.push(ConfigProblem {
                file: self.file,
                line: 0,
                column: 0,
                message: format!("{} more problems are not shown", self.omitted),
                advice: "fix these first".to_owned(),
            });
        }
        self.problems
    }
}

/// Messages quote the file and appear in a terminal or a log: control characters are escaped, long text is cut.
fn escape_and_truncate(text: &str) -> String {
    const MAX_LENGTH: usize = 400;
    let is_invisible = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut line = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == MAX_LENGTH {
            line.push_str("...");
            break;
        }
        if is_invisible(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}
