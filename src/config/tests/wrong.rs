//! Wrong configurations, one mistake each, and exactly what is said of it.

use super::with;

/// A line of the small file, what stands there instead, and what is said of it, without the file's name.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    for (line, instead, said) in cases {
        assert_eq!(with(line, instead).replace("gantry.yaml:", ""), *said, "{instead}");
    }
}

#[test]
fn what_is_wrong_with_the_services_and_people_is_told_with_its_place() {
    check(SERVICES_AND_PEOPLE);
}

#[test]
fn what_is_wrong_with_an_environment_is_told_with_its_place() {
    check(ENVIRONMENTS);
}

#[test]
fn what_is_wrong_with_an_artefact_is_told_with_its_place() {
    check(ARTEFACTS);
}

const SERVICES_AND_PEOPLE: &[Case] = &[
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: #deploys }",
        "2:13: this cannot be read as YAML (while parsing a flow mapping, did not find expected ',' or '}'): \
         check the indentation, the brackets and the quotes (text with `#` or `: ` needs them) here and on \
         the line before",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack:\n  channel: #deploys",
        "2:3: `channel` is empty: give it a value or remove the key; text that begins with `#` must stand in \
         quotes, else it is a comment",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack:",
        "1:1: `slack` is empty: fill it or remove the key: how Slack is reached, and where messages go",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: 'deploys' }",
        r##"1:19: `deploys` is not a channel: write it with its sign: "#deploys""##,
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#Big Deploys' }",
        "1:19: `#Big Deploys` is not a channel: write its name, for example \"#deploys\", or its id, for \
         example C024BE7LH",
    ),
    ("slack: { channel: '#deploys' }", "slack: { channel: C024BE7LH }", "nothing"),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys', list_to: everyone }",
        "1:40: `list_to` cannot be `everyone`: use `person` or `channel`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys', api_url: 'http://127.0.0.1:8484/sim/slack/api/' }",
        "nothing",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys', api_url: 'file:///etc/passwd' }",
        "1:40: `file:///etc/passwd` is not an http or https URL: write it out, for example \
         `https://slack.com/api`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys', hooks_origin: 'http://127.0.0.1:8484/' }",
        "nothing",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys', hooks_origin: 'https://hooks.slack.com/a?b' }",
        "1:45: `https://hooks.slack.com/a?b` has more than a path behind its host: end it with the path, for \
         example `https://hooks.slack.com`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "github: { api_url: https://api.github.com }",
        "3:11: `development` has no channel: set `channel` here, or `channel` under `slack` for all \
         environments\n6:11: `prod` has no channel: set `channel` here, or `channel` under `slack` for all \
         environments",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: [ '#deploys' ]",
        "1:8: `slack` cannot be a list: write a block with `api_url`, `channel`, `hooks_origin` or `list_to`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nkubeconfig: ~\nregistry: { mirrors: {} }",
        "nothing",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nregistry: { docker_config: ~/.docker/config.json }",
        "2:28: `~/.docker/config.json` begins with `~`: write the directory out: `~` means something to a shell only",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nkubeconfig: 5",
        "2:13: `kubeconfig` cannot be the number 5: write text (in quotes if it looks like something else) or `~`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nslack: { channel: '#other' }",
        "2:1: `slack` is given twice: keep one; the first stands on line 1",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\npeople: { U024BE7LH: octocat, U024BE7LJ: Octocat }",
        "2:42: `Octocat` is two people's login: line 2 has it already; a login belongs to one person",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\npeople: { U024BE7LH: [octocat] }",
        "2:22: `U024BE7LH` cannot be a list: write text (in quotes if it looks like something else)",
    ),
];

