fn main() {
    let text: Vec<String> = std::env::args().skip(1).collect();
    println!("{} words", counter::count(&text.join(" ")));
    if cfg!(feature = "loud") {
        println!("LOUD");
    }
}
