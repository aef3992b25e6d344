#[test]
fn writes_to_the_temporary_folder() {
    let path = std::env::temp_dir().join(format!("counter-{}", std::process::id()));
    std::fs::write(&path, counter::GREETING).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "good morning");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn listens_on_this_machine() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
}
