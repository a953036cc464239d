"""Tests that the program starts with the files of the chart, and names a missing file."""

import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

import yaml

import chart
from test_access import GANTRY

KEY = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True).stdout
SECRETS = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "GITHUB_APP_ID": "1",
    "GITHUB_APP_INSTALLATION_ID": "2",
    "GITHUB_APP_PRIVATE_KEY": KEY,
    ".dockerconfigjson": '{"auths": {}}',
}


def without_network(text):
    """The same configuration with unreachable addresses for Slack and GitHub, so that the test sends no requests."""
    config = yaml.safe_load(text)
    config.setdefault("slack", {}).update(api_url="http://127.0.0.1:1/api", hooks_origin="http://127.0.0.1:1")
    config.setdefault("github", {}).update(api_url="http://127.0.0.1:1")
    for environment in config["environments"]:
        environment.pop("trigger", None)
    return yaml.safe_dump(config)


@contextlib.contextmanager
def started(rendered, without=None):
    """The container's process, on free ports, with a directory instead of the root."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        in_root = lambda text: re.sub(r"(?<![\w/])(/(?:etc|var/lib)/gantry\b)", rf"{root}\1", text)
        (root / "var/lib/gantry").mkdir(parents=True)
        for path, (kind, _, key) in chart.mounted_files(rendered).items():
            if key == without:
                continue
            file = root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            if kind == "secret":
                file.write_text(SECRETS.get(key, f"secret of {key}"))
            else:
                file.write_text(in_root(without_network(chart.one(rendered, "ConfigMap")["data"][key])))
            file.chmod(0o440)
        arguments = [re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", in_root(argument)) for argument in chart.container(rendered)["args"]]
        environment = {name: in_root(value) for name, value in chart.variables(rendered).items()}
        environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("sqlite:///", f"sqlite://{root}/")
        environment.pop("SSL_CERT_FILE", None)
        process = subprocess.Popen([GANTRY, *arguments], env=environment, stderr=subprocess.PIPE, text=True, cwd=root)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


def address(process):
    """The address on which it listens, from its log."""
    output = []
    for line in process.stderr:
        if '"listening"' in line:
            return json.loads(line)["bound"]
        output.append(line)
    raise AssertionError("the program ended without listening: " + "".join(output))


class Start(unittest.TestCase):
    def test_gantry_starts_and_is_ready_with_every_set_of_values(self):
        for name, rendered in chart.every_rendering():
            with self.subTest(values=name), started(rendered) as process:
                bound = address(process)
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    path = chart.container(rendered)[probe]["httpGet"]["path"]
                    with urllib.request.urlopen(f"http://{bound}{path}", timeout=10) as answer:
                        self.assertEqual(answer.status, 200)

    def test_gantry_shuts_down_within_the_grace_period(self):
        rendered = chart.render()
        with started(rendered) as process:
            urllib.request.urlopen(f"http://{address(process)}/healthz", timeout=10).close()
            process.terminate()
            process.stderr.read()
            grace = chart.pod(rendered)["terminationGracePeriodSeconds"]
            self.assertEqual(process.wait(timeout=grace - 5), 0)

    def test_each_missing_key_is_named_in_the_error(self):
        rendered = chart.render(*chart.with_values("socket"))
        keys = [key for kind, _, key in chart.mounted_files(rendered).values() if kind == "secret"]
        self.assertEqual(len(keys), 8)
        for key in keys:
            with self.subTest(key=key), started(rendered, without=key) as process:
                output = process.stderr.read()
                self.assertEqual(process.wait(timeout=10), 1)
                self.assertIn(f"{key}_FILE names the file", output)


if __name__ == "__main__":
    unittest.main()
