//! A scrape as Prometheus reads it. A text that breaks a rule of `OpenMetrics` or of the metrics' names fails the test.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(crate) struct Scrape {
    /// The type of each family, by the name in its TYPE line.
    pub(crate) families: BTreeMap<String, String>,
    pub(crate) samples: Vec<(String, Labels, f64)>,
}

impl Scrape {
    pub(crate) async fn of(origin: &str) -> Self {
        let answer = reqwest::get(format!("{origin}/metrics")).await.unwrap();
        assert_eq!(answer.status(), 200);
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
        Self::parse(&answer.text().await.unwrap())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("an EOF line");
        let mut scrape = Self::default();
        let (mut helped, mut series) = (BTreeSet::new(), BTreeSet::new());
        for line in body.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, description) = help.split_once(' ').expect("a name and a help");
                assert!(!description.trim().is_empty() && helped.insert(name.to_owned()), "{line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a type");
                assert!(helped.contains(name), "no help before {line}");
                assert!(scrape.families.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
            } else {
                assert!(!line.starts_with('#'), "{line}");
                assert!(series.insert(line.rsplit_once(' ').unwrap().0.to_owned()), "twice: {line}");
                scrape.samples.push(parse_sample(line));
            }
        }
        assert_eq!(helped.len(), scrape.families.len(), "each family has help and type");
        scrape.check();
        scrape
    }

    /// The family that a sample's name belongs to.
    pub(crate) fn family(&self, sample: &str) -> Option<(&str, &str)> {
        let endings = ["", "_total", "_info", "_bucket", "_sum", "_count"];
        let mut found = endings.iter().filter_map(|ending| {
            let (name, kind) = self.families.get_key_value(sample.strip_suffix(ending)?)?;
            let fits = match kind.as_str() {
                "counter" => *ending == "_total",
                "gauge" => ending.is_empty(),
                "info" => *ending == "_info",
                "histogram" => matches!(*ending, "_bucket" | "_sum" | "_count"),
                other => panic!("{other} is an unexpected type"),
            };
            fits.then_some((name.as_str(), kind.as_str()))
        });
        found.next()
    }

    fn check(&self) {
        for (name, labels, value) in &self.samples {
            let (family, kind) = self.family(name).unwrap_or_else(|| panic!("{name} has no type that fits it"));
            assert!(family.starts_with("gantry_") || family.starts_with("process_"), "{family}");
            assert!(family.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{family}");
            // Names have base units, and no suffix that the format adds itself.
            for wrong in ["_ms", "_millis", "_minutes", "_hours", "_us", "_kb", "_percent", "_total", "_count", "_info"]
            {
                assert!(!family.ends_with(wrong), "{family}");
            }
            if kind == "histogram"
                || ["age", "oldest", "duration", "time"].iter().any(|it| family.contains(&format!("_{it}")))
            {
                assert!(family.ends_with("_seconds"), "{family} has no unit");
            }
            assert!(value.is_finite() && *value >= 0.0, "{name} {labels:?} {value}");
            for label in labels.keys() {
                let plain = label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && !label.starts_with("__");
                assert!(plain, "{name} {label}");
                assert!(label != "le" || kind == "histogram", "{name}");
            }
        }
        for (family, _) in self.families.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
            for (name, labels, value) in &self.samples {
                if *name == format!("{family}_bucket") {
                    let mut labels = labels.clone();
                    let le = labels.remove("le").expect("an upper bound");
                    let le = if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap() };
                    buckets.entry(labels).or_default().push((le, *value));
                }
            }
            for (labels, buckets) in buckets {
                assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{family} {labels:?} {buckets:?}");
                let (last, all) = *buckets.last().unwrap();
                let count =
                    self.samples.iter().find(|(name, of, _)| *name == format!("{family}_count") && *of == labels);
                assert!(last.is_infinite() && count.is_some_and(|(_, _, count)| count.to_bits() == all.to_bits()));
            }
        }
    }

    /// The sum of all series with this name that have these labels; `None` if there is no such series.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |of: &Labels| labels.iter().all(|(label, value)| of.get(*label).is_some_and(|has| has == value));
        let all: Vec<f64> =
            self.samples.iter().filter(|(of, has, _)| of == name && fits(has)).map(|(_, _, value)| *value).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    /// The same as an integer, which is 0 if there is no such series.
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let sum = self.sum(name, labels).unwrap_or_default();
        format!("{sum}").parse().unwrap_or_else(|_| panic!("{name} {labels:?} is no count: {sum}"))
    }
}

fn parse_sample(line: &str) -> (String, Labels, f64) {
    let name: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let mut rest = &line[name.len()..];
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            let mut value = String::new();
            let mut letters = behind.char_indices();
            let end = loop {
                match letters.next().unwrap_or_else(|| panic!("{line}")) {
                    (at, '"') => break at,
                    (_, '\\') => match letters.next().unwrap_or_else(|| panic!("{line}")).1 {
                        'n' => value.push('\n'),
                        other => value.push(other),
                    },
                    (_, other) => value.push(other),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = behind[end + 1..].trim_start_matches(',');
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    (name, labels, value.parse().unwrap_or_else(|_| panic!("{line}")))
}
