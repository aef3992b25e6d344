//! Campaign report: the standing of a campaign, as data and as text. Everything in it that others wrote is made harmless on its
//! way out.

use std::collections::BTreeMap;
use std::io;

use sanitize::untrusted::{code, markdown_item, markdown_line, visible_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::standing::StandingKind;
use crate::base::text::pretty_json;
use crate::event::Exit;

/// The version of the format.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Longest dashboard, in bytes; GitHub takes 65,536 characters.
const MAX_DASHBOARD: usize = 60_000;

/// Rows of one list of the dashboard.
const MAX_ROWS: usize = 150;

/// State of a campaign.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CampaignReport {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The campaign.
    pub campaign: String,
    /// How it stands.
    pub status: CampaignStatus,
    /// Why nothing more is started, if the campaign has stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The waves that have begun.
    pub waves: Vec<WaveReport>,
    /// Number of targets in each state.
    pub counts: BTreeMap<StandingKind, usize>,
    /// Number of targets that a limit holds back.
    pub held_back: usize,
    /// The targets.
    pub targets: Vec<TargetReport>,
    /// Targets where others have undone what the campaign had changed, if this was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallen_back: Vec<FallenBack>,
    /// Address of the dashboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard: Option<String>,
    /// Notices for people.
    pub notices: Vec<String>,
}

/// Overall state of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CampaignStatus {
    /// There is more to do now.
    Running,
    /// It waits for checks and people.
    Waiting,
    /// It has stopped because of its own limits.
    Stopped,
    /// Everything is done.
    Finished,
    /// It was given up.
    Abandoned,
    /// It is being rolled back.
    RollingBack,
    /// It has been rolled back.
    RolledBack,
}

/// State of a wave.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaveReport {
    /// Its number, from 1.
    pub wave: u32,
    /// Targets that take part.
    pub members: usize,
    /// Targets that have reached what the next wave waits for.
    pub reached: usize,
    /// Targets that still have to be planned or delivered.
    pub left: usize,
    /// Targets that failed.
    pub failed: usize,
    /// Targets whose checks failed.
    pub red: usize,
    /// Targets whose pull requests people closed.
    pub closed: usize,
    /// Targets where the change was reverted.
    pub reverted: usize,
}

/// State of a target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TargetReport {
    /// The repository, after `:` the task if there are several, and after `@` the part of a plan that is split.
    pub id: String,
    /// Its wave, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// Its state, in a word.
    pub standing: StandingKind,
    /// Address of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    /// Addresses of the pull requests that take merged ones back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverts: Vec<String>,
    /// Whether it is stuck until somebody looks at it.
    #[serde(default)]
    pub needs_people: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A target whose change has been undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FallenBack {
    /// The repository, after `:` the task if there are several, and after `@` the part of a plan that is split.
    pub id: String,
    /// The files that would change again.
    pub files: Vec<String>,
}

impl CampaignReport {
    /// Returns how the process ends.
    pub fn exit(&self) -> Exit {
        match self.status {
            CampaignStatus::Stopped => Exit::Failed,
            _ => Exit::Success,
        }
    }

    /// Serializes the report as it is written to a file.
    pub fn json(&self) -> io::Result<String> {
        pretty_json(self)
    }

    /// Returns one line.
    pub fn headline(&self) -> String {
        let status = match self.status {
            CampaignStatus::Running => "running",
            CampaignStatus::Waiting => "waiting",
            CampaignStatus::Stopped => "stopped",
            CampaignStatus::Finished => "finished",
            CampaignStatus::Abandoned => "abandoned",
            CampaignStatus::RollingBack => "rolling back",
            CampaignStatus::RolledBack => "rolled back",
        };
        let counts: Vec<String> = self.counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        format!("{}: {status}; {}", self.campaign, counts.join(", "))
    }

    pub(super) fn title(&self) -> String {
        format!("Campaign {}", self.campaign)
    }

