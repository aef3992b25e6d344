#!/usr/bin/env python3
"""Follows the recipes of samples/recipes on real packages, and counts what is left to do.

    tests/scripts/migrations.py [--binary PATH] [--cache FOLDER] [--ast-grep PATH] [RECIPE …]

For each recipe: how many places its packages have (by a regular expression that knows nothing of the recipe), how many of them
are left afterwards, whether a second run changes anything, and whether Python still compiles what it compiled before (the
recipes themselves leave a file alone that would no longer parse). Packages come from their registries, through pip, npm,
cargo, go, apt-get (in whatever version there is) and mvn; what a machine cannot fetch is left out, and told. Exit code 1: a second run changed something, or a recipe failed.

With `--ast-grep`, its command line follows the same rules, one after the other, without what it does not have (imports, regular
expressions); the last columns are its time, its memory, what it did of the places, and how many files differ from ours in more
than imports. Wants PyYAML.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Recipe: files, what a place looks like, packages as `client name version`.
MIGRATIONS = {
    "python/utcnow": (r"\.py$", r"\bdatetime\.(utcnow|utcfromtimestamp)\(", ["pip botocore 1.29.0", "pip boto 2.49.0", "pip oslo.utils 3.40.0", "pip keystoneauth1 3.4.0"]),
    "python/unittest-to-pytest": (r"(^|/)(tests/.*|test[^/]*|[^/]*_test)\.py$", r"self\.assert(Equal|NotEqual|True|False|Is|IsNot|IsNone|IsNotNone|In|NotIn|IsInstance|Greater|Less)\(", ["pip oslo.utils 3.40.0", "pip keystoneauth1 3.4.0", "pip kazoo 2.8.0"]),
    "python/unittest-aliases": (r"\.py$", r"self\.(assert(Equals|NotEquals|AlmostEquals|RaisesRegexp|RegexpMatches|ItemsEqual|_)|failUnless|failIf)\(", ["pip nose 1.3.7", "pip testtools 2.3.0", "pip kazoo 2.4.0", "pip keystoneauth1 3.4.0"]),
    "python/requests-to-httpx": (r"\.py$", r"(?<![\w.])requests\.(get|post|put|patch|delete|head|options|request|Session)\(", ["pip twilio 6.0.0", "pip slackclient 1.3.2", "pip wandb 0.10.0", "pip python-cinderclient 5.0.0"]),
    "python/six": (r"\.py$", r"(?<![\w.])six\.(iteritems|itervalues|iterkeys|text_type|string_types|binary_type|integer_types|u|PY2|PY3|BytesIO|StringIO)\b", ["pip python-dateutil 2.7.0", "pip google-api-python-client 1.7.9", "pip oslo.utils 3.40.0", "pip keystoneauth1 3.4.0"]),
    "python/logger-warn": (r"\.py$", r"\b(log|LOG|logger|LOGGER|logging|_logger|_log)\.warn\(", ["pip kazoo 2.4.0", "pip luigi 2.8.0", "pip celery 3.1.25"]),
    "javascript/moment-to-date-fns": (r"\.(js|ts)x?$", r"(?<![\w.])moment\(", ["npm react-big-calendar 0.20.0", "npm rc-calendar 9.15.0"]),
    "javascript/buffer-from": (r"\.(js|ts)$", r"\bnew Buffer\(", ["npm request 2.60.0", "npm ws 1.0.0", "npm mysql 2.10.0"]),
    "javascript/node-prefix": (r"\.(js|mjs|cjs|ts)$", r"\brequire\([\"'](fs|path|util|http|https|events|assert|url|crypto|net|os|stream|child_process)[\"']\)", ["npm express 4.18.0", "npm request 2.60.0", "npm mocha 8.0.0"]),
    "javascript/substr": (r"\.(js|ts)x?$", r"\.substr\(", ["npm less 3.0.0", "npm mocha 8.0.0", "npm markdown-it 8.0.0"]),
    "javascript/jest-to-vitest": (r"(\.(test|spec)|/__tests__/.*)\.(js|ts)x?$", r"\bjest\.(fn|spyOn|mock|unmock|clearAllMocks|resetAllMocks|useFakeTimers|useRealTimers)\(", ["npm react-navigation 1.0.0", "npm react-navigation 2.0.0"]),
    "rust/try-operator": (r"\.rs$", r"(?<![\w#])try!\(", ["cargo hyper 0.10.16", "cargo toml 0.2.1", "cargo nix 0.7.0", "cargo rustc-serialize 0.3.24"]),
    "rust/lazy-lock": (r"\.rs$", r"\b(once_cell::sync::)?Lazy(<|::new\()", ["cargo ureq 2.6.0", "cargo async-std 1.12.0", "cargo sqlx-core 0.6.3"]),
    "rust/mem-take": (r"\.rs$", r"mem::replace\([^;]*, (Vec::new\(\)|vec!\[\]|String::new\(\)|Default::default\(\))\)", ["cargo futures 0.1.31", "cargo url 1.7.2", "cargo tokio-io 0.1.13"]),
    "rust/range-patterns": (r"\.rs$", r"('|\b[0-9][0-9a-fA-Fxu_]*) ?\.\.\. ?('|[0-9])", ["cargo url 1.7.2", "cargo toml 0.2.1", "cargo regex-syntax 0.4.2", "cargo rustc-serialize 0.3.24"]),
    "go/ioutil": (r"\.go$", r"\bioutil\.(ReadFile|WriteFile|ReadAll|NopCloser|Discard|TempDir|TempFile)\b", ["go github.com/spf13/viper v1.7.0", "go github.com/gin-gonic/gin v1.6.0", "go github.com/hashicorp/consul/api v1.5.0", "deb golang-github-docker-docker-dev -", "deb golang-github-gin-gonic-gin-dev -", "deb golang-github-spf13-afero-dev -", "deb golang-github-spf13-viper-dev -"]),
    "go/any": (r"\.go$", r"\binterface\{\}", ["go github.com/spf13/viper v1.7.0", "go github.com/gin-gonic/gin v1.6.0", "deb golang-github-docker-docker-dev -", "deb golang-github-spf13-viper-dev -"]),
    "go/errors-is": (r"\.go$", r"\bos\.IsNotExist\(|if .*\berr (==|!=) (io\.EOF|io\.ErrUnexpectedEOF|sql\.ErrNoRows|context\.Canceled)\b", ["go github.com/gin-gonic/gin v1.6.0", "go github.com/prometheus/common v0.10.0", "go github.com/spf13/afero v1.3.0", "deb golang-github-docker-docker-dev -", "deb golang-github-spf13-afero-dev -"]),
    "go/replace-all": (r"\.go$", r"\b(strings|bytes)\.Replace\(.*, -1\)", ["go github.com/spf13/viper v1.7.0", "go github.com/spf13/afero v1.3.0", "go github.com/prometheus/common v0.10.0", "deb golang-github-docker-docker-dev -", "deb golang-github-coreos-pkg-dev -", "deb golang-github-gin-gonic-gin-dev -"]),
    "java/junit5": (r"\.java$", r"import (static )?org\.junit\.(Test|Before|After|BeforeClass|AfterClass|Ignore|Assert\.)", ["mvn com.google.guava:guava-testlib 28.0-jre", "mvn org.hamcrest:hamcrest-library 1.3", "npm react-native 0.59.10"]),
    "java/boxed-values": (r"\.java$", r"\bnew (Integer|Long|Short|Byte|Double|Float|Boolean|Character)\(", ["mvn commons-lang:commons-lang 2.6", "mvn commons-collections:commons-collections 3.2.2", "deb bsh-src -", "npm react-native 0.45.0"]),
    "java/collections": (r"\.java$", r"Collections\.(EMPTY_(LIST|MAP|SET)\b|sort\()|Collectors\.toUnmodifiableList\(\)", ["mvn commons-collections:commons-collections 3.2.2", "mvn org.apache.ant:ant 1.9.0", "npm react-native 0.59.10"]),
}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


def fetch(package: str, cache: Path) -> Path:
    """Returns the folder of an unpacked package, which is fetched once."""
    client, name, version = package.split()
    folder = cache / re.sub(r"[^\w.-]", "_", package)
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        here = Path(temporary)
        if client == "pip":
            run("pip", "download", "--no-deps", "--quiet", "--dest", temporary, f"{name}=={version}")
        elif client == "npm":
            run("npm", "pack", "--silent", f"{name}@{version}", cwd=here)
        elif client == "cargo":
            (here / "src").mkdir()
            (here / "src/lib.rs").write_text("")
            (here / "Cargo.toml").write_text(f'[package]\nname = "x"\nversion = "0.0.0"\n[dependencies]\n{name} = "={version}"\n')
            run("cargo", "vendor", "--quiet", "--versioned-dirs", cwd=here)
            shutil.move(here / "vendor" / f"{name}-{version}", folder)
            return folder
        elif client == "go":
            told = json.loads(run("go", "mod", "download", "-json", f"{name}@{version}", cwd=here).stdout)
            shutil.copytree(told["Dir"], folder)
            run("chmod", "-R", "u+w", str(folder))
            return folder
        elif client == "deb":
            run("apt-get", "download", name, cwd=here)
            run("dpkg-deb", "-x", str(next(here.glob("*.deb"))), str(here / "unpacked"))
            # Packages of sources hold them as an archive.
            for archive in (here / "unpacked/usr/src").rglob("*.tar.gz"):
                tarfile.open(archive).extractall(archive.parent, filter="data")
                archive.unlink()
            shutil.move(here / "unpacked", folder)
            return folder
        else:
            run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={name}:{version}:jar:sources", f"-DoutputDirectory={temporary}", cwd=here)
        archive = next(path for path in here.iterdir() if path.is_file())
        unpacked = here / "unpacked"
        if archive.suffix in (".whl", ".jar", ".zip"):
            zipfile.ZipFile(archive).extractall(unpacked)
        else:
            tarfile.open(archive).extractall(unpacked, filter="data")
        shutil.move(unpacked, folder)
    return folder


def places(folder: Path, files: str, pattern: str) -> int:
    count = 0
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and ".git/" not in name and re.search(files, name):
            text = path.read_text(errors="replace")
            # What stands in a comment of its own line is no place.
            lines = [line for line in text.splitlines() if not re.match(r"\s*(#|//|\*|/\*)", line)]
            count += len(re.findall(pattern, "\n".join(lines)))
    return count


def broken(folder: Path) -> set:
    bad = set()
    warnings.simplefilter("ignore")
    for path in folder.rglob("*.py"):
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            bad.add(path)
    return bad


def measured(command: list, folder: Path) -> tuple:
    """Runs a command, and returns the milliseconds that it took, and its memory in MB."""
    started = time.monotonic()
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *command], cwd=folder, capture_output=True, text=True, check=False)
    took = round(1000 * (time.monotonic() - started))
    said, _, memory = done.stderr.strip().rpartition("\n")
    if done.returncode != 0:
        raise RuntimeError(said[-600:])
    return took, int(memory) // 1024


def follow(binary: Path, recipe: str, folder: Path, out: Path) -> tuple:
    cost = measured([binary, "run", "--mode", "yolo", "--model", f"recipe::{recipe}", "--workspace", folder, "--out", out], folder)
    return json.loads((out / "report.json").read_text()), cost


# Languages of ast-grep by the first part of a recipe's name.
LANGUAGES = {"python": ["python"], "javascript": ["javascript", "typescript", "tsx"], "rust": ["rust"], "go": ["go"], "java": ["java"]}


def by_ast_grep(program: Path, name: str, folder: Path) -> tuple:
    """Follows the structural rules of a recipe with ast-grep; returns its milliseconds and megabytes, or nothing without such rules."""
    import yaml

    took, memory = 0, 0
    for step in yaml.safe_load((ROOT / "samples/recipes" / f"{name}.yml").read_text())["steps"]:
        for rule in [action["rewrite"] for action in step["do"] if "rewrite" in action]:
            kept = {key: value for key, value in rule.items() if key not in ("imports", "language")}
            languages = [rule["language"]] if "language" in rule else LANGUAGES[name.split("/")[0]]
            rules = [{"id": f"r-{language}", "language": language, "files": step["files"], **kept} for language in languages]
            (folder / "rules.yaml").write_text(yaml.safe_dump_all(rules))
            cost = measured([program, "scan", "-r", "rules.yaml", "-U", "."], folder)
            took, memory = took + cost[0], max(memory, cost[1])
    (folder / "rules.yaml").unlink(missing_ok=True)
    return took, memory


def without_imports(path: Path) -> list:
    lines = path.read_text(errors="replace").splitlines()
    return [line for line in lines if line.strip() and not re.match(r"\s*(import\b|from \S+ import|use |const .*require\(|\"[\w/.]+\"$)", line)]


def differing(one: Path, other: Path) -> int:
    names = [path.relative_to(one) for path in one.rglob("*") if path.is_file() and ".git" not in path.relative_to(one).parts]
    return sum((one / name).read_bytes() != (other / name).read_bytes() and without_imports(one / name) != without_imports(other / name) for name in names)


def migrate(binary: Path, cache: Path, name: str, ast_grep: Path | None) -> tuple:
    files, pattern, packages = MIGRATIONS[name]
    with tempfile.TemporaryDirectory() as temporary:
        checkout, out = Path(temporary) / "checkout", Path(temporary) / "out"
        checkout.mkdir()
        missing = []
        for package in packages:
            try:
                shutil.copytree(fetch(package, cache), checkout / re.sub(r"\W", "_", package), symlinks=True)
            except (subprocess.CalledProcessError, OSError, StopIteration) as error:
                missing.append(f"{package}: {str(getattr(error, 'stderr', '') or error).strip()[-200:]}")
        (checkout / "recipe.yml").write_text((ROOT / "samples/recipes" / f"{name}.yml").read_text())
        for ignore in checkout.rglob(".gitignore"):
            ignore.unlink()
        run("git", "init", "--quiet", cwd=checkout)
        run("git", "add", "--all", cwd=checkout)
        run("git", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message=x", cwd=checkout)
        before, bad = places(checkout, files, pattern), broken(checkout)
        other = Path(temporary) / "other"
        shutil.copytree(checkout, other, symlinks=True)
        first, cost = follow(binary, "recipe.yml", checkout, out)
        after = places(checkout, files, pattern)
        newly = broken(checkout) - bad
        beside = ""
        if ast_grep is not None:
            took, memory = by_ast_grep(ast_grep, name, other)
            if took:
                done = f"{100 * (before - places(other, files, pattern)) / before:.1f}%" if before else "-"
                beside = f"  {cost[1]:4} MB | {took:6} ms {memory:4} MB {done:>6} {differing(checkout, other):4}"
        again = follow(binary, "recipe.yml", checkout, out)[0].get("matches", {}).get("total", 0)
        return before, after, len(first["files"]), cost[0], again, newly, missing, beside


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, default=ROOT / "target/debug/architect-ci")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "migrations")
    parser.add_argument("--ast-grep", type=Path)
    parser.add_argument("recipes", nargs="*")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    wrong, all_before, all_after = False, 0, 0
    print(f"{'recipe':32} {'places':>7} {'done':>6} {'files':>6} {'ms':>7}  twice  broken")
    for name in asked.recipes or MIGRATIONS:
        try:
            before, after, files, took, again, newly, missing, beside = migrate(asked.binary.resolve(), asked.cache, name, asked.ast_grep)
        except RuntimeError as error:
            wrong = True
            print(f"{name:32} failed: {error}")
            continue
        wrong |= again > 0 or bool(newly)
        all_before, all_after = all_before + before, all_after + after
        rate = f"{100 * (before - after) / before:.1f}%" if before else "-"
        print(f"{name:32} {before:7} {rate:>6} {files:6} {took:7}  {again:5}  {len(newly):6}{beside}", flush=True)
        for told in missing:
            print(f"    left out: {told}")
    if all_before:
        print(f"{'all':32} {all_before:7} {100 * (all_before - all_after) / all_before:.1f}%")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
