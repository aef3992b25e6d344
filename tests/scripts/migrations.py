#!/usr/bin/env python3
"""Follows the recipes of samples/recipes on real packages, and counts what is left to do.

    tests/scripts/migrations.py [--binary PATH] [--cache FOLDER] [RECIPE …]

For each recipe: how many places its packages have (by a regular expression that knows nothing of the recipe), how many of them
are left afterwards, whether a second run changes anything, and whether Python still compiles what it compiled before (the
recipes themselves leave a file alone that would no longer parse). Packages come from their registries, through pip, npm,
cargo, go and mvn; what a machine cannot fetch is left out, and told. Exit code 1: a second run changed something, or a recipe failed.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
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
    "javascript/jest-to-vitest": (r"(\.(test|spec)|/__tests__/.*)\.(js|ts)x?$", r"\bjest\.(fn|spyOn|mock|unmock|clearAllMocks|resetAllMocks|useFakeTimers|useRealTimers)\(", ["npm react-native 0.59.10", "npm relay-runtime 1.0.0"]),
    "rust/try-operator": (r"\.rs$", r"(?<![\w#])try!\(", ["cargo hyper 0.10.16", "cargo toml 0.2.1", "cargo nix 0.7.0", "cargo rustc-serialize 0.3.24"]),
    "rust/lazy-lock": (r"\.rs$", r"\b(once_cell::sync::)?Lazy(<|::new\()", ["cargo ureq 2.6.0", "cargo async-std 1.12.0", "cargo sqlx-core 0.6.3"]),
    "rust/mem-take": (r"\.rs$", r"mem::replace\([^;]*, (Vec::new\(\)|vec!\[\]|String::new\(\)|Default::default\(\))\)", ["cargo futures 0.1.31", "cargo url 1.7.2", "cargo tokio-io 0.1.13"]),
    "rust/range-patterns": (r"\.rs$", r"('|\b[0-9][0-9a-fA-Fxu_]*) ?\.\.\. ?('|[0-9])", ["cargo url 1.7.2", "cargo toml 0.2.1", "cargo regex-syntax 0.4.2", "cargo rustc-serialize 0.3.24"]),
    "go/ioutil": (r"\.go$", r"\bioutil\.(ReadFile|WriteFile|ReadAll|NopCloser|Discard|TempDir|TempFile)\b", ["go github.com/spf13/viper v1.7.0", "go github.com/gin-gonic/gin v1.6.0", "go github.com/hashicorp/consul/api v1.5.0"]),
    "go/any": (r"\.go$", r"\binterface\{\}", ["go github.com/spf13/viper v1.7.0", "go github.com/gin-gonic/gin v1.6.0"]),
    "go/errors-is": (r"\.go$", r"\bos\.IsNotExist\(|if .*\berr (==|!=) (io\.EOF|io\.ErrUnexpectedEOF|sql\.ErrNoRows|context\.Canceled)\b", ["go github.com/gin-gonic/gin v1.6.0", "go github.com/prometheus/common v0.10.0", "go github.com/spf13/afero v1.3.0"]),
    "go/replace-all": (r"\.go$", r"\b(strings|bytes)\.Replace\(.*, -1\)", ["go github.com/spf13/viper v1.7.0", "go github.com/spf13/afero v1.3.0", "go github.com/prometheus/common v0.10.0"]),
    "java/junit5": (r"\.java$", r"import (static )?org\.junit\.(Test|Before|After|BeforeClass|AfterClass|Ignore|Assert\.)", ["mvn com.google.guava:guava-testlib 28.0-jre", "mvn org.hamcrest:hamcrest-library 1.3"]),
    "java/boxed-values": (r"\.java$", r"\bnew (Integer|Long|Short|Byte|Double|Float|Boolean|Character)\(", ["mvn commons-lang:commons-lang 2.6", "mvn commons-collections:commons-collections 3.2.2", "npm react-native 0.59.10"]),
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


def follow(binary: Path, recipe: str, folder: Path, out: Path) -> dict:
    done = subprocess.run(
        [binary, "run", "--mode", "yolo", "--model", f"recipe::{recipe}", "--workspace", folder, "--out", out],
        cwd=folder, capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-600:])
    return json.loads((out / "report.json").read_text())


def migrate(binary: Path, cache: Path, name: str) -> tuple:
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
        first = follow(binary, "recipe.yml", checkout, out)
        after = places(checkout, files, pattern)
        newly = broken(checkout) - bad
        again = follow(binary, "recipe.yml", checkout, out).get("matches", {}).get("total", 0)
        return before, after, len(first["files"]), first["duration_ms"], again, newly, missing


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, default=ROOT / "target/debug/architect-ci")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "migrations")
    parser.add_argument("recipes", nargs="*")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    wrong, all_before, all_after = False, 0, 0
    print(f"{'recipe':32} {'places':>7} {'done':>6} {'files':>6} {'ms':>7}  twice  broken")
    for name in asked.recipes or MIGRATIONS:
        try:
            before, after, files, took, again, newly, missing = migrate(asked.binary.resolve(), asked.cache, name)
        except RuntimeError as error:
            wrong = True
            print(f"{name:32} failed: {error}")
            continue
        wrong |= again > 0 or bool(newly)
        all_before, all_after = all_before + before, all_after + after
        rate = f"{100 * (before - after) / before:.1f}%" if before else "-"
        print(f"{name:32} {before:7} {rate:>6} {files:6} {took:7}  {again:5}  {len(newly):6}", flush=True)
        for told in missing:
            print(f"    left out: {told}")
    if all_before:
        print(f"{'all':32} {all_before:7} {100 * (all_before - all_after) / all_before:.1f}%")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