const ENVIRONMENTS: &[Case] = &[
    (
        "    branch: develop",
        "    branch: prod",
        "8:13: `prod` is the branch of two environments: line 4 has it already; each environment needs a \
         branch of its own",
    ),
    (
        "    branch: develop",
        "    branch: prod/next",
        "4:13: Git cannot have a branch `prod/next` beside a branch `prod`: rename one of them, for example \
         this one to `prod-next`",
    ),
    (
        "    branch: develop",
        "    branch: gantry/x",
        "4:13: `gantry/x` cannot be the branch of an environment: the branches under `gantry/` are made and \
         deleted by Gantry: use another",
    ),
    (
        "    branch: develop",
        "    branch: 'a b'",
        "4:13: `a b` cannot be a branch: write its name as Git shows it, for example `develop`",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    approvals: { required: 1 }",
        "5:28: `approvals` has no effect on `development`, the lowest environment: remove it: pushes are \
         deployed there without asking, nothing is promoted into it",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    approval_timeout: 8h",
        "5:23: `approval_timeout` has no effect on `development`, the lowest environment: remove it: pushes are \
         deployed there without asking, nothing is promoted into it",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    overriders: ['@sre']",
        "5:18: `overriders` has no effect on `development`, the lowest environment: remove it: pushes are \
         deployed there without asking, nothing is promoted into it",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    webhook_secret: { env: A_SECRET, file: /a }",
        "5:5: `webhook_secret` must have one key and has 2: write either `env` or `file`",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    webhook_secret: { env: 'whsec-12 3' }",
        "5:28: this is not the name of an environment variable: write the variable's name here, never the \
         secret itself; for example `FLUX_PROD_SECRET`",
    ),
    ("    branch: develop", "    brnach: develop", "4:5: unknown key `brnach`: did you mean `branch`?"),
    ("    branch: develop", "\tbranch: develop", "4:1: YAML takes no tab for indentation: indent with spaces"),
    (
        "    branch: develop",
        "    branch: 'develop",
        "5:5: this cannot be read as YAML (invalid indentation in multiline quoted scalar): check the \
         indentation, the brackets and the quotes (text with `#` or `: ` needs them) here and on the line \
         before",
    ),
    (
        "    branch: develop",
        "     branch: develop",
        "4:12: this cannot be read as YAML (mapping values are not allowed in this context): check the \
         indentation, the brackets and the quotes (text with `#` or `: ` needs them) here and on the line \
         before",
    ),
    (
        "    branch: develop",
        "    branch: &a [*a]",
        "4:17: this cannot be read as YAML (Recursive reference not allowed here): check the indentation, \
         the brackets and the quotes (text with `#` or `: ` needs them) here and on the line before",
    ),
    (
        "    branch: develop",
        "    branch: *main",
        "4:13: reference to unknown value: define it above with `&name`, or put text that begins with `*` in \
         quotes",
    ),
    (
        "    branch: develop",
        "    branch: !main develop",
        "4:19: unsupported tag `!main`: remove it, or put text that begins with `!` in quotes",
    ),
    (
        "    branch: develop",
        "    branch: 1.10",
        "4:13: `branch` cannot be the number 1.1: write text (in quotes if it looks like something else), \
         for example \"staging\"",
    ),
    (
        "    branch: develop",
        "    branch: true",
        "4:13: `branch` cannot be `true`: write text (in quotes if it looks like something else), for \
         example \"staging\"",
    ),
    (
        "    branch: develop",
        r#"    branch: "de\x07velop\n""#,
        "4:13: `de\\u{7}velop\\n` cannot be a branch: write its name as Git shows it, for example `develop`",
    ),
    (
        "  - name: development",
        "  - name: dev elopment",
        "3:11: `dev elopment` cannot be a name: people type it, so use letters, digits, `-`, `_` and `.`, \
         with a letter or digit at both ends",
    ),
    (
        "  - name: development",
        "  - name: Production",
        "7:15: `production` names an environment twice: line 3 has it already; names and aliases are one \
         namespace, in any case",
    ),
    (
        "  - name: development",
        "  - name: help",
        "3:11: `help` is a word of the commands: choose a name that is none of them",
    ),
    (
        "  - name: development",
        "  - name:",
        "3:5: `name` is empty: give it a value or remove the key; text that begins with `#` must stand in \
         quotes, else it is a comment",
    ),
    (
        "    aliases: [production]",
        "    aliases: production",
        "7:14: `aliases` cannot be the text `production`: write a list",
    ),
    (
        "    aliases: [production]",
        "    aliases: [production, prod]",
        "7:27: `prod` names an environment twice: line 6 has it already; names and aliases are one \
         namespace, in any case",
    ),
    (
        "    aliases: [production]",
        "    aliases: [production, Development]",
        "7:27: `Development` names an environment twice: line 3 has it already; names and aliases are one \
         namespace, in any case",
    ),
    (
        "    aliases: [production]",
        "    promoters: [@developers]",
        r#"7:17: text cannot begin with `@` in YAML: put it in quotes, as in "@developers""#,
    ),
    (
        "    aliases: [production]",
        "    promote: pull-request",
        "7:14: `promote` cannot be `pull-request`: did you mean `pull_request`?",
    ),
    (
        "    aliases: [production]",
        "    promote: rebase",
        "7:14: `promote` cannot be `rebase`: use `merge` or `pull_request`",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 1, from: ['@a b'] }",
        "7:38: `@a b` names nobody: write a handle of Slack, for example \"@release-managers\", an id, for \
         example U024BE7LH, or a team of GitHub, for example `github:acme/release-managers`",
    ),
    ("    aliases: [production]", "    approvals: { required: 2, from: [github:acme/sre] }", "nothing"),
    (
        "    aliases: [production]",
        "    promoters: [github:acme]",
        "7:17: `github:acme` names no team: write organisation and team, as in `github:acme/release-managers`",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 2, from: [U024BE7LH] }",
        "7:28: 2 approvals cannot come from the 1 named: ask for fewer, or name more people, a user group or a team",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: '1' }",
        "7:28: `required` cannot be the text `1`: write a whole number",
    ),
    (
        "    aliases: [production]",
        "    approvals: { from: ['@a'] }",
        "7:18: `required` is missing in `approvals`: add it: how many people, apart from the one who asked",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 99999999999999999999 }",
        "7:28: `required` cannot be the number 100000000000000000000: write a whole number",
    ),
    (
        "    aliases: [production]",
        "    approval_timeout: 8h",
        "7:23: `approval_timeout` has no effect without `approvals` or `promote: pull_request`: remove it, or ask for \
         approvals, as in `approvals: { required: 1 }`",
    ),
    ("    aliases: [production]", "    promote: pull_request\n    approval_timeout: 8h", "nothing"),
    ("    aliases: [production]", "    approvals: { required: 1 }\n    approval_timeout: 720h", "nothing"),
    (
        "    aliases: [production]",
        "    approvals: { required: 1 }\n    approval_timeout: 721h",
        "8:23: `721h` is too long: 720 hours are the most",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 1 }\n    approval_timeout: tomorrow",
        "8:23: `tomorrow` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    aliases: [production]",
        "    overriders: ['@everyone']",
        "7:18: `@everyone` is nobody in particular: name a user group, people or a team; where everyone may, leave \
         `promoters` or `from` out",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: 20",
        "7:21: `deploy_timeout` cannot be the number 20: write text (in quotes if it looks like something \
         else), for example \"20m\"",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: 1d",
        "7:21: `1d` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: -5m",
        "7:21: `-5m` is too short: one second is the least: write it as `20m`, `30s` or `1h30m`",
    ),
    ("    aliases: [production]", "    deploy_timeout: 48h", "7:21: `48h` is too long: 24 hours are the most"),
    (
        "    aliases: [production]",
        "    freezes: { from: 'Fri 16:00', to: 'Mon 08:00' }",
        "7:14: `freezes` cannot be a block of keys: write a list",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri', to: 'Mon 08:00' }]",
        "7:23: `Fri` is not a time of the calendar: write a day and an hour, as in `Fri 16:00`, or a date and an \
         hour, as in `2026-12-20 18:00`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: 'fri 16:00' }]",
        "7:40: the freeze ends when it begins: write the time when changes are welcome again",
    ),
    ("    aliases: [production]", "    freezes: [{ from: 2026-12-20 18:00, to: 2027-01-04T08:00 }]", "nothing"),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20 18:00', to: '2026-12-20 18:00' }]",
        "7:47: the freeze does not end after it begins: write the time when changes are welcome again",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: '2027-01-04 08:00', timezone: Mars }]",
        "7:40: one end of the freeze is a day of the week and the other a date: write both as in `Fri 16:00`, for \
         every week, or both as in `2026-12-20 18:00`, for once\n7:70: `Mars` is not a time zone: use a name of the \
         IANA database, for example `Europe/Kyiv` or `UTC`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20', to: '2026-02-30 08:00' }]",
        "7:23: `2026-12-20` has no time of the day: write one behind the date, as in `2026-12-20 18:00`\n7:41: \
         `2026-02-30` is not a date: write year, month and day of the calendar, as in `2026-12-20`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20 18:00', to: '2027-01-04 8am' }]",
        "7:47: `8am` is not a time of the day: write hours and minutes, as in `16:00`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Friday 16:00', to: 'Mon 8' }]",
        "7:43: `8` is not a time of the day: write hours and minutes, as in `16:00`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: 'Mon 08:00', timezone: EET-DST }]",
        "7:63: `EET-DST` is not a time zone: use a name of the IANA database, for example `Europe/Kyiv` or `UTC`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: 'Mon 08:00', timezone: europe/kyiv }]",
        "nothing",
    ),
    (
        "    aliases: [production]",
        "    trigger: { flux_reciever: 'https://flux.example.com/hook/1' }",
        "7:16: unknown key `flux_reciever`: did you mean `flux_receiver`?",
    ),
    (
        "    aliases: [production]",
        "    trigger: { flux_receiver: 'https://flux.example.com:99999/' }",
        "7:31: `https://flux.example.com:99999/` is not a URL (invalid port number): write it out, for \
         example `https://flux.example.com/hook/...`",
    ),
    (
        "    aliases: [production]",
        "    tag: 'v{n}~'",
        "7:10: `v{n}~` cannot be a Git tag: write for example `{environment}/{date}-{n}`",
    ),
    (
        "    aliases: [production]",
        "    tag: 'v{n'",
        "7:10: a brace of `v{n` is never closed: write `}` after the placeholder",
    ),
    (
        "    cluster: { namespace: prod }",
        "    cluster: { namespace: development }",
        "14:15: `checkout` is the same workload in `development` and in `prod`: give the environments \
         namespaces of their own, or the artefact another `workload` in one of them",
    ),
    (
        "    cluster: { namespace: prod }",
        "    cluster: { namespce: prod }",
        "9:16: unknown key `namespce`: did you mean `namespace`?",
    ),
    (
        "    cluster: { namespace: prod }",
        "    cluster: {}",
        "9:5: `namespace` is missing in `cluster`: add it: the namespace of the workloads, for example \"shop\"",
    ),
];

