"""Tests of all pages of documentation: commands and samples work, links are valid, named files exist, pages stay short."""

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
SECURITY = (chart.ROOT / "docs/security.md").read_text()
FRONT = (chart.ROOT / "README.md").read_text()
PAGES = [
    chart.ROOT / "README.md",
    chart.ROOT / "CHANGELOG.md",
    chart.ROOT / "deploy/README.md",
    *sorted((chart.ROOT / "docs").glob("*.md")),
    *sorted((chart.ROOT / ".github").glob("*.md")),
]


def blocks(language, text=TEXT):
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def commands(program, text=TEXT):
    """Each command of a page, as a list of words, up to a pipe."""
    for block in blocks("sh", text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith(program + " "):
                yield shlex.split(line.partition(" | ")[0])


class Operations(unittest.TestCase):
    """deploy/README.md."""

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
                    self.assertIn(f"`{key}`", TEXT + SECURITY)


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


class AllPages(unittest.TestCase):
    def test_all_links_are_valid(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^):]+)\)", page.read_text()):
                path, _, anchor = target.partition("#")
                linked = (page.parent / path).resolve() if path else page
                self.assertTrue(linked.exists(), f"{page}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors(linked.read_text()), f"{page}: {target}")

    def test_all_named_files_exist(self):
        for page in PAGES:
            names = re.findall(r"`((?:src|tests|docs|deploy|config|\.github)/[\w./-]+)`", page.read_text())
            for name in names:
                self.assertTrue((chart.ROOT / name).exists() or (chart.ROOT / "src" / name).exists(), f"{page}: {name}")

    def test_gantry_knows_all_commands(self):
        for page in PAGES:
            for words in commands("gantry", page.read_text()):
                with self.subTest(page=page.name, command=" ".join(words)):
                    usage = subprocess.run([GANTRY, words[1], "--help"], capture_output=True, text=True, check=True).stdout
                    for option in (word for word in words[2:] if word.startswith("--")):
                        self.assertIn(option, usage)

    def test_pages_stay_short(self):
        for page in PAGES:
            text = page.read_text()
            if page.name == "configuration.md":
                text = text.partition("## Reference")[0]
            words = len(text.replace("|", " ").split())
            if page == chart.ROOT / "README.md":
                self.assertLessEqual(words, 1200, page)
            else:
                self.assertLessEqual(words, 2500, page)

    def test_the_recipes_are_valid_configurations(self):
        (minimal,) = blocks("yaml", FRONT)
        recipes = blocks("yaml", (chart.ROOT / "docs/configuration.md").read_text())
        self.assertGreaterEqual(len(recipes), 6)
        for recipe in recipes:
            with self.subTest(recipe=recipe), tempfile.TemporaryDirectory() as directory:
                path = pathlib.Path(directory) / "gantry.yaml"
                path.write_text(yaml.safe_dump(yaml.safe_load(minimal) | yaml.safe_load(recipe)))
                check = subprocess.run([GANTRY, "check", "--config", path], capture_output=True, text=True)
                self.assertEqual(check.returncode, 0, check.stderr)


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

    def test_the_steps_check_then_ask_then_start(self):
        self.assertEqual([words[1] for words in commands("gantry", FRONT)], ["check", "doctor", "serve"])
        # `doctor` reports a channel without the bot as an error, so the invitation comes first.
        self.assertLess(FRONT.index("/invite @gantry"), FRONT.index("gantry doctor --config"))


if __name__ == "__main__":
    unittest.main()
