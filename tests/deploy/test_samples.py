"""Tests of the samples for Flux, Argo CD, Slack and GitHub: they are valid and match the code."""

import json
import re
import subprocess
import sys
import unittest
import urllib.parse

import jsonschema
import kubernetes_validate
import yaml

import chart

DEPLOY = chart.ROOT / "deploy"
README = (DEPLOY / "README.md").read_text()
SECURITY = (chart.ROOT / "docs/security.md").read_text()
HOST = "https://gantry.example.com"


class Flux(unittest.TestCase):
    def test_secret_provider_and_alert_refer_to_each_other(self):
        secret, provider, alert = yaml.safe_load_all((DEPLOY / "flux/notifications.yaml").read_text())
        kubernetes_validate.validate(secret, "1.33", strict=True)
        for each in (provider, alert):
            self.assertEqual(each["apiVersion"], "notification.toolkit.fluxcd.io/v1beta3")
        self.assertEqual([each["kind"] for each in (secret, provider, alert)], ["Secret", "Provider", "Alert"])
        self.assertEqual(len({each["metadata"]["namespace"] for each in (secret, provider, alert)}), 1)
        spec = provider["spec"]
        self.assertEqual(set(spec), {"type", "address", "secretRef"})
        self.assertEqual(spec["type"], "generic-hmac")
        self.assertRegex(spec["address"], rf"^{HOST}/webhooks/flux/[a-z]+$")
        self.assertEqual(spec["secretRef"], {"name": secret["metadata"]["name"]})
        self.assertEqual(list(secret["stringData"]), ["token"])
        spec = alert["spec"]
        self.assertEqual(set(spec), {"providerRef", "eventSeverity", "eventSources"})
        self.assertEqual(spec["providerRef"], {"name": provider["metadata"]["name"]})
        # `error` would report only failures.
        self.assertEqual(spec["eventSeverity"], "info")
        self.assertEqual({each["kind"] for each in spec["eventSources"]}, {"Kustomization", "HelmRelease"})


class ArgoCd(unittest.TestCase):
    def test_services_template_and_triggers_refer_to_each_other(self):
        (config,) = yaml.safe_load_all((DEPLOY / "argocd/notifications.yaml").read_text())
        kubernetes_validate.validate(config, "1.33", strict=True)
        data = {key: yaml.safe_load(text) for key, text in config["data"].items()}
        services = {key.removeprefix("service.webhook."): each for key, each in data.items() if key.startswith("service.")}
        self.assertTrue(services)
        for name, service in services.items():
            self.assertRegex(service["url"], rf"^{HOST}/webhooks/argocd/[a-z]+$")
            self.assertIn({"name": "Authorization", "value": f"Bearer ${name}"}, service["headers"])
        self.assertEqual(set(data["template.gantry"]["webhook"]), set(services))
        triggers = [each for key, each in data.items() if key.startswith("trigger.")]
        self.assertEqual(len(triggers), 4)
        for (trigger,) in triggers:
            self.assertEqual(trigger["send"], ["gantry"])
            self.assertRegex(trigger["oncePer"], r"(startedAt|finishedAt)$")


class Slack(unittest.TestCase):
    def test_every_manifest_is_valid_by_slacks_schema(self):
        schema = json.loads((chart.ROOT / "tests/data/slack-manifest.schema.json").read_text())
        manifests = sorted((DEPLOY / "slack").glob("manifest*.yaml"))
        self.assertTrue(manifests)
        validator = jsonschema.Draft7Validator(schema)
        for path in manifests:
            with self.subTest(manifest=path.name):
                problems = validator.iter_errors(yaml.safe_load(path.read_text()))
                self.assertEqual([f"{error.json_path}: {error.message}" for error in problems], [])
        broken = yaml.safe_load(manifests[0].read_text())
        broken["settings"]["socket_mode_enabled"] = "perhaps"
        self.assertFalse(validator.is_valid(broken), "the schema accepts anything")


