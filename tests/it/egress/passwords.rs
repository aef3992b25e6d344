//! A proxy on a port of the machine, which others could reach: who has to show its password.

use std::sync::Arc;

use super::table::is_there;
use architect_ci::egress::{Egress, Session};

#[tokio::test(flavor = "multi_thread")]
async fn egress_on_a_port_of_the_machine_knows_processes_of_this_user_without_a_password() {
    let (_session, port, token) = Session::on_machine(&Arc::new(Egress::nowhere())).expect("a session");
    let ask = move |before: &'static str, credentials: String| async move {
        let line = format!(
            "{before} curl -s -m 9 -o /dev/null -w '%{http_code}' -x http://{credentials}127.0.0.1:{port} http://x.test/",
            http_code = "{http_code}"
        );
        let output = tokio::process::Command::new("bash").args(["-c", &line]).output().await.expect("bash");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(ask("", format!("architect:{token}@")).await, "403");
    assert_eq!(ask("", "architect:other@".to_owned()).await, "407");
    // Programs in Java have no setting for it.
    assert_eq!(ask("", String::new()).await, "403");
    if rustix::process::geteuid().is_root() && is_there("setpriv") {
        assert_eq!(ask("setpriv --reuid=65534 --clear-groups", String::new()).await, "407");
    }
}
