//! Record of what one command asked for: each host with what became of it, and beyond a number of hosts, the rest together.
//! What was let through, and what was refused, are counted apart, so that many refusals do not hide what went out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::Egress;
use super::relay::Traffic;
use super::target::Target;
use crate::event::{NetworkDecision, NetworkRecord};

/// Maximum number of hosts of one command that are reported one by one.
const MAX_HOSTS: usize = 200;
/// Maximum number of records of one list before known hosts are no longer reported one by one for each command.
const MAX_RECORDS: usize = 500;
/// Maximum number of hosts of one list that are reported one by one.
const MAX_HOSTS_OF_LIST: usize = 500;
/// What is reported in the place of further hosts.
const OTHERS: &str = "(other hosts)";
/// Why they are reported together.
const WHY_OTHERS: &str = "there are too many hosts to list each of them";

/// What one command asked for.
#[derive(Debug, Default)]
pub(super) struct HostRequests(Mutex<BTreeMap<Request, Arc<Traffic>>>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    /// Whether this stands for further hosts, which come last.
    is_others: bool,
    host: String,
    port: u16,
    decision: NetworkDecision,
    reason: String,
}

impl Request {
    fn others(decision: NetworkDecision) -> Self {
        let is_allowed = matches!(decision, NetworkDecision::Allowed | NetworkDecision::Learned);
        let reason = if is_allowed { String::new() } else { WHY_OTHERS.to_owned() };
        Self { is_others: true, host: OTHERS.to_owned(), port: 0, decision, reason }
    }
}

/// What is reported about one list, by decision.
#[derive(Debug, Default)]
pub(super) struct ReportedHosts(Mutex<BTreeMap<NetworkDecision, ReportedOfDecision>>);

#[derive(Debug, Default)]
struct ReportedOfDecision {
    records: usize,
    hosts: BTreeSet<(String, u16)>,
}

impl ReportedHosts {
    /// Returns whether one more host is reported by itself, and counts it then.
    fn has_room(&self, request: &Request) -> bool {
        let mut reported = self.0.lock();
        let ReportedOfDecision { records, hosts } = reported.entry(request.decision).or_default();
        let is_new = hosts.len() < MAX_HOSTS_OF_LIST && hosts.insert((request.host.clone(), request.port));
        let has_room = is_new || *records < MAX_RECORDS;
        *records += usize::from(has_room);
        has_room
    }
}

impl HostRequests {
    /// Counts a request for a host. Returns where its bytes are counted.
    pub(super) fn note(&self, target: &Target, decision: NetworkDecision, reason: String) -> Arc<Traffic> {
        let mut asked = self.0.lock();
        let (host, port) = (target.host.to_string(), target.port);
        let mut request = Request { is_others: false, host, port, decision, reason };
        let is_full = || asked.keys().filter(|known| known.decision == decision).count() >= MAX_HOSTS;
        if !asked.contains_key(&request) && is_full() {
            request = Request::others(decision);
        }
        let traffic = asked.entry(request).or_default();
        traffic.times.fetch_add(1, Ordering::Relaxed);
        Arc::clone(traffic)
    }

    /// Takes what was asked for until now. Returns its records, those of further hosts last.
    pub(super) fn take(&self, by: &str, egress: &Egress) -> Vec<NetworkRecord> {
        let asked = std::mem::take(&mut *self.0.lock());
        let mut records = BTreeMap::<Request, NetworkRecord>::new();
        for (mut request, traffic) in asked {
            if !request.is_others && !egress.reported.has_room(&request) {
                request = Request::others(request.decision);
            }
            let record = records.entry(request).or_insert_with_key(|request| NetworkRecord {
                by: by.to_owned(),
                key: egress.key.clone(),
                host: request.host.clone(),
                port: request.port,
                decision: request.decision,
                reason: request.reason.clone(),
                times: 0,
                sent: 0,
                received: 0,
            });
            record.times = record.times.saturating_add(traffic.times.load(Ordering::Relaxed));
            record.sent = record.sent.saturating_add(traffic.sent.load(Ordering::Relaxed));
            record.received = record.received.saturating_add(traffic.received.load(Ordering::Relaxed));
        }
        records.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(asked: &HostRequests, host: &str, decision: NetworkDecision) {
        asked.note(&Target::new(host, 443).expect(host), decision, String::new());
    }

    #[test]
    fn refusals_do_not_hide_what_was_let_through() {
        let (asked, egress) = (HostRequests::default(), Egress::nowhere());
        for number in 0..MAX_HOSTS + 20 {
            ask(&asked, &format!("h{number}.test"), NetworkDecision::Refused);
        }
        ask(&asked, "listed.test", NetworkDecision::Allowed);
        let records = asked.take("x", &egress);
        assert_eq!(records.len(), MAX_HOSTS + 2);
        assert!(records.iter().any(|record| record.host == "listed.test"));
        let last = records.last().expect("records");
        assert_eq!((last.target().as_str(), last.times, last.reason.as_str()), (OTHERS, 20, WHY_OTHERS));
    }

    #[test]
    fn lists_of_many_commands_are_reported_within_limits() {
        let egress = Egress::nowhere();
        let mut reported = 0;
        for command in 0..20 {
            let asked = HostRequests::default();
            for number in 0..MAX_HOSTS - 1 {
                ask(&asked, &format!("h{command}-{number}.test"), NetworkDecision::Refused);
            }
            ask(&asked, "again.test", NetworkDecision::Refused);
            ask(&asked, "listed.test", NetworkDecision::Allowed);
            let records = asked.take("x", &egress);
            assert!(records.iter().any(|record| record.host == "listed.test"), "{command}");
            let times: u32 = records.iter().map(|record| record.times).sum();
            assert_eq!(times as usize, MAX_HOSTS + 1);
            reported += records.len();
        }
        assert!(reported <= MAX_RECORDS + MAX_HOSTS_OF_LIST + 2 * 20, "{reported}");
    }
}
