//! The file as people write it: one type per block of `config/gantry.yaml`, nothing validated yet.
//! The JSON Schema is made from these types, and the doc comments are what it says of each key.

mod loose;
mod presence;

use schemars::JsonSchema;

pub(super) use loose::{LocatedMap, OneOrMany};

use super::tree::Located;

// Unknown keys are refused by the schema and not by serde, which would stop at the first of them.
// An optional key may be left out but not left empty (`channel: #deploys` is empty: the rest is a comment), so the
// schema takes the type inside the `Option`.

/// The configuration of Gantry.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Gantry")]
pub(super) struct RawConfig {
    /// How Slack is reached, and where messages go.
    #[serde(default)]
    pub(super) slack: RawSlack,
    /// How GitHub is reached.
    #[serde(default)]
    pub(super) github: RawGithub,
    /// How container registries are reached.
    #[serde(default)]
    pub(super) registry: RawRegistry,
    /// The path of a kubeconfig; when absent `$KUBECONFIG`, else the cluster that Gantry runs in.
    #[serde(default)]
    pub(super) kubeconfig: Option<Located<String>>,
    /// How often ledger and cluster are compared, whatever watches and webhooks tell; when absent `1m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"1m")]
    pub(super) look_every: Option<Located<String>>,
    /// The ladder: the environments in order, lowest first.
    #[schemars(extend("minItems" = 2))]
    pub(super) environments: Located<Vec<RawEnvironment>>,
    /// What can be moved along the ladder.
    #[schemars(extend("minItems" = 1))]
    pub(super) artefacts: Located<Vec<RawArtefact>>,
    /// Channels that are told too, apart from the environments' own.
    #[serde(default)]
    pub(super) channels: Vec<RawSubscriptionRule>,
    /// Whom reports of deployments are about, where they do not name the artefact themselves; the first rule that fits is taken.
    #[serde(default)]
    pub(super) reports: Vec<Located<RawAttributionRule>>,
    /// People's ids in Slack and their logins on GitHub, where the e-mail address does not tell.
    #[serde(default)]
    pub(super) people: LocatedMap<Located<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Slack")]
pub(super) struct RawSlack {
    /// The base of Slack's Web API; when absent `https://slack.com/api`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://slack.com/api")]
    pub(super) api_url: Option<Located<String>>,
    /// The only place a `response_url` may point to; when absent `https://hooks.slack.com`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://hooks.slack.com")]
    pub(super) hooks_origin: Option<Located<String>>,
    /// The channel of every environment that names none of its own.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<Located<String>>,
    /// Who sees the answer to `list`: the person who asked (when absent), or the channel.
    #[serde(default)]
    pub(super) list_to: RawListVisibility,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "ListTo")]
