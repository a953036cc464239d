"""Tests that wrong values are refused when the chart is rendered, with a message that names the value."""

import unittest

import chart

# The settings, and a text that helm's output must contain.
BY_THE_SCHEMA = [
    (["replicas=2"], "replicas is not allowed"),
    (["image.pullPolicy=Sometimes"], "image.pullPolicy"),
    (["image.digest=latest"], "image.digest"),
    (["image.repository=ghcr.io/Acme/gantry"], "image.repository"),
    (["imagePullSecrets[0].nmae=x"], "imagePullSecrets.0"),
    (["slack.mode=rtm"], '"http", "socket"'),
    (["slack.token=xoxb-1"], "token is not allowed"),
    (["github.auth=none"], '"app", "token"'),
    (["existingSecret="], "existingSecret"),
    (["config=null"], "config is required"),
    (["config=5"], "config"),
    (["config.environments=null"], "environments"),
    (["config.artefacts[0].repository=acme/x"], "config.artefacts.0: name is required"),
    (["runAsUser=0"], "runAsUser"),
    (["persistence.accessMode=ReadWriteMany"], "persistence.accessMode"),
    (["persistence.size=big"], "persistence.size"),
    (["service.port=0"], "service.port"),
    (["metrics.port=8080"], "metrics.port"),
    (["metrics.prometheusRule.runbook=deploy/README.md"], "metrics.prometheusRule.runbook"),
    (["metrics.prometheusRule.runbook=https://acme.dev/runbook#gantry"], "metrics.prometheusRule.runbook"),
    (["ingress.tlsElsewhere=cloudflare"], "ingress.tlsElsewhere"),
    (["ingress.host=https://gantry.acme.dev"], "ingress.host"),
    (["networkPolicy.egressPorts={443,https}"], "networkPolicy.egressPorts.1"),
    (["networkPolicy.from[0].everybody=true"], "networkPolicy.from.0"),
    (["rbac.namespaces={*}"], "rbac.namespaces.0"),
    (["extraEnv[0].name=SLACK_BOT_TOKEN", "extraEnv[0].value=xoxb-1"], "extraEnv.0.name"),
    (["extraEnv[0].name=FLUX_PROD_SECRET", "extraEnv[0].value=s"], "extraEnv.0.name"),
    (["extraEnv[0].name=DATABASE_URL", "extraEnv[0].value=s"], "extraEnv.0.name"),
    (["extraVolumes[0].name=host", "extraVolumes[0].hostPath.path=/"], "extraVolumes.0"),
]

BY_THE_TEMPLATES = [
    (["config=environments: ["], "`config` is not YAML"),
    (["config=slack: none"], "`config` has no list of `environments`"),
    (["config.artefacts[0].name=a", "config.artefacts[0].environments.prod.context=eu"], "set `kubeconfig.existingSecret`"),
    (["ingress.enabled=true"], "set `ingress.tlsSecret`, or `ingress.tlsElsewhere=true`"),
    (["ingress.enabled=true", "slack.mode=socket"], "set `ingress.tlsSecret`, or `ingress.tlsElsewhere=true`"),
    (["registry.dockerConfigSecret=ghcr"], "docker_config: /etc/gantry/docker/config.json"),
    (["kubeconfig.existingSecret=k", "config.kubeconfig=/etc/other"], "names another `kubeconfig`"),
]


class Refused(unittest.TestCase):
    def check_refused(self, cases):
        for settings, message in cases:
            with self.subTest(settings=settings):
                succeeded, output = chart.template(*(f"--set={setting}" for setting in settings))
                self.assertFalse(succeeded, "these values were accepted")
                self.assertIn(message, output)

    def test_the_schema_refuses_wrong_values(self):
        self.check_refused(BY_THE_SCHEMA)

    def test_the_templates_refuse_wrong_values(self):
        self.check_refused(BY_THE_TEMPLATES)


if __name__ == "__main__":
    unittest.main()
