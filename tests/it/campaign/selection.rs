//! Selection of a campaign's repositories.

use super::{Scene, WAVES};

#[tokio::test(flavor = "multi_thread")]
async fn campaign_selects_by_topics_and_by_a_file() {
    let mut scene = Scene::new(WAVES).await;
    for (name, topics, file) in [
        ("octo/both", &["python", "web"][..], "setup.py"),
        ("octo/shouted", &["Python"], "setup.py"),
        ("octo/no-file", &["python"], "other.py"),
        ("octo/below", &["python"], "src/setup.py"),
        ("octo/no-topic", &["web"], "setup.py"),
        ("octo/nothing", &[], "a.txt"),
        ("octo/old-one", &["python"], "setup.py"),
        ("other/one", &["python"], "setup.py"),
    ] {
        scene.fleet.add(name, &[("a.txt", "old\n"), (file, "old\n")]);
        scene.fleet.state().place(name).topics = topics;
    }
    for (places, expected) in [
        ("organizations: [octo], topics: [python]", "below both no-file old-one shouted"),
        ("organizations: [octo], topics: [python, WEB]", "both"),
        ("organizations: [octo], topics: [python], exclude: ['octo/old-*']", "below both no-file shouted"),
        // Topics are those of accounts; what is listed by name is meant.
        ("organizations: [octo], topics: [web], list: [octo/nothing]", "both no-topic nothing"),
    ] {
        let standings = selected(scene.on_another_machine(), places);
        assert_eq!(names(&standings, |_| true), expected, "{places}");
    }
    let places = "organizations: [octo], topics: [python], with_file: setup.py";
    let standings = selected(scene.on_another_machine(), places);
    assert_eq!(names(&standings, |standing| standing != "skipped"), "both old-one shouted");
    assert_eq!(names(&standings, |standing| standing == "skipped"), "below no-file");
    let places = "list: [octo/below, octo/both], with_file: src/setup.py";
    let standings = selected(scene.on_another_machine(), places);
    assert_eq!(names(&standings, |standing| standing != "skipped"), "below");
    let told = scene.run(&["status"]).stdout;
    assert!(told.contains("octo/both: skipped  does not contain the file"), "{told}");
    scene.assert_valid();
}

/// The standings of a campaign that has begun in these places.
fn selected(scene: &Scene, places: &str) -> Vec<(String, String)> {
    // Each is a campaign of its own, of which nothing is known yet.
    let name: String = places.chars().filter(char::is_ascii_lowercase).take(50).collect();
    let file = format!(
        "name: {name}\nrepositories: {{ {places} }}\ntasks: [{{ recipe: words.yml }}]\nwaves: {{ canary: 9 }}\n"
    );
    scene.sandbox.write("campaign.yml", file);
    scene.standings().into_iter().collect()
}

fn names(standings: &[(String, String)], is_in: impl Fn(&str) -> bool) -> String {
    let names = standings.iter().filter(|(_, standing)| is_in(standing));
    names.map(|(id, _)| id.rsplit('/').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}
