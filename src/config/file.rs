//! The file as people write it: one type per block of `config/gantry.yaml`, nothing validated yet.
//! The JSON Schema is made from these types, and the doc comments are what it says of each key.

mod loose;

use schemars::JsonSchema;

pub(super) use loose::{Entries, OneOrMany};

use super::tree::At;

// Unknown keys are refused by the schema and not by serde, which would stop at the first of them.
// An optional key may be left out but not left empty (`channel: #deploys` is empty: the rest is a comment), so the
// schema takes the type inside the `Option`.

/// The configuration of Gantry.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Gantry")]
pub(super) struct File {
    /// How Slack is reached, and where messages go.
    #[serde(default)]
    pub(super) slack: Slack,
    /// How GitHub is reached.
    #[serde(default)]
    pub(super) github: Github,
    /// How container registries are reached.
    #[serde(default)]
    pub(super) registry: Registry,
    /// The path of a kubeconfig; when absent `$KUBECONFIG`, else the cluster that Gantry runs in.
    #[serde(default)]
    pub(super) kubeconfig: Option<At<String>>,
    /// How often ledger and cluster are compared, whatever watches and webhooks tell; when absent `1m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"1m")]
    pub(super) look_every: Option<At<String>>,
    /// The ladder: the environments in order, lowest first.
    #[schemars(extend("minItems" = 2))]
    pub(super) environments: At<Vec<Environment>>,
    /// What can be moved along the ladder.
    #[schemars(extend("minItems" = 1))]
    pub(super) artefacts: At<Vec<Artefact>>,
    /// Channels that are told too, apart from the environments' own.
    #[serde(default)]
    pub(super) channels: Vec<Listener>,
    /// Whom reports of deployments are about, where they do not name the artefact themselves; the first rule that fits is taken.
    #[serde(default)]
    pub(super) reports: Vec<At<Rule>>,
    /// People's ids in Slack and their logins on GitHub, where the e-mail address does not tell.
    #[serde(default)]
    pub(super) people: Entries<At<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Slack {
    /// The base of Slack's Web API; when absent `https://slack.com/api`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://slack.com/api")]
    pub(super) api_url: Option<At<String>>,
    /// The only place a `response_url` may point to; when absent `https://hooks.slack.com`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://hooks.slack.com")]
    pub(super) hooks_origin: Option<At<String>>,
    /// The channel of every environment that names none of its own.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<At<String>>,
    /// Who sees the answer to `list`: the person who asked (when absent), or the channel.
    #[serde(default)]
    pub(super) list_to: ListTo,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum ListTo {
    #[default]
    Person,
    Channel,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Github {
    /// The base of GitHub's REST API; when absent `https://api.github.com`. GitHub Enterprise Server has
    /// `https://<host>/api/v3`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://api.github.com")]
    pub(super) api_url: Option<At<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Registry {
    /// Registries that are reached at another place than their name says: `ghcr.io: https://mirror.example.com`.
    #[serde(default)]
    pub(super) mirrors: Entries<At<String>>,
    /// The path of a docker config file with the logins to registries (`auths`; programs that keep passwords,
    /// `credsStore` and `credHelpers`, are not run); when absent they are asked without a login. A mirror's login stands
    /// under the mirror's own host.
    #[serde(default)]
    #[schemars(with = "String", example = &"/run/secrets/docker/config.json")]
    pub(super) docker_config: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Environment {
    /// What people call it.
    #[schemars(example = &"staging")]
    pub(super) name: At<String>,
    /// What people may type instead of the name.
    #[serde(default)]
    #[schemars(extend("examples" = [["stg"]]))]
    pub(super) aliases: Vec<At<String>>,
    /// The Git branch that is deployed here.
    #[schemars(example = &"staging")]
    pub(super) branch: At<String>,
    /// Where its workloads run.
    pub(super) cluster: Cluster,
    /// The Slack channel that is told; when absent `slack.channel`.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<At<String>>,
    /// How a promotion enters the branch: by a merge (when absent) or through a pull request.
    #[serde(default)]
    pub(super) promote: Promote,
    /// Who must say yes to a change here.
    #[serde(default)]
    #[schemars(with = "Approvals")]
    pub(super) approvals: Option<Approvals>,
    /// How long a change waits for its approvals, and for what GitHub asks of its pull request, before it expires; when
    /// absent `24h`.
    #[serde(default)]
    #[schemars(with = "String", example = &"8h")]
    pub(super) approval_timeout: Option<At<String>>,
    /// Who may promote into it: user groups and people of Slack, and teams of GitHub (`github:acme/developers`); when
    /// absent everyone in the workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@developers"]]))]
    pub(super) promoters: Vec<At<String>>,
    /// Who may pass a lock, a freeze, a soak or checks for a reason, written as in `promoters`; when absent nobody.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) overriders: Vec<At<String>>,
    /// How long a deployment may take before it counts as stalled; when absent `15m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"20m")]
    pub(super) deploy_timeout: Option<At<String>>,
    /// How long a change that Git has may show no sign of life before its card says so; shorter than `deploy_timeout`. When
    /// absent `5m`, or a third of a `deploy_timeout` of less than `15m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"5m")]
    pub(super) stall_after: Option<At<String>>,
    /// When nobody may change it: every week, or from one date to another.
    #[serde(default)]
    pub(super) freezes: Vec<Freeze>,
    /// How a rollback enters the branch: straight (when absent; by a pull request where the branch is protected), or always
    /// through a pull request.
    #[serde(default)]
    #[schemars(with = "Rollback")]
    pub(super) rollback: Option<At<Rollback>>,
    /// Whether a promotion that fails here is rolled back without asking; when absent `false`. Triggers: the cluster shows the
    /// workload as failed, a controller reports that the commit could not be built or applied, or the deadline passes without
    /// proof that the version runs.
    #[serde(default)]
    #[schemars(with = "bool", example = true)]
    pub(super) auto_rollback: Option<At<bool>>,
    /// How long a version must have run well in the environment below; when absent not at all.
    #[serde(default)]
    #[schemars(with = "String", example = &"30m")]
    pub(super) soak: Option<At<String>>,
    /// Where to find the secret that signs its deployment webhooks; when absent they are refused.
    #[serde(default)]
    #[schemars(with = "SecretSource")]
    pub(super) webhook_secret: Option<At<SecretSource>>,
    /// What to nudge after Git has moved, so that the controller need not wait for its interval.
    #[serde(default)]
    #[schemars(with = "Trigger")]
    pub(super) trigger: Option<At<Trigger>>,
    /// What CI must say of a commit: no red check and none running (when absent), or at least one that is green.
    #[serde(default)]
    pub(super) checks: Checks,
    /// The name of the Git tag that marks a change; when absent `{environment}/{date}-{n}`, and by manifest
    /// `{environment}/{artefact}/{date}-{n}`.
    #[serde(default)]
    #[schemars(with = "String", example = &"{environment}/{date}-{n}")]
    pub(super) tag: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Listener {
    /// The channel that is told. If it is an environment's own, the rule says which arrivals it hears of; the card of a
    /// change stands there in any case.
    #[schemars(example = &"#checkout")]
    pub(super) channel: At<String>,
    /// The artefacts that it is told of, by name or as globs; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["checkout", "shop-*"]]))]
    pub(super) artefacts: Vec<At<String>>,
    /// The environments that it is told of; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["prod"]]))]
    pub(super) environments: Vec<At<String>>,
    /// What it is told: of what has started, of what is deployed, of what failed; when absent all three.
    #[serde(default)]
    #[schemars(with = "Vec<State>", extend("examples" = [["failed"]]))]
    pub(super) states: Option<At<Vec<State>>>,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum State {
    Started,
    Deployed,
    Failed,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Cluster {
    /// A context of the kubeconfig; when absent its current one, or the cluster that Gantry runs in.
    #[serde(default)]
    #[schemars(with = "String", example = &"prod")]
    pub(super) context: Option<At<String>>,
    /// The namespace of the workloads.
    #[schemars(example = &"shop")]
    pub(super) namespace: At<String>,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Promote {
    #[default]
    Merge,
    PullRequest,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Rollback {
    Direct,
    PullRequest,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Checks {
    #[default]
    IfAny,
    Required,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Approvals {
    /// How many people, apart from the one who asked.
    #[schemars(range(min = 1, max = 20), example = 1)]
    pub(super) required: At<u32>,
    /// Whose yes counts: user groups and people of Slack, and teams of GitHub (`github:acme/sre`); when absent everyone
    /// in the workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) from: Vec<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Freeze {
    /// When it begins: every week at `Fri 16:00`, or once at `2026-12-20 18:00`.
    #[schemars(example = &"Fri 16:00")]
    pub(super) from: At<String>,
    /// When changes are welcome again, in the same form.
    #[schemars(example = &"Mon 08:00")]
    pub(super) to: At<String>,
    /// The time zone of both; when absent `UTC`.
    #[serde(default)]
    #[schemars(with = "String", example = &"Europe/Kyiv")]
    pub(super) timezone: Option<At<String>>,
    /// What people are told who are refused.
    #[serde(default)]
    #[schemars(with = "String", example = &"weekend")]
    pub(super) reason: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct SecretSource {
    /// The environment variable that holds it (or, with `_FILE` after its name, the path of a file that does).
    #[serde(default)]
    #[schemars(with = "String", example = &"FLUX_PROD_SECRET")]
    pub(super) env: Option<At<String>>,
    /// The path of the file that holds it.
    #[serde(default)]
    #[schemars(with = "String", example = &"/run/secrets/flux-prod")]
    pub(super) file: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct Trigger {
    /// The URL of a Flux Receiver.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://flux.example.com/hook/...")]
    pub(super) flux_receiver: Option<At<String>>,
    /// The URL of Argo CD's webhook.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://argocd.example.com/api/webhook")]
    pub(super) argocd_webhook: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Artefact {
    /// What people call it.
    #[schemars(example = &"checkout")]
    pub(super) name: At<String>,
    /// The repository on GitHub that it is built from.
    #[schemars(example = &"acme/checkout")]
    pub(super) repository: At<String>,
    /// What concerns it in that repository, as globs; when absent everything.
    #[serde(default)]
    #[schemars(extend("examples" = [["mailer/**", "lib/**"]]))]
    pub(super) paths: Vec<At<String>>,
    /// The image, without tag and digest.
    #[schemars(example = &"ghcr.io/acme/checkout")]
    pub(super) image: At<String>,
    /// The workload that runs it, or a list of all that must be complete.
    #[schemars(example = &"deployment/checkout")]
    pub(super) workload: OneOrMany,
    /// The container that runs the image, where a workload has several.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<At<String>>,
    /// How a change reaches its environment; when absent by branch.
    #[serde(default)]
    pub(super) delivery: Delivery,
    /// Environments that do not have it (`qa: false`) or have it elsewhere.
    #[serde(default)]
    pub(super) environments: Entries<Presence>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Delivery {
    /// The environment's branch of the artefact's repository is moved.
    #[default]
    Branch,
    /// The image's tag is written into a file of the repository that the controller reads.
    #[schemars(extend("maxProperties" = 1))]
    Manifest(Manifest),
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The repository that the controller reads.
    #[schemars(example = &"acme/gitops")]
    pub(super) repository: At<String>,
    /// The file with the image's tag; `{environment}` stands for the environment's name.
    #[schemars(example = &"envs/{environment}/search/kustomization.yaml")]
    pub(super) file: At<String>,
    /// The branch that holds it; when absent the repository's default branch.
    #[serde(default)]
    #[schemars(with = "String", example = &"main")]
    pub(super) branch: Option<At<String>>,
    /// Where in the file the version stands, as in `image.tag`; when absent it is found by looking.
    #[serde(default)]
    #[schemars(with = "String", example = &"image.tag")]
    pub(super) path: Option<At<String>>,
    /// What is written: the image's tag (when absent) or its digest.
    #[serde(default)]
    pub(super) pin: Pin,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Pin {
    #[default]
    Tag,
    Digest,
}

/// `false`: not there. Settings: there, but elsewhere.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(super) enum Presence {
    Is(bool),
    Elsewhere(Place),
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Place {
    /// Another context of the kubeconfig than the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"prod-eu")]
    pub(super) context: Option<At<String>>,
    /// Another namespace than the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"mail")]
    pub(super) namespace: Option<At<String>>,
    /// Other workloads than the artefact has elsewhere.
    #[serde(default)]
    #[schemars(with = "OneOrMany", example = &"statefulset/mailer-eu")]
    pub(super) workload: Option<OneOrMany>,
    /// Another container than elsewhere.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<At<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rule {
    /// The kind of the object that is reported of, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"Kustomization")]
    pub(super) kind: Option<At<String>>,
    /// The namespace of that object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"flux-system")]
    pub(super) namespace: Option<At<String>>,
    /// The name of that object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"apps-*")]
    pub(super) name: Option<At<String>>,
    /// The environments that the rule is for; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["qa"]]))]
    pub(super) environments: Vec<At<String>>,
    /// The artefacts that such a report is about.
    #[schemars(extend("minItems" = 1, "examples" = [["checkout", "search"]]))]
    pub(super) artefacts: At<Vec<At<String>>>,
}
