//! Every snippet of the documents is parsed or run.

use std::path::Path;
use std::process::Command;

use super::{documents, read, root};
use crate::support::Sandbox;
use crate::support::program::program;
use architect_ci::batch::{BatchFile, ExpansionSources};
use architect_ci::campaign::{Campaign, CampaignFile};
use architect_ci::recipe::Recipe;
use regex::Regex;
use serde_json::Value;

/// A fenced block: its language, what is said of it, its text.
struct Block {
    language: String,
    marks: Vec<String>,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let fence = Regex::new(r"(?ms)^```([^\n`]*)\n(.*?)^```$").unwrap();
    let block = |found: regex::Captures<'_>| {
        let mut marks = found[1].split(',').map(str::to_owned);
        Block {
            language: marks.next().unwrap_or_default(),
            marks: marks.collect(),
            text: found[2].to_owned(),
        }
    };
    fence.captures_iter(text).map(block).collect()
}

#[test]
fn docs_snippets_parse() {
    let (mut configurations, mut batches, mut recipes, mut workflows, mut lines) = (0, 0, 0, 0, 0);
    for (path, text) in documents() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        for name in text.split(",file=").skip(1).filter_map(|rest| rest.lines().next()) {
            // Readers see the block, and not what is said of it.
            let at = text.find(&format!(",file={name}")).unwrap();
            let before = &text[text.floor_char_boundary(at.saturating_sub(250))..at];
            assert!(before.contains(&format!("`{name}`")), "{shown}: nothing names {name}");
        }
        for block in blocks(&text) {
            match block.language.as_str() {
                "yaml" => {
                    let value: Value = serde_yaml::from_str(&block.text)
                        .unwrap_or_else(|error| panic!("{shown}: {error}\n{}", block.text));
                    if value.get("jobs").is_some_and(Value::is_object) {
                        check_workflow(&shown, &value);
                        workflows += 1;
                    } else if value.get("repositories").is_some() {
                        let parsed = architect_ci::config::parse_as::<CampaignFile>(&block.text, &shown);
                        let campaign =
                            Campaign::new(parsed.unwrap_or_else(|error| panic!("{error}")), &shown);
                        assert!(campaign.is_ok(), "{}", campaign.err().unwrap());
                    } else if value.get("tasks").is_some() {
                        let parsed = architect_ci::config::parse_as::<BatchFile>(&block.text, &shown);
                        expand_batch(
                            &parsed.unwrap_or_else(|error| panic!("{error}")),
                            (&shown, &block.text),
                        );
                        batches += 1;
                    } else if value.get("steps").is_some() {
                        let parsed = Recipe::parse(&block.text, &shown);
                        assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
                        recipes += 1;
                    } else {
                        let parsed = architect_ci::config::parse(&block.text, &shown);
                        assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
                        configurations += 1;
                    }
                }
                "json" => {
                    for line in block.text.lines() {
                        assert!(serde_json::from_str::<Value>(line).is_ok(), "{shown}: {line}");
                    }
                }
                "sh" => lines += check_lines(&shown, &block.text),
                "python" => assert!(block.marks.iter().any(|mark| mark.starts_with("file=")), "{shown}"),
                "" | "text" | "diff" => {}
                other => panic!("{shown}: what is a block of {other:?}?"),
            }
        }
    }
    let counted = [configurations, batches, recipes, workflows, lines];
    assert!(counted.iter().zip([5, 1, 2, 4, 20]).all(|(count, least)| *count >= least), "{counted:?}");
}

/// A batch makes its tasks, which takes more than that its file can be read.
fn expand_batch(batch: &BatchFile, file: (&str, &str)) {
    let files = ["a/clock.py", "a/package.json", "a/pyproject.toml", "src/a/b.rs"];
    let files = files.map(|path| (path.to_owned(), 1));
    let sources = ExpansionSources { files: &files, lines: &|_| Ok("a\n".to_owned()) };
    let tasks = architect_ci::batch::expand(batch, &sources, file, &"0".repeat(40));
    assert!(tasks.is_ok(), "{}", tasks.err().unwrap());
}

