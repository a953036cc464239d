"""Renders the chart with helm and reads the result as objects."""

import os
import pathlib
import shutil
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/helm/gantry"
VALUES = sorted((ROOT / "tests/deploy/values").glob("*.yaml"))
# Installed beside the Python interpreter of the tests.
HELM = shutil.which("helm", path=pathlib.Path(sys.executable).parent) or "helm"
# No access to a cluster, even if the user is logged in to one.
NO_CLUSTER = {**os.environ, "KUBECONFIG": os.devnull}


def helm(*arguments):
    """Whether helm succeeded, and its output."""
    run = subprocess.run([HELM, *map(str, arguments)], env=NO_CLUSTER, capture_output=True, text=True)
    return run.returncode == 0, run.stdout if run.returncode == 0 else run.stderr


def template(*options, chart=CHART, release="gantry", namespace="gantry"):
    return helm("template", release, chart, "--namespace", namespace, *options)


def objects(text):
    return [each for each in yaml.safe_load_all(text) if each]


def render(*options, **target):
    """The rendered objects, or an exception with helm's output."""
    succeeded, text = template(*options, **target)
    if not succeeded:
        raise AssertionError(text)
    return objects(text)


def with_values(name):
    return ["--values", ROOT / f"tests/deploy/values/{name}.yaml"]


def every_rendering():
    """Each rendering with its name: the default values, then each file of values."""
    yield "default", render()
    for path in VALUES:
        yield path.stem, render("--values", path)


def of_kind(rendered, kind):
    return [each for each in rendered if each["kind"] == kind]


def one(rendered, kind, name=None):
    (found,) = [each for each in of_kind(rendered, kind) if name in (None, each["metadata"]["name"])]
    return found


def pod(rendered):
    return one(rendered, "Deployment")["spec"]["template"]["spec"]


def container(rendered):
    (found,) = pod(rendered)["containers"]
    return found


def variables(rendered):
    return {each["name"]: each["value"] for each in container(rendered)["env"]}


def mounted_files(rendered):
    """The path of each file below /etc/gantry, with the ConfigMap or Secret and the key of its content."""
    (etc,) = [each["projected"] for each in pod(rendered)["volumes"] if each["name"] == "etc"]
    return {
        f"/etc/gantry/{item['path']}": (kind, source["name"], item["key"])
        for entry in etc["sources"]
        for kind, source in entry.items()
        for item in source["items"]
    }
