//! The environments.

use super::Case;

pub(super) const CASES: &[Case] = &[
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
        "7:18: `required` is missing in `approvals`: add it: how many people must approve, not counting the \
         requester",
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
    (
        "    aliases: [production]",
        "    stall_after: 15m",
        "7:18: `stall_after` of `prod` is not shorter than its `deploy_timeout`: write less, so that silence is told \
         before the change counts as stalled",
    ),
    (
        "    aliases: [production]",
        "    stall_after: soon",
        "7:18: `soon` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    stall_after: 5m",
        "5:18: `stall_after` has no effect on `development`, the lowest environment: remove it: pushes are \
         deployed there without asking, nothing is promoted into it",
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
