//! Records of what children asked for.

use std::sync::atomic::Ordering;

use super::{Scene, Server, resolver, rules};
use architect_ci::egress::Rules;

#[tokio::test(flavor = "multi_thread")]
async fn egress_tells_what_was_asked_for_how_often_and_how_much() {
    let open = Server::new("127.0.0.2", None);
    let list = [format!("listed.test:{}", open.port), format!("127.0.0.2/31:{}", open.port)];
    let scene = Scene::new(rules(&list), resolver());
    let get = |host: &str| {
        format!(
            "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://{host}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3) > /dev/null;"
        )
    };
    let allowed = format!("listed.test:{}", open.port);
    scene.run(&[get(&allowed), get(&allowed), get("other.test:81"), get("other.test")].concat()).await;
    let records = scene.records();
    let told: Vec<String> = records
        .iter()
        .map(|record| {
            let reason = record.reason.replace(&open.port.to_string(), "PORT");
            format!("{} {:?} {}× {reason}", record.host, record.decision, record.times)
        })
        .collect();
    insta::assert_snapshot!("records", told.join("\n"));
    assert!(records[0].sent > 40 && records[0].received > 40, "{records:?}");
    assert!(records[1].sent == 0 && records[1].received == 0, "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_learns_public_hosts_and_leads_to_no_others() {
    let secret = Server::new("127.0.0.1", None);
    let scene = Scene::new(Rules::learning(), resolver());
    let ask = format!(
        "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://other.test:{}/ HTTP/1.0\\r\\n\\r\\n' >&3; head -n 1 <&3)",
        secret.port
    );
    let finished = scene.run(&ask).await;
    assert!(finished.output().contains("403"), "{}", finished.output());
    assert!(scene.records()[0].reason.contains("127.0.0.1, which is not on the public internet"));
    assert_eq!(secret.clients.load(Ordering::SeqCst), 0);
}
