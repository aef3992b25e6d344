//! A test that does not do the same twice proves nothing; one that needs the network of the machine may.

use std::net::TcpListener;

use super::{expect, prove_with};
use crate::support::Sandbox;

/// Counts its calls in the folder for temporary files, and returns whether this is an odd one.
const TURNS: &str = "import os\nimport tempfile\n\n\ndef is_odd(name):\n    path = os.path.join(tempfile.gettempdir(), name)\n    turn = \
                     os.path.getsize(path) if os.path.exists(path) else 0\n    with open(path, 'a') as file:\n        file.write('x')\n    return turn % 2 == 0\n";

const COMMAND: [&str; 5] = ["python3", "-m", "unittest", "-v", "{tests}"];

fn shop(old: &str, new: &str, tests: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[("turns.py", TURNS), ("shop.py", old), ("tests/__init__.py", "")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", new);
    sandbox.write(
        "tests/test_shop.py",
        format!("import unittest\n\nimport shop\nfrom turns import is_odd\n\n\nclass TestShop(unittest.TestCase):\n{tests}"),
    );
    sandbox
}

#[test]
fn tests_prove_takes_no_test_for_proof_that_fails_every_second_time() {
    let tests = "    def setUp(self):\n        self.assertTrue(self._testMethodName != 'test_late' or is_odd('late'))\n\n    def test_late(self):\n        \
                 self.assertEqual(shop.total([1]), 1)\n\n    def test_sure(self):\n        self.assertEqual(shop.total([2]), 2)\n";
    let sandbox = shop(
        "def total(prices):\n    return sum(prices) + 1\n",
        "def total(prices):\n    return sum(prices)\n",
        tests,
    );
    for command in [&COMMAND[..], &["python3", "-m", "unittest", "-v"], &["python3 -m unittest -v {test}"]] {
        expect(&sandbox, command, &[("TestShop > test_late", "flaky"), ("TestShop > test_sure", "proves")]);
    }
    let file = sandbox.repo().join("../proof.xml");
    let args = [&["--junit", file.to_str().expect("a path"), "--"], &COMMAND[..]].concat();
    let proved = prove_with(&sandbox, None, &args);
    assert_eq!(proved.code, Some(1));
    let lines: Vec<&str> = proved.text.lines().collect();
    assert_eq!(
        lines[0],
        "✗ tests/test_shop.py:11 `TestShop > test_late` is flaky: on the new code, it passed one time and failed another"
    );
    assert!(lines[2].starts_with("1 of 2 new tests prove the change, 1 is flaky ("), "{}", lines[2]);
    let xml = std::fs::read_to_string(&file).expect("a file");
    assert!(xml.contains("type=\"is flaky\""), "{xml}");
}

#[test]
fn tests_prove_takes_no_test_for_proof_that_the_old_code_fails_every_second_time() {
    let sandbox = shop(
        "from turns import is_odd\n\n\ndef total(prices):\n    return sum(prices) + is_odd('old')\n",
        "def total(prices):\n    return sum(prices)\n",
        "    def test_total(self):\n        self.assertEqual(shop.total([1]), 1)\n",
    );
    let proved = prove_with(&sandbox, None, &[&["--"], &COMMAND[..]].concat());
    assert_eq!(proved.code, Some(1), "{}{}", proved.text, proved.error);
    let told = "`TestShop > test_total` is flaky: on the old code, it passed one time and failed another";
    assert!(proved.text.contains(told), "{}", proved.text);
}

/// States that share the machine's network run one after the other, and both have it.
#[test]
fn tests_prove_gives_tests_the_network_of_the_machine() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let tests = format!(
        "    def setUp(self):\n        import socket\n        socket.create_connection(('127.0.0.1', {port}), 5).close()\n\n    def \
         test_total(self):\n        self.assertEqual(shop.total([1]), 1)\n\n    def test_nothing(self):\n        self.assertEqual(sum([1]), \
         1)\n\n    def test_wrong(self):\n        self.assertEqual(shop.total([1]), 5)\n\n    def test_worse(self):\n        \
         self.assertEqual(shop.total([1]), 2)\n"
    );
    let sandbox = shop(
        "def total(prices):\n    return sum(prices) + 1\n",
        "def total(prices):\n    return sum(prices)\n",
        &tests,
    );
    expect(
        &sandbox,
        &COMMAND,
        &[
            ("TestShop > test_total", "proves"),
            ("TestShop > test_nothing", "passes-on-old"),
            ("TestShop > test_wrong", "fails-on-both"),
            ("TestShop > test_worse", "fails-on-new"),
        ],
    );
}
