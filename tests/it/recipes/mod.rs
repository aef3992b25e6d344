//! Recipes and programs as models: no model, the same pipeline.

mod examples;
mod manifests;
mod match_tables;
mod programs;
mod rewrites;
mod same_meaning;
mod steps;

const RECIPE: &str = r#"
description: Clocks know their time zone
steps:
  - files: ["**/*.py"]
    exclude: ["legacy/**"]
    containing: 'utcnow\(\)'
    do:
      - replace: { pattern: 'datetime\.utcnow\(\)', with: 'datetime.now(UTC)' }
      - tool: edit_file
        with: { path: "{file}", old_str: "import datetime", new_str: "import UTC, datetime" }
        optional: true
  - do:
      - tool: write_file
        with: { path: CHANGES.md, content: "Clocks know their zone; {file} and {{file}} are no names here.\n" }
"#;

fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("a.py", "from datetime import datetime\nx = datetime.utcnow()\ny = datetime.utcnow()\n"),
        ("b c/$(touch x).py", "from datetime import datetime\nz = datetime.utcnow()\n"),
        ("d.py", "import datetime as dt, datetime\nimport datetime\nx = datetime.utcnow()\n"),
        ("legacy/a.py", "x = datetime.utcnow()\n"),
        ("other.py", "x = 1\n"),
        ("secret/.env.py", "x = datetime.utcnow()\n"),
        (".github/architect.yml", "guardrails:\n  sensitive_files: ['secret/**']\n"),
        ("recipe.yml", RECIPE),
    ]
}

const STRUCTURAL: &str = r##"
description: Clocks know their time zone
steps:
  - files: ["**/*.py"]
    do:
      - rewrite:
          rule: { pattern: datetime.utcnow() }
          fix: datetime.now(UTC)
          imports: { add: [from datetime import UTC] }
tests:
  - name: a naive clock becomes aware
    before: { a.py: "from datetime import datetime\nx = datetime.utcnow()\n", b.py: "# datetime.utcnow()\n" }
    after: { a.py: "from datetime import datetime, UTC\nx = datetime.now(UTC)\n" }
  - name: text is left alone
    before: { a.py: "x = 'datetime.utcnow()'\n" }
"##;
