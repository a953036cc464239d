//! The raw file: one type for each block of `config/gantry.yaml`, not validated.
//! The JSON Schema is generated from these types; their doc comments are its descriptions.

mod loose;
mod presence;

use schemars::JsonSchema;

pub(super) use loose::{LocatedMap, OneOrMany};

use super::tree::Located;

// The schema refuses unknown keys, not serde, because serde stops at the first one.
// An optional key may be absent but not empty (`channel: #deploys` is empty, because `#` begins a comment). The schema
// therefore has the type inside the `Option`.

/// The configuration of Gantry.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Gantry")]
pub(super) struct RawConfig {
    /// The connection to Slack, and the default channel.
    #[serde(default)]
    pub(super) slack: RawSlack,
    /// The connection to GitHub.
    #[serde(default)]
    pub(super) github: RawGithub,
    /// The connection to container registries.
    #[serde(default)]
    pub(super) registry: RawRegistry,
    /// The path of a kubeconfig. Default: `$KUBECONFIG`, or the cluster that Gantry runs in.
    #[serde(default)]
    pub(super) kubeconfig: Option<Located<String>>,
    /// How often Gantry compares its records with the cluster, in addition to watches and webhooks. Default: `1m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"1m")]
    pub(super) look_every: Option<Located<String>>,
    /// The ladder: the environments in order, lowest first.
    #[schemars(extend("minItems" = 2))]
    pub(super) environments: Located<Vec<RawEnvironment>>,
    /// The artefacts that can be promoted along the ladder.
    #[schemars(extend("minItems" = 1))]
    pub(super) artefacts: Located<Vec<RawArtefact>>,
    /// Rules for channels that are notified in addition to the environments' own.
    #[serde(default)]
    pub(super) channels: Vec<RawSubscriptionRule>,
    /// Rules that assign deployment reports to artefacts, for reports that do not name the artefact themselves. The
    /// first rule that matches applies.
    #[serde(default)]
    pub(super) reports: Vec<Located<RawAttributionRule>>,
    /// The GitHub logins of people by their Slack id, for people that cannot be found by their e-mail address.
    #[serde(default)]
    pub(super) people: LocatedMap<Located<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Slack")]
pub(super) struct RawSlack {
    /// The base URL of Slack's Web API. Default: `https://slack.com/api`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://slack.com/api")]
    pub(super) api_url: Option<Located<String>>,
    /// The only origin that a `response_url` may have. Default: `https://hooks.slack.com`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://hooks.slack.com")]
    pub(super) hooks_origin: Option<Located<String>>,
    /// The channel of every environment that has no `channel` of its own.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<Located<String>>,
    /// Who sees the answer to `list`: only the person who asked (default), or the whole channel.
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
    /// The base URL of GitHub's REST API. Default: `https://api.github.com`. For GitHub Enterprise Server:
    /// `https://<host>/api/v3`.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://api.github.com")]
    pub(super) api_url: Option<Located<String>>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Registry")]
pub(super) struct RawRegistry {
    /// Other addresses for registries, for example `ghcr.io: https://mirror.example.com`.
    #[serde(default)]
    pub(super) mirrors: LocatedMap<Located<String>>,
    /// The path of a Docker config file with logins to registries (`auths`). Gantry does not run credential programs
    /// (`credsStore`, `credHelpers`). The login of a mirror is listed under the mirror's own host. Default: no logins.
    #[serde(default)]
    #[schemars(with = "String", example = &"/run/secrets/docker/config.json")]
    pub(super) docker_config: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Environment")]
pub(super) struct RawEnvironment {
    /// The name that people use in commands.
    #[schemars(example = &"staging")]
    pub(super) name: Located<String>,
    /// Other names that people may type.
    #[serde(default)]
    #[schemars(extend("examples" = [["stg"]]))]
    pub(super) aliases: Vec<Located<String>>,
    /// The Git branch that is deployed to this environment.
    #[schemars(example = &"staging")]
    pub(super) branch: Located<String>,
    /// Where the workloads of this environment run.
    pub(super) cluster: RawCluster,
    /// The Slack channel for cards and notifications. Default: `slack.channel`.
    #[serde(default)]
    #[schemars(with = "String", example = &"#deploys")]
    pub(super) channel: Option<Located<String>>,
    /// How a promotion reaches the branch: by a merge (default), or through a pull request.
    #[serde(default)]
    pub(super) promote: RawPromotionMethod,
    /// The approvals that a promotion into this environment needs. A rollback needs none.
    #[serde(default)]
    #[schemars(with = "RawApprovals")]
    pub(super) approvals: Option<RawApprovals>,
    /// How long a change waits for its approvals, and for the conditions that GitHub sets for its pull request, before
    /// it expires. Default: `24h`.
    #[serde(default)]
    #[schemars(with = "String", example = &"8h")]
    pub(super) approval_timeout: Option<Located<String>>,
    /// Who may promote into this environment, roll it back, lock it and release versions: Slack user groups and people,
    /// and GitHub teams (`github:acme/developers`). Default: everyone in the workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@developers"]]))]
    pub(super) promoters: Vec<Located<String>>,
    /// Who may override a lock, a freeze, a soak, checks or a quarantine by giving a reason. The format is that of `promoters`.
    /// Default: no person.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) overriders: Vec<Located<String>>,
    /// How long a deployment may take before it counts as stalled. Default: `15m`.
    #[serde(default)]
    #[schemars(with = "String", example = &"20m")]
    pub(super) deploy_timeout: Option<Located<String>>,
    /// How long a merged change may show no progress before its card shows a warning. Must be shorter than
    /// `deploy_timeout`. Default: `5m`, or a third of `deploy_timeout` if that is less.
    #[serde(default)]
    #[schemars(with = "String", example = &"5m")]
    pub(super) stall_after: Option<Located<String>>,
    /// Periods in which promotions are refused: every week, or once from one date to another.
    #[serde(default)]
    pub(super) freezes: Vec<RawFreeze>,
    /// How a rollback reaches the branch: directly (default; through a pull request if the branch is protected), or
    /// always through a pull request.
    #[serde(default)]
    #[schemars(with = "RawRollbackMethod")]
    pub(super) rollback: Option<Located<RawRollbackMethod>>,
    /// Whether Gantry rolls back a failed promotion without asking. A promotion fails if the cluster shows the workload
    /// as failed, if a controller reports that the commit could not be built or applied, or if the deadline passes
    /// without proof that the version runs. Default: `false`.
    #[serde(default)]
    #[schemars(with = "bool", example = true)]
    pub(super) auto_rollback: Option<Located<bool>>,
    /// How long a version must have run healthily in the environment below before it can be promoted. Default: no
    /// minimum.
    #[serde(default)]
    #[schemars(with = "String", example = &"30m")]
    pub(super) soak: Option<Located<String>>,
    /// The source of the secret that verifies deployment webhooks for this environment. Without it, they are refused.
    #[serde(default)]
    #[schemars(with = "RawSecretSource")]
    pub(super) webhook_secret: Option<Located<RawSecretSource>>,
    /// The controller's URL that Gantry calls after a change in Git, so that the controller does not wait for its
    /// interval.
    #[serde(default)]
    #[schemars(with = "RawTrigger")]
    pub(super) trigger: Option<Located<RawTrigger>>,
    /// The CI checks that a commit needs. `if_any` (default): no check has failed or is running. `required`: in
    /// addition, at least one check has succeeded.
    #[serde(default)]
    pub(super) checks: RawChecks,
    /// The name of the Git tag that marks a change. Default: `{environment}/{date}-{n}`, and for delivery by manifest
    /// `{environment}/{artefact}/{date}-{n}`.
    #[serde(default)]
    #[schemars(with = "String", example = &"{environment}/{date}-{n}")]
    pub(super) tag: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Listener")]
pub(super) struct RawSubscriptionRule {
    /// The channel to notify. If it is an environment's own channel, the rule selects the arrivals that are announced
    /// there; the cards of changes are always posted there.
    #[schemars(example = &"#checkout")]
    pub(super) channel: Located<String>,
    /// The artefacts that the rule applies to, as names or globs. Default: all.
    #[serde(default)]
    #[schemars(extend("examples" = [["checkout", "shop-*"]]))]
    pub(super) artefacts: Vec<Located<String>>,
    /// The environments that the rule applies to. Default: all.
    #[serde(default)]
    #[schemars(extend("examples" = [["prod"]]))]
    pub(super) environments: Vec<Located<String>>,
    /// The states to notify about: started, deployed, failed. Default: all three.
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
    /// A context of the kubeconfig. Default: its current context, or the cluster that Gantry runs in.
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
    /// How many people must approve, not counting the requester.
    #[schemars(range(min = 1, max = 20), example = 1)]
    pub(super) required: Located<u32>,
    /// Who may approve: Slack user groups and people, and GitHub teams (`github:acme/sre`). Default: everyone in the
    /// workspace.
    #[serde(default)]
    #[schemars(extend("examples" = [["@release-managers"]]))]
    pub(super) from: Vec<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Freeze")]
pub(super) struct RawFreeze {
    /// When the freeze begins: every week (`Fri 16:00`), or once (`2026-12-20 18:00`).
    #[schemars(example = &"Fri 16:00")]
    pub(super) from: Located<String>,
    /// When the freeze ends, in the same format as `from`.
    #[schemars(example = &"Mon 08:00")]
    pub(super) to: Located<String>,
    /// The time zone of `from` and `to`. Default: `UTC`.
    #[serde(default)]
    #[schemars(with = "String", example = &"Europe/Kyiv")]
    pub(super) timezone: Option<Located<String>>,
    /// The reason that a refusal shows.
    #[serde(default)]
    #[schemars(with = "String", example = &"weekend")]
    pub(super) reason: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
#[schemars(rename = "SecretSource")]
pub(super) struct RawSecretSource {
    /// The environment variable that holds the secret. The variable with the suffix `_FILE` may hold the path of a file
    /// instead.
    #[serde(default)]
    #[schemars(with = "String", example = &"FLUX_PROD_SECRET")]
    pub(super) env: Option<Located<String>>,
    /// The path of the file that holds the secret.
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
    /// The name that people use in commands.
    #[schemars(example = &"checkout")]
    pub(super) name: Located<String>,
    /// The GitHub repository that the artefact is built from.
    #[schemars(example = &"acme/checkout")]
    pub(super) repository: Located<String>,
    /// The files of the repository that belong to the artefact, as globs. Default: all files.
    #[serde(default)]
    #[schemars(extend("examples" = [["mailer/**", "lib/**"]]))]
    pub(super) paths: Vec<Located<String>>,
    /// The image, without tag and digest.
    #[schemars(example = &"ghcr.io/acme/checkout")]
    pub(super) image: Located<String>,
    /// The workload that runs the image, or a list of workloads that must all complete their rollouts.
    #[schemars(example = &"deployment/checkout")]
    pub(super) workload: OneOrMany,
    /// The container that runs the image, if a workload has several.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<Located<String>>,
    /// How a change reaches its environment. Default: `branch`.
    #[serde(default)]
    pub(super) delivery: RawDelivery,
    /// Environments that do not run the artefact (`qa: false`), or run it with other settings.
    #[serde(default)]
    pub(super) environments: LocatedMap<RawPresence>,
}

#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Delivery")]
pub(super) enum RawDelivery {
    /// A change moves the environment's branch of the artefact's repository.
    #[default]
    Branch,
    /// A change writes the image's tag or digest into a file of the repository that the controller reads.
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
    /// The file with the image's version. `{environment}` stands for the environment's name.
    #[schemars(example = &"envs/{environment}/search/kustomization.yaml")]
    pub(super) file: Located<String>,
    /// The branch of the file. Default: the repository's default branch.
    #[serde(default)]
    #[schemars(with = "String", example = &"main")]
    pub(super) branch: Option<Located<String>>,
    /// The path of the version inside the file, for example `image.tag`. Default: Gantry searches for it (kustomize,
    /// Helm, `image:`).
    #[serde(default)]
    #[schemars(with = "String", example = &"image.tag")]
    pub(super) path: Option<Located<String>>,
    /// The part of the version that is written: the image's tag (default) or its digest.
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

/// `false`: the environment does not run the artefact. Settings: the environment runs it with these settings.
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
    /// The context of the kubeconfig. Default: the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"prod-eu")]
    pub(super) context: Option<Located<String>>,
    /// The namespace. Default: the environment's.
    #[serde(default)]
    #[schemars(with = "String", example = &"mail")]
    pub(super) namespace: Option<Located<String>>,
    /// The workloads. Default: the artefact's.
    #[serde(default)]
    #[schemars(with = "OneOrMany", example = &"statefulset/mailer-eu")]
    pub(super) workload: Option<OneOrMany>,
    /// The container. Default: the artefact's.
    #[serde(default)]
    #[schemars(with = "String", example = &"app")]
    pub(super) container: Option<Located<String>>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub(super) struct RawAttributionRule {
    /// The kind of the reported object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"Kustomization")]
    pub(super) kind: Option<Located<String>>,
    /// The namespace of the reported object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"flux-system")]
    pub(super) namespace: Option<Located<String>>,
    /// The name of the reported object, as a glob.
    #[serde(default)]
    #[schemars(with = "String", example = &"apps-*")]
    pub(super) name: Option<Located<String>>,
    /// The environments that the rule applies to. Default: all.
    #[serde(default)]
    #[schemars(extend("examples" = [["qa"]]))]
    pub(super) environments: Vec<Located<String>>,
    /// The artefacts that a matching report is about.
    #[schemars(extend("minItems" = 1, "examples" = [["checkout", "search"]]))]
    pub(super) artefacts: Located<Vec<Located<String>>>,
}