# The permission that each request of src/adapters/github needs, by GitHub's "Permissions required for GitHub Apps".
# Add new requests here, and their permissions to deploy/github/app-manifest.json and docs/security.md.
REQUIRED_PERMISSIONS = {
    r"/repos/R": "metadata read",
    r"/repos/R/branches/X": "contents read",
    r"/repos/R/collaborators/X/permission": "metadata read",
    r"/repos/R/commits": "contents read",
    r"/repos/R/commits/X": "contents read",
    r"/repos/R/commits/X/check-runs": "checks read",
    r"/repos/R/commits/X/status": "statuses read",
    r"/repos/R/compare/X...X": "contents read",
    r"/repos/R/contents/X": "contents read",
    r"/repos/R/git/blobs/X": "contents read",
    r"/repos/R/git/commits": "contents write",
    r"/repos/R/git/commits/X": "contents read",
    r"/repos/R/git/matching-refs/tags/X": "contents read",
    r"/repos/R/git/ref/heads/X": "contents read",
    r"/repos/R/git/ref/tags/X": "contents read",
    r"/repos/R/git/refs": "contents write",
    r"/repos/R/git/refs/heads/X": "contents write",
    r"/repos/R/git/tags": "contents write",
    r"/repos/R/git/tags/X": "contents read",
    r"/repos/R/git/trees": "contents write",
    r"/repos/R/git/trees/X": "contents read",
    # A comment on a pull request needs no other permission.
    r"/repos/R/issues/X/comments": "pull_requests write",
    r"/repos/R/merges": "contents write",
    r"/repos/R/pulls": "pull_requests write",
    r"/repos/R/pulls/X": "pull_requests write",
    r"/repos/R/pulls/X/merge": "contents write",
    r"/repos/R/pulls/X/reviews": "pull_requests read",
    r"/repos/R/rules/branches/X": "metadata read",
    r"/repos/R/rulesets/X": "metadata read",
    r"/orgs/X/teams/X": "members read",
    r"/orgs/X/teams/X/memberships/X": "members read",
    # These need no permission. The last two are requests of an App about itself.
    r"/user": None,
    r"/users/X": None,
    r"/rate_limit": None,
    r"/app/hook/config": None,
    r"/app/installations/X": None,
}

# The permission that is needed to receive each event.
EVENT_PERMISSIONS = {
    "check_run": "checks read",
    "check_suite": "checks read",
    "deployment_status": "deployments read",
    "pull_request": "pull_requests read",
    "pull_request_review": "pull_requests read",
    "status": "statuses read",
    "workflow_run": "actions read",
}


def requested_paths():
    """Each path that src/adapters/github requests, with R for the repository and X for all other parameters."""
    for path in sorted((chart.ROOT / "src/adapters/github").rglob("*.rs")):
        if path.stem.endswith("tests"):
            continue
        code = path.read_text().split("#[cfg(test)]")[0]
        for requested in re.findall(r'"(/(?:repos|orgs|users?|apps?|installation|rate_limit|search|graphql)\b[^"]*)"', code):
            requested = re.sub(r"^/repos/\{[^}]*\}", "/repos/R", requested.partition("?")[0])
            yield path.name, re.sub(r"\{[^}]*\}", "X", requested)


