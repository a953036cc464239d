//! The environments.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "    branch: develop",
        "    branch: prod",
        "8:13: the branch `prod` is used by two environments: line 4 has the same branch; each environment needs its own",
    ),
    (
        "    branch: develop",
        "    branch: prod/next",
        "4:13: Git cannot have both branches `prod/next` and `prod`: rename one of them, for example this one to \
         `prod-next`",
    ),
    (
        "    branch: develop",
        "    branch: gantry/x",
        "4:13: `gantry/x` cannot be the branch of an environment: Gantry creates and deletes branches under \
         `gantry/`; use another branch",
    ),
    (
        "    branch: develop",
        "    branch: 'a b'",
        "4:13: `a b` cannot be a branch: write its name as Git shows it, for example `develop`",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    approvals: { required: 1 }",
        "5:28: `approvals` has no effect on `development`, the lowest environment: remove it: pushes feed this \
         environment, and nothing is promoted into it",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    approval_timeout: 8h",
        "5:23: `approval_timeout` has no effect on `development`, the lowest environment: remove it: pushes feed \
         this environment, and nothing is promoted into it",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    overriders: ['@sre']",
        "5:18: `overriders` has no effect on `development`, the lowest environment: remove it: pushes feed this \
         environment, and nothing is promoted into it",
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
    ("    branch: develop", "\tbranch: develop", "4:1: YAML does not allow tabs for indentation: indent with spaces"),
    (
        "    branch: develop",
        "    branch: 'develop",
        "5:5: this cannot be read as YAML (invalid indentation in multiline quoted scalar): check the indentation, \
         the brackets and the quotes (text with `#` or `: ` needs them) on this line and on the line before",
    ),
    (
        "    branch: develop",
        "     branch: develop",
        "4:12: this cannot be read as YAML (mapping values are not allowed in this context): check the indentation, \
         the brackets and the quotes (text with `#` or `: ` needs them) on this line and on the line before",
    ),
    (
        "    branch: develop",
        "    branch: &a [*a]",
        "4:17: this cannot be read as YAML (Recursive reference not allowed here): check the indentation, the \
         brackets and the quotes (text with `#` or `: ` needs them) on this line and on the line before",
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
        "4:13: `branch` cannot be the number 1.1: write text (in quotes if YAML would read it as another type), for \
         example \"staging\"",
    ),
    (
        "    branch: develop",
        "    branch: true",
        "4:13: `branch` cannot be `true`: write text (in quotes if YAML would read it as another type), for example \
         \"staging\"",
    ),
    (
        "    branch: develop",
        r#"    branch: "de\x07velop\n""#,
        "4:13: `de\\u{7}velop\\n` cannot be a branch: write its name as Git shows it, for example `develop`",
    ),
    (
        "  - name: development",
        "  - name: dev elopment",
        "3:11: `dev elopment` cannot be a name: use letters, digits, `-`, `_` and `.`, with a letter or digit at \
         both ends",
    ),
    (
        "  - name: development",
        "  - name: Production",
        "7:15: `production` is used twice as a name or alias of an environment: line 3 has the same name; names and \
         aliases must be unique, without regard to case",
    ),
    ("  - name: development", "  - name: help", "3:11: `help` is a word of the command language: choose another name"),
    (
        "  - name: development",
        "  - name:",
        "3:5: `name` is empty: give it a value or remove the key; put text that begins with `#` in quotes, or YAML \
         reads it as a comment",
    ),
    (
        "    aliases: [production]",
        "    aliases: production",
        "7:14: `aliases` cannot be the text `production`: write a list",
    ),
    (
        "    aliases: [production]",
        "    aliases: [production, prod]",
        "7:27: `prod` is used twice as a name or alias of an environment: line 6 has the same name; names and \
         aliases must be unique, without regard to case",
    ),
    (
        "    aliases: [production]",
        "    aliases: [production, Development]",
        "7:27: `Development` is used twice as a name or alias of an environment: line 3 has the same name; names \
         and aliases must be unique, without regard to case",
    ),
    (
        "    aliases: [production]",
        "    promoters: [@developers]",
        r#"7:17: text cannot begin with `@` in YAML: put it in quotes, for example "@developers""#,
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
        "7:38: `@a b` is not a user group, a person or a team: write a Slack handle, for example \
         \"@release-managers\", a Slack id, for example U024BE7LH, or a GitHub team, for example \
         `github:acme/release-managers`",
    ),
    ("    aliases: [production]", "    approvals: { required: 2, from: [github:acme/sre] }", "nothing"),
    (
        "    aliases: [production]",
        "    promoters: [github:acme]",
        "7:17: `github:acme` names no team: write organisation and team, for example `github:acme/release-managers`",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 2, from: [U024BE7LH] }",
        "7:28: `from` names fewer people (1) than `required` asks for (2): require fewer, or add more people, a \
         user group or a team to `from`",
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
        "7:23: `approval_timeout` has no effect without `approvals` or `promote: pull_request`: remove it, or \
         require approvals, for example `approvals: { required: 1 }`",
    ),
    ("    aliases: [production]", "    promote: pull_request\n    approval_timeout: 8h", "nothing"),
    ("    aliases: [production]", "    approvals: { required: 1 }\n    approval_timeout: 720h", "nothing"),
    (
        "    aliases: [production]",
        "    approvals: { required: 1 }\n    approval_timeout: 721h",
        "8:23: `721h` is too long: use at most 720 hours",
    ),
    (
        "    aliases: [production]",
        "    approvals: { required: 1 }\n    approval_timeout: tomorrow",
        "8:23: `tomorrow` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    aliases: [production]",
        "    overriders: ['@everyone']",
        "7:18: `@everyone` is not a user group or a person: name a user group, people or a team; to allow everyone, \
         remove `promoters` or `from`",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: 20",
        "7:21: `deploy_timeout` cannot be the number 20: write text (in quotes if YAML would read it as another \
         type), for example \"20m\"",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: 1d",
        "7:21: `1d` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    aliases: [production]",
        "    deploy_timeout: -5m",
        "7:21: `-5m` is too short: use at least one second: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    aliases: [production]",
        "    stall_after: 15m",
        "7:18: `stall_after` of `prod` is not shorter than its `deploy_timeout`: write a shorter duration, so that \
         the card shows a warning before the change counts as stalled",
    ),
    (
        "    aliases: [production]",
        "    stall_after: soon",
        "7:18: `soon` is not a duration: write it as `20m`, `30s` or `1h30m`",
    ),
    (
        "    branch: develop",
        "    branch: develop\n    stall_after: 5m",
        "5:18: `stall_after` has no effect on `development`, the lowest environment: remove it: pushes feed this \
         environment, and nothing is promoted into it",
    ),
    ("    aliases: [production]", "    deploy_timeout: 48h", "7:21: `48h` is too long: use at most 24 hours"),
    (
        "    aliases: [production]",
        "    freezes: { from: 'Fri 16:00', to: 'Mon 08:00' }",
        "7:14: `freezes` cannot be a block of keys: write a list",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri', to: 'Mon 08:00' }]",
        "7:23: `Fri` is not a time of the calendar: write a day and a time like `Fri 16:00`, or a date and a time \
         like `2026-12-20 18:00`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: 'fri 16:00' }]",
        "7:40: the freeze ends at the time when it begins: write the time from which changes are allowed again",
    ),
    ("    aliases: [production]", "    freezes: [{ from: 2026-12-20 18:00, to: 2027-01-04T08:00 }]", "nothing"),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20 18:00', to: '2026-12-20 18:00' }]",
        "7:47: the freeze ends before it begins, or at the same time: write the time from which changes are allowed \
         again",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Fri 16:00', to: '2027-01-04 08:00', timezone: Mars }]",
        "7:40: `from` and `to` have different forms: a day of the week and a date: write both like `Fri 16:00` \
         (every week), or both like `2026-12-20 18:00` (once)\n7:70: `Mars` is not a time zone: use a name of the \
         IANA database, for example `Europe/Kyiv` or `UTC`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20', to: '2026-02-30 08:00' }]",
        "7:23: `2026-12-20` has no time of the day: write a time after the date, for example `2026-12-20 \
         18:00`\n7:41: `2026-02-30` is not a date: write an existing date as year, month and day, for example \
         `2026-12-20`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: '2026-12-20 18:00', to: '2027-01-04 8am' }]",
        "7:47: `8am` is not a time of the day: write hours and minutes, for example `16:00`",
    ),
    (
        "    aliases: [production]",
        "    freezes: [{ from: 'Friday 16:00', to: 'Mon 8' }]",
        "7:43: `8` is not a time of the day: write hours and minutes, for example `16:00`",
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
        "7:31: `https://flux.example.com:99999/` is not a URL (invalid port number): write the full URL, for \
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
        "7:10: a brace of `v{n` is not closed: write `}` after the placeholder",
    ),
    (
        "    cluster: { namespace: prod }",
        "    cluster: { namespace: development }",
        "14:15: `checkout` is the same workload in `development` and in `prod`: give the environments different \
         namespaces, or give the artefact another `workload` in one of them",
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