    /// Returns the lines for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        if let Some(stopped) = &self.stopped {
            text += &format!("✗ stopped: {}\n", visible_line(stopped));
        }
        for wave in &self.waves {
            text += &format!(
                "wave {}: {} of {} done, {} left, {} failed, {} red, {} closed, {} reverted\n",
                wave.wave,
                wave.reached,
                wave.members,
                wave.left,
                wave.failed,
                wave.red,
                wave.closed,
                wave.reverted
            );
        }
        if self.held_back > 0 {
            text += &format!("! {} waiting for a limit or for a plan\n", self.held_back);
        }
        for target in self.targets.iter().filter(|target| target.standing != StandingKind::Waiting) {
            let pulls: Vec<&str> =
                target.pull_request.iter().chain(&target.reverts).map(String::as_str).collect();
            let (pulls, note) = (pulls.join(" "), visible_line(&target.note));
            text += format!("  {}: {} {pulls} {note}", target.id, target.standing).trim_end();
            text.push('\n');
        }
        for FallenBack { id, files } in &self.fallen_back {
            text += &format!("! {id} fell back: {}\n", visible_line(&files.join(", ")));
        }
        for notice in &self.notices {
            text += &format!("! {}\n", visible_line(notice));
        }
        text
    }

    /// Returns the text of the dashboard.
    pub fn dashboard(&self) -> String {
        let mut text = format!("**{}**\n\n", markdown_line(&self.headline()));
        if let Some(stopped) = &self.stopped {
            text += &format!(
                "> [!CAUTION]\n> Stopped: {}. Comment `/architect continue` to resume; what has gone wrong \
                 so far will then no longer count.\n\n",
                markdown_line(stopped)
            );
        }
        text += "| wave | targets | done | left | failed | red | closed | reverted |\n|--|--|--|--|--|--|--|--|\n";
        for wave in &self.waves {
            let WaveReport { wave, members, reached, left, failed, red, closed, reverted } = wave;
            text += &format!(
                "| {wave} | {members} | {reached} | {left} | {failed} | {red} | {closed} | {reverted} |\n"
            );
        }
        if self.held_back > 0 {
            text += &format!("\n{} waiting for a limit or for a plan.\n", self.held_back);
        }
        let needs_people = |target: &&TargetReport| target.needs_people;
        let is_open = |target: &&TargetReport| target.standing.is_open();
        let is_reverting = |target: &&TargetReport| {
            target.standing == StandingKind::Merged && !target.needs_people && !target.reverts.is_empty()
        };
        let notices: String = self
            .notices
            .iter()
            .take(MAX_ROWS)
            .map(|notice| format!("- {}\n", markdown_item(notice)))
            .collect();
        let fallen = |it: &FallenBack| {
            let files: Vec<String> = it.files.iter().take(5).map(|file| code(file)).collect();
            format!("- {}: {}\n", code(&it.id), files.join(", "))
        };
        let fallen: String = self.fallen_back.iter().take(MAX_ROWS).map(fallen).collect();
        let lists = [
            ("Fell back", fallen),
            ("Needs attention", self.rows(needs_people)),
            ("Open", self.rows(is_open)),
            ("Being reverted", self.rows(is_reverting)),
            ("Notices", notices),
        ];
        for (title, rows) in lists {
            if rows.is_empty() {
                continue;
            }
            let section = format!("\n<details><summary>{title}</summary>\n\n{rows}\n</details>\n");
            if text.len() + section.len() > MAX_DASHBOARD {
                text += &format!("\n{title}: too long to show; see `architect-ci campaign status`.\n");
            } else {
                text += &section;
            }
        }
        text += "\nEach start rewrites this text; edits to it have no effect.\n";
        text
    }

    fn rows(&self, is_in: impl Fn(&&TargetReport) -> bool) -> String {
        let all: Vec<&TargetReport> = self.targets.iter().filter(is_in).collect();
        let row = |target: &&TargetReport| {
            let TargetReport { id, standing, pull_request, reverts, note, .. } = target;
            let name = pull_request.as_ref().map_or_else(|| code(id), |url| format!("[{}]({url})", code(id)));
            let note = if note.is_empty() { String::new() } else { format!(": {}", markdown_item(note)) };
            let link = |url: &String| format!(", [#{}]({url})", url.rsplit('/').next().unwrap_or_default());
            let reverts: String = reverts.iter().map(link).collect();
            let reverts =
                reverts.strip_prefix(", ").map_or_else(String::new, |it| format!(", reverted by {it}"));
            format!("- {name} {standing}{reverts}{note}\n")
        };
        let mut rows: String = all.iter().take(MAX_ROWS).map(row).collect();
        if all.len() > MAX_ROWS {
            rows += &format!("- … and {} more\n", all.len() - MAX_ROWS);
        }
        rows
    }
}