class GitHub(unittest.TestCase):
    def setUp(self):
        self.manifest = json.loads((DEPLOY / "github/app-manifest.json").read_text())

    def test_the_events_are_those_that_the_code_handles(self):
        code = (chart.ROOT / "src/adapters/reports/github.rs").read_text()
        listed = re.search(r"pub const NOTICE_EVENTS: \[&str; \d+\] = \[([^\]]*)\]", code)[1]
        events = re.findall(r'"(\w+)"', listed) + re.findall(r'pub const (?:DEPLOYMENT|BUILD)_EVENT: &str = "(\w+)"', code)
        self.assertEqual(len(events), 7)
        self.assertEqual(self.manifest["default_events"], sorted(events))

    def test_the_permissions_are_those_that_the_code_needs(self):
        requested = list(requested_paths())
        self.assertGreater(len(requested), 30)
        for file, path in requested:
            self.assertIn(path, REQUIRED_PERMISSIONS, f"src/adapters/github/{file} requests a path without a known permission")
        needed = [REQUIRED_PERMISSIONS[path] for _, path in requested]
        needed += [EVENT_PERMISSIONS[event] for event in self.manifest["default_events"]]
        expected = {}
        for permission, access in sorted(each.split() for each in needed if each):
            # `write` sorts after `read`, and includes it.
            expected[permission] = access
        self.assertEqual(self.manifest["default_permissions"], expected)

    def test_the_app_is_private_and_has_the_webhook_address(self):
        self.assertIs(self.manifest["public"], False)
        self.assertEqual(self.manifest["hook_attributes"], {"url": f"{HOST}/webhooks/github", "active": True})
        known = {"name", "description", "url", "public", "hook_attributes", "default_permissions", "default_events"}
        self.assertEqual(set(self.manifest), known)

    def test_the_link_in_the_readme_matches_the_manifest(self):
        link = re.search(r"https://github\.com/organizations/acme/settings/apps/new\?([^\s>]+)", README)
        query = urllib.parse.parse_qs(link[1], strict_parsing=True)
        self.assertEqual(sorted(query.pop("events[]")), self.manifest["default_events"])
        single = {key: value for key, (value,) in query.items()}
        self.assertEqual(single.pop("webhook_url"), self.manifest["hook_attributes"]["url"])
        self.assertEqual(single.pop("webhook_active"), "true")
        self.assertEqual(single.pop("public"), "false")
        for key in ("name", "description", "url"):
            self.assertEqual(single.pop(key), self.manifest[key])
        self.assertEqual(single, self.manifest["default_permissions"])

    def test_the_readme_documents_each_permission(self):
        for permission, access in self.manifest["default_permissions"].items():
            self.assertRegex(SECURITY, rf"\| `{permission}` \| {access} \|")


class Workflow(unittest.TestCase):
    PATH = chart.ROOT / ".github/workflows/ci.yml"

    def setUp(self):
        self.workflow = yaml.safe_load(self.PATH.read_text())

    def test_the_workflow_is_valid_by_githubs_schema(self):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", self.PATH]
        check = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_every_action_is_pinned_to_a_commit(self):
        for job in self.workflow["jobs"].values():
            for step in job["steps"]:
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^[\w.-]+/[\w.-]+@[0-9a-f]{40}$")
        for line in re.findall(r"uses: .*", self.PATH.read_text()):
            self.assertRegex(line, r"# v\d+\.\d+\.\d+$")

    def test_every_job_has_minimal_permissions_and_a_timeout(self):
        self.assertEqual(self.workflow["permissions"], {"contents": "read"})
        granted = {name: job["permissions"] for name, job in self.workflow["jobs"].items() if "permissions" in job}
        self.assertEqual(granted, {"push": {"contents": "read", "packages": "write"}})
        for name, job in self.workflow["jobs"].items():
            self.assertIn("timeout-minutes", job, name)
            self.assertIs(job["steps"][0]["with"]["persist-credentials"], False)

    def test_the_workflow_pushes_only_tagged_and_tested_images(self):
        jobs = self.workflow["jobs"]
        self.assertIn({"run": ".ci/run"}, jobs["test"]["steps"])
        of_job = lambda job: [step["with"] for step in job["steps"] if "build-push" in step.get("uses", "")]
        builds = {name: of_job(job) for name, job in jobs.items()}
        self.assertEqual([name for name, each in builds.items() if each], ["image", "push"])
        for (build,) in filter(None, builds.values()):
            self.assertEqual((build["context"], build["file"]), (".", "deploy/Dockerfile"))
        self.assertNotIn("push", builds["image"][0])
        self.assertEqual(jobs["push"]["if"], "startsWith(github.ref, 'refs/tags/v')")
        self.assertEqual(jobs["push"]["needs"], ["test", "deny", "image"])
        self.assertTrue(builds["push"][0]["sbom"] and builds["push"][0]["provenance"])


if __name__ == "__main__":
    unittest.main()
