//! A proxy of the machine, through which what is allowed goes on.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

use super::{Scene, respond, rules};
use architect_ci::egress::{Resolver, Rules, Upstreams};

/// A proxy of the machine: keeps the heads of the requests that it gets, and answers each in the place of its host. It does
/// not lead to `closed.test`.
fn machine_proxy() -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let lines = BufReader::new(&client).lines().map_while(Result::ok);
            let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_tunnel = lines.first().is_some_and(|line| line.starts_with("CONNECT "));
            let is_closed = lines.first().is_some_and(|line| line.contains("closed.test"));
            let of_interest = |line: &&String| !line.to_ascii_lowercase().starts_with("user-agent");
            kept.lock()
                .expect("a lock")
                .push(lines.iter().filter(of_interest).cloned().collect::<Vec<_>>().join("\n"));
            let answer: &[u8] = match (is_tunnel, is_closed) {
                (_, true) => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
                (true, false) => b"HTTP/1.1 200 OK\r\n\r\n",
                (false, false) => {
                    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nforwarded"
                }
            };
            // A client that was refused is gone.
            let _ = (&client).write_all(answer);
            if is_tunnel && !is_closed {
                std::thread::spawn(move || respond(&client, None));
            }
        }
    });
    (port, heads)
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_goes_by_the_proxy_of_the_machine() {
    let (port, heads) = machine_proxy();
    let nobody: Resolver = Arc::new(|host, _| panic!("{host} is the proxy's to resolve"));
    let list = ["listed.test", "listed.test:22", "closed.test"].map(str::to_owned);
    let upstreams = Upstreams::through(&format!("http://user:secret@127.0.0.1:{port}"), "");
    let scene =
        Scene::with(rules(&list), |egress| egress.with_resolver(nobody).with_upstreams(upstreams.clone()));
    let ask = |request: &str| {
        format!("(exec 3<> /dev/tcp/127.0.0.1/3128; printf '{request}' >&3; cat <&3 | tail -n 1); echo;")
    };
    let lines = [
        ask(
            "GET http://listed.test/page?x=1 HTTP/1.1\\r\\nHost: other.test\\r\\nProxy-Authorization: Basic own\\r\\nConnection: close\\r\\n\\r\\n",
        ),
        ask("CONNECT listed.test:22 HTTP/1.1\\r\\n\\r\\nHELLO\\r\\nHost: inside\\r\\n\\r\\n"),
        ask("CONNECT closed.test:443 HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n"),
        ask("GET http://other.test/ HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n"),
    ];
    let finished = scene.run(&lines.concat()).await;
    insta::assert_snapshot!("by_the_proxy_of_the_machine", finished.output());
    let heads = heads.lock().expect("a lock").join("\n\n");
    insta::assert_snapshot!("heads_at_the_proxy_of_the_machine", heads);
    let told: Vec<String> =
        scene.records().iter().map(|record| format!("{} {:?}", record.host, record.decision)).collect();
    assert_eq!(
        told,
        ["closed.test Unreachable", "listed.test Allowed", "listed.test Allowed", "other.test Refused"]
    );

    let nobody: Resolver = Arc::new(|host, _| panic!("{host} is the proxy's to resolve"));
    let scene =
        Scene::with(Rules::learning(), |egress| egress.with_resolver(nobody).with_upstreams(upstreams));
    let ask = ask("GET http://169.254.169.254/latest HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n");
    let finished = scene.run(&ask).await;
    assert!(finished.output().contains("which is not on the public internet"), "{}", finished.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_learns_no_names_of_private_networks_by_the_proxy_of_the_machine() {
    let (port, heads) = machine_proxy();
    let nobody: Resolver = Arc::new(|host, _| panic!("{host} is the proxy's to resolve"));
    let upstreams = Upstreams::through(&format!("http://127.0.0.1:{port}"), "");
    let scene =
        Scene::with(Rules::learning(), |egress| egress.with_resolver(nobody).with_upstreams(upstreams));
    for (host, status) in
        [("public.test", "200"), ("metadata.google.internal", "403"), ("ip6-localhost", "403")]
    {
        let line = format!("curl -s -m 9 -o /dev/null -w '%{{http_code}}' http://{host}/");
        assert_eq!(scene.run(&line).await.output(), status, "{host}");
    }
    assert_eq!(heads.lock().expect("a lock").len(), 1);
}
