//! The network of a command: its own, with the proxy as the only way out, and none for those that look.

use super::{Scene, Server, resolver, rules};
use architect_ci::command::Enforcement;
use architect_ci::command::sandbox::Rights;

#[tokio::test(flavor = "multi_thread")]
async fn egress_gives_commands_that_look_no_network_at_all() {
    let scene = Scene::new(rules(&["listed.test".to_owned()]), resolver());
    let line = "env | grep -ci _proxy; (exec 3<> /dev/tcp/127.0.0.1/3128) 2> /dev/null || echo refused";
    let finished = scene.run_with(line, Rights::Look).await;
    assert_eq!(finished.output(), "0\nrefused");
    assert!(scene.records().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_is_enforced_by_a_network_of_its_own_here() {
    let scene = Scene::new(rules(&[]), resolver());
    assert_eq!(scene.shell.enforcement(scene.folder.path()).await, Enforcement::OwnNetwork);
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_serves_many_clients_of_one_command_at_a_time() {
    let open = Server::new("127.0.0.2", None);
    let list = [format!("listed.test:{}", open.port), format!("127.0.0.2/31:{}", open.port)];
    let scene = Scene::new(rules(&list), resolver());
    let one = format!(
        "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://listed.test:{}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 | tail -n 1) &",
        open.port
    );
    let finished = scene.run(&format!("{} wait", one.repeat(40))).await;
    assert_eq!(finished.output().matches("listed.test").count(), 40, "{}", finished.output());
    let records = scene.records();
    assert_eq!((records.len(), records[0].times), (1, 40));
}
