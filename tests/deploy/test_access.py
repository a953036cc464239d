"""What the pod may read of the cluster, and which secrets it is given: what the configuration needs, and no more."""

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
    def test_every_role_is_exactly_the_rules(self):
        roles = 0
        for name, rendered in chart.every_rendering():
            for role in of_kind(rendered, "Role"):
                self.assertEqual(role["rules"], RULES, name)
                roles += 1
        self.assertGreater(roles, 8)

    def test_the_rules_let_nobody_write_or_read_secrets_and_logs(self):
        for rule in RULES:
            self.assertLessEqual(set(rule), {"apiGroups", "resources", "verbs"})
            self.assertLessEqual(set(rule["verbs"]), {"get", "list", "watch"})
            self.assertFalse(set(rule["verbs"]) & WRITES)
            for resource in rule["resources"]:
                # `pods/log` would be a subresource, as everything with a slash is.
                self.assertNotRegex(resource, r"secret|configmap|/|\*")
            self.assertNotIn("*", rule["apiGroups"])

    def test_nothing_is_cluster_wide(self):
        for name, rendered in chart.every_rendering():
            kinds = {each["kind"] for each in rendered}
            self.assertFalse({kind for kind in kinds if kind.startswith("Cluster")}, name)

    def test_each_role_is_bound_to_the_pods_account_and_to_nobody_else(self):
        for name, rendered in chart.every_rendering():
            roles = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in of_kind(rendered, "Role")]
            bindings = of_kind(rendered, "RoleBinding")
            bound = [(each["metadata"]["namespace"], each["roleRef"]["name"]) for each in bindings]
            self.assertEqual(sorted(roles), sorted(bound))
            account = {"kind": "ServiceAccount", "name": pod(rendered)["serviceAccountName"], "namespace": "gantry"}
            for binding in bindings:
                self.assertEqual(binding["roleRef"]["kind"], "Role")
                self.assertEqual(binding["subjects"], [account], name)

    def test_a_role_stands_in_each_namespace_of_this_cluster_where_an_artefact_runs(self):
        self.assertEqual(read_namespaces(render()), ["development", "production"])
        # Not in `qa` and `unused`, where nothing runs, nor in what is in another cluster: there `mail` and `shop` are.
        clusters = ["development", "qa-checkout", "staging-checkout"]
        self.assertEqual(read_namespaces(render(*with_values("clusters"))), clusters)
        self.assertEqual(read_namespaces(render(*with_values("everything"))), ["development"])
        self.assertEqual(read_namespaces(render("--set", "rbac.namespaces={shop,mail}")), ["mail", "shop"])
        self.assertEqual(read_namespaces(render(*with_values("existing"))), [])

    def test_the_example_is_read_from_its_four_namespaces(self):
        example = (chart.ROOT / "config/gantry.yaml").read_text().replace("context: prod, ", "")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(example)
            file.flush()
            rendered = render("--set-file", f"config={file.name}")
        self.assertEqual(read_namespaces(rendered), ["development", "mail", "qa", "shop", "staging"])
        self.assertEqual(one(rendered, "ConfigMap")["data"]["gantry.yaml"], example)

    def test_only_a_pod_that_reads_this_cluster_is_given_its_token(self):
        elsewhere = [*with_values("clusters"), "--set", "kubeconfig.currentContextIsThisCluster=false"]
        for options, wanted in [([], True), (with_values("clusters"), True), (elsewhere, False)]:
            rendered = render(*options)
            self.assertIs(pod(rendered)["automountServiceAccountToken"], wanted)
            self.assertIs(one(rendered, "ServiceAccount")["automountServiceAccountToken"], False)
            self.assertEqual(bool(of_kind(rendered, "Role")), wanted)

    def test_another_cluster_is_given_the_same_rules(self):
        """As deploy/README.md has it: the account and its Roles alone, for the cluster where the others run."""
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

    def test_the_keys_are_those_that_are_needed(self):
        self.assertEqual(self.keys(render()), [*self.OWN, *self.APP, "GITHUB_WEBHOOK_SECRET"])
        self.assertEqual(self.keys(render(*with_values("minimal"))), ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "GITHUB_TOKEN"])
        by_environment = ["FLUX_DEVELOPMENT_SECRET", "FLUX_PROD_SECRET"]
        for name, secret in [("socket", "gantry"), ("everything", "gantry-secrets")]:
            self.assertEqual(self.keys(render(*with_values(name)), secret)[-2:], by_environment)

    def test_each_is_a_file_that_its_variable_names(self):
        for name, rendered in chart.every_rendering():
            files = chart.mounted_files(rendered)
            by_file = {key: value for key, value in chart.variables(rendered).items() if key.endswith("_FILE")}
            by_file.pop("SSL_CERT_FILE", None)
            secrets = {path for path, (kind, _, _) in files.items() if kind == "secret" and "/secrets/" in path}
            self.assertEqual(set(by_file.values()), secrets, name)
            for variable, path in by_file.items():
                self.assertEqual(files[path][2], variable.removesuffix("_FILE"))

    def test_no_variable_holds_a_secret(self):
        for name, rendered in chart.every_rendering():
            for each in chart.container(rendered)["env"]:
                self.assertEqual(set(each), {"name", "value"}, name)
                self.assertFalse(re.search(r"(SECRET|TOKEN|KEY|PASSWORD)$", each["name"]), each["name"])
            self.assertNotIn("envFrom", chart.container(rendered))

    def test_the_chart_makes_no_secret_and_needs_none_in_its_values(self):
        for name, rendered in chart.every_rendering():
            self.assertEqual(of_kind(rendered, "Secret"), [], name)
            self.assertNotRegex(one(rendered, "ConfigMap")["data"]["gantry.yaml"], r"xox[bap]-|PRIVATE KEY|ghp_|ghs_")

    def test_the_files_are_for_the_pods_own_group(self):
        for name, rendered in chart.every_rendering():
            (etc,) = [each for each in pod(rendered)["volumes"] if each["name"] == "etc"]
            self.assertEqual(etc["projected"]["defaultMode"], 0o440, name)
            (mount,) = [each for each in chart.container(rendered)["volumeMounts"] if each["name"] == "etc"]
            self.assertEqual(mount, {"name": "etc", "mountPath": "/etc/gantry", "readOnly": True})

    def test_kubeconfig_and_registry_logins_stand_where_they_are_looked_for(self):
        rendered = render(*with_values("everything"))
        files = chart.mounted_files(rendered)
        self.assertEqual(files["/etc/gantry/kubeconfig"], ("secret", "gantry-clusters", "kubeconfig"))
        self.assertEqual(chart.variables(rendered)["KUBECONFIG"], "/etc/gantry/kubeconfig")
        self.assertEqual(files["/etc/gantry/docker/config.json"], ("secret", "ghcr-login", ".dockerconfigjson"))
        self.assertNotIn("KUBECONFIG", chart.variables(render()))


class Configuration(unittest.TestCase):
    def test_gantry_finds_every_rendered_configuration_right(self):
        for name, rendered in chart.every_rendering():
            with self.subTest(values=name), tempfile.TemporaryDirectory() as directory:
                path = pathlib.Path(directory) / "gantry.yaml"
                path.write_text(one(rendered, "ConfigMap")["data"]["gantry.yaml"])
                said = subprocess.run([GANTRY, "check", "--config", path], capture_output=True, text=True)
                self.assertEqual(said.returncode, 0, said.stderr)

    def test_gantry_knows_the_words_that_it_is_started_with(self):
        known = subprocess.run([GANTRY, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        for _, rendered in chart.every_rendering():
            first, *options = chart.container(rendered)["args"]
            self.assertEqual(first, "serve")
            for option in options:
                self.assertIn(option.split("=")[0] + " ", known)


if __name__ == "__main__":
    unittest.main()