/// Steps of ours ask for inputs that there are.
fn check_workflow(shown: &str, workflow: &Value) {
    let action: Value = serde_yaml::from_str(&read("action.yml")).unwrap();
    for job in workflow["jobs"].as_object().unwrap().values() {
        for step in job["steps"].as_array().into_iter().flatten() {
            let ours = step["uses"].as_str().is_some_and(|uses| uses.starts_with("architect-ci/"));
            for name in step["with"].as_object().filter(|_| ours).into_iter().flat_map(|with| with.keys()) {
                assert!(action["inputs"].get(name).is_some(), "{shown}: there is no input {name}");
            }
        }
    }
}

/// Command lines of ours are such that the program understands them; of others the program is a known one.
fn check_lines(shown: &str, text: &str) -> usize {
    let known = [
        "cargo",
        "samples/try.sh",
        "git",
        "grep",
        "test",
        "cmp",
        "wc",
        "exit",
        "bash",
        "just",
        "docker",
        "curl",
        "tar",
        "gh",
    ];
    let mut count = 0;
    for line in text.replace("\\\n", " ").lines() {
        let words = shlex::split(line).unwrap_or_else(|| panic!("{shown}: {line}"));
        for command in words.split(|word| matches!(word.as_str(), "&&" | "||" | "|")) {
            let end = command.iter().position(|word| word == ">").unwrap_or(command.len());
            let Some(first) = command.first() else { continue };
            if first == "architect-ci" {
                let understood = architect_ci::cli::understands(&command[..end]);
                assert!(understood.is_ok(), "{shown}: {line}\n{}", understood.unwrap_err());
                count += 1;
            } else {
                assert!(known.contains(&first.as_str()), "{shown}: {first}");
            }
        }
    }
    count
}

/// Documents with blocks marked `run` are carried out from top to bottom, in a repository with the files that they
/// show.
#[test]
fn docs_examples_run() {
    let mut run = 0;
    for (path, text) in documents() {
        let all = blocks(&text);
        if !all.iter().any(|block| block.marks.iter().any(|mark| mark == "run")) {
            continue;
        }
        let files: Vec<(&str, &str)> = all
            .iter()
            .filter_map(|block| {
                Some((block.marks.iter().find_map(|mark| mark.strip_prefix("file="))?, block.text.as_str()))
            })
            .collect();
        let sandbox = Sandbox::new(&files);
        let folder = Path::new(program()).parent().unwrap();
        let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        for block in all.iter().filter(|block| block.marks.iter().any(|mark| mark == "run")) {
            let output = Command::new("bash")
                .args(["-euo", "pipefail", "-c", &block.text])
                .current_dir(sandbox.repo())
                .env_clear()
                .envs([("PATH", search.as_str()), ("CI", "true"), ("HOME", sandbox.path().to_str().unwrap())])
                .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@localhost")])
                .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@localhost")])
                .output()
                .expect("bash runs");
            assert!(
                output.status.success(),
                "{}:\n{}\n{}\n{}",
                path.display(),
                block.text,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            run += 1;
        }
    }
    assert!(run >= 10, "{run}");
}

/// What people copy from a page is the sample: a difference would be a trap that nobody has tried.
#[test]
fn workflows_of_pages_are_the_samples() {
    let pinned = Regex::new(r"@[0-9a-f]{40} # v(\d+)[.\d]*").unwrap();
    for (page, name, sample) in [
        ("README.md", "Plan", "plan-on-pull-request.yml"),
        ("docs/getting-started.md", "Plan", "plan-on-pull-request.yml"),
        ("docs/switching.md", "Review", "review.yml"),
    ] {
        let sample = read(&format!("samples/workflows/{sample}"));
        let sample: Value = serde_yaml::from_str(&pinned.replace_all(&sample, "@v$1")).unwrap();
        let found = blocks(&read(page));
        let start = format!("name: {name}\n");
        let shown = found.iter().find(|block| block.text.starts_with(&start)).expect("a workflow");
        assert_eq!(serde_yaml::from_str::<Value>(&shown.text).unwrap(), sample, "{page}");
    }
}

/// The review sample is of use only with the configuration that it states.
#[test]
fn review_sample_states_its_configuration() {
    let sample = read("samples/workflows/review.yml");
    let stated: String = sample.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let config = architect_ci::config::parse(&stated, "review.yml").unwrap_or_else(|error| panic!("{error}"));
    assert!(config.review.pull_requests, "{stated}");
}
