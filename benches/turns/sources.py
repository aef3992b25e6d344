"""Where the projects of the tasks come from: package registries, by version and hash, by their ordinary clients."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path


class Environment:
    """Downloaded sources, and the tools that the projects' own tests need."""

    def __init__(self, cache, tasks):
        self.cache = cache
        self.tasks = tasks
        cache.mkdir(parents=True, exist_ok=True)

    def variables(self):
        """Returns the variables with which the program and the checks run."""
        path = f"{self.cache / 'venv/bin'}:{os.environ['PATH']}"
        kept = ("CARGO_HOME", "RUSTUP_HOME", "LANG", "TMPDIR")
        return {"PATH": path, **{name: os.environ[name] for name in kept if name in os.environ}} | {
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        }

    def pip(self):
        """Returns the pip of a virtual environment of our own."""
        venv = self.cache / "venv"
        if not (venv / "bin/pip").exists():
            run([sys.executable, "-m", "venv", venv])
        return venv / "bin/pip"

    def install(self, needs, folder):
        """Installs what a project's tests need: Python packages beside the tools, npm packages in its folder."""
        if "pip" in needs:
            have = self.cache / "venv" / ("have-" + digest(" ".join(needs["pip"]).encode())[:16])
            if not have.exists():
                run([self.pip(), "install", "--quiet", "--disable-pip-version-check", *needs["pip"]])
                have.touch()
        if "npm" in needs:
            modules = self.cache / ("npm-" + digest(" ".join(needs["npm"]).encode())[:16])
            if not modules.exists():
                fresh = modules.with_name(modules.name + ".new")
                shutil.rmtree(fresh, ignore_errors=True)
                run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", fresh, *needs["npm"]])
                fresh.rename(modules)
            shutil.copytree(modules / "node_modules", folder / "node_modules", symlinks=True, dirs_exist_ok=True)

    def source(self, registry, name, version, sha256):
        """Returns the folder with the source of a package; it is downloaded once."""
        folder = self.cache / "sources" / f"{registry}-{name}-{version}"
        if folder.exists():
            return folder
        fresh = folder.with_name(folder.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        {"pypi": self.from_pypi, "npm": from_npm, "crates": from_crates}[registry](name, version, sha256, fresh)
        [content] = [path for path in fresh.iterdir() if path.is_dir()]
        content.rename(folder)
        shutil.rmtree(fresh)
        return folder

    def from_pypi(self, name, version, sha256, into):
        run([self.pip(), "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", into, f"{name}=={version}"])
        unpack(next(into.glob("*.tar.gz")), sha256, into)


def from_npm(name, version, sha256, into):
    run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=into)
    unpack(next(into.glob("*.tgz")), sha256, into)


def from_crates(name, version, sha256, into):
    # Cargo checks what it downloads against the checksum in the lock file.
    project = into / "project"
    project.mkdir()
    manifest = '[package]\nname = "none"\nversion = "0.0.0"\n[lib]\npath = "lib.rs"\n[workspace]\n[dependencies]\n'
    (project / "Cargo.toml").write_text(manifest + f'{name} = "={version}"\n')
    (project / "lib.rs").touch()
    source = "registry+https://github.com/rust-lang/crates.io-index"
    lock = f'version = 4\n\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{source}"\nchecksum = "{sha256}"\n\n'
    lock += f'[[package]]\nname = "none"\nversion = "0.0.0"\ndependencies = ["{name}"]\n'
    (project / "Cargo.lock").write_text(lock)
    run(["cargo", "vendor", "--quiet", "--locked", "vendor"], cwd=project)
    content = into / name
    (project / "vendor" / name).rename(content)
    shutil.rmtree(project)
    (content / ".cargo-checksum.json").unlink()
    # Published manifests are rewritten; this is what people wrote.
    original = content / "Cargo.toml.orig"
    if original.exists():
        original.rename(content / "Cargo.toml")


def unpack(archive, sha256, into):
    found = digest(archive.read_bytes())
    if found != sha256:
        sys.exit(f"{archive.name} has the SHA-256 {found}, not {sha256}")
    with tarfile.open(archive) as content:
        content.extractall(into, filter="data")


def checkout(task, environment, folder):
    """Makes a repository of a task's project, and returns the number of its files."""
    if "folder" in task.source:
        source = environment.tasks / task.source["folder"]
    else:
        source = environment.source(**task.source)
    shutil.copytree(source, folder, symlinks=True)
    for plant in task.plant:
        path = folder / plant["path"]
        text = path.read_text()
        if text.count(plant["old"]) != 1:
            sys.exit(f"{task.name}: {plant['path']} does not hold what is to be replaced exactly once")
        path.write_text(text.replace(plant["old"], plant["new"]))
    for added in task.add:
        (folder / added["path"]).write_text(added["text"])
    with (folder / ".gitignore").open("a") as ignore:
        ignore.write("node_modules/\n__pycache__/\n.pytest_cache/\ntarget/\n*.so\nbuild/\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    for line in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message", "Import"]):
        run(["git", *identity, *line], cwd=folder)
    environment.install(task.needs, folder)
    files = 0
    for _, folders, names in os.walk(folder):
        # Git tidies its own folder up in the meantime.
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        files += len(names)
    return files


def run(command, cwd=None):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(map(str, command))}` failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def digest(data):
    return hashlib.sha256(data).hexdigest()
