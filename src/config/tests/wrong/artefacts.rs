//! The artefacts.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "  - name: checkout",
        "  - name: development",
        "11:11: `development` is already an environment: choose another name: a command could not distinguish the two",
    ),
    (
        "  - name: checkout",
        "  - name: PRODUCTION",
        "11:11: `PRODUCTION` is already an environment: choose another name: a command could not distinguish the two",
    ),
    ("  - name: checkout", "  - name: in", "11:11: `in` is a word of the command language: choose another name"),
    (
        "  - name: checkout",
        "  - name: check out",
        "11:11: `check out` cannot be a name: use letters, digits, `-`, `_` and `.`, with a letter or digit at both \
         ends",
    ),
    (
        "  - name: checkout",
        "  - name: deadbeef",
        "11:11: `deadbeef` looks like the id of a change: choose a name that is not 8 hex digits",
    ),
    (
        "  - name: checkout",
        "  - title: checkout",
        "11:5: unknown key `title`: the keys here are `container`, `delivery`, `environments`, `image`, \
         `name`, `paths`, `repository` and `workload`\n11:5: `name` is missing in an item of `artefacts`: add \
         it: the name that people use in commands, for example \"checkout\"",
    ),
    (
        "    repository: acme/checkout",
        "    repository: https://github.com/acme/checkout",
        "12:17: `https://github.com/acme/checkout` is not a repository: write `owner/name`",
    ),
    (
        "    image: ghcr.io/acme/checkout",
        "    image: ghcr.io/acme/checkout@sha256:abc",
        "13:12: `ghcr.io/acme/checkout@sha256:abc` contains a digest: write `ghcr.io/acme/checkout`; Gantry reads \
         the running version from the cluster",
    ),
    (
        "    image: ghcr.io/acme/checkout",
        "    image: localhost:5000/checkout:1.4",
        "13:12: `localhost:5000/checkout:1.4` contains a tag: write `localhost:5000/checkout`; Gantry reads the \
         running version from the cluster",
    ),
    ("    image: ghcr.io/acme/checkout", "    image: localhost:5000/checkout", "nothing"),
    (
        "    image: ghcr.io/acme/checkout",
        "    image: ghcr.io/Acme/checkout",
        "13:12: `ghcr.io/Acme/checkout` is not the name of an image: write registry and name in lower case, \
         for example `ghcr.io/acme/checkout`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: job/checkout",
        "14:15: `job` is not a kind of workload: use `deployment`, `statefulset` or `daemonset`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deploy/checkout",
        "14:15: `deploy` is not a kind of workload: did you mean `deployment`?",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: []",
        "14:15: the list of workloads is empty: name at least one, for example `deployment/checkout`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: [deployment/checkout, 5, deployment/checkout]",
        "14:37: an item of `workload` cannot be the number 5: write text (in quotes if YAML would read it as \
         another type)",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: { kind: deployment }",
        "14:15: `workload` cannot be a block of keys: write text (in quotes if YAML would read it as another type) \
         or a list, for example \"deployment/checkout\"",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: { prod: no }",
        "15:27: `prod` cannot be the text `no`: write `true` or `false` or a block with `container`, \
         `context`, `namespace` or `workload`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: { prod: false, development: false }",
        "11:11: `checkout` is in no environment: remove a `false` under its `environments`, or remove the artefact",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: { production: false }",
        "15:21: `production` is not an environment: did you mean `prod`?",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: { prdo: false }",
        "15:21: `prdo` is not an environment: did you mean `prod`?",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: { prod: { workload: statefullset/checkout } }",
        "15:39: `statefullset` is not a kind of workload: did you mean `statefulset`?",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    environments: [prod]",
        "15:19: `environments` cannot be a list: write a block of `key: value`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    delivery: manifest",
        "15:15: `delivery` cannot be `manifest`: use `branch` or a block with `manifest`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    delivery: { manifest: { repository: acme/gitops, file: envs/app.yaml } }",
        "15:60: `envs/app.yaml` is the same file for every environment: write `{environment}` in the place of the \
         environment's name, for example `envs/{environment}/app.yaml`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    delivery: { manifest: { repository: acme/gitops, file: 'envs/{environment}' }, mode: pr }",
        "15:84: unknown key `mode`: the keys here are `manifest`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    delivery: { manifst: {} }",
        "15:17: unknown key `manifst`: did you mean `manifest`?",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n    delivery: { manifest: { repository: acme/gitops, file: '../{environment}' } }",
        "15:60: `../{environment}` is not a path in a repository: write the path from the root of the repository \
         without a leading `/`, for example `lib/**`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n  - name: Checkout\n    repository: acme/x\n    image: x\n    workload: deployment/x",
        "15:11: `Checkout` is the name of two artefacts: line 11 has the same name; names must be unique, without \
         regard to case",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n  - name: till\n    repository: acme/x\n    image: ghcr.io/acme/checkout\n    workload: deployment/checkout",
        "18:15: `till` and `checkout` are the same deployment/checkout in `development`: keep one of them, or give \
         them different values of `image` or `container`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n---\nslack: {}",
        "16:1: a second document begins here: keep one document, and remove the line `---` between them",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: [deployment/checkout",
        "14:15: this cannot be read as YAML (unclosed bracket '['): check the indentation, the brackets and the \
         quotes (text with `#` or `: ` needs them) on this line and on the line before",
    ),
];