pub(super) enum RawListVisibility {
    #[default]
    Person,
    Channel,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Github")]
pub(super) struct RawGithub {
    /// The base of GitHub's REST API; when absent `https://api.github.com`. GitHub Enterprise Server has
    /// `https://<host>/api/v3`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://api.github.com")]
    pub(super) api_url: Option<Located<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Registry")]
pub(super) struct RawRegistry {
    /// Registries that are reached at another place than their name says: `ghcr.io: https://mirror.example.com`.
    #[serde(default)]
    pub(super) mirrors: LocatedMap<Located<String>>,
    /// The path of a docker config file with the logins to registries (`auths`; programs that keep passwords,
    /// `credsStore` and `credHelpers`, are not run); when absent they are asked without a login. A mirror's login stands
    /// under the mirror's own host.
    #[serde(default)]
    #[schemars(with = "String", example = &"/run/secrets/docker/config.json")]
    pub(super) docker_config: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Environment")]
pub(super) struct RawEnvironment {
    /// What people call it.
    #[schemars(example = &"staging")]
    pub(super) name: Located<String>,
    /// What people may type instead of the name.
    #[serde(default)]
    #[schemars(extend("examples" = [["stg"]]))]
    pub(super) aliases: Vec<Located<String>>,
    /// The Git branch that is deployed here.
    #[schemars(example = &"staging")]
    pub(super) branch: Located<String>,
    /// Where its workloads run.
    pub(super) cluster: RawCluster,
    /// The Slack channel that is told; when absent `slack.channel`.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<Located<String>>,
    /// How a promotion enters the branch: by a merge (when absent) or through a pull request.
    #[serde(default)]
    pub(super) promote: RawPromotionMethod,
    /// Who must say yes to a change here.
    #[serde(default)]
    #[schemars(with = "RawApprovals")]
    pub(super) approvals: Option<RawApprovals>,
    /// How long a change waits for its approvals, and for what GitHub asks of its pull request, before it expires; when
    /// absent `24h`.
    #[serde(default)]
    #[schemars(with = "String", example = &"8h")]
    pub(super) approval_timeout: Option<Located<String>>,
    /// Who may promote into it: user groups and people of Slack, and teams of GitHub (`github:acme/developers`); when
    /// absent everyone in the workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@developers"]]))]
    pub(super) promoters: Vec<Located<String>>,
    /// Who may pass a lock, a freeze, a soak or checks for a reason, written as in `promoters`; when absent nobody.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) overriders: Vec<Located<String>>,
    /// How long a deployment may take before it counts as stalled; when absent `15m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"20m")]
    pub(super) deploy_timeout: Option<Located<String>>,
    /// How long a change that Git has may show no sign of life before its card says so; shorter than `deploy_timeout`. When
    /// absent `5m`, or a third of a `deploy_timeout` of less than `15m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"5m")]
    pub(super) stall_after: Option<Located<String>>,
    /// When nobody may change it: every week, or from one date to another.
    #[serde(default)]
    pub(super) freezes: Vec<RawFreeze>,
    /// How a rollback enters the branch: straight (when absent; by a pull request where the branch is protected), or always
    /// through a pull request.
    #[serde(default)]
    #[schemars(with = "RawRollbackMethod")]
    pub(super) rollback: Option<Located<RawRollbackMethod>>,
    /// Whether a promotion that fails here is rolled back without asking; when absent `false`. Triggers: the cluster shows the
    /// workload as failed, a controller reports that the commit could not be built or applied, or the deadline passes without
    /// proof that the version runs.
    #[serde(default)]
    #[schemars(with = "bool", example = true)]
    pub(super) auto_rollback: Option<Located<bool>>,
    /// How long a version must have run well in the environment below; when absent not at all.
    #[serde(default)]
    #[schemars(with = "String", example = &"30m")]
    pub(super) soak: Option<Located<String>>,
    /// Where to find the secret that signs its deployment webhooks; when absent they are refused.
    #[serde(default)]
    #[schemars(with = "RawSecretSource")]
    pub(super) webhook_secret: Option<Located<RawSecretSource>>,
    /// What to nudge after Git has moved, so that the controller need not wait for its interval.
    #[serde(default)]
    #[schemars(with = "RawTrigger")]
    pub(super) trigger: Option<Located<RawTrigger>>,
    /// What CI must say of a commit: no red check and none running (when absent), or at least one that is green.
    #[serde(default)]
    pub(super) checks: RawChecks,
    /// The name of the Git tag that marks a change; when absent `{environment}/{date}-{n}`, and by manifest
    /// `{environment}/{artefact}/{date}-{n}`.
    #[serde(default)]
    #[schemars(with = "String", example = &"{environment}/{date}-{n}")]
    pub(super) tag: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Listener")]
pub(super) struct RawSubscriptionRule {
    /// The channel that is told. If it is an environment's own, the rule says which arrivals it hears of; the card of a
    /// change stands there in any case.
    #[schemars(example = &"#checkout")]
    pub(super) channel: Located<String>,
    /// The artefacts that it is told of, by name or as globs; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["checkout", "shop-*"]]))]
    pub(super) artefacts: Vec<Located<String>>,
    /// The environments that it is told of; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["prod"]]))]
    pub(super) environments: Vec<Located<String>>,
    /// What it is told: of what has started, of what is deployed, of what failed; when absent all three.
    #[serde(default)]
    #[schemars(with = "Vec<RawSubscribedState>", extend("examples" = [["failed"]]))]
    pub(super) states: Option<Located<Vec<RawSubscribedState>>>,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "State")]
pub(super) enum RawSubscribedState {
    Started,
    Deployed,
    Failed,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Cluster")]
pub(super) struct RawCluster {
    /// A context of the kubeconfig; when absent its current one, or the cluster that Gantry runs in.
    #[serde(default)]
    #[schemars(with = "String", example = &"prod")]
    pub(super) context: Option<Located<String>>,
    /// The namespace of the workloads.
    #[schemars(example = &"shop")]
    pub(super) namespace: Located<String>,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "Promote")]
pub(super) enum RawPromotionMethod {
    #[default]
    Merge,
    PullRequest,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "Rollback")]
pub(super) enum RawRollbackMethod {
    Direct,
    PullRequest,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "Checks")]
pub(super) enum RawChecks {
    #[default]
    IfAny,
    Required,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Approvals")]
pub(super) struct RawApprovals {
    /// How many people, apart from the one who asked.
    #[schemars(range(min = 1, max = 20), example = 1)]
    pub(super) required: Located<u32>,
    /// Whose yes counts: user groups and people of Slack, and teams of GitHub (`github:acme/sre`); when absent everyone
    /// in the workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) from: Vec<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Freeze")]
pub(super) struct RawFreeze {
    /// When it begins: every week at `Fri 16:00`, or once at `2026-12-20 18:00`.
    #[schemars(example = &"Fri 16:00")]
    pub(super) from: Located<String>,
    /// When changes are welcome again, in the same form.
    #[schemars(example = &"Mon 08:00")]
    pub(super) to: Located<String>,
    /// The time zone of both; when absent `UTC`.
    #[serde(default)]
    #[schemars(with = "String", example = &"Europe/Kyiv")]
    pub(super) timezone: Option<Located<String>>,
    /// What people are told who are refused.
    #[serde(default)]
    #[schemars(with = "String", example = &"weekend")]
    pub(super) reason: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
#[schemars(rename = "SecretSource")]
pub(super) struct RawSecretSource {
    /// The environment variable that holds it (or, with `_FILE` after its name, the path of a file that does).
    #[serde(default)]
    #[schemars(with = "String", example = &"FLUX_PROD_SECRET")]
    pub(super) env: Option<Located<String>>,
    /// The path of the file that holds it.
    #[serde(default)]
    #[schemars(with = "String", example = &"/run/secrets/flux-prod")]
    pub(super) file: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
#[schemars(rename = "Trigger")]
pub(super) struct RawTrigger {
    /// The URL of a Flux Receiver.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://flux.example.com/hook/...")]
    pub(super) flux_receiver: Option<Located<String>>,
    /// The URL of Argo CD's webhook.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://argocd.example.com/api/webhook")]
    pub(super) argocd_webhook: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Artefact")]
pub(super) struct RawArtefact {
    /// What people call it.
    #[schemars(example = &"checkout")]
    pub(super) name: Located<String>,
    /// The repository on GitHub that it is built from.
    #[schemars(example = &"acme/checkout")]
    pub(super) repository: Located<String>,
    /// What concerns it in that repository, as globs; when absent everything.
    #[serde(default)]
    #[schemars(extend("examples" = [["mailer/**", "lib/**"]]))]
    pub(super) paths: Vec<Located<String>>,
    /// The image, without tag and digest.
    #[schemars(example = &"ghcr.io/acme/checkout")]
    pub(super) image: Located<String>,
    /// The workload that runs it, or a list of all that must be complete.
    #[schemars(example = &"deployment/checkout")]
    pub(super) workload: OneOrMany,
    /// The container that runs the image, where a workload has several.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<Located<String>>,
    /// How a change reaches its environment; when absent by branch.
    #[serde(default)]
    pub(super) delivery: RawDelivery,
    /// Environments that do not have it (`qa: false`) or have it elsewhere.
    #[serde(default)]
    pub(super) environments: LocatedMap<RawPresence>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Delivery")]
pub(super) enum RawDelivery {
    /// The environment's branch of the artefact's repository is moved.
    #[default]
    Branch,
    /// The image's tag is written into a file of the repository that the controller reads.
    #[schemars(extend("maxProperties" = 1))]
    Manifest(RawManifest),
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Manifest")]
pub(super) struct RawManifest {
    /// The repository that the controller reads.
    #[schemars(example = &"acme/gitops")]
    pub(super) repository: Located<String>,
    /// The file with the image's tag; `{environment}` stands for the environment's name.
    #[schemars(example = &"envs/{environment}/search/kustomization.yaml")]
    pub(super) file: Located<String>,
    /// The branch that holds it; when absent the repository's default branch.
    #[serde(default)]
    #[schemars(with = "String", example = &"main")]
    pub(super) branch: Option<Located<String>>,
    /// Where in the file the version stands, as in `image.tag`; when absent it is found by looking.
    #[serde(default)]
    #[schemars(with = "String", example = &"image.tag")]
    pub(super) path: Option<Located<String>>,
    /// What is written: the image's tag (when absent) or its digest.
    #[serde(default)]
    pub(super) pin: RawPin,
}

#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schemars(rename = "Pin")]
pub(super) enum RawPin {
    #[default]
    Tag,
    Digest,
}

/// `false`: not there. Settings: there, but elsewhere.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[schemars(rename = "Presence")]
pub(super) enum RawPresence {
    Present(bool),
    Moved(RawPlace),
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Place")]
pub(super) struct RawPlace {
    /// Another context of the kubeconfig than the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"prod-eu")]
    pub(super) context: Option<Located<String>>,
    /// Another namespace than the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"mail")]
    pub(super) namespace: Option<Located<String>>,
    /// Other workloads than the artefact has elsewhere.
    #[serde(default)]
    #[schemars(with = "OneOrMany", example = &"statefulset/mailer-eu")]
    pub(super) workload: Option<OneOrMany>,
    /// Another container than elsewhere.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub(super) struct RawAttributionRule {
    /// The kind of the object that is reported of, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"Kustomization")]
    pub(super) kind: Option<Located<String>>,
    /// The namespace of that object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"flux-system")]
    pub(super) namespace: Option<Located<String>>,
    /// The name of that object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"apps-*")]
    pub(super) name: Option<Located<String>>,
    /// The environments that the rule is for; when absent all.
    #[serde(default)]
    #[schemars(extend("examples" = [["qa"]]))]
    pub(super) environments: Vec<Located<String>>,
    /// The artefacts that such a report is about.
    #[schemars(extend("minItems" = 1, "examples" = [["checkout", "search"]]))]
    pub(super) artefacts: Located<Vec<Located<String>>>,
}