const ARTEFACTS: &[Case] = &[
    (
        "  - name: checkout",
        "  - name: development",
        "11:11: `development` is an environment already: call it something else: in a command nobody could \
         tell the two apart",
    ),
    (
        "  - name: checkout",
        "  - name: PRODUCTION",
        "11:11: `PRODUCTION` is an environment already: call it something else: in a command nobody could \
         tell the two apart",
    ),
    ("  - name: checkout", "  - name: in", "11:11: `in` is a word of the commands: choose a name that is none of them"),
    (
        "  - name: checkout",
        "  - name: check out",
        "11:11: `check out` cannot be a name: people type it, so use letters, digits, `-`, `_` and `.`, with \
         a letter or digit at both ends",
    ),
    (
        "  - name: checkout",
        "  - name: deadbeef",
        "11:11: `deadbeef` reads like the id of a change: choose a name that is not 8 hex digits",
    ),
    (
        "  - name: checkout",
        "  - title: checkout",
        "11:5: unknown key `title`: the keys here are `container`, `delivery`, `environments`, `image`, \
         `name`, `paths`, `repository` and `workload`\n11:5: `name` is missing in an item of `artefacts`: add \
         it: what people call it, for example \"checkout\"",
    ),
    (
        "    repository: acme/checkout",
        "    repository: https://github.com/acme/checkout",
        "12:17: `https://github.com/acme/checkout` is not a repository: write `owner/name`",
    ),
    (
        "    image: ghcr.io/acme/checkout",
        "    image: ghcr.io/acme/checkout@sha256:abc",
        "13:12: `ghcr.io/acme/checkout@sha256:abc` holds a digest: write `ghcr.io/acme/checkout`; which \
         version runs is for the environments to say",
    ),
    (
        "    image: ghcr.io/acme/checkout",
        "    image: localhost:5000/checkout:1.4",
        "13:12: `localhost:5000/checkout:1.4` holds a tag: write `localhost:5000/checkout`; which version \
         runs is for the environments to say",
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
        "14:37: an item of `workload` cannot be the number 5: write text (in quotes if it looks like \
         something else)",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: { kind: deployment }",
        "14:15: `workload` cannot be a block of keys: write text (in quotes if it looks like something else) \
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
        "11:11: `checkout` is in no environment at all: remove one `false` under its `environments`, or the \
         artefact",
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
        "15:60: `envs/app.yaml` is the same file for every environment: put `{environment}` where the \
         environment's name stands, as in `envs/{environment}/app.yaml`",
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
        "15:60: `../{environment}` is not a path in a repository: write it from the top of the repository \
         and without a leading `/`, for example `lib/**`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n  - name: Checkout\n    repository: acme/x\n    image: x\n    workload: deployment/x",
        "15:11: `Checkout` names two artefacts: line 11 has it already; names are unique in any case",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n  - name: till\n    repository: acme/x\n    image: ghcr.io/acme/checkout\n    workload: deployment/checkout",
        "18:15: `till` and `checkout` are the same deployment/checkout in `development`: keep one of them, \
         or tell them apart by `image` or `container`",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: deployment/checkout\n---\nslack: {}",
        "16:1: a second document begins here: keep one, and remove the line `---` between them",
    ),
    (
        "    workload: deployment/checkout",
        "    workload: [deployment/checkout",
        "14:15: this cannot be read as YAML (unclosed bracket '['): check the indentation, the brackets and \
         the quotes (text with `#` or `: ` needs them) here and on the line before",
    ),
];
