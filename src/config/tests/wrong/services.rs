//! The services and the people.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: #deploys }",
        "2:13: this cannot be read as YAML (while parsing a flow mapping, did not find expected ',' or '}'): check \
         the indentation, the brackets and the quotes (text with `#` or `: ` needs them) on this line and on the \
         line before",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack:\n  channel: #deploys",
        "2:3: `channel` is empty: give it a value or remove the key; put text that begins with `#` in quotes, or \
         YAML reads it as a comment",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nlook_every: 5s",
        "2:13: `5s` is too short: use at least 10 seconds: watches and webhooks report changes sooner",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nlook_every: 2h",
        "2:13: `2h` is too long: use at most one hour",
    ),
    ("slack: { channel: '#deploys' }", "slack: { channel: '#deploys' }\nlook_every: 10s", "nothing"),
    (
        "slack: { channel: '#deploys' }",
        "slack:",
        "1:1: `slack` is empty: fill it or remove the key: the connection to Slack, and the default channel",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: 'deploys' }",
        r##"1:19: `deploys` is not a channel: write it with `#`: "#deploys""##,
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#Big Deploys' }",
        "1:19: `#Big Deploys` is not a channel: write the channel's name, for example \"#deploys\", or its id, for \
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
        "1:40: `file:///etc/passwd` is not an http or https URL: write the full URL, for example \
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
        "1:45: `https://hooks.slack.com/a?b` has a query or a fragment: end it with the path, for example \
         `https://hooks.slack.com`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "github: { api_url: https://api.github.com }",
        "3:11: `development` has no channel: set `channel` here, or set `slack.channel` for all environments\n6:11: \
         `prod` has no channel: set `channel` here, or set `slack.channel` for all environments",
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
        "2:28: `~/.docker/config.json` begins with `~`: write the full path: only a shell expands `~`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nkubeconfig: 5",
        "2:13: `kubeconfig` cannot be the number 5: write text (in quotes if YAML would read it as another type) or \
         `~`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nslack: { channel: '#other' }",
        "2:1: `slack` is given twice: keep one; the first is on line 1",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\npeople: { U024BE7LH: octocat, U024BE7LJ: Octocat }",
        "2:42: `Octocat` is the login of two people: line 2 has the same login; a login belongs to one person",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\npeople: { U024BE7LH: [octocat] }",
        "2:22: `U024BE7LH` cannot be a list: write text (in quotes if YAML would read it as another type)",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', artefacts: [check*], environments: [production], states: [failed] }",
        "nothing",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: a }",
        "3:16: `a` is not a channel: write it with `#`: \"#a\"",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', artefacts: [chekout] }",
        "3:34: no artefact matches `chekout`: did you mean `checkout`?",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', artefacts: ['x-*'] }",
        "3:34: no artefact matches `x-*`: write the name of an artefact, or a pattern such as `shop-*`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', environments: [pord] }",
        "3:37: `pord` is not an environment: did you mean `prod`?",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', states: [] }",
        "3:30: the list of states is empty: name some of `started`, `deployed` and `failed`, or remove `states` to \
         get all of them",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { channel: '#a', states: [broken] }",
        "3:31: an item of `states` cannot be `broken`: use `started` or `deployed` or `failed`",
    ),
    (
        "slack: { channel: '#deploys' }",
        "slack: { channel: '#deploys' }\nchannels:\n  - { chanel: '#a' }",
        "3:7: unknown key `chanel`: did you mean `channel`?",
    ),
];
