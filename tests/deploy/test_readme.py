"""deploy/README.md: its commands and its samples do what they say."""

import re
import shlex
import unittest

import kubernetes_validate
import yaml

import chart

TEXT = (chart.ROOT / "deploy/README.md").read_text()


def blocks(language):
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", TEXT, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def commands(program):
    """Each command of the README, as words up to a pipe."""
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith(program + " "):
                yield shlex.split(line.partition(" | ")[0])


class Readme(unittest.TestCase):
    def test_its_helm_commands_render(self):
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
                fine, said = chart.helm("template", "gantry", chart.CHART, *options)
                self.assertTrue(fine, said)

    def test_its_objects_are_right(self):
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
        # The backup's pod finds the chart's volume and its pod.
        rendered = chart.render()
        spec = job["spec"]["template"]["spec"]
        claim = chart.one(rendered, "PersistentVolumeClaim")["metadata"]["name"]
        self.assertEqual(spec["volumes"][0]["persistentVolumeClaim"]["claimName"], claim)
        beside = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
        labels = chart.one(rendered, "Deployment")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(beside["matchLabels"].items(), labels.items())

    def test_every_secret_of_the_chart_is_explained(self):
        for name in ("default", "minimal"):
            rendered = chart.render(*([] if name == "default" else chart.with_values(name)))
            for kind, _, key in chart.mounted_files(rendered).values():
                if kind == "secret":
                    self.assertIn(f"`{key}`", TEXT)

    def test_its_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
            self.assertTrue((chart.ROOT / "deploy" / target).exists(), target)


if __name__ == "__main__":
    unittest.main()
