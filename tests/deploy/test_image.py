"""Tests of deploy/Dockerfile: the build, and the properties of the image that the chart needs."""

import json
import re
import unittest

import yaml

import chart

TEXT = (chart.ROOT / "deploy/Dockerfile").read_text()


def instructions():
    """Each instruction as (word, rest), without comments and line breaks."""
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in joined.splitlines()]


def stages():
    found = []
    for word, rest in instructions():
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            found.append((image, name, []))
        else:
            found[-1][2].append((word, rest))
    return found


def arguments_of(stage, word):
    return [rest for each, rest in stage[2] if each == word]


class Dockerfile(unittest.TestCase):
    def setUp(self):
        self.stages = stages()
        self.last = self.stages[-1]

    def test_every_base_image_has_a_tag_other_than_latest(self):
        names = [name for _, name, _ in self.stages if name]
        self.assertEqual(names, ["chef", "plan", "build"])
        for image, _, _ in self.stages:
            if image not in names:
                self.assertRegex(image, r"^[a-z0-9./-]+:[A-Za-z0-9._-]+(@sha256:[0-9a-f]{64})?$")
                self.assertNotRegex(image, r":latest")

    def test_build_and_final_stage_have_the_same_libc(self):
        self.assertIn("-bookworm", self.stages[0][0])
        self.assertRegex(self.last[0], r"^gcr\.io/distroless/cc-debian12:nonroot")

    def test_the_image_uses_the_toolchain_of_the_repository(self):
        channel = re.search(r'channel = "([^"]+)"', (chart.ROOT / "rust-toolchain.toml").read_text())[1]
        self.assertTrue(self.stages[0][0].startswith(f"rust:{channel}-"))
        self.assertIn(f"RUSTUP_TOOLCHAIN={channel}", arguments_of(self.stages[0], "ENV"))

    def test_dependencies_are_built_separately_locked_and_without_the_demo(self):
        plan, build = self.stages[1], self.stages[2]
        self.assertTrue(arguments_of(plan, "RUN")[0].startswith("cargo chef prepare"))
        cook, compile = arguments_of(build, "RUN")
        self.assertTrue(cook.startswith("cargo chef cook ") and compile.startswith("cargo build "))
        for line in (cook, compile):
            for option in ("--release", "--locked", "--no-default-features"):
                self.assertIn(option, line.split())
        self.assertRegex(arguments_of(self.stages[0], "RUN")[0], r"^cargo install --locked --version [0-9.]+ cargo-chef$")

    def test_the_image_contains_only_the_program_and_an_empty_directory(self):
        copied = [line.split()[-2:] for line in arguments_of(self.last, "COPY")]
        self.assertEqual(copied, [["/gantry/target/release/gantry", "/gantry"], ["/state", "/var/lib/gantry"]])
        for line in arguments_of(self.last, "COPY"):
            self.assertIn("--from=build", line)
        self.assertEqual(arguments_of(self.last, "RUN") + arguments_of(self.last, "ADD"), [])

    def test_the_image_runs_as_the_user_of_the_chart(self):
        values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
        self.assertEqual(arguments_of(self.last, "USER"), [f"{values['runAsUser']}:{values['runAsUser']}"])

    def test_the_image_starts_like_the_chart_starts_it(self):
        self.assertEqual(json.loads(arguments_of(self.last, "ENTRYPOINT")[0]), ["/gantry"])
        self.assertEqual(json.loads(arguments_of(self.last, "CMD")[0]), ["serve", "--config", "/etc/gantry/gantry.yaml"])
        url = chart.variables(chart.render())["DATABASE_URL"]
        self.assertEqual(arguments_of(self.last, "ENV"), [f"DATABASE_URL={url}"])

    def test_no_secret_and_no_other_file_can_get_into_the_image(self):
        self.assertNotRegex(TEXT, r"(?i)\b(ARG|ENV)\s+\w*(token|secret|password|key)")
        self.assertNotIn("COPY .", TEXT)
        ignore = [line for line in (chart.ROOT / "deploy/Dockerfile.dockerignore").read_text().split("\n") if line and line[0] != "#"]
        self.assertEqual(ignore[0], "*")
        sources = self.copied(self.stages)
        self.assertEqual(sources, {line.removeprefix("!") for line in ignore[1:]})
        for source in sources:
            self.assertTrue((chart.ROOT / source).exists(), source)

    def copied(self, stages):
        lines = [rest for stage in stages for rest in arguments_of(stage, "COPY") if "--from" not in rest]
        return {word for line in lines for word in line.split()[:-1]}

    def test_every_file_that_the_code_includes_is_copied(self):
        copied = [chart.ROOT / source for source in self.copied([self.stages[2]])]
        for path in (chart.ROOT / "src").rglob("*.rs"):
            if "sim" in path.parts or "tests" in path.stem or "tests" in path.parts:
                continue
            for included in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text().split("#[cfg(test)]")[0]):
                found = (path.parent / included).resolve()
                self.assertTrue(any(found.is_relative_to(source) for source in copied), f"{path}: {included}")


if __name__ == "__main__":
    unittest.main()
