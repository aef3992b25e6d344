//! Progress comment of a long run: at most one update in ten seconds, and none for short runs.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sanitize::Masker;
use time::OffsetDateTime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::publisher::sticky;
use crate::base::clock::now_utc;
use crate::base::verbose_log::detail;
use crate::config::Comment;
use crate::event::{Activities, Activity, Line, Observer, OngoingActivity};
use crate::github::{Api, Posted, StickyComment, hidden_lines};
use crate::report::Progress;
use crate::request::JobRequest;

/// A run that is over by then shows its end alone.
const FIRST: Duration = Duration::from_secs(2);

/// Between two updates.
const EVERY: Duration = Duration::from_secs(10);

/// What the run is doing, and that there is news.
#[derive(Default)]
struct Board {
    progress: Mutex<Progress>,
    news: Notify,
}

impl Observer for Board {
    fn observe(&self, line: &Line) {
        if self.progress.lock().observe(line) {
            self.news.notify_one();
        }
    }
}

/// Shows what a run is doing.
pub(crate) struct ProgressComment {
    board: Arc<Board>,
    over: CancellationToken,
    task: JoinHandle<Option<Arc<StickyComment>>>,
}

/// What the comment says besides what is happening.
struct Frame {
    key: String,
    task: String,
    run_url: Option<String>,
    masker: Arc<Masker>,
}

impl ProgressComment {
    /// Begins, where somebody would see it.
    pub(crate) fn start(request: &JobRequest, masker: &Arc<Masker>, activities: &Activities) -> Option<Self> {
        let config = &request.config().github;
        let github = request.github.clone()?;
        let wanted =
            config.progress && config.comment == Comment::Always && request.config().apply.allows_comments();
        if !wanted || github.number().is_none() || github.token.is_none() {
            return None;
        }
        let frame = Frame {
            key: config.comment_key.clone(),
            task: request.task.clone(),
            run_url: github.run_url.clone(),
            masker: Arc::clone(masker),
        };
        let (board, over) = (Arc::new(Board::default()), CancellationToken::new());
        let show = {
            let (board, over) = (Arc::clone(&board), over.clone());
            let (activities, mut changes) = (activities.clone(), activities.changes());
            async move {
                let since = since(now_utc());
                sleep_unless(&over, FIRST).await?;
                // A client costs milliseconds, so that short runs do without.
                let sticky = sticky(&github, &Api::new(&github).ok()?.for_results(), &frame.key)?;
                while !over.is_cancelled() {
                    let hidden = hidden_lines(&frame.key, None);
                    let progress = board.progress.lock().clone();
                    let now = (since.as_str(), &ongoing(&activities)[..]);
                    let body = progress.comment(&hidden, &frame.task, now, frame.run_url.as_deref());
                    match sticky.put(&frame.masker.mask(&body)).await {
                        Ok(Posted::At(_)) => {}
                        Ok(Posted::Outdated) => break,
                        Err(error) => {
                            // The end of the run tells of it.
                            detail!("progress: {error}");
                            break;
                        }
                    }
                    if sleep_unless(&over, EVERY).await.is_none() {
                        break;
                    }
                    tokio::select! {
                        () = board.news.notified() => {}
                        () = changes.next() => {}
                        () = over.cancelled() => {}
                    }
                }
                Some(sticky)
            }
        };
        Some(Self { board, over, task: tokio::spawn(show) })
    }

    /// Returns the observer of the run's events.
    pub(crate) fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.board) as _
    }

    /// Ends it. What is on its way arrives first, so that it cannot overtake the end; the comment that was
    /// found or made is known then.
    pub(crate) async fn stop(self, patience: Duration) -> Option<Arc<StickyComment>> {
        self.over.cancel();
        let stop = self.task.abort_handle();
        if let Ok(ended) = tokio::time::timeout(patience, self.task).await {
            return ended.ok().flatten();
        }
        stop.abort();
        None
    }
}

/// Returns what the run is doing, each with the time of day at which it began.
fn ongoing(activities: &Activities) -> Vec<(Activity, String)> {
    let now = now_utc();
    let told = |one: OngoingActivity| (one.activity, since(now - one.since.elapsed()));
    activities.ongoing().into_values().map(told).collect()
}

/// Returns a time of day as people read it.
fn since(time: OffsetDateTime) -> String {
    format!("{:02}:{:02} UTC", time.hour(), time.minute())
}

async fn sleep_unless(over: &CancellationToken, pause: Duration) -> Option<()> {
    tokio::select! {
        () = tokio::time::sleep(pause) => Some(()),
        () = over.cancelled() => None,
    }
}
