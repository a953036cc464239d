"""Tests that the chart renders valid Kubernetes objects with every set of values, and tests of their contents."""

import json
import pathlib
import re
import shutil
import tempfile
import unittest

import jsonschema
import kubernetes_validate
import yaml

import chart
from chart import container, of_kind, one, pod, render, with_values

# The oldest version that Chart.yaml allows, and the newest known one.
VERSIONS = ["1.27", kubernetes_validate.latest_version().rpartition(".")[0]]
ALERTS = chart.CHART / "files/alerts.yaml"
CUSTOM = {"ServiceMonitor", "PrometheusRule"}


class Rendering(unittest.TestCase):
    def test_helm_lint_passes(self):
        for options in [[], *(["--values", path] for path in chart.VALUES)]:
            with self.subTest(options=options):
                succeeded, output = chart.helm("lint", "--strict", chart.CHART, *options)
                self.assertTrue(succeeded, output)

    def test_every_object_is_valid_for_kubernetes(self):
        for name, rendered in chart.every_rendering():
            self.assertGreater(len(rendered), 3)
            for each in rendered:
                with self.subTest(values=name, kind=each["kind"], name=each["metadata"]["name"]):
                    if each["kind"] in CUSTOM:
                        self.assertEqual(each["apiVersion"], "monitoring.coreos.com/v1")
                        continue
                    for version in VERSIONS:
                        kubernetes_validate.validate(each, version, strict=True)

    def test_names_are_unique_and_every_object_has_a_namespace(self):
        for name, rendered in chart.every_rendering():
            identities = [(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]) for each in rendered]
            self.assertEqual(len(identities), len(set(identities)), name)

    def test_all_features_render_every_kind_and_minimal_values_few(self):
        kinds = lambda *options: sorted({each["kind"] for each in render(*options)})
        everything = ["ConfigMap", "Deployment", "Ingress", "NetworkPolicy", "PersistentVolumeClaim", "PrometheusRule"]
        everything += ["Role", "RoleBinding", "Service", "ServiceAccount", "ServiceMonitor"]
        self.assertEqual(kinds(*with_values("everything")), everything)
        minimal = ["ConfigMap", "Deployment", "Role", "RoleBinding", "Service", "ServiceAccount"]
        self.assertEqual(kinds(*with_values("minimal")), minimal)

    def test_the_chart_has_the_version_of_the_program(self):
        cargo = (chart.ROOT / "Cargo.toml").read_text().split('version = "')[1].split('"')[0]
        about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertEqual(about["appVersion"], cargo)
        self.assertEqual(container(render())["image"], f"gantry:{cargo}")

    def test_the_schema_is_valid_and_has_every_value(self):
        schema = json.loads((chart.CHART / "values.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
        self.assertEqual(set(values) | {"global"}, set(schema["properties"]))

        def check_closed(node, path):
            if isinstance(node, dict) and isinstance(node.get("properties"), dict):
                # Kubernetes or Gantry validates the contents of these.
                free = path in ("/config", "/extraVolumes/items", "/extraVolumeMounts/items", "/named")
                self.assertTrue(free or node.get("additionalProperties") is False, f"{path} accepts unknown keys")
            for key, inside in node.items() if isinstance(node, dict) else []:
                check_closed(inside, path if key in ("properties", "definitions") else f"{path}/{key}")

        check_closed(schema, "")


class Pod(unittest.TestCase):
    def test_every_container_meets_the_restricted_standard(self):
        for name, rendered in chart.every_rendering():
            with self.subTest(values=name):
                spec = pod(rendered)
                outer = dict(spec["securityContext"])
                if name != "existing":
                    for key in ("runAsUser", "runAsGroup", "fsGroup"):
                        self.assertEqual(outer.pop(key), 65532)
                    self.assertEqual(outer.pop("fsGroupChangePolicy"), "OnRootMismatch")
                self.assertEqual(outer, {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
                self.assertNotIn("initContainers", spec)
                self.assertEqual(len(spec["containers"]), 1)
                for each in spec["containers"]:
                    self.assertEqual(
                        each["securityContext"],
                        {
                            "allowPrivilegeEscalation": False,
                            "privileged": False,
                            "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    )
                for forbidden in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
                    self.assertNotIn(forbidden, spec)
                for volume in spec["volumes"]:
                    self.assertNotIn("hostPath", volume)
                for port in container(rendered)["ports"]:
                    self.assertNotIn("hostPort", port)
                self.assertIs(spec["enableServiceLinks"], False)

    def test_there_is_one_replica_and_it_is_recreated(self):
        for name, rendered in chart.every_rendering():
            spec = one(rendered, "Deployment")["spec"]
            self.assertEqual((spec["replicas"], spec["strategy"]), (1, {"type": "Recreate"}), name)
            # Shutting down takes less than 10 s.
            self.assertGreater(pod(rendered)["terminationGracePeriodSeconds"], 10)
            self.assertEqual(of_kind(rendered, "HorizontalPodAutoscaler"), [])

    def test_only_the_state_and_tmp_are_writable(self):
        for name, rendered in chart.every_rendering():
            mounts = {each["mountPath"]: each for each in container(rendered)["volumeMounts"]}
            writable = {path for path, each in mounts.items() if not each.get("readOnly")}
            self.assertEqual(writable, {"/var/lib/gantry", "/tmp"}, name)
            self.assertEqual(chart.variables(rendered)["DATABASE_URL"], "sqlite:///var/lib/gantry/gantry.db")

    def test_the_state_is_on_a_volume_that_is_kept_after_uninstall(self):
        volume = lambda rendered: next(each for each in pod(rendered)["volumes"] if each["name"] == "state")
        rendered = render()
        claim = one(rendered, "PersistentVolumeClaim")
        self.assertEqual(volume(rendered)["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])
        self.assertEqual(claim["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOnce"])
        existing = render(*with_values("existing"))
        self.assertEqual(of_kind(existing, "PersistentVolumeClaim"), [])
        self.assertEqual(volume(existing)["persistentVolumeClaim"]["claimName"], "lifter-state")
        self.assertIn("emptyDir", volume(render(*with_values("minimal"))))

    def test_the_pod_has_startup_liveness_and_readiness_probes(self):
        for _, rendered in chart.every_rendering():
            probes = container(rendered)
            for probe, path in [("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")]:
                self.assertEqual(probes[f"{probe}Probe"]["httpGet"], {"path": path, "port": "http"})

    def test_a_changed_configuration_restarts_the_pod(self):
        sums = {
            one(rendered, "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
            for rendered in (render(), render("--set", "config.slack.channel=#other"), render("--set", "log=debug"))
        }
        self.assertEqual(len(sums), 2)

    def test_the_image_can_be_given_by_tag_and_digest(self):
        digest = "sha256:" + "0123456789abcdef" * 4
        expected = f"registry.example.com:5000/team/gantry:1.2.3@{digest}"
        self.assertEqual(container(render(*with_values("existing")))["image"], expected)


class Network(unittest.TestCase):
    def test_metrics_have_a_listener_and_a_service_of_their_own(self):
        rendered = render(*with_values("everything"))
        self.assertIn("--metrics-listen=0.0.0.0:9191", container(rendered)["args"])
        self.assertEqual(container(rendered)["ports"][1], {"name": "metrics", "containerPort": 9191})
        public, inner = one(rendered, "Service", "gantry"), one(rendered, "Service", "gantry-metrics")
        self.assertEqual([port["name"] for port in public["spec"]["ports"]], ["http"])
        self.assertEqual((inner["spec"]["type"], inner["spec"]["ports"][0]["port"]), ("ClusterIP", 9191))
        monitor = one(rendered, "ServiceMonitor")["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), inner["metadata"]["labels"].items())
        self.assertFalse(monitor["selector"]["matchLabels"].items() <= public["metadata"]["labels"].items())
        self.assertEqual((monitor["endpoints"][0]["port"], monitor["endpoints"][0]["interval"]), ("metrics", "15s"))
        none = render(*with_values("minimal"))
        self.assertIn("--metrics-listen=off", container(none)["args"])
        self.assertEqual(len(of_kind(none, "Service")), 1)

    def test_selectors_select_the_pod(self):
        for name, rendered in chart.every_rendering():
            labels = one(rendered, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
            selectors = [one(rendered, "Deployment")["spec"]["selector"]["matchLabels"]]
            selectors += [each["spec"]["selector"] for each in of_kind(rendered, "Service")]
            selectors += [each["spec"]["podSelector"]["matchLabels"] for each in of_kind(rendered, "NetworkPolicy")]
            for selector in selectors:
                self.assertTrue(selector and selector.items() <= labels, name)

    def test_the_ingress_forwards_only_slack_and_webhooks(self):
        self.assertEqual(of_kind(render(), "Ingress"), [])
        paths = lambda rendered: [each["path"] for each in one(rendered, "Ingress")["spec"]["rules"][0]["http"]["paths"]]
        self.assertEqual(paths(render(*with_values("everything"))), ["/slack/", "/webhooks/"])
        socket = render(*with_values("socket"), "--set", "ingress.enabled=true,ingress.tlsElsewhere=true")
        self.assertEqual(paths(socket), ["/webhooks/"])

    def test_the_ingress_has_a_certificate_unless_tls_ends_elsewhere(self):
        tls = lambda rendered: one(rendered, "Ingress")["spec"].get("tls")
        everything = [{"hosts": ["gantry.acme.dev"], "secretName": "gantry-tls"}]
        self.assertEqual(tls(render(*with_values("everything"))), everything)
        self.assertIsNone(tls(render("--set", "ingress.enabled=true,ingress.tlsElsewhere=true")))

    def test_the_network_policy_allows_http_metrics_and_the_configured_egress(self):
        policy = one(render(), "NetworkPolicy")["spec"]
        self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])
        http, metrics = policy["ingress"]
        self.assertEqual(http, {"ports": [{"protocol": "TCP", "port": "http"}]})
        self.assertEqual(metrics["ports"], [{"protocol": "TCP", "port": "metrics"}])
        (peer,) = metrics["from"]
        self.assertEqual(peer["namespaceSelector"]["matchExpressions"][0]["values"], ["monitoring"])
        dns, rest = policy["egress"]
        self.assertEqual({(port["protocol"], port["port"]) for port in dns["ports"]}, {("UDP", 53), ("TCP", 53)})
        self.assertEqual([port["port"] for port in rest["ports"]], [443, 6443])
        # Without metrics namespaces there is no rule: a rule without `from` would allow everyone.
        (only,) = one(render(*with_values("socket")), "NetworkPolicy")["spec"]["ingress"]
        self.assertEqual(only["ports"][0]["port"], "http")
        flux = one(render(*with_values("everything")), "NetworkPolicy")["spec"]["egress"][2]
        self.assertEqual(flux["ports"], [{"protocol": "TCP", "port": 9292}])

    def test_the_rendered_alerts_are_those_of_the_file(self):
        page = "https://github.com/acme/gantry/blob/main/deploy/README.md"
        anchors = set(re.findall(r'<a id="([^"]+)">', (chart.ROOT / "deploy/README.md").read_text()))
        linked, unlinked = (yaml.safe_load(ALERTS.read_text()) for _ in range(2))
        rules = [rule for group in linked["groups"] for rule in group["rules"]]
        self.assertTrue(rules)
        for rule in rules:
            path, _, anchor = rule["annotations"]["runbook_url"].partition("#")
            self.assertEqual(path, "deploy/README.md", rule["alert"])
            self.assertIn(anchor, anchors)
            rule["annotations"]["runbook_url"] = f"{page}#{anchor}"
        self.assertEqual(one(render(*with_values("everything")), "PrometheusRule")["spec"], linked)
        # A path alone is not a link, so without an address the annotation is omitted.
        for rule in (rule for group in unlinked["groups"] for rule in group["rules"]):
            del rule["annotations"]["runbook_url"]
        without = render("--set", "metrics.prometheusRule.enabled=true")
        self.assertEqual(one(without, "PrometheusRule")["spec"], unlinked)


class Notes(unittest.TestCase):
    """`helm template` does not show the notes, so a copy of the chart renders them into an object."""

    def notes(self, *options):
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory) / "gantry"
            shutil.copytree(chart.CHART, copy)
            shutil.move(copy / "templates/NOTES.txt", copy / "files/NOTES.txt")
            (copy / "templates/notes.yaml").write_text(
                "kind: Notes\nmetadata: { name: notes }\ntext: {{ tpl (.Files.Get \"files/NOTES.txt\") . | toJson }}\n"
            )
            return one(render(*options, chart=copy), "Notes")["text"]

    def test_the_notes_name_the_next_steps(self):
        notes = self.notes()
        self.assertIn("exec deployment/gantry -- /gantry doctor --config /etc/gantry/gantry.yaml", notes)
        self.assertIn("/slack/commands, /slack/interactions, /slack/events", notes)
        self.assertIn("there is no Ingress yet", notes)
        self.assertIn("SLACK_BOT_TOKEN, SLACK_SIGNING_SECRET, GITHUB_APP_ID", notes)
        self.assertIn("the namespaces development, production of this cluster.", notes)
        self.assertNotIn("FORGETS", notes)
        self.assertIn(f"Its image is {container(render())['image']}, which NO REGISTRY HAS", notes)
        self.assertIn("\n\n1. The Secret gantry must have", notes)
        self.assertNotIn("certificate", notes)

    def test_the_notes_depend_on_the_values(self):
        everything = self.notes(*with_values("everything"))
        self.assertIn("at https://gantry.acme.dev:", everything)
        self.assertIn("is in the namespace gantry.\n\n1. The Secret", everything)
        self.assertNotIn("certificate", everything)
        elsewhere = self.notes("--set", "ingress.enabled=true,ingress.tlsElsewhere=true")
        self.assertIn("https://gantry.example.com must answer with one that Slack trusts", elsewhere)
        minimal = self.notes(*with_values("minimal"))
        self.assertIn("Socket Mode", minimal)
        self.assertIn("FORGETS EVERYTHING", minimal)
        self.assertNotIn("/slack/commands", minimal)
        self.assertNotIn("/webhooks/github", minimal)


if __name__ == "__main__":
    unittest.main()
