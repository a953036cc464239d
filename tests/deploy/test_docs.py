"""Tests of README.md and deploy/README.md: their commands and samples work, and their links are valid."""

import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

import kubernetes_validate
import yaml

import chart
from test_access import GANTRY

TEXT = (chart.ROOT / "deploy/README.md").read_text()
FRONT = (chart.ROOT / "README.md").read_text()


def blocks(language, text=TEXT):
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def commands(program, text=TEXT):
    """Each command of a page, as a list of words, up to a pipe."""
    for block in blocks("sh", text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith(program + " "):
                yield shlex.split(line.partition(" | ")[0])


class Readme(unittest.TestCase):
    def test_the_helm_commands_render(self):
        found = list(commands("helm"))
        self.assertEqual(len(found), 4)
        for words in found:
            with self.subTest(command=" ".join(words)):
                options = words[words.index("deploy/helm/gantry") + 1 :]
                options = [word for word in options if not word.endswith("reuse-values")]
                options = [word.replace("=config/", f"={chart.ROOT}/config/") for word in options]
                if any("config=" in word for word in options):
                    # The example has an environment in another cluster.
                    options += ["--set", "kubeconfig.existingSecret=gantry-clusters"]
                succeeded, output = chart.helm("template", "gantry", chart.CHART, *options)
                self.assertTrue(succeeded, output)

    def test_the_sample_objects_are_valid(self):
        job, kubeconfig = None, None
        for block in blocks("yaml"):
            for each in yaml.safe_load_all(block):
                if each["kind"] == "Config":
                    kubeconfig = each
                else:
                    kubernetes_validate.validate(each, "1.33", strict=True)
                    job = each
        self.assertEqual(kubeconfig["current-context"], kubeconfig["contexts"][0]["name"])
        names = {key: {each["name"] for each in kubeconfig[key]} for key in ("clusters", "users")}
        for each in kubeconfig["contexts"]:
            self.assertIn(each["context"]["cluster"], names["clusters"])
            self.assertIn(each["context"]["user"], names["users"])
        # The pod of the backup uses the chart's volume, on the node of the chart's pod.
        rendered = chart.render()
        spec = job["spec"]["template"]["spec"]
        claim = chart.one(rendered, "PersistentVolumeClaim")["metadata"]["name"]
        self.assertEqual(spec["volumes"][0]["persistentVolumeClaim"]["claimName"], claim)
        selector = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
        labels = chart.one(rendered, "Deployment")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(selector["matchLabels"].items(), labels.items())

    def test_every_secret_of_the_chart_is_documented(self):
        for name in ("default", "minimal"):
            rendered = chart.render(*([] if name == "default" else chart.with_values(name)))
            for kind, _, key in chart.mounted_files(rendered).values():
                if kind == "secret":
                    self.assertIn(f"`{key}`", TEXT)

    def test_all_links_are_valid(self):
        for page in ("README.md", "deploy/README.md", "config/README.md"):
            source = chart.ROOT / page
            for target in re.findall(r"\]\(([^):]+)\)", source.read_text()):
                path, _, anchor = target.partition("#")
                linked = (source.parent / path).resolve() if path else source
                self.assertTrue(linked.exists(), f"{page}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors(linked.read_text()), f"{page}: {target}")


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


class FirstPromotion(unittest.TestCase):
    """The walkthrough of README.md, as far as it needs no Slack workspace."""

    def test_the_minimal_configuration_is_valid(self):
        (minimal,) = blocks("yaml", FRONT)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "gantry.yaml"
            path.write_text(minimal)
            for words in commands("gantry", FRONT):
                if words[1] == "check":
                    check = subprocess.run([GANTRY, *words[1:]], cwd=directory, capture_output=True, text=True)
                    self.assertEqual(check.returncode, 0, check.stderr)

    def test_gantry_knows_the_commands(self):
        found = list(commands("gantry", FRONT))
        self.assertEqual([words[1] for words in found], ["check", "doctor", "serve"])
        for words in found:
            usage = subprocess.run([GANTRY, words[1], "--help"], capture_output=True, text=True, check=True).stdout
            for option in (word for word in words[2:] if word.startswith("--")):
                self.assertIn(option, usage)


if __name__ == "__main__":
    unittest.main()
