//! The trailers in a commit message by which Gantry recognises its own commits, even with an empty ledger. Only this
//! file writes and parses them. Anyone can write such a message, so parsing is strict.

use std::fmt;

use crate::domain::model::ids::ChangeId;
use crate::domain::model::version::Sha;

const CHANGE: &str = "Gantry-Change";
const ROLLBACK: &str = "Gantry-Rollback";
const RESTORES: &str = "Gantry-Restores";
const REINSTATES: &str = "Gantry-Reinstates";

/// The trailers of a commit by Gantry. The comparison checks them against the commit's parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trailers {
    /// A promotion, or the commit to a manifest for one.
    Change(ChangeId),
    /// `restores` is the commit with the same tree. A rollback in a manifest restores one file and names no commit.
    Rollback { change: ChangeId, restores: Option<Sha> },
    /// The commit that undoes a rollback for the promotion `change`, and the merge of that commit.
    Reinstates { change: ChangeId, rollback: ChangeId },
}

impl Trailers {
    /// `None` if Gantry did not write the message. The trailers must be in the last of several paragraphs, with only
    /// trailers around them, each once, in Gantry's spelling and in one of Gantry's combinations.
    pub fn parse_message(message: &str) -> Option<Self> {
        let lines: Vec<&str> = message.trim_end().lines().map(str::trim_end).collect();
        let blank = lines.iter().rposition(|line| line.is_empty())?;
        let (mut change, mut rollback, mut restores, mut reinstates) = (None, None, None, None);
        for line in &lines[blank + 1..] {
            let (key, value) = line.split_once(": ")?;
            if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                return None;
            }
            let slot = match key {
                CHANGE => &mut change,
                ROLLBACK => &mut rollback,
                RESTORES => &mut restores,
                REINSTATES => &mut reinstates,
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return None;
            }
        }
        let change = parse_id(change?)?;
        match (rollback, restores, reinstates) {
            (None, None, None) => Some(Self::Change(change)),
            (Some(rollback), restores, None) if parse_id(rollback)? == change => {
                let restores = match restores {
                    Some(text) => Some(text.parse().ok().filter(|sha: &Sha| sha.as_str() == text)?),
                    None => None,
                };
                Some(Self::Rollback { change, restores })
            }
            (None, None, Some(rollback)) => Some(Self::Reinstates { change, rollback: parse_id(rollback)? }),
            _ => None,
        }
    }

    pub fn change_id(&self) -> ChangeId {
        match self {
            Self::Change(change) | Self::Rollback { change, .. } | Self::Reinstates { change, .. } => *change,
        }
    }
}

/// A UUID has several spellings. Gantry writes only one.
fn parse_id(text: &str) -> Option<ChangeId> {
    ChangeId::parse(text).filter(|id| id.to_string() == text)
}

impl fmt::Display for Trailers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CHANGE}: {}", self.change_id())?;
        match self {
            Self::Change(_) => Ok(()),
            Self::Rollback { change, restores } => {
                write!(f, "\n{ROLLBACK}: {change}")?;
                restores.as_ref().map_or(Ok(()), |sha| write!(f, "\n{RESTORES}: {sha}"))
            }
            Self::Reinstates { rollback, .. } => write!(f, "\n{REINSTATES}: {rollback}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "01939f3e-5c00-7000-8000-00000badcafe";
    const OTHER: &str = "01939f3e-5c00-7000-8000-00000000beef";
    const SHA: &str = "9be01d7c1f0f4d6cbb7a3a5a0f8a1a2b3c4d5e6f";

    fn all_trailers() -> [Trailers; 4] {
        let (change, rollback) = (parse_id(ID).unwrap(), parse_id(OTHER).unwrap());
        [
            Trailers::Change(change),
            Trailers::Rollback { change, restores: Some(SHA.parse().unwrap()) },
            Trailers::Rollback { change, restores: None },
            Trailers::Reinstates { change, rollback },
        ]
    }

    #[test]
    fn written_trailers_are_parsed_again() {
        for trailers in all_trailers() {
            for message in [
                format!("Subject\n\nWhy.\n\n{trailers}\n"),
                format!("Subject\r\n\r\n{}\r\n\r\n", trailers.to_string().replace('\n', "\r\n")),
                format!("Subject\n\nSigned-off-by: A <a@acme.example>\n{trailers}\nCo-authored-by: B <b@acme.example>"),
            ] {
                assert_eq!(Trailers::parse_message(&message), Some(trailers.clone()), "{message}");
            }
        }
    }

    #[test]
    fn similar_messages_have_no_trailers_of_gantry() {
        let with_subject = |lines: &str| format!("Subject\n\n{lines}\n");
        let rollback = format!("Gantry-Change: {ID}\nGantry-Rollback: {ID}\nGantry-Restores: {SHA}");
        let cases = [
            String::new(),
            "\n\n".to_owned(),
            format!("Gantry-Change: {ID}"),
            format!("Gantry-Change: {ID}\nGantry-Rollback: {ID}"),
            with_subject(&format!("{rollback}\n\nand a word behind")),
            with_subject(&format!("{rollback}\nand a word behind")),
            with_subject(&format!("A word before:\n{rollback}")),
            with_subject(&format!("{rollback}\nGantry-Change: {ID}")),
            with_subject(&format!("{rollback}\nGantry-Reinstates: {OTHER}")),
            with_subject(&format!("Gantry-Rollback: {ID}\nGantry-Restores: {SHA}")),
            with_subject(&format!("Gantry-Change: {ID}\nGantry-Restores: {SHA}")),
            with_subject(&format!("Gantry-Change: {ID}\nGantry-Reinstates: {OTHER}\nGantry-Restores: {SHA}")),
            with_subject(&rollback.replace(&format!("Rollback: {ID}"), &format!("Rollback: {OTHER}"))),
            with_subject(&rollback.replace(SHA, &SHA.to_uppercase())),
            with_subject(&rollback.replace(SHA, "9be01d7")),
            with_subject(&rollback.replace(ID, &ID.replace('-', ""))),
            with_subject(&rollback.replace(ID, &format!("{{{ID}}}"))),
            with_subject(&rollback.replace("Gantry-Change", "gantry-change")),
            with_subject(&rollback.replace("Gantry-Change: ", "Gantry-Change:")),
            with_subject(&rollback.replace("Gantry-Change: ", " Gantry-Change: ")),
        ];
        for message in cases {
            assert_eq!(Trailers::parse_message(&message), None, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_message_is_parsed_without_a_panic(message in "(?s).*", tail in "(Gantry-[A-Z][a-z]+: [0-9a-f-]{0,40}\r?\n| \n|\n){0,6}") {
            for text in [message.clone(), format!("{message}\n\n{tail}")] {
                if let Some(trailers) = Trailers::parse_message(&text) {
                    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
                    prop_assert!(trailers.to_string().lines().all(|line| lines.contains(&line)));
                }
            }
        }
    }
}
