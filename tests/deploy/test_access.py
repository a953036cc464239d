"""Tests of the pod's permissions and secrets: exactly those that the configuration needs."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

import chart
from chart import of_kind, one, pod, render, with_values

RULES = yaml.safe_load((chart.CHART / "files/rules.yaml").read_text())
GANTRY = pathlib.Path(os.environ.get("GANTRY", chart.ROOT / "target/debug/gantry"))
WRITES = {"create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate", "*"}


def read_namespaces(rendered):
    return sorted(each["metadata"]["namespace"] for each in of_kind(rendered, "Role"))


class Rights(unittest.TestCase):
    def test_every_role_has_exactly_the_rules(self):
        roles = 0
        for name, rendered in chart.every_rendering():
            for role in of_kind(rendered, "Role"):
                self.assertEqual(role["rules"], RULES, name)
                roles += 1
        self.assertGreater(roles, 8)

    def test_the_rules_allow_no_writes_no_secrets_and_no_logs(self):
        for rule in RULES:
            self.assertLessEqual(set(rule), {"apiGroups", "resources", "verbs"})
            self.assertLessEqual(set(rule["verbs"]), {"get", "list", "watch"})
            self.assertFalse(set(rule["verbs"]) & WRITES)
            for resource in rule["resources"]:
                # A name with a slash is a subresource, for example `pods/log`.
                self.assertNotRegex(resource, r"secret|configmap|/|\*")
            self.assertNotIn("*", rule["apiGroups"])

    def test_nothing_is_cluster_wide(self):
        for name, rendered in chart.every_rendering():
            kinds = {each["kind"] for each in rendered}
            self.assertFalse({kind for kind in kinds if kind.startswith("Cluster")}, name)

    def test_each_role_is_bound_only_to_the_pods_account(self):
        for name, rendered in chart.every_rendering():
            roles = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in of_kind(rendered, "Role")]
            bindings = of_kind(rendered, "RoleBinding")
            bound = [(each["metadata"]["namespace"], each["roleRef"]["name"]) for each in bindings]
            self.assertEqual(sorted(roles), sorted(bound))
            account = {"kind": "ServiceAccount", "name": pod(rendered)["serviceAccountName"], "namespace": "gantry"}
            for binding in bindings:
                self.assertEqual(binding["roleRef"]["kind"], "Role")
                self.assertEqual(binding["subjects"], [account], name)

    def test_each_namespace_of_this_cluster_where_an_artefact_runs_has_a_role(self):
        self.assertEqual(read_namespaces(render()), ["development", "production"])
        # No artefact runs in `qa` and `unused`; `mail` and `shop` are in another cluster.
        clusters = ["development", "qa-checkout", "staging-checkout"]
        self.assertEqual(read_namespaces(render(*with_values("clusters"))), clusters)
        self.assertEqual(read_namespaces(render(*with_values("everything"))), ["development"])
        self.assertEqual(read_namespaces(render("--set", "rbac.namespaces={shop,mail}")), ["mail", "shop"])
        self.assertEqual(read_namespaces(render(*with_values("existing"))), [])

    def test_the_example_configuration_has_a_role_in_each_of_its_namespaces(self):
        example = (chart.ROOT / "config/gantry.yaml").read_text().replace("context: prod, ", "")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(example)
            file.flush()
            rendered = render("--set-file", f"config={file.name}")
        self.assertEqual(read_namespaces(rendered), ["development", "mail", "qa", "shop", "staging"])
        self.assertEqual(one(rendered, "ConfigMap")["data"]["gantry.yaml"], example)

    def test_the_token_is_mounted_only_if_gantry_reads_this_cluster(self):
        elsewhere = [*with_values("clusters"), "--set", "kubeconfig.currentContextIsThisCluster=false"]
        for options, expected in [([], True), (with_values("clusters"), True), (elsewhere, False)]:
            rendered = render(*options)
            self.assertIs(pod(rendered)["automountServiceAccountToken"], expected)
            self.assertIs(one(rendered, "ServiceAccount")["automountServiceAccountToken"], False)
            self.assertEqual(bool(of_kind(rendered, "Role")), expected)

    def test_the_account_and_its_roles_can_be_rendered_alone_for_another_cluster(self):
        """The command of deploy/README.md for several clusters."""
        rendered = render(
            *("--show-only", "templates/serviceaccount.yaml", "--show-only", "templates/rbac.yaml"),
            *("--set", "rbac.namespaces={shop,mail}"),
        )
        self.assertEqual({each["kind"] for each in rendered}, {"ServiceAccount", "Role", "RoleBinding"})


class Secrets(unittest.TestCase):
    OWN = ["SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"]
    APP = ["GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "GITHUB_APP_INSTALLATION_ID"]

    def keys(self, rendered, secret="gantry"):
        return [key for kind, name, key in chart.mounted_files(rendered).values() if (kind, name) == ("secret", secret)]

    def test_exactly_the_required_keys_are_mounted(self):
        self.assertEqual(self.keys(render()), [*self.OWN, *self.APP, "GITHUB_WEBHOOK_SECRET"])
        self.assertEqual(self.keys(render(*with_values("minimal"))), ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "GITHUB_TOKEN"])
        by_environment = ["FLUX_DEVELOPMENT_SECRET", "FLUX_PROD_SECRET"]
        for name, secret in [("socket", "gantry"), ("everything", "gantry-secrets")]:
            self.assertEqual(self.keys(render(*with_values(name)), secret)[-2:], by_environment)

    def test_each_key_is_a_file_that_its_variable_names(self):
        for name, rendered in chart.every_rendering():
            files = chart.mounted_files(rendered)
            by_file = {key: value for key, value in chart.variables(rendered).items() if key.endswith("_FILE")}
            by_file.pop("SSL_CERT_FILE", None)
            secrets = {path for path, (kind, _, _) in files.items() if kind == "secret" and "/secrets/" in path}
            self.assertEqual(set(by_file.values()), secrets, name)
            for variable, path in by_file.items():
                self.assertEqual(files[path][2], variable.removesuffix("_FILE"))

    def test_no_environment_variable_contains_a_secret(self):
        for name, rendered in chart.every_rendering():
            for each in chart.container(rendered)["env"]:
                self.assertEqual(set(each), {"name", "value"}, name)
                self.assertFalse(re.search(r"(SECRET|TOKEN|KEY|PASSWORD)$", each["name"]), each["name"])
            self.assertNotIn("envFrom", chart.container(rendered))

    def test_the_chart_creates_no_secret_and_needs_none_in_its_values(self):
        for name, rendered in chart.every_rendering():
            self.assertEqual(of_kind(rendered, "Secret"), [], name)
            self.assertNotRegex(one(rendered, "ConfigMap")["data"]["gantry.yaml"], r"xox[bap]-|PRIVATE KEY|ghp_|ghs_")

    def test_the_mounted_files_are_readable_only_by_the_pods_group(self):
        for name, rendered in chart.every_rendering():
            (etc,) = [each for each in pod(rendered)["volumes"] if each["name"] == "etc"]
            self.assertEqual(etc["projected"]["defaultMode"], 0o440, name)
            (mount,) = [each for each in chart.container(rendered)["volumeMounts"] if each["name"] == "etc"]
            self.assertEqual(mount, {"name": "etc", "mountPath": "/etc/gantry", "readOnly": True})

    def test_kubeconfig_and_registry_logins_are_mounted_at_their_configured_paths(self):
        rendered = render(*with_values("everything"))
        files = chart.mounted_files(rendered)
        self.assertEqual(files["/etc/gantry/kubeconfig"], ("secret", "gantry-clusters", "kubeconfig"))
        self.assertEqual(chart.variables(rendered)["KUBECONFIG"], "/etc/gantry/kubeconfig")
        self.assertEqual(files["/etc/gantry/docker/config.json"], ("secret", "ghcr-login", ".dockerconfigjson"))
        self.assertNotIn("KUBECONFIG", chart.variables(render()))


class Configuration(unittest.TestCase):
    def test_gantry_check_accepts_every_rendered_configuration(self):
        for name, rendered in chart.every_rendering():
            with self.subTest(values=name), tempfile.TemporaryDirectory() as directory:
                path = pathlib.Path(directory) / "gantry.yaml"
                path.write_text(one(rendered, "ConfigMap")["data"]["gantry.yaml"])
                check = subprocess.run([GANTRY, "check", "--config", path], capture_output=True, text=True)
                self.assertEqual(check.returncode, 0, check.stderr)

    def test_gantry_knows_the_arguments_of_the_container(self):
        usage = subprocess.run([GANTRY, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        for _, rendered in chart.every_rendering():
            first, *options = chart.container(rendered)["args"]
            self.assertEqual(first, "serve")
            for option in options:
                self.assertIn(option.split("=")[0] + " ", usage)


if __name__ == "__main__":
    unittest.main()
