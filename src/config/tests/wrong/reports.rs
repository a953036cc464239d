//! The rules that assign reports to artefacts.

use super::Case;

const BEFORE: &str = "slack: { channel: '#deploys' }";

macro_rules! rules {
    ($rules:literal) => {
        concat!("slack: { channel: '#deploys' }\nreports: [", $rules, "]")
    };
}

pub(super) const CASES: &[Case] = &[
    (BEFORE, rules!("{ name: 'apps-*', artefacts: [checkout] }"), "nothing"),
    (BEFORE, rules!("{ kind: Kustomization, environments: [production], artefacts: [checkout] }"), "nothing"),
    (BEFORE, rules!(""), "nothing"),
    (
        BEFORE,
        rules!("{ artefacts: [checkout] }"),
        "2:11: the rule names no object: add a `kind`, a `namespace` or a `name`; without them the rule would match \
         every report",
    ),
    (
        BEFORE,
        rules!("{ name: apps }"),
        "2:13: `artefacts` is missing in an item of `reports`: add it: the artefacts that a matching report is about",
    ),
    (
        BEFORE,
        rules!("{ name: apps, artefacts: [] }"),
        "2:36: the rule names no artefact: name at least one under `artefacts`",
    ),
    (
        BEFORE,
        rules!("{ name: apps, artefacts: [chekout] }"),
        "2:37: `chekout` is not an artefact: did you mean `checkout`?",
    ),
    (
        BEFORE,
        rules!("{ name: apps, artefacts: [redis] }"),
        "2:37: `redis` is not an artefact: use the name of an artefact from the list `artefacts`",
    ),
    (BEFORE, rules!("{ name: apps, artefacts: [checkout, checkout] }"), "2:47: `checkout` is listed twice: keep one"),
    (
        BEFORE,
        rules!("{ name: apps, environments: [prdo], artefacts: [checkout] }"),
        "2:40: `prdo` is not an environment: did you mean `prod`?",
    ),
    (
        BEFORE,
        rules!("{ name: apps, environments: [prod, production], artefacts: [checkout] }"),
        "2:46: `production` is listed twice: keep one",
    ),
    (
        BEFORE,
        rules!("{ name: 'apps of all', artefacts: [checkout] }"),
        "2:19: `apps of all` cannot match the name of an object: Kubernetes allows letters, digits, `-` and `.`; \
         `*` matches any text, for example `apps-*`",
    ),
    (
        BEFORE,
        rules!("{ name: apps, artefact: [checkout], artefacts: [checkout] }"),
        "2:25: unknown key `artefact`: did you mean `artefacts`?",
    ),
    (
        BEFORE,
        "slack: { channel: '#deploys' }\nreports: { name: apps }",
        "2:10: `reports` cannot be a block of keys: write a list",
    ),
];
