//! Label and field selectors by equality, as `kubectl -l` and `--field-selector` write them.
//! Set-based selectors are refused, because Gantry does not use them.

use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Term>,
    fields: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    key: String,
    equal: bool,
    value: String,
}

impl Selector {
    pub(super) fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, String> {
        let fields = terms(fields.unwrap_or_default())?;
        let supported = ["metadata.name", "metadata.namespace", "status.phase", "spec.nodeName"];
        if let Some(unsupported) = fields.iter().find(|term| !supported.contains(&term.key.as_str())) {
            return Err(format!("field label not supported: {}", unsupported.key));
        }
        Ok(Self { labels: terms(labels.unwrap_or_default())?, fields })
    }

    pub(super) fn selects(&self, object: &Value) -> bool {
        let holds = |term: &Term, found: Option<&Value>| {
            (found.and_then(Value::as_str) == Some(term.value.as_str())) == term.equal
        };
        self.labels.iter().all(|term| holds(term, object["metadata"]["labels"].get(&term.key)))
            && self
                .fields
                .iter()
                .all(|term| holds(term, term.key.split('.').try_fold(object, |value, part| value.get(part))))
    }
}

fn terms(text: &str) -> Result<Vec<Term>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(term).collect()
}

fn term(text: &str) -> Result<Term, String> {
    let (key, equal, value) = if let Some((key, value)) = text.split_once("!=") {
        (key, false, value)
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (key, true, value)
    } else {
        return Err(format!("unable to parse requirement: `{text}` is not `key=value` or `key!=value`"));
    };
    Ok(Term { key: key.trim().to_owned(), equal, value: value.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_and_fields_select_by_equality() {
        let pod = json!({ "metadata": { "name": "a", "labels": { "app": "checkout", "x.io/y": "1" } } });
        let cases = [
            (None, None, true),
            (Some("app=checkout"), None, true),
            (Some("app==checkout, x.io/y=1"), None, true),
            (Some("app=search"), None, false),
            (Some("app!=search"), None, true),
            (Some("other!=x"), None, true),
            (Some("other=x"), None, false),
            (None, Some("metadata.name=a"), true),
            (Some("app=checkout"), Some("metadata.name!=a"), false),
            (None, Some("status.phase=Running"), false),
        ];
        for (labels, fields, expected) in cases {
            let selector = Selector::parse(labels, fields).unwrap();
            assert_eq!(selector.selects(&pod), expected, "{labels:?} {fields:?}");
        }
    }

    #[test]
    fn unsupported_selectors_are_refused() {
        assert!(Selector::parse(Some("app in (a, b)"), None).is_err());
        assert_eq!(
            Selector::parse(None, Some("spec.replicas=1")).unwrap_err(),
            "field label not supported: spec.replicas"
        );
    }
}
