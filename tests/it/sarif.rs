//! Findings as SARIF: the form that code scanning reads, and fingerprints that stay when lines move.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::Sandbox;

/// What of SARIF 2.1.0 is written here, as its schema has it.
fn schema() -> Value {
    let text = json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}});
    let location = json!({"type": "object", "required": ["physicalLocation"], "properties": {"physicalLocation": {
        "type": "object", "required": ["artifactLocation"], "properties": {
            "artifactLocation": {"type": "object", "required": ["uri"], "properties": {
                "uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": {"const": "%SRCROOT%"}}},
            "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}}}}}});
    let result = json!({"type": "object", "required": ["message", "ruleId", "locations", "partialFingerprints"],
        "additionalProperties": false, "properties": {
        "ruleId": {"type": "string"}, "level": {"enum": ["none", "note", "warning", "error"]}, "message": text,
        "locations": {"type": "array", "minItems": 1, "items": location},
        "partialFingerprints": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}}});
    json!({"type": "object", "required": ["version", "runs"], "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["tool"], "properties": {
            "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                "type": "object", "required": ["name"], "properties": {
                    "informationUri": {"type": "string", "format": "uri"},
                    "rules": {"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["id"]}}}}}},
            "results": {"type": "array", "items": result}}}}}})
}

/// Returns report and results of a review with these findings of `a b.txt`, whose text the agent writes, and a gate that names a line.
fn reviewed(text: &str, found: &[Value], config: &str) -> (Value, Vec<Value>) {
    let sandbox = Sandbox::new(&[
        (
            ".architect.yml",
            &format!(
                "review: {{ enabled: true, max_fix_passes: 0{config} }}\nguardrails: {{ max_gate_rounds: 1, quality_gates: \
             [{{ name: lint, command: 'echo \"a b.txt:1:1: oops\"; echo README.md:1:1: oops; exit 1', required: false }}] }}\n"
            ),
        ),
        ("README.md", "x\n"),
    ]);
    let model = crate::rounds::script(
        &sandbox,
        "s.jsonl",
        &[
            ("build", crate::rounds::write(1, "a b.txt", text)),
            ("build", crate::rounds::say("Done.")),
            ("reviewer", crate::rounds::findings(found)),
        ],
    );
    let run = sandbox.run(&["--model", &model], &[]);
    let log: Value = serde_json::from_str(&run.file("findings.sarif")).expect("JSON");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema()).expect("a schema");
    let wrong: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
    assert_eq!(wrong, Vec::<String>::new(), "{log:#}");
    let results = log["runs"][0]["results"].as_array().expect("results").clone();
    (run.report(), results)
}

#[test]
fn sarif_recognises_findings_when_lines_move() {
    let finding = |line: u64, message: &str| json!({"file": "a b.txt", "line": line, "severity": "error", "confidence": 90, "message": message});
    let prints = |results: &[Value]| -> Vec<(String, u64, String)> {
        let of = |result: &Value| {
            let place = &result["locations"][0]["physicalLocation"];
            let print = result["partialFingerprints"]["architectCi/v1"].as_str().unwrap().to_owned();
            let uri = place["artifactLocation"]["uri"].as_str().unwrap().to_owned();
            (uri, place["region"]["startLine"].as_u64().unwrap(), print)
        };
        results.iter().filter(|result| result["ruleId"] == "review").map(of).collect()
    };
    let (_, before) =
        reviewed("one\n  two();\ntwo();\n", &[finding(2, "Breaks."), finding(3, "Breaks.")], "");
    let (_, after) =
        reviewed("zero\n\none\n    two( );\ntwo();\n", &[finding(4, "It breaks."), finding(5, "Too.")], "");
    let (before, after) = (prints(&before), prints(&after));
    assert_eq!((before.len(), before[0].0.as_str(), before[0].1), (2, "a%20b.txt", 2));
    let print = |all: &[(String, u64, String)]| all.iter().map(|found| found.2.clone()).collect::<Vec<_>>();
    assert_eq!(print(&before), print(&after));
    assert_ne!(before[0].2, before[1].2, "two places with one text");
}

#[test]
fn review_drops_findings_that_are_too_uncertain() {
    let finding = |confidence: Value, message: &str| {
        let mut finding = json!({"file": "a b.txt", "line": 1, "severity": "note", "message": message});
        if !confidence.is_null() {
            finding["confidence"] = confidence;
        }
        finding
    };
    let found = [finding(json!(40), "guess"), finding(json!(95.4), "sure"), finding(Value::Null, "unsaid")];
    let (report, results) = reviewed("one\n", &found, ", min_confidence: 70");
    let messages: Vec<&str> = results
        .iter()
        .filter(|result| result["ruleId"] == "review")
        .map(|result| result["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(messages, ["sure", "unsaid"]);
    assert_eq!(report["review"]["findings"][0]["confidence"], 95);
    // What a gate says of a line that exists is among them.
    assert!(results.iter().any(|result| result["ruleId"] == "gate"), "{results:?}");
}
